package weights

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var noTime time.Time

// changed makes a handler that sends the weights changed, under the digest of
// the right ones.
func changed(h *fakeHub, change func(text string) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text := change(h.files[h.weights()])
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		io.WriteString(w, text)
	}
}

// D2: what is not the file is refused, whatever it is.
func TestRefused(t *testing.T) {
	const storage, itself = "storage", "itself" // of the weights, by whichever name
	html := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<!DOCTYPE html><title>Sign in</title>")
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", code) }
	}
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}
	}
	for _, c := range []struct {
		name, path string
		handler    func(h *fakeHub) http.HandlerFunc
		want       []string
	}{
		{"one bit", storage, func(h *fakeHub) http.HandlerFunc {
			return changed(h, func(s string) string { return s[:len(s)-1] + string([]byte{s[len(s)-1] ^ 1}) })
		}, []string{"sha256 is", "the hub says"}},
		{"one bit of a small file", tokenizerFile, func(h *fakeHub) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"`+gitOf(h.files[tokenizerFile])+`"`)
				io.WriteString(w, h.files[tokenizerFile]+" ")
			}
		}, []string{"tokenizer.json", "git blob sha1 is", "the hub says"}},
		{"one byte more", storage, func(h *fakeHub) http.HandlerFunc {
			return changed(h, func(s string) string { return s + "x" })
		}, []string{"bytes", "the hub says"}},
		{"one byte more, length unknown", storage, func(h *fakeHub) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, h.files[h.weights()])
				w.(http.Flusher).Flush()
				io.WriteString(w, "x")
			}
		}, []string{"more than the"}},
		{"one byte less", storage, func(h *fakeHub) http.HandlerFunc {
			return changed(h, func(s string) string { return s[:len(s)-1] })
		}, []string{"bytes, the hub says"}},
		{"one byte less, length unknown", storage, func(h *fakeHub) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.(http.Flusher).Flush()
				s := h.files[h.weights()]
				io.WriteString(w, s[:len(s)-1])
			}
		}, []string{"connection ended after"}},
		{"login page", configFile, func(*fakeHub) http.HandlerFunc { return html }, []string{"config.json", "HTML page", "browser"}},
		{"login page for the weights", storage, func(*fakeHub) http.HandlerFunc { return html }, []string{"HTML page"}},
		{"page that calls itself text", configFile, func(*fakeHub) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				io.WriteString(w, "\n <HTML><body>Sign in</body></HTML>")
			}
		}, []string{"HTML page"}},
		{"page without tags", configFile, func(*fakeHub) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				io.WriteString(w, "Access denied")
			}
		}, []string{"HTML page"}},
		{"no such model", configFile, func(*fakeHub) http.HandlerFunc { return status(404) }, []string{"has no config.json at revision main", "check the name"}},
		{"model without weights", itself, func(*fakeHub) http.HandlerFunc { return status(404) }, []string{"has neither model.safetensors nor onnx/model.onnx", "SMART_MODEL_PATH"}},
		{"not public", configFile, func(*fakeHub) http.HandlerFunc { return status(401) }, []string{"401", "not public"}},
		{"storage says no", storage, func(*fakeHub) http.HandlerFunc { return status(403) }, []string{"403"}},
		{"server error that stays", configFile, func(*fakeHub) http.HandlerFunc { return status(503) }, []string{"503"}},
		{"odd status", configFile, func(*fakeHub) http.HandlerFunc { return status(418) }, []string{"418"}},
		{"nothing, though asked for everything", configFile, func(*fakeHub) http.HandlerFunc { return status(416) }, []string{"changed"}},
		{"redirect loop", configFile, func(*fakeHub) http.HandlerFunc { return redirect("/again/config.json") }, []string{"circle"}},
		{"redirect to a file", configFile, func(*fakeHub) http.HandlerFunc { return redirect("file:///etc/passwd") }, []string{"no address"}},
		{"redirect to nowhere", configFile, func(*fakeHub) http.HandlerFunc { return redirect("http://%zz") }, []string{"Location"}},
		{"another architecture", configFile, func(*fakeHub) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"model_type":"roberta"}`) }
		}, []string{"roberta"}},
		{"absurd size", configFile, func(*fakeHub) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "99999999999") }
		}, []string{"more than any such file"}},
		{"another length than promised", storage, func(*fakeHub) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "oops") }
		}, []string{"the answer has 4 bytes"}},
	} {
		for _, files := range bothForms(t) {
			h := newFakeHub(t, files)
			path := c.path
			switch path {
			case storage:
				path = "/storage/" + h.weights()
			case itself:
				path = h.weights()
			}
			h.on(path, c.handler(h))
			refused(t, h, c.name, append(c.want, testModel))
		}
	}
}

// refused loads from a hub that is not well. The error has those parts, nothing
// useless stays on disk, and the model comes when the hub is well again.
func refused(t *testing.T, h *fakeHub, name string, want []string) {
	t.Helper()
	s := h.source(t)
	_, err := s.Load(t.Context(), testModel)
	expect(t, name, err, want...)
	if err != nil && strings.Contains(err.Error(), "signature") {
		t.Errorf("%s: %v shows the signed address", name, err)
	}
	for _, left := range strings.Fields(names(t, s)) {
		useful := strings.Contains(left, partSuffix) && strings.Contains(err.Error(), "the connection") // it goes on from there
		if left != configFile && left != tokenizerFile && !useful {
			t.Errorf("%s: %s is left in the cache", name, left)
		}
	}
	// Refused once is not refused for ever.
	h.reset()
	if _, err := s.Load(t.Context(), testModel); err != nil {
		t.Errorf("%s: the next load, with the hub well again: %v", name, err)
	}
}

func TestServerErrorThatPasses(t *testing.T) {
	h := newFakeHub(t, model(t, nil))
	left := 3
	h.mu.Lock()
	h.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if left == 0 {
			return false
		}
		left--
		http.Error(w, "busy", http.StatusTooManyRequests)
		return true
	}
	h.mu.Unlock()
	if _, err := h.source(t).Load(t.Context(), testModel); err != nil {
		t.Error(err)
	}
}

func TestSilentServer(t *testing.T) {
	h := newFakeHub(t, model(t, nil))
	quiet := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	s := h.source(t)
	s.limits.idle = 50 * time.Millisecond
	h.on(configFile, quiet)
	_, err := s.Load(t.Context(), testModel)
	expect(t, "no answer", err, "sends nothing any more", "SMART_MODEL_PATH")

	h.on("/storage/"+weightsFile, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(h.files[weightsFile])))
		io.WriteString(w, h.files[weightsFile][:100])
		w.(http.Flusher).Flush()
		quiet(w, r)
	})
	_, err = s.Load(t.Context(), testModel)
	expect(t, "half an answer", err, "sends nothing any more")
}

// D3: the error says who does not answer, and what helps.
func TestOffline(t *testing.T) {
	h := newFakeHub(t, nil)
	s := h.source(t)
	s.limits.wait = time.Hour // no second attempt
	h.Close()
	_, err := s.Load(t.Context(), testModel)
	expect(t, "offline", err, testModel, "no answer from 127.0.0.1", "HTTPS_PROXY", "HF_ENDPOINT", "SMART_MODEL_PATH", "model.safetensors")
}

func TestEndpoints(t *testing.T) {
	for _, endpoint := range []string{"huggingface.co", "ftp://huggingface.co", "http://", "://x", "file:///models"} {
		_, err := Source{CacheDir: t.TempDir(), Endpoint: endpoint}.Load(t.Context(), testModel)
		expect(t, endpoint, err, fmt.Sprintf("%q", endpoint), "HF_ENDPOINT")
	}
	h := newFakeHub(t, model(t, nil))
	s := h.source(t)
	s.Endpoint += "/" // as people write it
	if _, err := s.Load(t.Context(), testModel); err != nil {
		t.Error(err)
	}
	base, _ := newHub("https://mirror.example/api/hf", nil, testModel, "")
	if got, want := base.url(configFile).String(), "https://mirror.example/api/hf/owner/tiny-bert/resolve/main/config.json"; got != want {
		t.Errorf("address %s, want %s", got, want)
	}
	base, _ = newHub("", nil, testModel, "")
	if got, want := base.url(configFile).String(), "https://huggingface.co/owner/tiny-bert/resolve/main/config.json"; got != want {
		t.Errorf("address %s, want %s", got, want)
	}
}

func TestNoWayFromHTTPSToHTTP(t *testing.T) {
	h := newFakeHub(t, model(t, nil))
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", h.URL+r.URL.Path)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	defer secure.Close()
	s := h.source(t)
	s.Endpoint, s.Client = secure.URL, secure.Client()
	_, err := s.Load(t.Context(), testModel)
	expect(t, "https to http", err, "from https to http")
	if got := h.asked(); len(got) != 0 {
		t.Errorf("requests without TLS: %q", got)
	}
}

// A storage server's ETag may look like a sha256 and be another hash; the
// hub's own word counts, and without one the log says so.
func TestOnlyTheHubsDigestCounts(t *testing.T) {
	files := model(t, nil)
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"`+strings.Repeat("ab", 32)+`"`)
		w.Header().Set("X-Linked-Etag", `"`+strings.Repeat("cd", 32)+`"`)
		io.WriteString(w, files[fileOf(r)])
	}))
	defer storage.Close()
	h := newFakeHub(t, files)
	h.on("", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, storage.URL+r.URL.Path, http.StatusFound)
	})
	s := h.source(t)
	if _, err := s.Load(t.Context(), testModel); err != nil {
		t.Error(err)
	}
}

func TestProxyFromEnvironment(t *testing.T) {
	got, want := newClient().Transport.(*http.Transport).Proxy, http.ProxyFromEnvironment
	if fmt.Sprintf("%p", got) != fmt.Sprintf("%p", want) {
		t.Error("the client does not take its proxy from the environment")
	}
}

func TestCancelledBeforehand(t *testing.T) {
	h := newFakeHub(t, model(t, nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := h.source(t)
	if _, err := s.Load(ctx, testModel); !errors.Is(err, context.Canceled) {
		t.Errorf("Load = %v, want context.Canceled", err)
	}
	if got := names(t, s); got != "" {
		t.Errorf("the cache holds %s", got)
	}
}

func TestCacheThatCannotBeWritten(t *testing.T) {
	h := newFakeHub(t, model(t, nil))
	s := h.source(t)
	s.CacheDir = filepath.Join(s.CacheDir, "file")
	if err := os.WriteFile(s.CacheDir, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := s.Load(t.Context(), testModel)
	expect(t, "a file for a folder", err, s.CacheDir, "SMART_MODEL_CACHE", "SMART_MODEL_PATH")

	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		return // root writes everywhere
	}
	s.CacheDir = t.TempDir()
	if err := os.Chmod(s.CacheDir, 0o555); err != nil {
		t.Fatal(err)
	}
	_, err = s.Load(t.Context(), testModel)
	expect(t, "read-only folder", err, s.CacheDir, "permission denied", "SMART_MODEL_CACHE")
}
