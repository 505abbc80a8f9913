package hostile

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"smart-connections-mcp/testdata/session"
)

// sabotages are bugs that a build of the program gets, each behind a line of its
// source: panics in two tools, in a goroutine of the embedding and in one of the
// loading.
var sabotages = []struct{ file, line, bug string }{
	{"tools/get_note.go", "(NoteOutput, error) {", `if in.Path == "panic" { panic("sabotage") }`},
	{"tools/related_notes.go", "(RelatedOutput, error) {", `if in.Path == "panic" { in.Folder = in.Folder[:9] }`},
	{"bert/forward.go", "func (s *scratch) pass(member int) {", `if len(s.x) > 100*s.config.Hidden && member == s.crew.size-1 { panic("sabotage") }`},
	{"smartenv/scan.go", "for i := first; i < end && ctx.Err() == nil; i++ {", `if strings.Contains(fresh.vault.Root(), "panic") { panic("sabotage") }`},
}

// stray is a library that prints.
const stray = `package main

import (
	"fmt"
	"time"
)

func init() {
	go func() {
		for range time.Tick(time.Millisecond) {
			fmt.Println("a stray print")
		}
	}()
}
`

// sabotaged builds the program with all of that.
func sabotaged(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]string{filepath.Join(root, "stray.go"): filepath.Join(dir, "stray.go")}
	if err := os.WriteFile(filepath.Join(dir, "stray.go"), []byte(stray), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, s := range sabotages {
		source := filepath.Join(root, filepath.FromSlash(s.file))
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		before, after, found := strings.Cut(string(text), s.line+"\n")
		if !found {
			t.Fatalf("%s has no line that ends with %q: choose another place for the bug", s.file, s.line)
		}
		copied := filepath.Join(dir, strings.ReplaceAll(s.file, "/", "-"))
		if err := os.WriteFile(copied, []byte(before+s.line+"\n"+s.bug+"\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
		replace[source] = copied
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	binary, err := session.Build(t.Context(), dir, "-overlay", list)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// P4, 67, 71: panics in whatever goroutine are answers that name the tool, other
// calls work, the stack goes to stderr; and what a library prints does not get
// between the answers.
func TestP4Sabotage(t *testing.T) {
	binary := sabotaged(t)
	vault := copyVault(t, edgeMini)
	c := begin(t, session.Prepare(t.Context(), binary, "serve", "--vault", vault))
	long := `{"query":"` + strings.Repeat("word ", 300) + `"}`
	for range 3 {
		for _, tt := range []struct{ tool, arguments, want string }{
			{"get_note", `{"path":"panic"}`, "internal error in get_note: sabotage: this is a bug; other calls still work"},
			{"related_notes", `{"path":"panic"}`, "internal error in related_notes: runtime error: slice bounds out of range"},
			{"search_notes", long, "internal error in search_notes: sabotage"},
			{"search_notes", `{"query":"upper"}`, ""},
			{"get_note", `{"path":"b201.md"}`, ""},
			{"index_status", `{}`, ""},
		} {
			say(t, c, toolCall("2", tt.tool, tt.arguments))
			if m := listen(t, c); m.Error != nil || m.failed() != (tt.want != "") || !strings.Contains(m.text(), tt.want) || strings.Contains(m.text(), "goroutine") {
				t.Errorf("%s %.50s = %s %.300s, want %q", tt.tool, tt.arguments, m.short(), m.text(), tt.want)
			}
		}
	}
	if rest, err := c.End(); err != nil || len(rest) > 0 {
		t.Errorf("the end: %v, %q", err, rest)
	}
	for _, want := range []string{"a stray print", "goroutine ", "sabotage"} {
		if !strings.Contains(c.Said(), want) {
			t.Errorf("stderr lacks %q: %.1000s", want, c.Said())
		}
	}
	inPanic := filepath.Join(t.TempDir(), "panic")
	if err := os.CopyFS(inPanic, os.DirFS(edgeMini)); err != nil {
		t.Fatal(err)
	}
	c = begin(t, session.Prepare(t.Context(), binary, "serve", "--vault", inPanic))
	for _, tt := range []struct{ tool, arguments, want string }{
		{"search_notes", `{"query":"upper"}`, "internal error in search_notes: sabotage"},
		{"index_status", `{}`, "internal error in index_status: sabotage"},
		{"get_note", `{"path":"b201.md"}`, ""},
	} {
		say(t, c, toolCall("2", tt.tool, tt.arguments))
		if m := listen(t, c); m.failed() != (tt.want != "") || !strings.Contains(m.text(), tt.want) {
			t.Errorf("%s in a vault that cannot be loaded = %s %.300s, want %q", tt.tool, m.short(), m.text(), tt.want)
		}
	}
	for _, args := range [][]string{{"related", "panic", "--vault", vault}, {"status", "--vault", inPanic}, {"measure", "--vault", inPanic}} {
		got := command(t, binary, nil, args...)
		if got.code != 1 || got.out != "" || !strings.Contains(got.err, "smart-connections-mcp: internal error: ") || !strings.Contains(got.err, "this is a bug\n") || !strings.Contains(got.err, "goroutine ") {
			t.Errorf("%q = %d, %q, %.500q; want code 1 and an internal error", args, got.code, got.out, got.err)
		}
	}
}

// result is what a command line did.
type result struct {
	code     int
	out, err string
}

func command(t *testing.T, binary string, env []string, args ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), env...)
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	_ = cmd.Run()
	return result{cmd.ProcessState.ExitCode(), out.String(), said.String()}
}

// 78, 86: the codes that a process ends with, each with one line that says why;
// and a client's placeholder for a setting that was not made is no setting.
func TestP8ExitCodes(t *testing.T) {
	vault := copyVault(t, edgeMini)
	const unset = "${user_config.vault_path}"
	for _, tt := range []struct {
		env  []string
		args []string
		code int
		want string
	}{
		{nil, []string{"status", "--vault", vault}, 0, ""},
		{[]string{"SMART_VAULT_PATH=" + vault}, []string{"status", "--vault", unset, "--model-path", "${user_config.model_path}", "--model", "${user_config.model}"}, 0, ""},
		{[]string{"SMART_VAULT_PATH=" + vault, "SMART_MODEL_PATH=" + unset, "SMART_EMBED_MODEL=" + unset, "SMART_MODEL_CACHE=" + unset, "HF_ENDPOINT=" + unset, "SMART_SIMD=" + unset},
			[]string{"search", "upper", "--min-score", "-1"}, 0, ""},
		{[]string{"SMART_VAULT_PATH="}, []string{"serve", "--vault", unset}, 2, "no vault: pass --vault DIR"},
		{[]string{"SMART_VAULT_PATH=" + unset}, nil, 2, "no vault: pass --vault DIR"},
		{nil, []string{"serve", "--vault", filepath.Join(vault, "gone")}, 2, "gone"},
		{nil, []string{"serve", "--vault", filepath.Join(vault, "b201.md")}, 2, "b201.md"},
		{nil, []string{"sreve"}, 2, `unknown command "sreve"`},
		{nil, []string{"search", "x", "--limit", "0", "--vault", vault}, 1, "limit is 0: pass 1 to 100"},
		{nil, []string{"verify", "--model-path", filepath.Join("..", "models", "tiny-bert-48"), "--vault", vault}, 1, "48 dimensions"},
	} {
		got := command(t, program, tt.env, tt.args...)
		if lines := strings.Count(got.err, "\n"); got.code != tt.code || !strings.Contains(got.err, tt.want) || lines != min(1, tt.code) {
			t.Errorf("%q %q = %d, %q; want %d and one line with %q", tt.env, tt.args, got.code, got.err, tt.code, tt.want)
		}
	}
}

// goroutines are all that the program starts, by file, and what becomes of a panic
// in them: nothing above a goroutine recovers it, and it would end the process.
var goroutines = map[string]string{
	"bert/crew.go":             "play recovers it, and work panics with it in the caller",
	"smartenv/parallel/do.go":  "recovered, and Do panics with it in the caller",
	"tools/cli/lossy.go":       "a Write to stderr; nothing of ours runs in it",
	"tools/linked.go":          "recovered",
	"tools/proof.go":           "recovered, and told by index_status",
	"tools/server.go":          "recovered in each, but two that only wait for the SDK",
	"tools/stdio/outbox.go":    "recovered, and the session ends with it as its error",
	"tools/stdio/transport.go": "recovered, and the session ends with it as its error",
	"weights/folder.go":        "recovered, and load panics with it in the caller",
}

// goroutineCount is how many statements start them, all in all.
const goroutineCount = 14

// P4: whoever starts another goroutine says here what becomes of a panic in it.
func TestP4Goroutines(t *testing.T) {
	found, count := map[string]bool{}, 0
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "gen" || len(d.Name()) > 2 && d.Name()[0] == '.'):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			starts := false
			switch n := n.(type) {
			case *ast.GoStmt:
				starts = true
			case *ast.CallExpr:
				method, ok := n.Fun.(*ast.SelectorExpr)
				starts = ok && method.Sel.Name == "Go"
			}
			if starts {
				found[filepath.ToSlash(name)] = true
				count++
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range found {
		if goroutines[name] == "" {
			t.Errorf("%s starts a goroutine: say in goroutines what becomes of a panic in it", name)
		}
	}
	for name := range maps.Keys(goroutines) {
		if !found[name] {
			t.Errorf("%s starts no goroutine", name)
		}
	}
	if count != goroutineCount {
		t.Errorf("%d statements start goroutines, want %d: look at whether panics are recovered in them", count, goroutineCount)
	}
}
