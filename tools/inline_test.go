package tools

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
)

// An older index with vectors of an API model: what needs no embedder works for
// any number of dimensions, and search_notes says what does.
func TestInlineIndexOfAnAPIModel(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".smart-env", "smart_env.json"), []byte(`{"smart_sources":{"embed_model":{"adapter":"ollama","ollama":{"model_key":"nomic-embed-text"}}}}`))
	for path, vec := range map[string]string{"a.md": "[3,0,0,0,4]", "b.md": "[1,0,0,0,1]", "c.md": "[0,1,0,0,0]"} {
		write(t, filepath.Join(dir, path), []byte("text"))
		write(t, filepath.Join(dir, ".smart-env", "multi", strings.Replace(path, ".", "_", 1)+".ajson"),
			fmt.Appendf(nil, `"smart_sources:%s": {"last_read":{"hash":%q},"embeddings":{"nomic-embed-text":{"vec":%s}}},`, path, note.Hash("text"), vec))
	}
	s := newTestServer(t, dir)
	s.embedder = func(_ context.Context, m smartenv.Model) (Embedder, error) {
		return nil, errors.New(m.Name + " of " + m.Provider)
	}
	s.name = func() (string, bool) { return "", false }
	related, err := s.Related(t.Context(), DefaultRelated("a.md"))
	if err != nil || len(related.Related) != 2 || related.Related[0].Path != "b.md" || related.Related[0].Score != 0.9899 || related.Model != "nomic-embed-text" {
		t.Errorf("related_notes = %+v, %v, want b.md by 0.9899", related, err)
	}
	_, err = s.Search(t.Context(), DefaultSearch("rose"))
	if err == nil || !strings.Contains(err.Error(), "nomic-embed-text of ollama (related_notes, get_note and index_status need no model and still work)") {
		t.Errorf("search_notes = %v", err)
	}
	status := mustStatus(t, s)
	said := strings.Join(status.Warnings, "\n")
	if status.Generation != "inline" || status.Dims != 5 || status.EmbeddedNotes != 3 || !strings.Contains(said, "update the plugin to 4.7") || !strings.Contains(said, "nomic-embed-text of ollama") {
		t.Errorf("index_status: %s, %d dimensions, %d notes, warnings %q", status.Generation, status.Dims, status.EmbeddedNotes, said)
	}
	if strings.Count(said, "update the plugin") != 1 {
		t.Errorf("warnings %q, want the advice once", said)
	}
}
