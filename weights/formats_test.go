package weights

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"smart-connections-mcp/bert"
)

// onnxModel is the tiny model's files with its ONNX export for weights, which
// other people's code wrote; change is as for model.
func onnxModel(t *testing.T, change map[string]string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(tiny, filepath.FromSlash(onnxFile)))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{weightsFile: "", onnxFile: string(data)}
	for name, text := range change {
		all[name] = text
	}
	return model(t, all)
}

// sameParams compares the values of two checkpoints' parameters. A square matrix
// that is another or lies transposed shows nowhere else.
func sameParams(t *testing.T, what string, got, want bert.Checkpoint) {
	t.Helper()
	checkShapes(t, got)
	for name, p := range want.Params {
		g := got.Params[name]
		if g == nil || !slices.Equal(wide(g), wide(p)) {
			t.Errorf("%s: %s differs", what, name)
		}
	}
}

func TestONNXEqualsSafetensors(t *testing.T) {
	want, err := Folder(tiny)
	if err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string]map[string]string{
		"onnx/model.onnx": onnxModel(t, nil),
		"model.onnx":      onnxModel(t, map[string]string{onnxFile: "", flatONNXFile: onnxModel(t, nil)[onnxFile]}),
	} {
		got, err := Folder(write(t, files))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sameParams(t, name, got, want)
	}
}

// Safetensors wins where both are there, and the other file is not even opened.
func TestSafetensorsBeforeONNX(t *testing.T) {
	want, err := Folder(tiny)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Folder(write(t, model(t, map[string]string{onnxFile: "damaged", flatONNXFile: "damaged"})))
	if err != nil {
		t.Fatal(err)
	}
	sameParams(t, "both", got, want)
	_, err = Folder(write(t, onnxModel(t, map[string]string{weightsFile: "damaged"})))
	expect(t, "damaged safetensors beside ONNX", err, weightsFile, "too few")
}

// A model that was fetched as ONNX is checked at each load like any other.
func TestONNXDigestAtLoad(t *testing.T) {
	files := onnxModel(t, nil)
	sums := map[string]string{}
	for name, text := range files {
		sums[name] = sha256Of(text)
	}
	for name, change := range map[string]func(b []byte) []byte{
		"a value": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"the end": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"cut":     func(b []byte) []byte { return b[:len(b)-1] },
		"longer":  func(b []byte) []byte { return append(b, 0) },
	} {
		b := change([]byte(files[onnxFile]))
		_, err := folder{files: os.DirFS(write(t, onnxModel(t, map[string]string{onnxFile: string(b)}))), sums: sums}.load()
		expect(t, name, err, onnxFile, "damaged", sums[onnxFile], sha256Of(string(b)))
	}
	// What was not recorded is not taken, whatever its name.
	got, err := folder{files: os.DirFS(write(t, onnxModel(t, map[string]string{weightsFile: "foisted"}))), sums: sums}.load()
	if err != nil {
		t.Errorf("a safetensors file that nobody fetched: %v", err)
	}
	checkShapes(t, got)
}

// predecessor fills a cache as the Node predecessor does.
func predecessor(t *testing.T, s Source, files map[string]string) (dir string) {
	t.Helper()
	dir = filepath.Join(s.CacheDir, filepath.FromSlash(testModel))
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPredecessorsCache(t *testing.T) {
	want, err := Folder(tiny)
	if err != nil {
		t.Fatal(err)
	}
	h := newFakeHub(t, model(t, nil))
	s := h.source(t)
	dir := predecessor(t, s, onnxModel(t, nil))
	for range 2 {
		got, err := s.Load(t.Context(), testModel)
		if err != nil {
			t.Fatal(err)
		}
		sameParams(t, "the predecessor's cache", got, want)
		if got.Name != testModel {
			t.Errorf("name %q, want %q", got.Name, testModel)
		}
	}
	if asked := h.asked(); len(asked) != 0 {
		t.Errorf("requests %q, want none: the model is at hand", asked)
	}
	var left []string
	filepath.WalkDir(s.CacheDir, func(path string, e os.DirEntry, _ error) error {
		if !e.IsDir() {
			left = append(left, filepath.ToSlash(strings.TrimPrefix(path, dir)))
		}
		return nil
	})
	if got, want := strings.Join(left, " "), "/config.json /onnx/model.onnx /tokenizer.json"; got != want {
		t.Errorf("the cache holds %s, want %s: nothing is to be written", got, want)
	}
	// What this program fetched itself comes first.
	own, _ := s.modelDir(testModel)
	other := s
	other.CacheDir = t.TempDir()
	if _, err := other.Load(t.Context(), testModel); err != nil {
		t.Fatal(err)
	}
	fetched, _ := other.modelDir(testModel)
	if err := os.CopyFS(own, os.DirFS(fetched)); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(dir, configFile), []byte("{"), 0o644)
	if _, err := s.Load(t.Context(), testModel); err != nil {
		t.Errorf("with a cache of its own: %v", err)
	}
}

// A predecessor's copy that is not whole is not taken: the log says why, and the
// model is fetched.
func TestPredecessorsCacheUnsound(t *testing.T) {
	good := onnxModel(t, nil)
	at := len(good[onnxFile]) / 2
	for _, c := range []struct {
		name   string
		change map[string]string
		want   string // in the log and, offline, in the error
	}{
		{"damaged", map[string]string{onnxFile: good[onnxFile][:at]}, "cut short"},
		{"a value that is none", map[string]string{onnxFile: good[onnxFile][:at&^3] + "\xff\xff\xff\xff\xff\xff\xff\xff" + good[onnxFile][at&^3+8:]}, "NaN"},
		{"only quantised", map[string]string{onnxFile: "", quantisedFile: good[onnxFile]}, "quantised"},
		{"no weights", map[string]string{onnxFile: ""}, "no onnx/model.onnx"},
		{"no tokenizer", map[string]string{tokenizerFile: ""}, "no tokenizer.json"},
		{"no config", map[string]string{configFile: ""}, "no config.json"},
		{"another model's config", map[string]string{configFile: strings.Replace(good[configFile], `"num_hidden_layers": 3`, `"num_hidden_layers": 2`, 1)}, "no place"},
	} {
		h := newFakeHub(t, model(t, nil))
		s := h.source(t)
		var log strings.Builder
		s.Log = slog.New(slog.NewTextHandler(&log, nil))
		dir := predecessor(t, s, onnxModel(t, c.change))
		if _, err := s.Load(t.Context(), testModel); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := names(t, s); got != h.complete() {
			t.Errorf("%s: the cache holds %s, want what was fetched", c.name, got)
		}
		if !strings.Contains(log.String(), c.want) || !strings.Contains(log.String(), testModel) {
			t.Errorf("%s: the log says %q, want %q", c.name, log.String(), c.want)
		}
		own, _ := s.modelDir(testModel)
		os.RemoveAll(own)
		h.Close()
		_, err := s.Load(t.Context(), testModel)
		expect(t, c.name+", offline", err, c.want, dir, "no answer", "SMART_MODEL_PATH")
	}
}

// The name is part of a path: none may lead out of the cache.
func TestPredecessorsNames(t *testing.T) {
	h := newFakeHub(t, nil)
	s := h.source(t)
	outside := s.CacheDir
	s.CacheDir = filepath.Join(outside, "cache", "deep")
	predecessor(t, Source{CacheDir: outside}, onnxModel(t, nil))
	for _, name := range []string{"../../" + testModel, "..", "owner/../../../" + testModel, filepath.ToSlash(outside) + "/" + testModel, `..\..\owner/tiny-bert`} {
		if _, err := s.Load(t.Context(), name); err == nil || !strings.Contains(err.Error(), "owner/model") {
			t.Errorf("Load(%q) = %v, want it refused as a name", name, err)
		}
	}
	s.CacheDir = outside
	if _, err := s.Load(t.Context(), testModel); err != nil {
		t.Errorf("the copy that was not to be reached is none: %v", err)
	}
}

// Of a model whose revision is fixed, the predecessor's copy may be another.
func TestPredecessorsPinned(t *testing.T) {
	h := newFakeHub(t, model(t, nil))
	s := h.source(t)
	s.pins = map[string]pin{testModel: {revision: "feedbeef"}}
	predecessor(t, s, onnxModel(t, nil))
	if _, err := s.Load(t.Context(), testModel); err != nil || len(h.asked()) != 4 {
		t.Errorf("Load = %v with requests %q, want the pinned revision fetched", err, h.asked())
	}
	h.Close()
	s.CacheDir = t.TempDir()
	dir := predecessor(t, s, onnxModel(t, nil))
	_, err := s.Load(context.Background(), testModel)
	expect(t, "offline", err, "feedbeef", dir, "SMART_MODEL_PATH")
}
