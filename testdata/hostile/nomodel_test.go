package hostile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"smart-connections-mcp/testdata/session"
)

// D3: without a network, without a cache that can be written and without a home,
// a server whose model is not at hand starts as fast as any; search says exactly
// why it cannot answer, and all else works.
func TestD3ServeOffline(t *testing.T) {
	const model = "owner/not-at-hand"
	vault := vaultOf(t, model, "mf_fgx2ry")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	const nowhere = "http://127.0.0.1:1"
	for _, c := range []struct {
		name string
		env  map[string]string
		want []string // in search's error
	}{
		{"offline", map[string]string{"SMART_MODEL_CACHE": t.TempDir(), "HF_ENDPOINT": nowhere},
			[]string{model, "no answer from 127.0.0.1:1", "refused", "HTTPS_PROXY", "SMART_MODEL_PATH"}},
		{"no home", map[string]string{"HF_ENDPOINT": nowhere}, []string{model, "SMART_MODEL_CACHE", "SMART_MODEL_PATH"}},
		{"no cache", map[string]string{"SMART_MODEL_CACHE": file, "HF_ENDPOINT": nowhere}, []string{model, file, "SMART_MODEL_CACHE"}},
		{"no folder", map[string]string{"SMART_MODEL_PATH": file}, []string{file, "not a folder", "config.json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := []string{"PATH=" + os.Getenv("PATH")}
			for name, value := range c.env {
				env = append(env, name+"="+value)
			}
			p := session.Prepare(t.Context(), program, "serve", "--vault", vault)
			p.Cmd.Env = env
			s := begin(t, p)
			t.Logf("from process start to the answer to initialize: %.0f ms", p.Took())
			for _, call := range []struct {
				tool      string
				arguments map[string]any
				want      string // "" = an error with c.want
			}{
				{"index_status", nil, model},
				{"search_notes", map[string]any{"query": "how do I prune roses"}, ""},
				{"related_notes", map[string]any{"path": "UP.MD"}, `"related":[{`},
				{"get_note", map[string]any{"path": "UP.MD"}, "UP.MD"},
				{"search_notes", map[string]any{"query": "how do I prune roses"}, ""}, // again: refused once is not another thing later
				{"index_status", nil, model},
			} {
				answer, err := s.Call(call.tool, call.arguments)
				if err != nil {
					t.Fatal(err)
				}
				text, want := string(answer.Structured), []string{call.want}
				if call.want == "" {
					text, want = answer.Text(), c.want
				}
				if answer.IsError != (call.want == "") {
					t.Errorf("%s: isError is %v: %s", call.tool, answer.IsError, answer.Text())
				}
				for _, part := range want {
					if !strings.Contains(text, part) {
						t.Errorf("%s answers %s, want %q in it", call.tool, text, part)
					}
				}
			}
		})
	}
}

// vaultOf is the vault edge-mini as if it were another model's.
func vaultOf(t *testing.T, model, fingerprint string) string {
	t.Helper()
	vault := t.TempDir()
	if err := os.CopyFS(vault, os.DirFS(edgeMini)); err != nil {
		t.Fatal(err)
	}
	renamed := strings.NewReplacer("builtin/mini-2l-128", model, "mf_1emu9kb", fingerprint)
	changed := 0
	err := filepath.WalkDir(filepath.Join(vault, ".smart-env"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.HasSuffix(path, ".ajson") {
			text := renamed.Replace(string(data))
			if text != string(data) {
				changed++
			}
			data = []byte(text)
		}
		if err == nil {
			err = os.Remove(path)
		}
		if err == nil {
			err = os.WriteFile(renamed.Replace(path), data, 0o644)
		}
		return err
	})
	if err != nil || changed < 2 {
		t.Fatalf("%d files were changed: %v", changed, err)
	}
	return vault
}
