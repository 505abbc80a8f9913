package hostile

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"smart-connections-mcp/testdata/session"
)

// answered is how long any call may take, on a machine that is busy.
const answered = 30 * time.Second

// outside is what stands in files that no answer may come from.
const outside = "what-lies-outside-7f3a91"

// prose is a text long enough for the plugin to embed it, about a subject.
func prose(subject string) string {
	return "# Of " + subject + "\n\n" + strings.TrimSpace(strings.Repeat("What there is to say of "+subject+" is said here. ", 8)) + "\n"
}

// indexed puts notes into a new vault and indexes it with the built-in model. What
// lies beside the vault is its parent folder's.
func indexed(t testing.TB, notes map[string]string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "vault")
	for path, text := range notes {
		put(t, filepath.Join(dir, filepath.FromSlash(path)), text)
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", "smart-connections-mcp/smartenv/gen", "-vault", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("indexing: %v: %s", err, out)
	}
	return dir
}

// put writes a file and the folders above it.
func put(t testing.TB, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A guarded client knows what no answer may hold.
type guarded struct {
	*session.Client
	secrets []string
}

// ask calls a tool, or another method when the name has a slash, and fails the test
// when no answer comes in time or when it holds what it may not.
func (g guarded) ask(t testing.TB, tool string, arguments map[string]any) (answer session.Answer) {
	t.Helper()
	timer := time.AfterFunc(answered, func() { _ = g.Cmd.Process.Kill() })
	defer timer.Stop()
	var err error
	if !strings.Contains(tool, "/") {
		answer, err = g.Call(tool, arguments)
	} else if raw, refused := g.Ask(tool, arguments); refused != nil {
		answer.IsError, answer.Structured = true, []byte(refused.Error())
	} else {
		answer.Structured = raw
	}
	if err != nil {
		t.Fatalf("%s %.300q: %v", tool, arguments, err)
	}
	g.scan(t, tool, answer.Text())
	g.scan(t, tool, string(answer.Structured))
	return answer
}

// scan looks for what a text may not hold.
func (g guarded) scan(t testing.TB, what, text string) {
	t.Helper()
	for _, secret := range g.secrets {
		if strings.Contains(text, secret) {
			t.Fatalf("%s gives away %q: %.2000q", what, secret, text)
		}
	}
}

// end ends the server, which must go well, and looks at all it has written.
func (g guarded) end(t testing.TB) {
	t.Helper()
	rest, err := g.End()
	if err != nil {
		t.Errorf("the end: %v\n%s", err, g.Said())
	}
	g.scan(t, "stdout", string(rest))
	g.scan(t, "stderr", g.Said())
}

// rows are all rows of an answer, by path.
func rows(t testing.TB, answer session.Answer) (f listing, byPath map[string]row) {
	t.Helper()
	if answer.IsError {
		t.Fatalf("an error: %s", answer.Text())
	}
	if err := json.Unmarshal([]byte(answer.Text()), &f); err != nil {
		t.Fatalf("%v: %.300q", err, answer.Text())
	}
	byPath = map[string]row{}
	for _, r := range append(f.Results, f.Related...) {
		byPath[r.Path] = r
	}
	return f, byPath
}

// everything is a search that returns all there is.
func everything(query string) map[string]any {
	return map[string]any{"query": query, "min_score": -1, "limit": 100}
}
