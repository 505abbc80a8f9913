package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
)

// Real and hostile vaults, as the plugin left them: every tool answers for
// their notes, in conformance with its schema and below its size.
func TestRealVaults(t *testing.T) {
	index := filepath.Join(".smart-env", "smart_sources", "smart_sources.ajson")
	own, _ := filepath.Glob(filepath.Join("..", "testdata", "vaults", "*", index))
	shared, _ := filepath.Glob(filepath.Join("..", "..", "shared", "vaults", "*", index))
	if len(own) == 0 {
		t.Fatal("no vaults in testdata/vaults")
	}
	if len(shared) == 0 && os.Getenv("CI") == "true" {
		t.Fatal("no vaults in ../shared/vaults")
	}
	for _, path := range append(own, shared...) {
		dir := filepath.Dir(filepath.Dir(filepath.Dir(path)))
		t.Run(filepath.Base(dir), func(t *testing.T) {
			s := newTestServer(t, dir)
			s.embedder = func(_ context.Context, m smartenv.Model) (Embedder, error) { return axis(m.Dims), nil }
			conforms(t, s, "index_status", `{}`)
			snap := mustSnapshot(t, s)
			if len(snap.Notes.Items)+len(snap.Blocks.Items) == 0 {
				t.Error("nothing to search")
			}
			for _, scope := range []string{"auto", "notes", "blocks"} {
				conforms(t, s, "search_notes", fmt.Sprintf(`{"query":"anything","min_score":-1,"limit":100,"scope":%q}`, scope))
			}
			for i, item := range snap.Notes.Items {
				if i%max(1, len(snap.Notes.Items)/20) != 0 {
					continue
				}
				argument, _ := json.Marshal(item.Path)
				conforms(t, s, "related_notes", fmt.Sprintf(`{"path":%s}`, argument))
				conforms(t, s, "get_note", fmt.Sprintf(`{"path":%s,"max_chars":400000}`, argument))
				checkText(t, s, item.Path)
			}
		})
	}
}

// conforms calls a tool that must succeed.
func conforms(t *testing.T, s *Server, name, arguments string) {
	t.Helper()
	text, isError := callTool(t, s, name, arguments)
	if isError {
		t.Errorf("%s %s: %s", name, arguments, text)
		return
	}
	if name != "get_note" && len(text) > maxAnswer {
		t.Errorf("%s %s: %d bytes", name, arguments, len(text))
	}
	var answer any
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err)
	}
	for _, tool := range everything() {
		if tool.name == name {
			for _, wrong := range conform("$", json.RawMessage(tool.output), answer) {
				t.Errorf("%s %s: %s", name, arguments, wrong)
			}
		}
	}
}

// checkText compares get_note with the file.
func checkText(t *testing.T, s *Server, path string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.vault.Root(), filepath.FromSlash(path)))
	if err != nil {
		return // gone, or to be reached under another spelling only
	}
	out, err := s.Note(t.Context(), NoteInput{Path: path, MaxChars: maxChars})
	if err != nil || out.Text != note.Decode(string(raw)) && !out.Truncated {
		t.Errorf("get_note %q: %v, or another text than on disk", path, err)
	}
}
