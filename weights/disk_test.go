package weights

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"smart-connections-mcp/bert"
)

// situations are what a load may find.
var situations = []struct {
	name   string
	before func(t *testing.T, h *fakeHub, s *Source) // what came before
}{
	{"nothing", func(*testing.T, *fakeHub, *Source) {}},
	{"a part", func(t *testing.T, h *fakeHub, s *Source) { interrupt(t, h, *s, 50_000) }},
	{"the model", func(t *testing.T, h *fakeHub, s *Source) {
		if _, err := s.Load(t.Context(), testModel); err != nil {
			t.Fatal(err)
		}
	}},
	{"no locks", func(_ *testing.T, _ *fakeHub, s *Source) {
		s.lock = func(*os.File) (lockState, error) { return lockUnsupported, errors.ErrUnsupported }
	}},
	{"the record lost", func(t *testing.T, h *fakeHub, s *Source) {
		if _, err := s.Load(t.Context(), testModel); err != nil {
			t.Fatal(err)
		}
		dir, _ := s.modelDir(testModel)
		os.WriteFile(filepath.Join(dir, sumsFile), []byte("garbage"), 0o644)
	}},
	{"the predecessor's", func(t *testing.T, h *fakeHub, s *Source) { predecessor(t, *s, onnxModel(t, nil)) }},
}

// D1, D3: whichever operation on the disk fails, once or from then on, a load
// ends in the right model or in an error with the way out; no file has its name
// with other content; what is left is of use or is gone; and when the disk is
// well again, the model comes.
func TestEveryFault(t *testing.T) {
	want, err := Folder(tiny)
	if err != nil {
		t.Fatal(err)
	}
	forms := bothForms(t)
	for i, situation := range situations {
		for j, files := range forms {
			if j != i%2 && !hostile(t) {
				continue
			}
			t.Run(situation.name+[]string{"/safetensors", "/onnx"}[j], func(t *testing.T) {
				t.Parallel()
				h := newFakeHub(t, files)
				found := h.source(t)
				found.CacheDir, found.Log = memory(t), nil
				situation.before(t, h, &found)
				runs := 0
				load := func(f *faulty) {
					runs++
					h.reset()
					s := found
					s.CacheDir = memory(t)
					if err := os.CopyFS(s.CacheDir, os.DirFS(found.CacheDir)); err != nil {
						t.Fatal(err)
					}
					faultyLoad(t, h, s, f, want)
					os.RemoveAll(s.CacheDir)
				}
				sound := &faulty{}
				load(sound)
				for k, operation := range sound.trace {
					if again := k > 0 && operation == sound.trace[k-1]; again && !hostile(t) {
						continue // one read or write of a file is like another
					}
					for _, f := range variants(t, k+1) {
						load(f)
					}
				}
				t.Logf("%d operations, %d loads", len(sound.trace), runs)
			})
		}
	}
}

// memory is an empty folder, in memory where there is a place for it: thousands
// of syncs take their time.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "weights-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// variants are the ways in which the k-th operation fails: all of them in the
// long form, else one, in turn.
func variants(t *testing.T, k int) []*faulty {
	t.Helper()
	var all []*faulty
	for _, err := range []error{syscall.EIO, syscall.ENOSPC, syscall.EACCES} {
		for _, half := range []bool{false, true} {
			for _, lasting := range []bool{false, true} {
				all = append(all, &faulty{at: k, err: err, half: half, lasting: lasting})
			}
		}
	}
	switch i := k * 7 % len(all); {
	case hostile(t):
		return all
	case testing.Short() && k%3 != 0:
		return nil
	default:
		return all[i : i+1]
	}
}

// faultyLoad loads with a fault and, after it, without.
func faultyLoad(t *testing.T, h *fakeHub, s Source, f *faulty, want bert.Checkpoint) {
	t.Helper()
	sound := s
	s.disk = f.disk()
	if s.lock == nil {
		s.lock = f.lock
	}
	got, err := s.Load(t.Context(), testModel)
	what := fmt.Sprintf("operation %d (%s): %v, half %v, lasting %v", f.at, f.failed(), f.err, f.half, f.lasting)
	if err == nil {
		sameParams(t, what, got, want)
	} else {
		checkWayOut(t, what, s, err)
	}
	checkNames(t, what, h, s)
	removes := f.lasting || strings.HasPrefix(f.failed(), "remove ")
	for _, left := range strings.Fields(names(t, s)) {
		if ours := strings.HasSuffix(left, partSuffix); ours && !slices.Contains([]string{configFile + partSuffix, tokenizerFile + partSuffix, weightsFile + partSuffix, h.weights() + partSuffix, sumsFile + partSuffix}, left) && !removes {
			t.Errorf("%s: %s is left, which no other process can use", what, left)
		}
	}
	h.reset()
	if got, err = sound.Load(t.Context(), testModel); err != nil {
		t.Errorf("%s: the next load, with the disk well again: %v", what, err)
		return
	}
	sameParams(t, what+", next load", got, want)
	checkNames(t, what+", next load", h, s)
	if left := names(t, s); left != "" && left != h.complete() && !removes {
		t.Errorf("%s: after the next load the cache holds %s", what, left)
	}
}

// checkWayOut: the error says what of which model it is about, and what helps.
func checkWayOut(t *testing.T, what string, s Source, err error) {
	t.Helper()
	text := err.Error()
	dir, _ := s.modelDir(testModel)
	names := []string{configFile, tokenizerFile, vocabFile, tokenizerConfigFile, weightsFile, onnxFile, sumsFile, lockFile}
	if !strings.Contains(text, testModel) || !strings.Contains(text, dir) ||
		!slices.ContainsFunc(names, func(name string) bool { return strings.Contains(text, name+" ") || strings.Contains(text, name+":") }) {
		t.Errorf("%s: %v names model, folder and file not", what, err)
	}
	if !strings.Contains(text, "set SMART_MODEL_CACHE to a folder") {
		t.Errorf("%s: %v does not tell the way out", what, err)
	}
}

// checkNames: what has a file's name is that file, to the bit, and the record
// is right or is not there.
func checkNames(t *testing.T, what string, h *fakeHub, s Source) {
	t.Helper()
	dir, _ := s.modelDir(testModel)
	for name, text := range h.files {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil && string(data) != text {
			t.Errorf("%s: %s has its name and %d wrong bytes", what, name, len(data))
		}
	}
	record, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil || string(record) == "garbage" { // a test's own
		return
	}
	for name, text := range h.files {
		if line := sha256Of(text) + "  " + name + "\n"; !strings.Contains(string(record), line) {
			t.Errorf("%s: %s is %q, without the line %q", what, sumsFile, record, line)
		}
	}
}

// D1: a power cut finds no name whose content is not on disk: of each file, all
// is written, read back, and synced before it is renamed, and the folder is
// synced before the next one; the record comes last.
func TestOrderOnDisk(t *testing.T) {
	for _, files := range bothForms(t) {
		h := newFakeHub(t, files)
		s := h.source(t)
		f := &faulty{}
		s.disk = f.disk()
		if _, err := s.Load(t.Context(), testModel); err != nil {
			t.Fatal(err)
		}
		dir, _ := s.modelDir(testModel)
		dir = filepath.ToSlash(dir)
		var got []string
		for _, line := range f.trace {
			op, path, _ := strings.Cut(line, " "+dir)
			if slices.Contains([]string{"write", "sync", "close", "rename", "sync folder", "read back"}, op) &&
				(len(got) == 0 || got[len(got)-1] != op+" "+path) {
				got = append(got, op+" "+path)
			}
		}
		var want []string
		for _, name := range []string{configFile, tokenizerFile, h.weights(), sumsFile} {
			if name == onnxFile { // asked for before, and not there
				want = append(want, "close /"+weightsFile+partSuffix)
			}
			part, folder := "/"+name+partSuffix, strings.TrimSuffix("/"+name, "/"+filepath.Base(name))
			want = append(want, "write "+part)
			if name != sumsFile {
				want = append(want, "read back "+part)
			}
			want = append(want, "sync "+part, "close "+part, "rename /"+name, "sync folder "+folder)
		}
		if want = append(want, "close /"+lockFile); !slices.Equal(got, want) {
			t.Errorf("operations\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// No fault costs a file descriptor: there are as many after it as before.
func TestFaultsLeakNoFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/proc tells which files are open")
	}
	h := newFakeHub(t, onnxModel(t, nil))
	dir := h.source(t)
	h.Close() // its connections are files, too
	open := func() (paths []string) {
		entries, _ := os.ReadDir("/proc/self/fd")
		for _, e := range entries {
			if path, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(path, dir.CacheDir) {
				paths = append(paths, path)
			}
		}
		return paths
	}
	for _, shared := range []bool{false, true} {
		for k := 1; ; k++ {
			f := &faulty{at: k, err: syscall.EIO}
			os.RemoveAll(dir.CacheDir)
			os.Mkdir(dir.CacheDir, 0o755)
			p, err := openPart(f.disk(), dir.CacheDir, onnxFile, shared)
			if err == nil {
				if err = p.begin(partState{ETag: `"e"`}); err == nil {
					_, err = p.Write(make([]byte, 100))
				}
				if err == nil {
					err = p.publish(filepath.Join(dir.CacheDir, filepath.FromSlash(onnxFile)))
				}
				if err != nil {
					p.leave()
				}
			}
			if left := open(); len(left) > 0 {
				t.Errorf("shared %v, after %q failed (%v) these are open: %q", shared, f.failed(), err, left)
			}
			if f.failed() == "" {
				break
			}
		}
	}
}

// D1: a few failures mean more than that one operation was not done.
func TestWhatAFaultMeans(t *testing.T) {
	for _, c := range []struct {
		name, operation string // the operation's end, below the model's folder
		err             error
		files           string // in the cache before
		want            []string
		left            string
	}{
		// What a failed sync left on the disk, nobody knows.
		{"sync", "sync /model.safetensors.part", syscall.EIO, "", []string{weightsFile, "input/output error"}, "config.json tokenizer.json"},
		{"close", "close /model.safetensors.part", syscall.EIO, "", []string{weightsFile, "input/output error"}, "config.json tokenizer.json"},
		// A record that stays would speak of other files.
		{"remove", "remove /" + sumsFile, syscall.EACCES, "garbage", []string{sumsFile, "permission denied"}, sumsFile},
		// Where there is no digest, the length still tells.
		{"read back", "read back /model.safetensors.part", io.EOF, "", []string{weightsFile, "bytes are there"}, "config.json model.safetensors.part model.safetensors.part.state tokenizer.json"},
	} {
		h := newFakeHub(t, model(t, nil))
		h.on("", func(w http.ResponseWriter, r *http.Request) { // a mirror without digests
			w.Header().Set("ETag", `"v1"`)
			http.ServeContent(w, r, "", noTime, strings.NewReader(h.files[fileOf(r)]))
		})
		s := h.source(t)
		dir, _ := s.modelDir(testModel)
		if c.files != "" {
			os.MkdirAll(dir, 0o755)
			os.WriteFile(filepath.Join(dir, sumsFile), []byte(c.files), 0o644)
		}
		op, path, _ := strings.Cut(c.operation, "/")
		sound := s
		s.disk.fault = func(o, p string, n int) (int, error) {
			if o+" " == op && p == filepath.Join(dir, path) {
				return n / 2, c.err
			}
			return 0, nil
		}
		_, err := s.Load(t.Context(), testModel)
		expect(t, c.name, err, append(c.want, testModel, dir, "SMART_MODEL_CACHE")...)
		if got := names(t, s); got != c.left {
			t.Errorf("%s: the cache holds %s, want %s", c.name, got, c.left)
		}
		if _, err := sound.Load(t.Context(), testModel); err != nil {
			t.Errorf("%s: the next load: %v", c.name, err)
		}
		checkNames(t, c.name, h, s)
	}
}
