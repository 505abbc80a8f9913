package hostile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"smart-connections-mcp/testdata/session"
)

// The secrets of a vault, by where people and the plugin keep them.
var planted = map[string]string{
	"vault/.obsidian/plugins/x/data.json": `{"apiKey":"sk-plugin-4b1c"}`,
	"vault/.obsidian/Note.md":             "-----BEGIN PRIVATE KEY-----\nsk-pem-77aa\n",
	"vault/.git/config":                   "token = AKIA-git-0d3e",
	"vault/.trash/Deleted.md":             "sk-trash-19f0",
	"vault/Notes/.hidden/Note.md":         "sk-hidden-52e1",
	"vault/Private/Diary.md":              prose("sk-diary-a871"),
	"outside/Note.md":                     prose("sk-outside-c0de"),
}

// secretVault is a vault with all of them, with links to them, and with an index
// that has records of them.
func secretVault(t *testing.T) (dir string, secrets []string) {
	dir = indexed(t, map[string]string{"Notes/Plain.md": prose("zeros"), "Notes/Other.md": prose("ones"), "Private/Diary.md": prose("zeros"), "Home.md": prose("keys")})
	base := filepath.Dir(dir)
	for path, text := range planted {
		put(t, filepath.Join(base, filepath.FromSlash(path)), text)
	}
	env := filepath.Join(dir, ".smart-env")
	edit := func(name, old, now string) {
		path := filepath.Join(env, filepath.FromSlash(name))
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte(old)) {
			t.Fatalf("%s: %v, no %q", name, err, old)
		}
		put(t, path, strings.Replace(string(data), old, now, 1))
	}
	edit("smart_env.json", `"folder_exclusions": ""`, `"folder_exclusions": "Private", "api_key": "sk-settings-3c3c"`)
	edit("embedding_models/embedding_models.ajson", `"provider_key"`, `"api_key":"sk-model-9b9b","provider_key"`)
	log := filepath.Join(env, "smart_sources", "smart_sources.ajson")
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, `"smart_sources:Notes/Plain.md"`) {
			continue
		}
		for _, path := range []string{".obsidian/Note.md", ".obsidian/plugins/x/data.json", ".trash/Deleted.md", "Notes/.hidden/Note.md", "../outside/Note.md", "Key.md", "Dots/Note.md"} {
			data = append(data, "\n"+strings.ReplaceAll(strings.TrimSpace(line), "Notes/Plain.md", path)...)
		}
	}
	put(t, log, string(data))
	for name, target := range map[string]string{"Key.md": ".obsidian/plugins/x/data.json", "Dots": ".obsidian", "Out": "../outside", "Deep.md": "Notes/../.git/config"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Logf("no links here: %v", err)
		}
	}
	return dir, []string{"sk-", "AKIA", "BEGIN PRIVATE", base}
}

// pieces are what hostile paths are made of.
var pieces = []string{
	"..", ".", "...", ".obsidian", ".OBSIDIAN", "OBSIDI~1", "\u200b.obsidian", ".obsidian.", "plugins", "x", "data.json", "app.json",
	".smart-env", "smart_env.json", "smart_sources", "smart_sources.ajson", "embedding_models", "embedding_models.ajson",
	".git", "config", ".trash", "Deleted.md", "Deleted", "Notes", ".hidden", "Note.md", "Note", "Plain.md", "Home", "Key.md", "Key", "Dots", "Out", "Deep.md",
	"Private", "PRIVATE", "Diary.md", "Diary", "outside", "etc", "passwd", "proc", "self", "environ", "%2e%2e", ".%2e", "~", "C:", "", "*", "**", "Plain.md::$DATA", "con", "\x00", "\n",
}

// hostilePath joins some pieces, now and then into an absolute path.
func hostilePath(r *rand.Rand, dir string) string {
	var b strings.Builder
	if r.IntN(12) == 0 {
		b.WriteString([]string{dir, filepath.Dir(dir), "/", `\\?\`, "file://", "//"}[r.IntN(6)])
	}
	for i := range 1 + r.IntN(5) {
		if i > 0 || r.IntN(20) == 0 {
			b.WriteString([]string{"/", "/", "/", "/", `\`, "//", "%2f", "\u2215"}[r.IntN(8)])
		}
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// hostileCall is a call that aims at what is hidden.
func hostileCall(r *rand.Rand, dir string) (tool string, arguments map[string]any) {
	path := func() string { return hostilePath(r, dir) }
	junk := func() string { return hostilePath(r, "/nowhere/vault") } // what is no path is repeated as it came
	arguments = map[string]any{}
	some := func(names ...string) string { return names[r.IntN(len(names))] }
	switch tool = some("get_note", "get_note", "related_notes", "search_notes", "index_status", "connection_graph", "resolve_link", "backlinks",
		"broken_links", "search_health", "resources/read", "completion/complete"); tool {
	case "get_note":
		switch r.IntN(3) {
		case 0:
			arguments["paths"] = []string{path(), path()}
		default:
			arguments["path"] = path()
		}
	case "related_notes", "connection_graph", "backlinks":
		arguments["path"] = path()
	case "resolve_link":
		arguments["link"] = some("%s", "[[%s]]", "![[%s#x|y]]", "[t](<%s>)", "note://%s")
		arguments["link"] = strings.ReplaceAll(arguments["link"].(string), "%s", junk())
		if r.IntN(3) == 0 {
			arguments["from"] = path()
		}
	case "broken_links":
		arguments["min_references"], arguments["include_orphans"] = 1, r.IntN(2) == 0
	case "search_health":
		arguments["canary_path"] = path()
	case "resources/read":
		return tool, map[string]any{"uri": some("note://", "note:///", "vault://", "file://") + path()}
	case "completion/complete":
		return tool, map[string]any{
			"ref":      map[string]any{"type": "ref/resource", "uri": "note://{+path}"},
			"argument": map[string]any{"name": some("path", "folder"), "value": path()},
		}
	case "search_notes":
		arguments["query"] = some("api key sk AKIA private key", "diary of zeros", junk())
		arguments["scope"] = []any{"auto", "notes", "blocks", junk()}[min(3, r.IntN(20))]
	}
	if tool == "related_notes" || tool == "search_notes" {
		arguments["min_score"] = -1
		arguments["limit"] = []any{100, "100", 10, junk()}[min(3, r.IntN(20))]
		switch r.IntN(5) {
		case 0:
			arguments["folder"] = path()
		case 1:
			arguments["folder"] = []string{path(), path()}
		case 2:
			arguments["exclude_folder"] = path()
		case 3:
			arguments["filters"] = map[string]any{junk(): junk()}
			arguments["tags"] = junk()
		}
	}
	if r.IntN(20) == 0 {
		arguments[junk()] = junk()
	}
	return tool, arguments
}

// V6: nothing of what is hidden, excluded or outside is in any answer, by content or
// by name, nor on stderr. 10^4 calls in full.
func TestV6Secrets(t *testing.T) {
	t.Parallel()
	dir, secrets := secretVault(t)
	calls := 300
	if _, full := hostile(t); full {
		calls = 10_000
	}
	p := session.Prepare(t.Context(), program, "serve", "--vault", dir)
	p.Cmd.Env = append(os.Environ(), "OPENAI_API_KEY=sk-environment-5f5f", "AWS_ACCESS_KEY_ID=AKIAENVIRONMENT")
	c := &session.Client{Process: p}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Cmd.Process.Kill(); _ = c.Cmd.Wait() })
	if err := c.Initialize(); err != nil {
		t.Fatal(err)
	}
	const seed = 20260701
	r := rand.New(rand.NewPCG(seed, 6))
	plain := guarded{Client: c, secrets: secrets}
	status := plain.ask(t, "index_status", nil).Text()
	if !strings.Contains(status, `"fresh":3`) || !strings.Contains(status, `"excluded":8`) {
		t.Fatalf("the vault is not as it should be: %s", status)
	}
	answered := 0
	for i := range calls {
		tool, arguments := hostileCall(r, dir)
		request, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		// What the client says itself may come back to it, but for the vault's place.
		g := guarded{Client: c, secrets: []string{filepath.Dir(dir)}}
		for _, s := range append(secrets, "Diary", "Deleted", "data.json", "Private") {
			if !strings.Contains(strings.ToLower(string(request)), strings.ToLower(s)) {
				g.secrets = append(g.secrets, s)
			}
		}
		g.secrets = append(g.secrets, "sk-plugin", "sk-pem", "sk-trash", "sk-hidden", "sk-diary", "sk-outside", "sk-settings", "sk-model", "sk-environment", "root:x:0")
		if answer := g.ask(t, tool, arguments); !answer.IsError {
			answered++
		}
		if t.Failed() {
			t.Fatalf("call %d of seed %d: %s %s", i, seed, tool, request)
		}
	}
	t.Logf("%d calls, %d of them answered without an error", calls, answered)
	if answered < calls/10 {
		t.Error("hardly any call was answered: the fuzzing is too wild")
	}
	plain.end(t)
}

// V6: what the tools say at their best of a vault with secrets: the notes that are
// not hidden, and no other.
func TestV6Listed(t *testing.T) {
	t.Parallel()
	dir, secrets := secretVault(t)
	g := guarded{Client: serve(t, dir), secrets: append(secrets, "Diary", "Private", ".obsidian", ".trash", ".hidden")}
	_, ranked := rows(t, g.ask(t, "search_notes", everything("keys")))
	_, related := rows(t, g.ask(t, "related_notes", map[string]any{"path": "Home.md", "limit": 100}))
	if len(ranked) != 3 || len(related) != 2 {
		t.Errorf("search_notes finds %v, related_notes %v; want the three notes that are not hidden", ranked, related)
	}
	g.ask(t, "index_status", nil)
	g.ask(t, "get_note", map[string]any{"path": "Nowhere"})
	g.ask(t, "get_note", map[string]any{"path": "Dairy"}) // nearly the name of one that is excluded
	g.ask(t, "broken_links", map[string]any{"min_references": 1, "include_orphans": true})
	g.ask(t, "resolve_link", map[string]any{"link": "Dairy"})
	g.ask(t, "connection_graph", map[string]any{"path": "Home.md", "min_score": -1, "max_per_level": 20})
	g.ask(t, "search_health", nil)
	g.ask(t, "resources/list", nil)
	for _, name := range []string{"path", "folder"} {
		g.ask(t, "completion/complete", map[string]any{
			"ref": map[string]any{"type": "ref/resource", "uri": "note://{+path}"}, "argument": map[string]any{"name": name, "value": ""}})
	}
	g.ask(t, "search_notes", map[string]any{"query": "x", "folder": "Nowhere"})
	for _, path := range []string{"Private/Diary.md", "private/diary", "Key.md", "Dots/Note.md", "Out/Note.md"} {
		for _, tool := range []string{"get_note", "related_notes"} {
			got := guarded{Client: g.Client, secrets: secrets}.ask(t, tool, map[string]any{"path": path})
			if !got.IsError {
				t.Errorf("%s of %s: %.300q, want it refused", tool, path, got.Text())
			}
		}
	}
	for _, path := range []string{".obsidian/Note.md", ".trash/Deleted.md"} { // the index may not tell that it has them
		known := guarded{Client: g.Client, secrets: secrets}.ask(t, "related_notes", map[string]any{"path": path}).Text()
		unknown := guarded{Client: g.Client, secrets: secrets}.ask(t, "related_notes", map[string]any{"path": path + "x"}).Text()
		if want := fmt.Sprintf("%q", path+"x"); strings.Replace(unknown, want, fmt.Sprintf("%q", path), 1) != known {
			t.Errorf("related_notes of %s says %q, of what is not there %q", path, known, unknown)
		}
	}
	g.end(t)
}
