package weights

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// cutting sends at most n bytes of a body and then breaks the connection.
type cutting struct {
	http.ResponseWriter
	n int
}

func (c *cutting) Write(b []byte) (int, error) {
	if len(b) > c.n {
		c.ResponseWriter.Write(b[:c.n])
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	c.n -= len(b)
	return c.ResponseWriter.Write(b)
}

// cut makes every answer of the storage break off after n bytes.
func (h *fakeHub) cut(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		_, again := w.(*cutting)
		if again || !strings.HasPrefix(r.URL.Path, "/storage/") {
			return false
		}
		c := &cutting{w, n}
		w.Header().Set("ETag", `"storage-etag"`)
		h.mu.Lock()
		text := h.files[fileOf(r)]
		h.mu.Unlock()
		http.ServeContent(c, r, "", noTime, strings.NewReader(text))
		return true
	}
}

// One load gets over connections that break again and again.
func TestResumeWithinOneLoad(t *testing.T) {
	for _, files := range bothForms(t) {
		h := newFakeHub(t, files)
		size := len(h.files[h.weights()])
		for _, n := range []int{size/40 + 1, size/7 + 3, size / 2, size - 1, size} {
			h.reset()
			h.cut(n)
			s := h.source(t)
			if _, err := s.Load(t.Context(), testModel); err != nil {
				t.Errorf("cut after %d bytes: %v", n, err)
			}
			if got := names(t, s); got != h.complete() {
				t.Errorf("cut after %d bytes: the cache holds %s", n, got)
			}
			var fetched int
			for _, line := range h.asked() {
				if strings.Contains(line, "/storage/") {
					fetched++
				}
			}
			if want := (size + n - 1) / n; fetched != want {
				t.Errorf("cut after %d of %d bytes: %d requests, want %d", n, size, fetched, want)
			}
		}
	}
}

// A load that was interrupted after n bytes leaves them for the next one.
func TestResumeByAnotherLoad(t *testing.T) {
	for _, files := range bothForms(t) {
		h := newFakeHub(t, files)
		size := len(h.files[h.weights()])
		for _, n := range []int{1, 7, 8, 4096, size / 3, size / 2, size - 1} {
			s := h.source(t)
			interrupt(t, h, s, n)
			h.reset()
			if _, err := s.Load(t.Context(), testModel); err != nil {
				t.Errorf("after %d bytes: %v", n, err)
			}
			asked := h.asked()
			if got, want := asked[len(asked)-1], fmt.Sprintf("GET /storage/%s bytes=%d-", h.weights(), n); got != want {
				t.Errorf("after %d bytes: last request %q, want %q", n, got, want)
			}
			if got := names(t, s); got != h.complete() {
				t.Errorf("after %d bytes: the cache holds %s", n, got)
			}
		}
	}
}

// interrupt loads until n bytes of the weights have come and cancels then.
func interrupt(t *testing.T, h *fakeHub, s Source, n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	name := h.weights()
	h.on("/storage/"+name, func(w http.ResponseWriter, r *http.Request) {
		text := h.files[name]
		w.Header().Set("ETag", `"storage-`+sha256Of(text)[:8]+`"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		io.WriteString(w, text[:n])
		w.(http.Flusher).Flush()
		dir, _ := s.modelDir(testModel)
		for r.Context().Err() == nil { // wait for the bytes to be on disk
			if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)+partSuffix)); err == nil && info.Size() == int64(n) {
				cancel()
			}
			sleep(r.Context(), 1e6)
		}
	})
	_, err := s.Load(ctx, testModel)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Load, cancelled = %v, want context.Canceled", err)
	}
	if got, want := names(t, s), fmt.Sprintf("config.json %[1]s.part %[1]s.part.state tokenizer.json", name); got != want {
		t.Fatalf("after the cancel the cache holds %s, want %s", got, want)
	}
}

// What lies there may be of another content, or be damaged, or be everything.
func TestResumeOfSomethingElse(t *testing.T) {
	other := model(t, nil)
	b := []byte(other[weightsFile])
	b[len(b)-1] ^= 1
	other[weightsFile] = string(b)
	for _, c := range []struct {
		name   string
		change func(h *fakeHub, part string)
	}{
		{"the file changed on the hub", func(h *fakeHub, part string) { h.files = other }},
		{"the part is damaged", func(h *fakeHub, part string) { os.WriteFile(part, make([]byte, 5000), 0o644) }},
		{"the part is longer than the file (416)", func(h *fakeHub, part string) { os.WriteFile(part, make([]byte, len(b)+9), 0o644) }},
		{"the part is complete (416)", func(h *fakeHub, part string) { os.WriteFile(part, []byte(h.files[weightsFile]), 0o644) }},
		{"the part is complete and damaged (416)", func(h *fakeHub, part string) { os.WriteFile(part, b, 0o644) }},
		{"the state is gone", func(h *fakeHub, part string) { os.Remove(part + stateSuffix) }},
		{"the state is damaged", func(h *fakeHub, part string) { os.WriteFile(part+stateSuffix, []byte("{"), 0o644) }},
		{"the server knows no ranges", func(h *fakeHub, part string) {
			h.on("/storage/"+weightsFile, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, h.files[weightsFile]) })
		}},
		{"the server sends another range", func(h *fakeHub, part string) {
			h.on("/storage/"+weightsFile, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Range") != "" {
					r.Header.Set("Range", "bytes=3-")
				}
				http.ServeContent(w, r, "", noTime, strings.NewReader(h.files[weightsFile]))
			})
		}},
		{"the ETag of the storage is another", func(h *fakeHub, part string) {
			h.on("/storage/"+weightsFile, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"new"`)
				http.ServeContent(w, r, "", noTime, strings.NewReader(h.files[weightsFile]))
			})
		}},
	} {
		h := newFakeHub(t, model(t, nil))
		s := h.source(t)
		interrupt(t, h, s, 5000)
		h.reset()
		dir, _ := s.modelDir(testModel)
		c.change(h, filepath.Join(dir, weightsFile+partSuffix))
		if _, err := s.Load(t.Context(), testModel); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, weightsFile))
		if err != nil || string(data) != h.files[weightsFile] {
			t.Errorf("%s: the cache holds other weights than the hub (%v)", c.name, err)
		}
		if got := names(t, s); got != h.complete() {
			t.Errorf("%s: the cache holds %s", c.name, got)
		}
	}
}

// Without a digest, ETag and range are all that tells one content from another.
func TestResumeWithoutDigest(t *testing.T) {
	for _, c := range []struct {
		name string
		send func(w http.ResponseWriter, r *http.Request, text string)
	}{
		{"the server looks at If-Range", func(w http.ResponseWriter, r *http.Request, text string) {
			if r.Header.Get("If-Range") != `"v1"` {
				http.Error(w, "no If-Range", http.StatusBadRequest)
				return
			}
			http.ServeContent(w, r, "", noTime, strings.NewReader(text))
		}},
		{"the server ignores If-Range", func(w http.ResponseWriter, r *http.Request, text string) {
			r.Header.Del("If-Range")
			http.ServeContent(w, r, "", noTime, strings.NewReader(text))
		}},
		{"the server sends another range", func(w http.ResponseWriter, r *http.Request, text string) {
			w.Header().Set("ETag", `"v1"`)
			if r.Header.Get("Range") != "" {
				r.Header.Set("Range", "bytes=3-")
			}
			http.ServeContent(w, r, "", noTime, strings.NewReader(text))
		}},
	} {
		h := newFakeHub(t, model(t, nil))
		s := h.source(t)
		send := func(etag string, limit int) {
			h.on("", func(w http.ResponseWriter, r *http.Request) {
				text := h.files[fileOf(r)]
				w.Header().Set("ETag", etag)
				if !strings.HasSuffix(r.URL.Path, weightsFile) || text == "" {
					http.ServeContent(w, r, "", noTime, strings.NewReader(text))
				} else if limit > 0 {
					http.ServeContent(&cutting{w, limit}, r, "", noTime, strings.NewReader(text))
				} else {
					c.send(w, r, text)
				}
			})
		}
		s.limits.wait = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		send(`"v1"`, 9000)
		if _, err := s.Load(ctx, testModel); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: interrupted Load = %v, want context.DeadlineExceeded", c.name, err)
		}
		cancel()
		b := []byte(h.files[weightsFile])
		b[8999] ^= 1 // in a tensor that is not used: only the bytes can tell
		h.files[weightsFile] = string(b)
		s.limits.wait = time.Millisecond
		send(`"v2"`, 0)
		if _, err := s.Load(t.Context(), testModel); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		dir, _ := s.modelDir(testModel)
		if data, err := os.ReadFile(filepath.Join(dir, weightsFile)); err != nil || string(data) != h.files[weightsFile] {
			t.Errorf("%s: the weights are a mixture of two states (%v)", c.name, err)
		}
	}
}

// A download that was complete but for its name is not fetched again.
func TestResumeOfEverything(t *testing.T) {
	h := newFakeHub(t, model(t, nil))
	s := h.source(t)
	interrupt(t, h, s, 5000)
	h.reset()
	dir, _ := s.modelDir(testModel)
	os.WriteFile(filepath.Join(dir, weightsFile+partSuffix), []byte(h.files[weightsFile]), 0o644)
	if _, err := s.Load(t.Context(), testModel); err != nil {
		t.Fatal(err)
	}
	asked := h.asked()
	if got := len(asked); got != 4 {
		t.Errorf("requests %q, want 4, the last of them answered with 416", asked)
	}
}

// Many loads of one model at once: all succeed, and only one fetches.
func TestConcurrentLoads(t *testing.T) {
	for i, files := range append(bothForms(t), bothForms(t)...) {
		locks := i < 2
		h := newFakeHub(t, files)
		s := h.source(t)
		if !locks {
			s.lock = func(*os.File) (lockState, error) { return lockUnsupported, errors.ErrUnsupported }
		}
		var wait sync.WaitGroup
		var failed atomic.Int32
		for range 4 {
			wait.Go(func() {
				if m, err := s.Load(context.Background(), testModel); err != nil || len(m.Params) == 0 {
					t.Errorf("locks %v: %v", locks, err)
					failed.Add(1)
				}
			})
		}
		wait.Wait()
		if got := names(t, s); got != h.complete() {
			t.Errorf("locks %v: the cache holds %s, want %s", locks, got, h.complete())
		}
		want := 4
		if h.weights() == onnxFile {
			want = 5 // the question for safetensors
		}
		if got := len(h.asked()); locks && got != want {
			t.Errorf("%d requests, want %d: only one load should fetch", got, want)
		}
	}
}
