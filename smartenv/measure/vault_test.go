package measure

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// shared returns the path of shared test data. Without it the test is skipped,
// but in CI it fails.
func shared(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return path
}

// fakeModel has a cap of floor(3.7 × 64) = 236 UTF-16 units.
var fakeModel = smartenv.Model{Provider: "transformers", Name: "test/axes", Dims: 4, MaxTokens: 64}

// A fakeNote is a note with the vectors that its index holds.
type fakeNote struct {
	path, text string
	now        string // the text on disk, when it is not the indexed one; "-" when there is no file
	vector     []float32
	blocks     []fakeBlock
	noRecord   bool
	hash       string // that the index has of the note; "" for the true one
}

// A fakeBlock is a block of the indexed text at these lines.
type fakeBlock struct {
	key        string
	start, end int
	vector     []float32
}

func axis(values ...float32) []float32 {
	v := make([]float32, fakeModel.Dims)
	copy(v, values)
	return v
}

// fakeVault writes notes and their packed index, with headings that the settings
// exclude, and returns its folder.
func fakeVault(t *testing.T, excludedHeadings string, notes ...fakeNote) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fingerprint := fakeModel.Fingerprint()
	embedding := func(rows *bytes.Buffer, vector []float32, hash string) map[string]any {
		row := rows.Len() / (4 * fakeModel.Dims)
		binary.Write(rows, binary.LittleEndian, vector)
		return map[string]any{"default": map[string]any{fingerprint: map[string]any{"file": fingerprint, "file_i": row, "read_hash": hash, "at": 1}}}
	}
	var log, noteRows, blockRows bytes.Buffer
	for _, n := range notes {
		switch n.now {
		case "":
			write(n.path, n.text)
		case "-":
		default:
			write(n.path, n.now)
		}
		if n.noRecord {
			continue
		}
		hash := cmp.Or(n.hash, note.Hash(n.text))
		record := map[string]any{"last_read": map[string]any{"hash": hash, "at": 1}}
		if n.vector != nil {
			record["embedding"] = embedding(&noteRows, n.vector, hash)
		}
		blocks := map[string]any{}
		for _, b := range n.blocks {
			text, ok := note.BlockText(note.Body(n.path, n.text), b.start, b.end)
			if !ok {
				t.Fatalf("%s has no lines %d to %d", n.path, b.start, b.end)
			}
			blocks[b.key] = map[string]any{
				"lines": []int{b.start, b.end}, "last_read": map[string]any{"hash": note.Hash(text), "at": 1},
				"should_embed": true, "embedding": embedding(&blockRows, b.vector, note.Hash(text)),
			}
		}
		record["blocks_data"] = blocks
		value, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&log, "%q: %s,\n", "smart_sources:"+n.path, value)
	}
	write(".smart-env/smart_env.json", fmt.Sprintf(`{"embedding_models":{"default_model_key":"m#1"},"smart_sources":{"excluded_headings":%q}}`, excludedHeadings))
	write(".smart-env/embedding_models/embedding_models.ajson", fmt.Sprintf(
		`"embedding_models:m#1": {"provider_key":%q,"model_key":%q,"dims":%d,"max_tokens":%d,"created_at":1},`,
		fakeModel.Provider, fakeModel.Name, fakeModel.Dims, fakeModel.MaxTokens))
	write(".smart-env/smart_sources/smart_sources.ajson", strings.TrimSuffix(log.String(), "\n"))
	write(".smart-env/smart_sources/"+fingerprint, noteRows.String())
	write(".smart-env/smart_blocks/"+fingerprint, blockRows.String())
	return dir
}

// subject opens the vault at dir; without functions there is no model.
func subject(t *testing.T, dir string, m Model) Subject {
	t.Helper()
	v, err := note.OpenVault(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return Subject{
		Vault: v,
		Index: smartenv.Open(v, smartenv.Options{}),
		Load: func(context.Context, smartenv.Model) (Model, error) {
			if m.Fit == nil {
				return m, errors.New("no weights here")
			}
			return m, nil
		},
		Steps: func(*smartenv.Snapshot) []Step { return nil },
	}
}

func run(t *testing.T, s Subject, o Options) Report {
	t.Helper()
	r, err := Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
