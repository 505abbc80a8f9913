package weights

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// flipped is a text with one bit changed, in its last byte.
func flipped(text string) string {
	return text[:len(text)-1] + string([]byte{text[len(text)-1] ^ 1})
}

// zipped is a text as gzip has it.
func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

// D2: a message about a wrong digest has both, that of what came and that of
// what should have; the part is gone, and the model comes when the hub is well.
func TestWrongDigest(t *testing.T) {
	for _, files := range bothForms(t) {
		h := newFakeHub(t, files)
		for _, c := range []struct {
			file string
			sum  func(string) string
			bad  func(string) string
		}{
			{configFile, gitOf, flipped},
			{configFile, gitOf, zipped}, // and nothing says so
			{tokenizerFile, gitOf, flipped},
			{h.weights(), sha256Of, flipped},
		} {
			right := h.files[c.file]
			bad := c.bad(right)
			h.on(c.file, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/storage/") {
					io.WriteString(w, bad)
					return
				}
				w.Header().Set("X-Repo-Commit", testCommit)
				if c.file == h.weights() {
					w.Header().Set("X-Linked-Etag", `"`+sha256Of(right)+`"`)
					w.Header().Set("Location", "/storage/"+c.file)
					w.WriteHeader(http.StatusFound)
					return
				}
				w.Header().Set("ETag", `"`+gitOf(right)+`"`)
				io.WriteString(w, bad)
			})
			refused(t, h, c.file, []string{testModel, c.file, c.sum(bad), c.sum(right), "refused", "SMART_MODEL_PATH"})
		}
	}
}

// D2: lies about lengths, ranges and encodings, of the weights and of a small
// file, are refused.
func TestLies(t *testing.T) {
	for _, c := range []struct {
		name string
		send func(w http.ResponseWriter, r *http.Request, text string)
		want []string
	}{
		{"compressed", func(w http.ResponseWriter, r *http.Request, text string) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, zipped(text))
		}, []string{`compressed ("gzip")`}},
		{"a length that is never reached", func(w http.ResponseWriter, r *http.Request, text string) {
			w.Header().Set("Content-Length", fmt.Sprint(len(text)))
			io.WriteString(w, text[:len(text)/2])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, []string{"the connection broke after"}},
		{"part of it, though asked for everything", func(w http.ResponseWriter, r *http.Request, text string) {
			r.Header.Set("Range", "bytes=0-9")
			http.ServeContent(w, r, "", noTime, strings.NewReader(text))
		}, []string{"changed on the hub while it was fetched"}},
		{"a part of it that is none", func(w http.ResponseWriter, r *http.Request, text string) {
			w.Header().Set("Content-Range", "bytes rubbish")
			w.WriteHeader(http.StatusPartialContent)
			io.WriteString(w, text)
		}, []string{"changed on the hub while it was fetched"}},
		{"the right range, the wrong bytes", func(w http.ResponseWriter, r *http.Request, text string) {
			if r.Header.Get("Range") == "" {
				http.ServeContent(&cutting{w, len(text) / 2}, r, "", noTime, strings.NewReader(text))
			} else {
				http.ServeContent(w, r, "", noTime, strings.NewReader(flipped(text)))
			}
		}, []string{" is ", "the hub says"}},
		{"another content in each answer", func() func(http.ResponseWriter, *http.Request, string) {
			var n atomic.Int32
			return func(w http.ResponseWriter, r *http.Request, text string) {
				digest := sha256Of(fmt.Sprint(n.Add(1)))
				w.Header().Set("ETag", `"`+digest+`"`)
				r.Header.Del("If-Range")
				http.ServeContent(&cutting{w, len(text) / 3}, r, "", noTime, strings.NewReader(text))
			}
		}(), []string{"changed on the hub while it was fetched"}},
		{"416 for ever", func(w http.ResponseWriter, r *http.Request, text string) {
			if r.Header.Get("Range") == "" {
				http.ServeContent(&cutting{w, len(text) / 2}, r, "", noTime, strings.NewReader(text))
			} else {
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			}
		}, []string{"changed on the hub while it was fetched"}},
		{"a redirect loop", func(w http.ResponseWriter, r *http.Request, text string) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, []string{"in a circle", "HF_ENDPOINT"}},
	} {
		for _, file := range []string{configFile, weightsFile, onnxFile} {
			files := model(t, nil)
			if file == onnxFile {
				files = onnxModel(t, nil)
			}
			h := newFakeHub(t, files)
			text := h.files[file]
			h.on("/resolve/main/"+file, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"`+gitOf(text)+`"`) // of each kind, for all
				c.send(w, r, text)
			})
			if file != configFile {
				h.on("/resolve/"+testCommit+"/"+file, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("ETag", `"`+sha256Of(text)+`"`)
					c.send(w, r, text)
				})
			}
			refused(t, h, c.name+", "+file, append(c.want, testModel, "SMART_MODEL_PATH"))
		}
	}
}

// D2: a file that changes on the hub while it comes is fetched anew, and is not
// a mixture, also when no digest tells the two apart.
func TestChangedMidway(t *testing.T) {
	for _, digests := range []bool{true, false} {
		for _, whole := range []bool{true, false} { // whether the server minds If-Range
			h := newFakeHub(t, model(t, nil))
			first, second := h.files[weightsFile], []byte(h.files[weightsFile])
			second[8999] ^= 1 // in a tensor that is not used: only the bytes can tell
			h.mu.Lock()
			h.files[weightsFile] = string(second)
			h.mu.Unlock()
			var asked atomic.Int32
			h.on("", func(w http.ResponseWriter, r *http.Request) {
				text, limit := h.files[fileOf(r)], 1<<30
				if fileOf(r) == weightsFile && asked.Add(1) == 1 {
					text, limit = first, 9000
				}
				if text == "" {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("ETag", `"`+sha256Of(text)[:20]+`"`)
				if digests {
					w.Header().Set("ETag", `"`+sha256Of(text)+`"`)
				}
				if !whole {
					r.Header.Del("If-Range")
				}
				http.ServeContent(&cutting{w, limit}, r, "", noTime, strings.NewReader(text))
			})
			s := h.source(t)
			if _, err := s.Load(t.Context(), testModel); err != nil {
				t.Errorf("digests %v, If-Range %v: %v", digests, whole, err)
			}
			dir, _ := s.modelDir(testModel)
			if data, err := os.ReadFile(filepath.Join(dir, weightsFile)); err != nil || !bytes.Equal(data, second) {
				t.Errorf("digests %v, If-Range %v: the weights are a mixture of two states (%v)", digests, whole, err)
			}
			if got := names(t, s); got != h.complete() {
				t.Errorf("digests %v, If-Range %v: the cache holds %s", digests, whole, got)
			}
		}
	}
}
