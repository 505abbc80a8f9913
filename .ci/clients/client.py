"""Drives a server with the official Python client, and ends with code 1 at the first thing wrong.

    python client.py [--query QUESTION] [--expect PATH] -- BIN serve --vault DIR

Two sessions: one begins with initialize, as today's clients do; the other lets the client discover the newest protocol.
The client itself checks every structuredContent against the tool's outputSchema and raises when they differ.
"""

import argparse
import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters

TOOLS = {"search_notes", "related_notes", "get_note", "index_status", "connection_graph", "resolve_link", "backlinks", "broken_links", "search_health"}


def check(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


async def call(client: Client, name: str, **arguments):
    """Returns the structured result of a call that must succeed; its text must be the same JSON."""
    result = await client.call_tool(name, arguments)
    check(not result.is_error, f"{name} {arguments}: {result.content}")
    check(len(result.content) == 1, f"{name}: {len(result.content)} parts of content")
    check(json.loads(result.content[0].text) == result.structured_content, f"{name}: text and structuredContent differ")
    return result.structured_content


async def refuse(client: Client, name: str, **arguments) -> None:
    """Makes a call that must be answered with isError and a sentence."""
    result = await client.call_tool(name, arguments)
    check(result.is_error, f"{name} {arguments} was not refused")
    check(len(result.content[0].text) > 10, f"{name}: error text {result.content[0].text!r}")


async def session(client: Client, query: str, expect: str) -> None:
    check(bool(client.instructions), "no instructions")
    tools = (await client.list_tools()).tools
    names = {tool.name for tool in tools}
    check(TOOLS <= names, f"tools are {names}")
    for tool in tools:
        check(tool.input_schema["type"] == "object", f"{tool.name}: inputSchema")
        check((tool.output_schema or {}).get("type") == "object", f"{tool.name}: outputSchema")
        check(tool.annotations is not None and tool.annotations.read_only_hint is True, f"{tool.name}: readOnlyHint")

    status = await call(client, "index_status")
    check(status["embedded_notes"] > 0, f"embedded_notes is {status['embedded_notes']}")

    found = await call(client, "search_notes", query=query, limit=5, min_score=-1)
    check(0 < len(found["results"]) <= 5, f"search_notes: {len(found['results'])} results")
    first = found["results"][0]["path"]
    check(expect in ("", first), f"search_notes: first result is {first}, want {expect}")
    print(f"  {client.protocol_version}: {len(tools)} tools, search_notes {query!r}: {first} {found['results'][0]['score']}")

    near = await call(client, "related_notes", path=first, limit=3)
    check(all(row["path"] != first for row in near["related"]), "related_notes: the note itself is among its relatives")
    note = await call(client, "get_note", path=first)
    check(len(note["text"]) > 0, "get_note: empty text")

    await refuse(client, "search_notes", query="")
    await refuse(client, "get_note", path="../outside.md")
    try:
        result = await client.call_tool("no_such_tool", {})
        check(result.is_error, "an unknown tool was accepted")
    except MCPError:
        pass


async def main(options: argparse.Namespace) -> None:
    server = StdioServerParameters(command=options.command[0], args=options.command[1:])
    for mode in ("legacy", "auto"):
        async with Client(server, mode=mode) as client:
            if mode == "legacy":
                print(f"Python client: {client.server_info.name} {client.server_info.version}")
            await session(client, options.query, options.expect)
    print("Python client: ok")


parser = argparse.ArgumentParser()
parser.add_argument("--query", default="why are my radiators cold")
parser.add_argument("--expect", default="")
parser.add_argument("command", nargs="+")
arguments = parser.parse_args()
try:
    asyncio.run(asyncio.wait_for(main(arguments), timeout=120))
except BaseException as err:  # anyio wraps errors of its tasks in groups: show the innermost
    while isinstance(err, BaseExceptionGroup):
        err = err.exceptions[0]
    sys.exit(f"Python client: {type(err).__name__}: {err}")
