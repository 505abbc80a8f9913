package weights

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	testModel  = "owner/tiny-bert"
	testCommit = "0123456789abcdef0123456789abcdef01234567"
)

func sha256Of(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func gitOf(s string) string {
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(s), s))
	return hex.EncodeToString(sum[:])
}

// fakeHub plays the hub: small files are answered with git's hash as ETag, the
// weights with a redirect to a storage path, the redirect carrying size and
// sha256. Tests change the files, or take requests over with intercept.
type fakeHub struct {
	*httptest.Server
	mu        sync.Mutex
	files     map[string]string
	requests  []string // "METHOD path [range]" in order
	intercept func(w http.ResponseWriter, r *http.Request) (done bool)
}

func newFakeHub(t *testing.T, files map[string]string) *fakeHub {
	t.Helper()
	h := &fakeHub{files: files}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// weights is the file that this hub has the model's weights in.
func (h *fakeHub) weights() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.files[onnxFile] != "" {
		return onnxFile
	}
	return weightsFile
}

// complete is what the cache holds when all of the model has come.
func (h *fakeHub) complete() string {
	return strings.Join(slices.Sorted(slices.Values([]string{sumsFile, configFile, tokenizerFile, h.weights()})), " ")
}

// bothForms is the tiny model with its weights in either file.
func bothForms(t *testing.T) []map[string]string {
	t.Helper()
	return []map[string]string{model(t, nil), onnxModel(t, nil)}
}

func (h *fakeHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	line := r.Method + " " + r.URL.Path
	if g := r.Header.Get("Range"); g != "" {
		line += " " + g
	}
	h.requests = append(h.requests, line)
	intercept := h.intercept
	name := fileOf(r)
	text, found := h.files[name]
	h.mu.Unlock()
	if intercept != nil && intercept(w, r) {
		return
	}
	w.Header().Set("X-Repo-Commit", testCommit)
	switch {
	case strings.HasPrefix(r.URL.Path, "/storage/"):
		w.Header().Set("ETag", `"storage-`+sha256Of(text)[:8]+`"`)
		w.Header().Set("Content-Type", "binary/octet-stream")
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	case !found || !strings.HasPrefix(r.URL.Path, "/"+testModel+"/resolve/"):
		http.Error(w, "Entry not found", http.StatusNotFound)
	case name == weightsFile || isONNX(name):
		w.Header().Set("X-Linked-Size", strconv.Itoa(len(text)))
		w.Header().Set("X-Linked-Etag", `"`+sha256Of(text)+`"`)
		w.Header().Set("Location", "/storage/"+name+"?signature=secret")
		w.WriteHeader(http.StatusFound)
	default:
		w.Header().Set("ETag", `"`+gitOf(text)+`"`)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	}
}

// fileOf is the file that a request is about: onnx/model.onnx has a slash.
func fileOf(r *http.Request) string {
	if name, found := strings.CutPrefix(r.URL.Path, "/storage/"); found {
		return name
	}
	_, rest, _ := strings.Cut(r.URL.Path, "/resolve/")
	_, name, _ := strings.Cut(rest, "/")
	return name
}

// on takes over the requests whose path ends with suffix.
func (h *fakeHub) on(suffix string, f http.HandlerFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, suffix) {
			return false
		}
		f(w, r)
		return true
	}
}

func (h *fakeHub) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.intercept, h.requests = nil, nil
}

func (h *fakeHub) asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.requests...)
}

// source is a Source with an empty cache and little patience.
func (h *fakeHub) source(t *testing.T) Source {
	t.Helper()
	return Source{
		CacheDir: t.TempDir(), Endpoint: h.URL,
		Log:    slog.New(slog.NewTextHandler(t.Output(), nil)),
		limits: limits{idle: 10 * time.Second, wait: time.Millisecond},
	}
}

// names lists the files in a model's folder in the cache, and folders that are
// empty, without the lock.
func names(t *testing.T, s Source) string {
	t.Helper()
	dir, err := s.modelDir(testModel)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil || name == "." || name == lockFile:
		case e.IsDir():
			if inside, _ := os.ReadDir(path); len(inside) == 0 {
				out = append(out, filepath.ToSlash(name)+"/")
			}
		default:
			out = append(out, filepath.ToSlash(name))
		}
		return nil
	})
	return strings.Join(out, " ")
}

func TestFetch(t *testing.T) {
	h := newFakeHub(t, model(t, nil))
	s := h.source(t)
	m, err := s.Load(t.Context(), testModel)
	if err != nil {
		t.Fatal(err)
	}
	checkShapes(t, m)
	if m.Name != testModel {
		t.Errorf("name %q, want %q", m.Name, testModel)
	}
	if got, want := names(t, s), "SHA256SUMS config.json model.safetensors tokenizer.json"; got != want {
		t.Errorf("the cache holds %s, want %s", got, want)
	}
	// The first file tells the commit that all others come from.
	want := []string{
		"GET /owner/tiny-bert/resolve/main/config.json",
		"GET /owner/tiny-bert/resolve/" + testCommit + "/tokenizer.json",
		"GET /owner/tiny-bert/resolve/" + testCommit + "/model.safetensors",
		"GET /storage/model.safetensors",
	}
	if got := h.asked(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("requests %q, want %q", got, want)
	}

	// From now on the network is not needed.
	h.Close()
	if m, err = s.Load(t.Context(), testModel); err != nil || m.Name != testModel {
		t.Errorf("second Load = %s, %v", m.Name, err)
	}
	// The record is one that sha256sum -c can read.
	dir, _ := s.modelDir(testModel)
	sums, _ := os.ReadFile(filepath.Join(dir, sumsFile))
	if line := sha256Of(h.files[weightsFile]) + "  model.safetensors\n"; !strings.Contains(string(sums), line) || !strings.Contains(string(sums), testCommit) {
		t.Errorf("%s is %q, want the line %q and the commit", sumsFile, sums, line)
	}
}

func TestFetchVocabularyAsText(t *testing.T) {
	for _, config := range []string{"", `{"do_lower_case": true}`} {
		h := newFakeHub(t, model(t, map[string]string{tokenizerFile: "", vocabFile: vocab(t), tokenizerConfigFile: config}))
		m, err := h.source(t).Load(t.Context(), testModel)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Vocabulary.Tokens) != 1000 {
			t.Errorf("%d tokens, want 1000", len(m.Vocabulary.Tokens))
		}
	}
}

func TestPinnedRevision(t *testing.T) {
	h := newFakeHub(t, model(t, nil))
	s := h.source(t)
	s.pins = map[string]pin{testModel: {revision: "feedbeef", sha256: map[string]string{weightsFile: sha256Of(h.files[weightsFile])}}}
	if _, err := s.Load(t.Context(), testModel); err != nil {
		t.Fatal(err)
	}
	if got, want := h.asked()[0], "GET /owner/tiny-bert/resolve/feedbeef/config.json"; got != want {
		t.Errorf("first request %s, want %s", got, want)
	}

	s = h.source(t)
	s.pins = map[string]pin{testModel: {sha256: map[string]string{weightsFile: strings.Repeat("0", 64)}}}
	_, err := s.Load(t.Context(), testModel)
	expect(t, "wrong pin", err, "model.safetensors", sha256Of(h.files[weightsFile]), "this program says 0000")
	if got, want := names(t, s), "config.json tokenizer.json"; got != want {
		t.Errorf("after a wrong digest the cache holds %s, want %s", got, want)
	}
}

// expect fails unless err has all parts.
func expect(t *testing.T, what string, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error %v, want one with %q", what, err, part)
		}
	}
}

func TestParseDigest(t *testing.T) {
	sha, git := strings.Repeat("a1", 32), strings.Repeat("b2", 20)
	for _, c := range []struct {
		in   string
		want digest
	}{
		{`"` + sha + `"`, digest{kindSHA256, sha}},
		{sha, digest{kindSHA256, sha}},
		{`W/"` + strings.ToUpper(sha) + `"`, digest{kindSHA256, sha}},
		{`W/"` + git + `"`, digest{kindGit, git}},
		{`"` + sha + `-2"`, digest{}},
		{`"5f3a-1234"`, digest{}},
		{strings.Repeat("g", 64), digest{}},
		{"", digest{}},
	} {
		if got := parseDigest(c.in); got != c.want {
			t.Errorf("parseDigest(%q) = %v, want %v", c.in, got, c.want)
		}
	}
	// git hash-object of "hello\n" and of the empty file.
	for text, want := range map[string]string{
		"hello\n": "ce013625030ba8dba906f756967f9e9ca394464a",
		"":        "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
	} {
		f, err := os.Open(filepath.Join(write(t, map[string]string{"f": text}), "f"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := hashFile(diskFile{File: f}, int64(len(text)))
		f.Close()
		if err != nil || c.git.Hex != want || c.sha256.Hex != sha256Of(text) {
			t.Errorf("hashFile(%q) = %v, %v, want git %s", text, c, err, want)
		}
	}
}

func TestContentRange(t *testing.T) {
	for _, c := range []struct {
		in         string
		from, size int64
	}{
		{"bytes 5-9/10", 5, 10}, {"bytes 0-0/1", 0, 1}, {"bytes */10", -1, 10},
		{"bytes 5-9/*", 5, -1}, {"", -1, -1}, {"bytes", -1, -1},
	} {
		if from, size := contentRange(c.in); from != c.from || size != c.size {
			t.Errorf("contentRange(%q) = %d, %d, want %d, %d", c.in, from, size, c.from, c.size)
		}
	}
}
