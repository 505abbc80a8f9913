// Drives a server with the official TypeScript client, as Claude Desktop would, and ends with code 1 at the first thing wrong.
//
//	node client.mjs [--query QUESTION] [--expect PATH] -- BIN serve --vault DIR
//
// The client itself checks every structuredContent against the tool's outputSchema and throws when they differ.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const TOOLS = ["search_notes", "related_notes", "get_note", "index_status", "connection_graph", "resolve_link", "backlinks", "broken_links",
  "search_health", "nearest_vectors"];

function parseArguments(argv) {
  const split = argv.indexOf("--");
  assert.ok(split >= 0 && split + 1 < argv.length, "usage: client.mjs [--query QUESTION] [--expect PATH] -- COMMAND...");
  const options = { query: "why are my radiators cold", expect: "" };
  for (let i = 0; i < split; i += 2) {
    const name = argv[i].slice(2);
    assert.ok(name in options && i + 1 < split, `unknown or empty option ${argv[i]}`);
    options[name] = argv[i + 1];
  }
  return { ...options, command: argv[split + 1], args: argv.slice(split + 2) };
}

function checkTools(tools) {
  const names = tools.map((tool) => tool.name);
  for (const name of TOOLS) assert.ok(names.includes(name), `tool ${name} is not among ${names}`);
  for (const tool of tools) {
    assert.equal(tool.inputSchema.type, "object", `${tool.name}: inputSchema`);
    assert.equal(tool.outputSchema?.type, "object", `${tool.name}: outputSchema`);
    assert.equal(tool.annotations?.readOnlyHint, true, `${tool.name}: readOnlyHint`);
    assert.ok(tool.description.length > 0 && tool.description.length < 2048, `${tool.name}: description of ${tool.description.length} units`);
  }
  const bytes = Buffer.byteLength(JSON.stringify(tools));
  assert.ok(tools.length <= 12 && bytes < 12000, `${tools.length} tools of ${bytes} bytes`);
  console.log(`  ${tools.length} tools, ${bytes} bytes: ${names.join(", ")}`);
}

// call returns the structured result of a call that must succeed; its text must be the same JSON.
async function call(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, `${name} ${JSON.stringify(args)}: ${result.content?.[0]?.text}`);
  assert.equal(result.content.length, 1, `${name}: parts of content`);
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent, `${name}: text and structuredContent differ`);
  return result.structuredContent;
}

// refuse makes a call that must be answered with isError and a sentence.
async function refuse(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.equal(result.isError, true, `${name} ${JSON.stringify(args)} was not refused`);
  assert.ok(result.content[0].text.length > 10, `${name}: error text ${result.content[0].text}`);
  console.log(`  ${name} ${JSON.stringify(args)} refused: ${result.content[0].text.split("\n")[0]}`);
}

// callTheOthers calls the tools that no other check here does.
async function callTheOthers(client, path, dims) {
  const graph = await call(client, "connection_graph", { path, depth: 2, min_score: 0.3 });
  const seen = graph.connections.map((row) => row.path);
  assert.ok(seen.length > 0 && new Set(seen).size === seen.length && !seen.includes(path), `connection_graph: ${seen}`);
  const link = `[[${path.replace(/\.md$/, "")}|text]]`;
  const resolved = await call(client, "resolve_link", { link });
  assert.equal(resolved.path, path, `resolve_link ${link}`);
  assert.equal((await call(client, "resolve_link", { link: "[[no such note at all]]" })).resolved, false, "resolve_link of nothing");
  const back = await call(client, "backlinks", { path, include_outbound: true });
  const broken = await call(client, "broken_links", { min_references: 1, include_orphans: true });
  assert.ok(broken.broken.length > 0 || broken.reason.length > 0, "broken_links: an empty list stands alone");
  const health = await call(client, "search_health", { canary_path: path });
  assert.equal(health.alive, true, health.verdict);
  const vector = Array.from({ length: dims }, (_, i) => (i === 0 ? 1 : 0));
  const items = (await call(client, "nearest_vectors", { vector, limit: 3 })).items;
  assert.equal(items.length, 3, "nearest_vectors: items");
  console.log(`  connection_graph ${seen.length}, backlinks ${back.count}, broken_links ${broken.broken.length}; ${health.verdict}`);
}

// checkResources completes the path of a note, reads it as a resource, and fetches the prompts.
async function checkResources(client, path) {
  const template = (await client.listResourceTemplates()).resourceTemplates[0];
  const completed = await client.complete({ ref: { type: "ref/resource", uri: template.uriTemplate }, argument: { name: "path", value: path.slice(0, -4) } });
  assert.ok(completed.completion.values.includes(path), `completion of ${path}: ${completed.completion.values}`);
  const uri = "note://" + path.split("/").map(encodeURIComponent).join("/");
  const read = (await client.readResource({ uri })).contents[0];
  assert.equal(read.text, (await call(client, "get_note", { path })).text, `${uri} and get_note differ`);
  assert.ok(JSON.parse((await client.readResource({ uri: "vault://status" })).contents[0].text).embedded_notes > 0, "vault://status");
  const prompts = (await client.listPrompts()).prompts;
  for (const prompt of prompts) {
    const values = Object.fromEntries((prompt.arguments ?? []).filter((a) => a.required).map((a) => [a.name, path]));
    assert.ok((await client.getPrompt({ name: prompt.name, arguments: values })).messages[0].content.text.length > 100, prompt.name);
  }
  console.log(`  ${uri}; prompts ${prompts.map((prompt) => prompt.name).join(", ")}`);
}

async function session(client, { query, expect }) {
  assert.ok(client.getInstructions()?.length > 0, "no instructions");
  checkTools((await client.listTools()).tools);

  const status = await call(client, "index_status", {});
  assert.ok(status.embedded_notes > 0, `embedded_notes is ${status.embedded_notes}`);
  console.log(`  index_status: ${status.embedded_notes} notes, ${status.embedded_blocks} blocks, ${status.model}`);

  const found = await call(client, "search_notes", { query, limit: 5, min_score: -1 });
  assert.ok(found.results.length > 0 && found.results.length <= 5, `search_notes: ${found.results.length} results`);
  const first = found.results[0].path;
  console.log(`  search_notes ${JSON.stringify(query)}: ${first} ${found.results[0].score}`);
  if (expect) assert.equal(first, expect, "search_notes: first result");

  const near = await call(client, "related_notes", { path: first, limit: 3 });
  assert.ok(near.related.every((row) => row.path !== first), "related_notes: the note itself is among its relatives");
  console.log(`  related_notes: ${near.related.map((row) => row.path).join(", ")}`);

  const note = await call(client, "get_note", { path: first });
  assert.ok(note.text.length > 0, "get_note: empty text");

  // Several calls on the wire at once must each get their own answer.
  const paths = found.results.map((row) => row.path);
  const notes = await Promise.all(paths.map((path) => call(client, "get_note", { path })));
  assert.deepEqual(notes.map((answer) => answer.path), paths, "get_note: answers crossed");

  await callTheOthers(client, first, status.dims);
  await checkResources(client, first);

  await refuse(client, "search_notes", { query: "" });
  await refuse(client, "get_note", { path: "../outside.md" });
  await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), "an unknown tool was accepted");
}

const options = parseArguments(process.argv.slice(2));
const transport = new StdioClientTransport({ command: options.command, args: options.args, stderr: "inherit", env: { ...process.env, SMART_TOOLS: "all" } });
const client = new Client({ name: "ci-typescript", version: "1.0.0" });
await client.connect(transport);
const server = client.getServerVersion();
console.log(`TypeScript client: ${server.name} ${server.version}`);
try {
  await session(client, options);
  const start = performance.now();
  await client.close(); // closes stdin, waits two seconds, then sends signals
  assert.ok(performance.now() - start < 1900, "the server did not end when its stdin was closed");
  console.log("TypeScript client: ok");
} catch (err) {
  console.error(err);
  process.exit(1); // a server that still runs loses its stdin now
}
