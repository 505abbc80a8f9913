package weights

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A repository without safetensors serves its ONNX file, checked and recorded
// in the same way.
func TestFetchONNX(t *testing.T) {
	want, err := Folder(tiny)
	if err != nil {
		t.Fatal(err)
	}
	h := newFakeHub(t, onnxModel(t, nil))
	s := h.source(t)
	got, err := s.Load(t.Context(), testModel)
	if err != nil {
		t.Fatal(err)
	}
	sameParams(t, "fetched", got, want)
	if got, want := names(t, s), "SHA256SUMS config.json onnx/model.onnx tokenizer.json"; got != want {
		t.Errorf("the cache holds %s, want %s", got, want)
	}
	at := "GET /owner/tiny-bert/resolve/"
	requests := []string{
		at + "main/config.json", at + testCommit + "/tokenizer.json", at + testCommit + "/model.safetensors",
		at + testCommit + "/onnx/model.onnx", "GET /storage/onnx/model.onnx",
	}
	if got := h.asked(); fmt.Sprint(got) != fmt.Sprint(requests) {
		t.Errorf("requests %q, want %q", got, requests)
	}
	h.Close()
	if got, err = s.Load(t.Context(), testModel); err != nil {
		t.Fatalf("second Load: %v", err)
	}
	sameParams(t, "from the cache", got, want)
	dir, _ := s.modelDir(testModel)
	sums, _ := os.ReadFile(filepath.Join(dir, sumsFile))
	if line := sha256Of(h.files[onnxFile]) + "  onnx/model.onnx\n"; !strings.Contains(string(sums), line) {
		t.Errorf("%s is %q, want the line %q", sumsFile, sums, line)
	}
	path := filepath.Join(dir, filepath.FromSlash(onnxFile))
	b := []byte(h.files[onnxFile])
	b[len(b)/2] ^= 4
	os.WriteFile(path, b, 0o644)
	_, err = s.Load(t.Context(), testModel)
	expect(t, "damaged", err, onnxFile, "damaged", "delete the folder "+dir)
}

// Only the plain export is asked for; that a hub has others is said.
func TestQuantisedRepository(t *testing.T) {
	h := newFakeHub(t, model(t, map[string]string{weightsFile: "", quantisedFile: "rounded"}))
	s := h.source(t)
	_, err := s.Load(t.Context(), testModel)
	expect(t, "quantised only", err, testModel, quantisedFile, "quantised", weightsFile, onnxFile, "SMART_MODEL_PATH")
	if got, want := names(t, s), "config.json tokenizer.json"; got != want {
		t.Errorf("the cache holds %s, want %s", got, want)
	}
}

// What an interrupted fetch left of one form goes when the other has come.
func TestChangeOfForm(t *testing.T) {
	both := bothForms(t)
	for i, files := range both {
		h := newFakeHub(t, files)
		s := h.source(t)
		interrupt(t, h, s, 5000)
		h.reset()
		h.mu.Lock()
		h.files = both[1-i]
		h.mu.Unlock()
		if _, err := s.Load(t.Context(), testModel); err != nil {
			t.Error(err)
		}
		if got := names(t, s); got != h.complete() {
			t.Errorf("the cache holds %s, want %s", got, h.complete())
		}
	}
}

// D3: two processes at once: both have the model in the end, and one has fetched it.
func TestTwoProcesses(t *testing.T) {
	for _, files := range bothForms(t) {
		h := newFakeHub(t, files)
		s := h.source(t)
		var both []*exec.Cmd
		for range 2 {
			cmd := child(t, s)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			both = append(both, cmd)
		}
		for _, cmd := range both {
			if err := cmd.Wait(); err != nil {
				t.Errorf("a process that loads: %v", err)
			}
		}
		if got := names(t, s); got != h.complete() {
			t.Errorf("the cache holds %s, want %s", got, h.complete())
		}
		seen := map[string]bool{}
		for _, line := range h.asked() {
			if seen[line] {
				t.Errorf("%s was asked twice", line)
			}
			seen[line] = true
		}
	}
}

// drip sends the rest of a file by a few bytes at a time.
func drip(h *fakeHub, bytes int, every time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text := h.files[h.weights()]
		var from int
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(text)-from))
		if from > 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(text)-1, len(text)))
			w.WriteHeader(http.StatusPartialContent)
		}
		for text = text[from:]; text != "" && r.Context().Err() == nil; text = text[min(bytes, len(text)):] {
			io.WriteString(w, text[:min(bytes, len(text))])
			w.(http.Flusher).Flush()
			time.Sleep(every)
		}
	}
}

// A slow connection is waited for, longer in all than it may be silent. One
// that only drips is given up, and what came is kept.
func TestDrip(t *testing.T) {
	for _, files := range bothForms(t) {
		h := newFakeHub(t, files)
		t.Run(filepath.Base(h.weights()), func(t *testing.T) {
			t.Parallel() // most of it is waiting
			testDrip(t, h)
		})
	}
}

func testDrip(t *testing.T, h *fakeHub) {
	name := h.weights()
	patient := h.source(t)
	s := patient
	s.limits.idle = 300 * time.Millisecond

	h.on("/storage/"+name, drip(h, 20<<10, 50*time.Millisecond))
	begin := time.Now()
	if _, err := s.Load(t.Context(), testModel); err != nil {
		t.Errorf("slow: %v", err)
	}
	if took := time.Since(begin); took < 2*s.limits.idle {
		t.Errorf("the slow connection took %v, too little to show anything", took)
	}

	patient.CacheDir = t.TempDir()
	s.CacheDir = patient.CacheDir
	h.on("/storage/"+name, drip(h, 10, 10*time.Millisecond))
	_, err := s.Load(t.Context(), testModel)
	expect(t, "drip", err, name, "drip", "SMART_MODEL_PATH")
	if got, want := names(t, s), fmt.Sprintf("config.json %[1]s.part %[1]s.part.state tokenizer.json", name); got != want {
		t.Errorf("after a drip the cache holds %s, want %s", got, want)
	}
	dir, _ := s.modelDir(testModel)
	part, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)+partSuffix))
	if err != nil || len(part) == 0 || !strings.HasPrefix(h.files[name], string(part)) {
		t.Errorf("the part has %d bytes that do not begin the file (%v)", len(part), err)
	}
	h.reset()
	if _, err := patient.Load(t.Context(), testModel); err != nil {
		t.Errorf("after a drip: %v", err)
	}
	if asked := h.asked(); !strings.HasSuffix(asked[len(asked)-1], fmt.Sprintf("bytes=%d-", len(part))) {
		t.Errorf("requests %q, want the last to go on at %d", asked, len(part))
	}
}

// D3: without any folder for a cache, a folder that the user names still serves.
func TestNoHome(t *testing.T) {
	_, err := DefaultCacheDir(func(string) string { return "" })
	expect(t, "no home", err, "SMART_MODEL_CACHE")
	if m, err := (Source{ModelPath: tiny}).Load(t.Context(), testModel); err != nil || m.Name != testModel {
		t.Errorf("Load from a folder, without a cache = %s, %v", m.Name, err)
	}
	_, err = Source{}.Load(t.Context(), testModel)
	expect(t, "no cache", err, testModel, "SMART_MODEL_CACHE", "SMART_MODEL_PATH")
}

// A folder that cannot be written serves the model that it holds. (As root,
// TestReadOnlyDiskWithModel shows it.)
func TestReadOnlyCacheWithModel(t *testing.T) {
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("every folder can be written here")
	}
	h := newFakeHub(t, onnxModel(t, nil))
	s := h.source(t)
	if _, err := s.Load(t.Context(), testModel); err != nil {
		t.Fatal(err)
	}
	dir, _ := s.modelDir(testModel)
	for _, d := range []string{filepath.Join(dir, "onnx"), dir, filepath.Dir(dir), s.CacheDir} {
		if err := os.Chmod(d, 0o555); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(d, 0o755)
	}
	h.Close()
	if _, err := s.Load(t.Context(), testModel); err != nil {
		t.Error(err)
	}
}
