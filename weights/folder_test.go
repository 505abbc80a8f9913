package weights

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"smart-connections-mcp/bert"
	"smart-connections-mcp/simd"
	"smart-connections-mcp/weights/builtin"
	"smart-connections-mcp/weights/values"
)

const (
	tiny   = "../testdata/models/tiny-bert-48" // F16, with position ids
	shared = "../../shared/models"
)

// need skips the test when shared data is missing, which CI does not allow.
func need(t *testing.T, path string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v, but CI=true", err)
		}
		t.Skipf("not on this machine: %v", err)
	}
	return path
}

// checkShapes compares a checkpoint's parameters with its configuration.
func checkShapes(t *testing.T, c bert.Checkpoint) {
	t.Helper()
	want := c.Config.Shapes()
	if got, want := len(c.Params), len(want); got != want || got == 0 {
		t.Errorf("%d parameters, want %d", got, want)
	}
	for name, shape := range want {
		p := c.Params[name]
		if p == nil || !slices.Equal([]int(p.Shape()), shape) {
			t.Errorf("%s is %v, want shape %v", name, p, shape)
			continue
		}
		if n := valuesOf(p).Len(); n != p.Shape().TotalSize() {
			t.Errorf("%s has %d values of %v", name, n, p.Dtype())
		}
	}
}

// valuesOf is a parameter's values; none when they are of no type that may be.
func valuesOf(p *tensor.Dense) values.Slice {
	floats, _ := p.Data().([]float32)
	halves, _ := p.Data().([]uint16)
	return values.Slice{Floats: floats, Halves: halves}
}

// wide is a parameter's values as float32.
func wide(p *tensor.Dense) []float32 {
	v := valuesOf(p)
	floats := make([]float32, v.Len())
	copy(floats, v.Floats)
	simd.Widen(floats[len(v.Floats):], v.Halves)
	return floats
}

func TestModels(t *testing.T) {
	for _, c := range []struct {
		name                  string
		layers, hidden, vocab int
	}{
		{"tiny-bert-48", 3, 48, 1000},
		{"mini-2l-128", 2, 128, 12000},
		{"synth-bge-micro-3l", 3, 384, 30522},
		{"all-MiniLM-L6-v2", 6, 384, 30522}, // its tokenizer.json asks for truncation and padding
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Folder(need(t, filepath.Join(shared, c.name)))
			if err != nil {
				t.Fatal(err)
			}
			checkShapes(t, m)
			if m.Name != c.name || m.Config.Layers != c.layers || m.Config.Hidden != c.hidden || len(m.Vocabulary.Tokens) != c.vocab {
				t.Errorf("Folder = %s, %d layers, %d dims, %d tokens, want %v", m.Name, m.Config.Layers, m.Config.Hidden, len(m.Vocabulary.Tokens), c)
			}
		})
	}
}

// unpacked is the built-in model as a folder.
func unpacked(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "builtin")
	if err := os.CopyFS(dir, builtin.FS()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestBuiltin(t *testing.T) {
	m, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	checkShapes(t, m)
	if m.Name != builtin.Name || m.Config.Hidden != 128 {
		t.Errorf("Builtin = %s with %d dims, want %s with 128", m.Name, m.Config.Hidden, builtin.Name)
	}
	// The same files as a folder are the same model.
	f, err := Folder(unpacked(t))
	if err != nil {
		t.Fatal(err)
	}
	sameParams(t, "Builtin", m, f)
}

// The weights are unpacked as they are decoded, not as a whole.
func TestBuiltinIsNotCopied(t *testing.T) {
	want := map[string][]int{"embeddings.word_embeddings.weight": {12000, 128}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, size, err := folder{files: builtin.FS()}.open(weightsFile, maxWeights)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	entries, err := readHeader(f, size)
	if err != nil {
		t.Fatal(err)
	}
	into := values.F16.Make(12000 * 128)
	if err := values.F16.Read(f, into, make([]byte, values.Chunk)); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	got, needed := int(after.TotalAlloc-before.TotalAlloc), 2*into.Len()
	if got > needed+1<<20 {
		t.Errorf("decoding %v of %d entries allocated %d bytes, want about %d", want, len(entries), got, needed)
	}
}

// write fills a new folder with files.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// model is the tiny model's files, changed: "" removes one.
func model(t *testing.T, change map[string]string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{configFile, tokenizerFile, weightsFile} {
		data, err := os.ReadFile(filepath.Join(tiny, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(data)
	}
	maps.Copy(files, change)
	maps.DeleteFunc(files, func(_, text string) bool { return text == "" })
	return files
}

// vocab is the tiny model's vocab.txt.
func vocab(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(tiny, vocabFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestFolderWithVocabulary(t *testing.T) {
	for _, config := range []string{"", `{"do_lower_case": true}`} {
		m, err := Folder(write(t, model(t, map[string]string{tokenizerFile: "", vocabFile: vocab(t), tokenizerConfigFile: config})))
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Vocabulary.Tokens) != 1000 || !m.Vocabulary.Lowercase {
			t.Errorf("with %q: %d tokens, lower case %v", config, len(m.Vocabulary.Tokens), m.Vocabulary.Lowercase)
		}
	}
}

func TestFolderErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change map[string]string
		want   []string
	}{
		{"no config", map[string]string{configFile: ""}, []string{"no config.json", `"model.safetensors", "tokenizer.json"`}},
		{"no tokenizer", map[string]string{tokenizerFile: ""}, []string{"no tokenizer.json", `"config.json", "model.safetensors"`, "vocab.txt"}},
		{"no weights", map[string]string{weightsFile: ""}, []string{"no model.safetensors", `"config.json", "tokenizer.json"`, "or onnx/model.onnx"}},
		{"only quantised ONNX", map[string]string{weightsFile: "", quantisedFile: "x"}, []string{"no model.safetensors", `"config.json", "onnx/", "tokenizer.json"`, "there is onnx/model_quantized.onnx", "quantised"}},
		{"not ONNX", map[string]string{weightsFile: "", onnxFile: "<html>"}, []string{"onnx/model.onnx: ", "not an ONNX file"}},
		{"not ONNX, beside the others", map[string]string{weightsFile: "", flatONNXFile: "version https://git-lfs"}, []string{"model.onnx: ", "not an ONNX file"}},
		{"broken config", map[string]string{configFile: "{"}, []string{"config.json: "}},
		{"another architecture", map[string]string{configFile: `{"model_type":"roberta"}`}, []string{"config.json", "roberta"}},
		{"broken tokenizer", map[string]string{tokenizerFile: "<html>"}, []string{"tokenizer.json: "}},
		{"broken tokenizer_config", map[string]string{tokenizerFile: "", vocabFile: vocab(t), tokenizerConfigFile: "["}, []string{"tokenizer_config.json: "}},
		{"not safetensors", map[string]string{weightsFile: "version https://git-lfs.github.com/spec/v1\noid sha256:x\nsize 5\n"}, []string{"model.safetensors: ", "not a safetensors file"}},
		{"another model's tokenizer", map[string]string{tokenizerFile: "", vocabFile: vocab(t) + "more\n"}, []string{"1001", "1000", "different models"}},
	} {
		dir := write(t, model(t, c.change))
		_, err := Folder(dir)
		for _, part := range append(c.want, dir) {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: Folder = %v, want error with %q", c.name, err, part)
			}
		}
		if err != nil && strings.Count(err.Error(), "config.json: ") > 1 {
			t.Errorf("%s: %v says the file's name twice", c.name, err)
		}
	}
}

func TestFolderIsNone(t *testing.T) {
	file := filepath.Join(tiny, configFile)
	for path, part := range map[string]string{
		filepath.Join(t.TempDir(), "absent"): "no such file",
		file:                                 "not a folder",
		t.TempDir():                          "the folder is empty",
	} {
		if runtime.GOOS == "windows" && part == "no such file" {
			part = "absent: " // each version has words of its own
		}
		_, err := Folder(path)
		if err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "model.safetensors") {
			t.Errorf("Folder(%s) = %v, want error with %q and the files it needs", path, err, part)
		}
	}
	if _, err := Folder(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Folder(absent) = %v, want fs.ErrNotExist", err)
	}
}

func TestLongListing(t *testing.T) {
	files := map[string]string{}
	for i := range 14 {
		files[fmt.Sprintf("f%02d", i)] = "x"
	}
	_, err := Folder(write(t, files))
	if err == nil || !strings.Contains(err.Error(), `"f11", and 2 more`) || strings.Contains(err.Error(), "f12") {
		t.Errorf("Folder = %v, want 12 names and how many more", err)
	}
}

// D2: a file of the cache that has changed is named, whatever the change.
func TestDigestsAtLoad(t *testing.T) {
	files := model(t, nil)
	sums := map[string]string{}
	for name, text := range files {
		sums[name] = sha256Of(text)
	}
	flip := func(name string, at int) map[string]string {
		b := []byte(files[name])
		b[at] ^= 1
		return map[string]string{name: string(b)}
	}
	end := len(files[weightsFile]) - 1
	for _, c := range []struct {
		name   string
		change map[string]string
		file   string // named in the error; "" = loads
	}{
		{"unchanged", nil, ""},
		{"config", map[string]string{configFile: files[configFile] + " "}, configFile},
		{"tokenizer", map[string]string{tokenizerFile: files[tokenizerFile] + " "}, tokenizerFile},
		{"header length", flip(weightsFile, 0), weightsFile},
		{"header", flip(weightsFile, 20), weightsFile},
		{"a value", flip(weightsFile, end/2), weightsFile},
		{"the last value", flip(weightsFile, end), weightsFile},
		{"cut", map[string]string{weightsFile: files[weightsFile][:end]}, weightsFile},
		{"longer", map[string]string{weightsFile: files[weightsFile] + "x"}, weightsFile},
	} {
		m, err := folder{files: os.DirFS(write(t, model(t, c.change))), sums: sums}.load()
		if c.file == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			checkShapes(t, m)
			continue
		}
		if !errors.Is(err, errChanged) || !strings.HasPrefix(err.Error(), c.file) || !strings.Contains(err.Error(), sums[c.file]) {
			t.Errorf("%s: load = %v, want %s named as damaged", c.name, err, c.file)
		}
	}
}

// BenchmarkFolder is the whole way from files to parameters.
func BenchmarkFolder(b *testing.B) {
	for _, dir := range []string{unpacked(b), shared + "/synth-bge-micro-3l", shared + "/all-MiniLM-L6-v2"} {
		info, err := os.Stat(filepath.Join(dir, weightsFile))
		if err != nil {
			continue
		}
		b.Run("model="+filepath.Base(dir), func(b *testing.B) {
			b.SetBytes(info.Size())
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Folder(dir); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
