//go:build !windows

package weights

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// D3: another user's cache. What cannot be read is said, and is not taken for
// absent: nothing is fetched in its place, and nothing deleted.
func TestOtherUser(t *testing.T) {
	var env []string
	if os.Geteuid() == 0 { // root may do everything: the child is nobody
		env = append(env, childUser+"=65534")
	}
	models := "models/owner--tiny-bert"
	for _, c := range []struct {
		name   string
		model  bool           // whether it is in the cache
		closed map[string]int // paths below the cache -> mode
		want   []string       // in the error; none = loads
	}{
		{"nothing, and no right to write", false, map[string]int{".": 0o555}, []string{"permission denied", "SMART_MODEL_CACHE", "SMART_MODEL_PATH"}},
		{"the model, and no right to write", true, map[string]int{models: 0o555, "models": 0o555, ".": 0o555}, nil},
		{"a cache that cannot be entered", true, map[string]int{".": 0}, []string{"permission denied", sumsFile, models, "SMART_MODEL_CACHE"}},
		{"a model that cannot be entered", true, map[string]int{models: 0}, []string{"permission denied", sumsFile, models, "SMART_MODEL_CACHE"}},
		{"a record that cannot be read", true, map[string]int{models + "/" + sumsFile: 0}, []string{"permission denied", sumsFile, models, "SMART_MODEL_CACHE"}},
		{"a config that cannot be read", true, map[string]int{models + "/" + configFile: 0}, []string{"permission denied", configFile, models, "SMART_MODEL_CACHE"}},
		{"a tokenizer that cannot be read", true, map[string]int{models + "/" + tokenizerFile: 0}, []string{"permission denied", tokenizerFile, models, "SMART_MODEL_CACHE"}},
		{"weights that cannot be read", true, map[string]int{models + "/" + weightsFile: 0}, []string{"permission denied", weightsFile, models, "SMART_MODEL_CACHE"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newFakeHub(t, model(t, nil))
			s := h.source(t)
			if c.model {
				if _, err := s.Load(t.Context(), testModel); err != nil {
					t.Fatal(err)
				}
			}
			before := names(t, s)
			h.reset()
			if err := os.Chmod(filepath.Dir(s.CacheDir), 0o755); err != nil { // the test's own
				t.Fatal(err)
			}
			for _, path := range deepestFirst(c.closed) {
				full := filepath.Join(s.CacheDir, path)
				if err := os.Chmod(full, os.FileMode(c.closed[path])); err != nil {
					t.Fatal(err)
				}
				defer os.Chmod(full, 0o755)
			}
			err := loadInChild(t, child(t, s, env...))
			if len(c.want) == 0 && err != nil {
				t.Error(err)
			}
			expect(t, c.name, err, c.want...)
			if err != nil && strings.Contains(err.Error(), "delete the folder") {
				t.Errorf("%v: there is no reason to delete anything", err)
			}
			if got := h.asked(); len(got) > 0 {
				t.Errorf("the hub was asked for %q", got)
			}
			for _, path := range slices.Backward(deepestFirst(c.closed)) {
				os.Chmod(filepath.Join(s.CacheDir, path), 0o755)
			}
			if got := names(t, s); got != before {
				t.Errorf("the cache holds %s, want %s as before", got, before)
			}
		})
	}
}

// D3: the predecessor's copy that cannot be read is not used, and the log says
// why; when nothing can be fetched either, the error does.
func TestOtherUsersPredecessor(t *testing.T) {
	var env []string
	if os.Geteuid() == 0 {
		env = append(env, childUser+"=65534")
	}
	h := newFakeHub(t, model(t, nil))
	s := h.source(t)
	dir := predecessor(t, s, onnxModel(t, nil))
	h.Close()
	for _, path := range []string{filepath.Dir(s.CacheDir), s.CacheDir} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Dir(dir), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Dir(dir), 0o755)
	err := loadInChild(t, child(t, s, env...))
	expect(t, "predecessor's", err, "no answer from", "the program before this one", dir, "permission denied")
}

// deepestFirst is the paths, what lies in a folder before the folder.
func deepestFirst(modes map[string]int) []string {
	return slices.SortedFunc(maps.Keys(modes), func(a, b string) int { return len(b) - len(a) })
}
