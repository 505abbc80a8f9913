package weights

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"smart-connections-mcp/bert"
)

// The shared exporter writes a model as torch and optimum do: every parameter
// comes back to the bit. It needs Node; the exports stage of .ci/run has it.
func TestExporter(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(err)
	}
	script := need(t, "../../shared/bench/export_onnx.mjs")
	for _, name := range []string{"tiny-bert-48", "mini-2l-128", "synth-bge-micro-3l"} {
		t.Run(name, func(t *testing.T) {
			if name == "synth-bge-micro-3l" && os.Getenv("WEIGHTS_EXPORTS") == "" {
				t.Skip("69 MB are written in the exports stage of .ci/run only")
			}
			from, to := need(t, filepath.Join(shared, name)), t.TempDir()
			if out, err := exec.Command(node, script, from, to).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			want, err := Folder(from)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Folder(filepath.Join(to, name))
			if err != nil {
				t.Fatal(err)
			}
			sameParams(t, name, got, want)
			sameVectors(t, got, want)
		})
	}
}

// sameVectors embeds with both.
func sameVectors(t *testing.T, got, want bert.Checkpoint) {
	t.Helper()
	a, b := embedder(t, got), embedder(t, want)
	for _, text := range []string{"", "hello", "How do I prune roses in a cold spring?", strings.Repeat("many words ", 60)} {
		x, err := a.Embed(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		y, err := b.Embed(t.Context(), text)
		if err != nil || !slices.Equal(x, y) {
			t.Errorf("%.20q: other vectors than those of the safetensors (%v)", text, err)
		}
	}
}

func embedder(t *testing.T, c bert.Checkpoint) *bert.Model {
	t.Helper()
	m, err := bert.New(c, bert.Profile{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The exports stage of .ci/run fetches files that other people exported, and
// says with WEIGHTS_EXPORTS in which folder they are.
func fetched(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("WEIGHTS_EXPORTS")
	if dir == "" {
		t.Skip("WEIGHTS_EXPORTS names no folder with fetched exports: .ci/run exports sets it")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// exportFolder is a model folder with a fetched export and the configuration
// and tokenizer of all-MiniLM-L6-v2, with so many layers.
func exportFolder(t *testing.T, export, layers string) string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{configFile, tokenizerFile} {
		data, err := os.ReadFile(filepath.Join(need(t, filepath.Join(shared, "all-MiniLM-L6-v2")), name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = strings.Replace(string(data), `"num_hidden_layers": 6`, `"num_hidden_layers": `+layers, 1)
	}
	dir := write(t, files)
	if err := os.Mkdir(filepath.Join(dir, "onnx"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(export, filepath.Join(dir, filepath.FromSlash(onnxFile))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The export that all-MiniLM-L6-v2 was converted from: the same to the bit.
func TestRealExportWithTwin(t *testing.T) {
	const name = "all-minilm-l6-v2"
	got, err := Folder(exportFolder(t, fetched(t, name+".onnx"), "6"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := Folder(filepath.Join(shared, "all-MiniLM-L6-v2"))
	if err != nil {
		t.Fatal(err)
	}
	sameParams(t, name, got, want)
	sameVectors(t, got, want)
	likeRuntime(t, got, fetched(t, name+".jsonl"))
}

// An export of three layers through a wrapper, with fused layer norms and
// without token types. It has no twin: the runtime says what is right.
func TestRealExportWithoutTwin(t *testing.T) {
	const name = "paraphrase-MiniLM-L3-v2"
	got, err := Folder(exportFolder(t, fetched(t, name+".onnx"), "3"))
	if err != nil {
		t.Fatal(err)
	}
	likeRuntime(t, got, fetched(t, name+".jsonl"))
}

// likeRuntime compares ids and vectors with those that .ci/exports/reference.py
// had from onnxruntime, within the bound of package bert's goldens.
func likeRuntime(t *testing.T, c bert.Checkpoint, reference string) {
	t.Helper()
	const most = 2e-6 // per component
	f, err := os.Open(reference)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := embedder(t, c)
	count, worst := 0, 0.0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for ; lines.Scan(); count++ {
		var want struct {
			Text   string
			IDs    []int
			Vector []float64
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if ids := m.Tokens(want.Text); !slices.Equal(ids, want.IDs) {
			t.Errorf("%.40q: ids %v, want %v", want.Text, ids, want.IDs)
			continue
		}
		got, err := m.Embed(t.Context(), want.Text)
		if err != nil || len(got) != len(want.Vector) {
			t.Errorf("%.40q: %d dims, %v, want %d", want.Text, len(got), err, len(want.Vector))
			continue
		}
		for i, x := range got {
			worst = max(worst, math.Abs(float64(x)-want.Vector[i]))
		}
	}
	if lines.Err() != nil || count < 20 {
		t.Fatalf("%d texts in %s, want some dozens (%v)", count, reference, lines.Err())
	}
	if !(worst <= most) {
		t.Errorf("the worst component is %g off, want at most %g", worst, most)
	}
	t.Logf("%d texts, worst component %.2g off", count, worst)
}
