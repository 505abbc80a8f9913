package weights

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"smart-connections-mcp/weights/builtin"
)

// The places are asked in order, and none after the one that has the model.
func TestOrder(t *testing.T) {
	h := newFakeHub(t, model(t, nil))
	s := h.source(t)

	path := s
	path.ModelPath = unpacked(t)
	if m, err := path.Load(t.Context(), testModel); err != nil || m.Name != testModel || m.Config.Hidden != 128 {
		t.Errorf("with ModelPath: Load = %s, %d dims, %v, want the folder's model under the name asked for", m.Name, m.Config.Hidden, err)
	}
	path.ModelPath = filepath.Join(s.CacheDir, "absent")
	if _, err := path.Load(t.Context(), testModel); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("with a wrong ModelPath: Load = %v, want an error that names it", err)
	}
	if m, err := s.Load(t.Context(), builtin.Name); err != nil || m.Name != builtin.Name {
		t.Errorf("Load(%s) = %s, %v", builtin.Name, m.Name, err)
	}
	if got := h.asked(); len(got) != 0 {
		t.Errorf("requests %q, want none so far", got)
	}
	for range 2 {
		if m, err := s.Load(t.Context(), testModel); err != nil || m.Config.Hidden != 48 {
			t.Errorf("Load = %d dims, %v, want the hub's model", m.Config.Hidden, err)
		}
	}
	if got := h.asked(); len(got) != 4 {
		t.Errorf("%d requests, want 4: the second load finds the cache", len(got))
	}
}

// The built-in model answers for its own name and for no other.
func TestBuiltinStandsInForNobody(t *testing.T) {
	for _, name := range []string{"", "builtin", "mini-2l-128", "builtin/mini-2l-128 ", "Builtin/mini-2l-128", "builtin/other", testModel} {
		h := newFakeHub(t, nil)
		if m, err := h.source(t).Load(t.Context(), name); err == nil {
			t.Errorf("Load(%q) = %s, want an error", name, m.Name)
		}
	}
}

func TestModelNames(t *testing.T) {
	s := Source{CacheDir: "cache"}
	for name, want := range map[string]string{
		"TaylorAI/bge-micro-v2":                "TaylorAI--bge-micro-v2",
		"onnx-community/granite_97m.v2-ONNX":   "onnx-community--granite_97m.v2-ONNX",
		"sentence-transformers/all-MiniLM-L6":  "sentence-transformers--all-MiniLM-L6",
		"":                                     "",
		"bge-micro-v2":                         "",
		"a/b/c":                                "",
		"../etc":                               "",
		"a/..":                                 "",
		"a/b..c":                               "",
		"a/.hidden":                            "",
		"-a/b":                                 "",
		"a--b/c":                               "",
		"a/b--c":                               "",
		`a\b`:                                  "",
		"a/b?x":                                "",
		"a/b#x":                                "",
		"a/b%2e":                               "",
		"a/b c":                                "",
		"a/b\n":                                "",
		"C:/x":                                 "",
		"/a":                                   "",
		"a/" + strings.Repeat("x", 97):         "",
		"https://huggingface.co/BAAI/bge-base": "",
	} {
		dir, err := s.modelDir(name)
		if want == "" && (err == nil || !strings.Contains(err.Error(), "owner/model")) {
			t.Errorf("modelDir(%q) = %s, %v, want an error that says the form", name, dir, err)
		}
		if want != "" && (err != nil || dir != filepath.Join("cache", "models", want)) {
			t.Errorf("modelDir(%q) = %s, %v, want %s", name, dir, err, want)
		}
	}
	_, err := Source{}.Load(t.Context(), testModel)
	expect(t, "no cache folder", err, testModel, "SMART_MODEL_CACHE", "SMART_MODEL_PATH")
}

func TestCacheDir(t *testing.T) {
	abs := func(parts ...string) string { // an absolute path on the system of the test
		root := "/"
		if runtime.GOOS == "windows" {
			root = `C:\`
		}
		return root + filepath.Join(parts...)
	}
	home, xdg, local := abs("home", "u"), abs("xdg"), abs("local")
	for _, c := range []struct {
		goos string
		env  map[string]string
		want string // "" = an error
	}{
		{"linux", map[string]string{"HOME": home}, filepath.Join(home, ".cache", cacheName)},
		{"linux", map[string]string{"HOME": home, "XDG_CACHE_HOME": xdg}, filepath.Join(xdg, cacheName)},
		{"linux", map[string]string{"HOME": home, "XDG_CACHE_HOME": "relative"}, filepath.Join(home, ".cache", cacheName)},
		{"linux", map[string]string{"HOME": home, "LOCALAPPDATA": local}, filepath.Join(home, ".cache", cacheName)},
		{"darwin", map[string]string{"HOME": home}, filepath.Join(home, ".cache", cacheName)},
		{"windows", map[string]string{"LOCALAPPDATA": local, "USERPROFILE": home}, filepath.Join(local, cacheName)},
		{"windows", map[string]string{"USERPROFILE": home}, filepath.Join(home, ".cache", cacheName)},
		{"windows", map[string]string{"LOCALAPPDATA": local, "XDG_CACHE_HOME": xdg}, filepath.Join(xdg, cacheName)},
		{"linux", nil, ""},
		{"linux", map[string]string{"HOME": "relative"}, ""},
		{"windows", map[string]string{"HOME": home}, ""},
	} {
		got, err := cacheDir(c.goos, func(name string) string { return c.env[name] })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("cacheDir(%s, %v) = %q, %v, want %q", c.goos, c.env, got, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), "SMART_MODEL_CACHE") {
			t.Errorf("cacheDir(%s, %v) = %v, want the way out", c.goos, c.env, err)
		}
	}
}

// D2, D3: a file of the cache that changed is named, with the way out; one that is gone is fetched again.
func TestDamagedCache(t *testing.T) {
	h := newFakeHub(t, model(t, nil))
	s := h.source(t)
	if _, err := s.Load(t.Context(), testModel); err != nil {
		t.Fatal(err)
	}
	dir, _ := s.modelDir(testModel)
	for _, name := range []string{configFile, tokenizerFile, weightsFile} {
		path := filepath.Join(dir, name)
		b := []byte(h.files[name])
		b[len(b)/2] ^= 4
		os.WriteFile(path, b, 0o644)
		_, err := s.Load(t.Context(), testModel)
		expect(t, name, err, name, "damaged", "delete the folder "+dir)
		os.Remove(path)
		if _, err := s.Load(t.Context(), testModel); err != nil {
			t.Errorf("%s deleted: %v", name, err)
		}
	}
	os.WriteFile(filepath.Join(dir, sumsFile), []byte("garbage"), 0o644)
	if _, err := s.Load(t.Context(), testModel); err != nil {
		t.Errorf("with a damaged record: %v", err)
	}
}

func TestProgress(t *testing.T) {
	h := newFakeHub(t, model(t, nil))
	var out bytes.Buffer
	p := progress{w: &out, what: "owner/model model.safetensors"}
	p.at(500_000, 4_000_000)
	p.at(600_000, 4_000_000) // too soon
	p.end(4_000_000, 4_000_000)
	want := "\rowner/model model.safetensors  0.5 of 4.0 MB (12 %) \rowner/model model.safetensors  4.0 of 4.0 MB (100 %) \n"
	if out.String() != want {
		t.Errorf("progress wrote %q, want %q", out.String(), want)
	}
	s := h.source(t)
	s.Progress = &out
	out.Reset()
	if _, err := s.Load(t.Context(), testModel); err != nil || !strings.Contains(out.String(), testModel+" "+weightsFile) {
		t.Errorf("Load wrote %q to Progress (%v)", out.String(), err)
	}
}

func TestPins(t *testing.T) {
	for name, p := range knownPins() {
		if !hubName.MatchString(name) || p.revision != "" && !isHex(p.revision, 40) {
			t.Errorf("pin of %q at %q is no commit of a model", name, p.revision)
		}
		for file, sum := range p.sha256 {
			if !isHex(sum, 64) {
				t.Errorf("pin of %q: %s is no sha256 of %s", name, sum, file)
			}
		}
	}
}
