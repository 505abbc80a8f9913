package tools

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"smart-connections-mcp/simd"
	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
)

func TestMain(m *testing.M) {
	if err := simd.Use(os.Getenv("SMART_SIMD")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// The test model has one axis for each of these words. A text's vector counts
// them, so scores can be worked out by hand: "rose" against "rose kiln" is
// 1/√2. A text without any of them lies on the last axis alone.
var axes = []string{"rose", "kiln", "ferry", "compost", "invoice", "tax", "soup"}

var testModel = smartenv.Model{Provider: "transformers", Name: "test/axes", Dims: 8, MaxTokens: 512}

// wordEmbedder is the test model. Its zero value is ready.
type wordEmbedder struct{}

func (wordEmbedder) Embed(_ context.Context, text string) ([]float32, error) {
	v := make([]float32, testModel.Dims)
	var sum float64
	for i, word := range axes {
		n := strings.Count(strings.ToLower(text), word)
		v[i] = float32(n)
		sum += float64(n * n)
	}
	if sum == 0 {
		v[len(axes)], sum = 1, 1
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v, nil
}

// EmbedDocument embeds what stands below the breadcrumbs, of which writeVault knows
// nothing.
func (e wordEmbedder) EmbedDocument(ctx context.Context, text string) ([]float32, error) {
	_, body, _ := strings.Cut(text, "\n")
	return e.Embed(ctx, body)
}

// A testNote is a note of a vault for tests.
type testNote struct {
	path, text string
	now        string // the text on disk, when it has changed since; "-" when it is gone
	unindexed  bool   // not in the index
}

// vaultNotes is the vault of most tests. Sections are long enough for the
// plugin to embed them (200 characters).
func vaultNotes() []testNote {
	return []testNote{
		{path: "Garden/Roses.md", text: "# Roses\n\n## Pruning\n" + para("Cut the rose in March", 230) + "\n\n## Feeding\n" + para("Give compost to the rose", 230) + "\n"},
		{path: "Garden/Compost.md", text: "# Compost\n" + para("Turn the compost heap", 260) + "\n"},
		{path: "Workshop/Kiln.md", text: "---\nsource: " + para("soup for the potter", 220) + "\n---\n# Kiln\n" + para("Fire the kiln slowly", 240) + "\n"},
		{path: "Workshop/Glaze.md", text: "# Glaze\n" + para("A glaze for the kiln with compost ash", 240) + "\n", now: "# Glaze\n" + para("A glaze of another kind", 240) + "\n"},
		{path: "Journey/Ferry.md", text: "# Ferry\n" + para("The ferry leaves at nine", 240) + "\n"},
		{path: "Journey/Old ferry.md", text: "# Old\n" + para("The ferry of last year", 240) + "\n", now: "-"},
		{path: "Office/Tax.md", text: "# Tax\n" + para("The invoice is for the tax office", 240) + "\n"},
		{path: "Short.md", text: "# Short\nsoup\n"},
	}
}

// para repeats a sentence up to at least n characters.
func para(sentence string, n int) string {
	return strings.TrimSpace(strings.Repeat(sentence+". ", n/(len(sentence)+2)+1))
}

// writeVault writes notes and their packed index into a new folder and returns
// it.
func writeVault(t testing.TB, notes []testNote) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "Test vault")
	var log, noteRows, blockRows bytes.Buffer
	name := testModel.Fingerprint()
	vector := func(file *bytes.Buffer, text, hash string) map[string]any {
		v, _ := wordEmbedder{}.Embed(t.Context(), text)
		row := file.Len() / (4 * testModel.Dims)
		binary.Write(file, binary.LittleEndian, v)
		return map[string]any{"history": []any{}, "default": map[string]any{
			name: map[string]any{"file": name, "file_i": row, "read_hash": hash, "at": 1},
		}}
	}
	rules := note.Rules{MinChars: 200, MaxTokens: testModel.MaxTokens}
	for _, n := range notes {
		if n.now != "-" {
			text := n.text
			if n.now != "" {
				text = n.now
			}
			write(t, filepath.Join(dir, filepath.FromSlash(n.path)), []byte(text))
		}
		if n.unindexed {
			continue
		}
		hash := note.Hash(n.text)
		record := map[string]any{
			"path": n.path, "last_read": map[string]any{"hash": hash, "at": 1},
			"last_import": map[string]any{"mtime": 1, "size": len(n.text), "at": 1, "hash": hash},
		}
		if len(n.text) > 200 {
			record["embedding"] = vector(&noteRows, n.text, hash)
		}
		blocks := map[string]any{}
		for _, b := range note.Parse(n.path, n.text, rules).Blocks {
			block := map[string]any{
				"key": n.path + b.Key, "lines": []int{b.Start, b.End}, "size": b.Size, "should_embed": b.ShouldEmbed,
				"last_read": map[string]any{"hash": b.Hash, "at": 1},
			}
			if b.ShouldEmbed {
				text, _ := note.BlockText(n.text, b.Start, b.End)
				block["embedding"] = vector(&blockRows, text, b.Hash)
			}
			blocks[b.Key] = block
		}
		record["blocks_data"] = blocks
		line, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		key, _ := json.Marshal("smart_sources:" + n.path)
		fmt.Fprintf(&log, "%s: %s,\n", key, line)
	}
	env := filepath.Join(dir, ".smart-env")
	write(t, filepath.Join(env, "smart_env.json"), []byte(`{"smart_blocks":{"embed_blocks":true,"min_chars":200},"smart_sources":{"min_chars":200},"embedding_models":{"default_model_key":"transformers#1"}}`))
	write(t, filepath.Join(env, "embedding_models", "embedding_models.ajson"), []byte(`"embedding_models:transformers#1": {"provider_key":"transformers","model_key":"test/axes","dims":8,"max_tokens":512,"api_key":"sk-must-never-be-shown","key":"transformers#1"},`))
	write(t, filepath.Join(env, "smart_sources", "smart_sources.ajson"), log.Bytes())
	write(t, filepath.Join(env, "smart_sources", name), noteRows.Bytes())
	write(t, filepath.Join(env, "smart_blocks", name), blockRows.Bytes())
	return dir
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// copyTree copies the files below one folder over those of another.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		write(t, filepath.Join(to, below), data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// newTestServer serves the vault at dir with the test model.
func newTestServer(t testing.TB, dir string) *Server {
	t.Helper()
	v, err := note.OpenVault(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return New(Config{
		Vault:        v,
		Index:        smartenv.Open(v, smartenv.Options{Recheck: 10 * time.Millisecond}),
		Embedder:     func(context.Context, smartenv.Model) (Embedder, error) { return wordEmbedder{}, nil },
		EmbedderName: func() (string, bool) { return testModel.Name, true },
		Version:      "test",
	})
}

// serverOf serves a new vault of these notes.
func serverOf(t testing.TB, notes []testNote) *Server {
	t.Helper()
	return newTestServer(t, writeVault(t, notes))
}

// call runs a tool as a client does and returns the text of its answer and
// whether it is an error.
func callTool(t testing.TB, s *Server, name, arguments string) (text string, isError bool) {
	t.Helper()
	for _, tool := range everything() {
		if tool.name != name {
			continue
		}
		answer, err := s.answer(t.Context(), t.Context(), tool, []byte(arguments))
		if err != nil {
			return err.Error(), true
		}
		data, err := encode(answer)
		if err != nil {
			t.Fatal(err)
		}
		return string(data), false
	}
	t.Fatalf("no tool %q", name)
	return "", false
}
