package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// D3: without a network, without a cache that can be written and without a home,
// a server whose model is not at hand starts within two seconds; search says
// exactly why it cannot answer, and all else works.
func TestServeOffline(t *testing.T) {
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
			s := startServer(t, c.env, "serve", "--vault", vault)
			begin := time.Now()
			s.ask(t, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
			if took := time.Since(begin); took > 2*time.Second {
				t.Errorf("the server took %v to start", took)
			}
			for _, call := range []struct {
				tool, arguments string
				want            string // "" = an error with c.want
			}{
				{"index_status", `{}`, model},
				{"search_notes", `{"query":"how do I prune roses"}`, ""},
				{"related_notes", `{"path":"UP.MD"}`, `"related":[{`},
				{"get_note", `{"path":"UP.MD"}`, "UP.MD"},
				{"search_notes", `{"query":"how do I prune roses"}`, ""}, // again: refused once is not another thing later
				{"index_status", `{}`, model},
			} {
				answer := s.ask(t, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, call.tool, call.arguments))
				text, want := string(answer.Result.Structured), []string{call.want}
				if call.want == "" {
					text, want = answer.text(), c.want
				}
				if answer.Result.IsError != (call.want == "") {
					t.Errorf("%s: isError is %v: %s", call.tool, answer.Result.IsError, answer.text())
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

// server is a running one and the pipes to it.
type server struct {
	in  io.Writer
	out *bufio.Reader
	ids int
}

func startServer(t *testing.T, env map[string]string, args ...string) *server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	ours, in := io.Pipe()
	out, theirs := io.Pipe()
	ended := make(chan int, 1)
	env["SMART_SIMD"] = os.Getenv("SMART_SIMD")
	go func() {
		ended <- run(ctx, args, streams{ours, theirs, t.Output()}, func(name string) string { return env[name] })
		theirs.Close()
	}()
	t.Cleanup(func() {
		in.Close()
		if code := <-ended; code != exitOK {
			t.Errorf("the server ends with %d", code)
		}
		cancel()
	})
	return &server{in: in, out: bufio.NewReader(out)}
}

// answer is what a server answered.
type answer struct {
	ID     int
	Error  json.RawMessage
	Result struct {
		IsError    bool
		Structured json.RawMessage `json:"structuredContent"`
		Content    []struct{ Text string }
	}
}

func (a answer) text() string {
	var all []string
	for _, c := range a.Result.Content {
		all = append(all, c.Text)
	}
	return strings.Join(all, "\n")
}

// ask sends a request and waits for its answer.
func (s *server) ask(t *testing.T, method, params string) answer {
	t.Helper()
	s.ids++
	if _, err := fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", s.ids, method, params); err != nil {
		t.Fatal(err)
	}
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("no answer to %s %s: %v", method, params, err)
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil || a.ID != s.ids || a.Error != nil {
		t.Fatalf("%s %s is answered by %s (%v)", method, params, line, err)
	}
	return a
}
