package weights

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	userAgent    = "smart-connections-mcp"
	maxRedirects = 10
)

// hub is one model's repository on a hub.
type hub struct {
	client   *http.Client // follows no redirect by itself
	base     *url.URL
	model    string
	revision string // main until an answer tells the commit
}

func newHub(endpoint string, client *http.Client, model, revision string) (*hub, error) {
	if endpoint == "" {
		endpoint = DefaultEndpoint
	}
	base, err := url.Parse(strings.TrimRight(endpoint, "/"))
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("hub endpoint %q is no address: set HF_ENDPOINT to one like %s, or unset it", endpoint, DefaultEndpoint)
	}
	if client == nil {
		client = newClient()
	}
	// A redirect carries headers that the client would drop.
	byHand := *client
	byHand.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if revision == "" {
		revision = "main"
	}
	return &hub{client: &byHand, base: base, model: model, revision: revision}, nil
}

// newClient keeps what http.DefaultTransport honours (proxy variables,
// SSL_CERT_FILE). A whole download may take hours, so there is no total
// timeout; silence is watched by download.
func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true // ranges and lengths must be those of the file
	t.ResponseHeaderTimeout = 30 * time.Second
	t.TLSHandshakeTimeout = 15 * time.Second
	return &http.Client{Transport: t}
}

func (h *hub) url(file string) *url.URL {
	u := h.base.JoinPath(strings.Split(h.model, "/")...)
	return u.JoinPath("resolve", h.revision, file) // file may have slashes
}

// answer is the last response of a chain of redirects, with what the hub said
// on the way.
type answer struct {
	*http.Response
	digest digest // zero when the hub tells none
	size   int64  // of the whole file; -1 when unknown
	commit string // "" when unknown
}

// get asks for a file, from a byte on when from > 0; etag, when not empty, is
// the condition for that, else the whole file is to come. The caller closes the
// body. Every error means that no answer came.
func (h *hub) get(ctx context.Context, file string, from int64, etag string) (answer, error) {
	a := answer{size: -1}
	at := h.url(file)
	for range maxRedirects {
		resp, err := h.ask(ctx, at, from, etag)
		if err != nil {
			return a, err
		}
		a.note(resp, at.Scheme == h.base.Scheme && at.Host == h.base.Host)
		if !isRedirect(resp.StatusCode) {
			a.Response = resp
			a.noteSize()
			return a, nil
		}
		io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can serve again
		resp.Body.Close()
		next, err := at.Parse(resp.Header.Get("Location"))
		if err != nil || next.Host == "" || next.Scheme != "https" && next.Scheme != "http" {
			return a, fmt.Errorf("%s redirects to %q, which is no address", at.Host, resp.Header.Get("Location"))
		}
		if at.Scheme == "https" && next.Scheme == "http" {
			return a, fmt.Errorf("%s redirects from https to http (%s): refused, for anybody could change the file on the way", at.Host, next.Host)
		}
		at = next
	}
	return a, fmt.Errorf("%s redirects more than %d times, probably in a circle: is HF_ENDPOINT right?", h.base.Host, maxRedirects)
}

// has tells whether the hub has a file; of its content, nothing is read.
func (h *hub) has(ctx context.Context, file string) bool {
	a, err := h.get(ctx, file, 0, "")
	if err != nil {
		return false
	}
	a.Body.Close()
	return a.StatusCode == http.StatusOK
}

func (h *hub) ask(ctx context.Context, at *url.URL, from int64, etag string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept-Encoding", "identity")
	if from > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
		if etag != "" {
			req.Header.Set("If-Range", etag)
		}
	}
	resp, err := h.client.Do(req)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the address may carry a signature
	}
	if err != nil {
		return nil, &connectError{host: at.Host, err: err}
	}
	return resp, nil
}

// note keeps what a response tells about the file. Only the hub's own word
// counts: a storage server's ETag may look like a sha256 and be another hash.
func (a *answer) note(resp *http.Response, own bool) {
	if !own {
		return
	}
	linked := parseDigest(resp.Header.Get("X-Linked-Etag"))
	switch {
	case linked != digest{}:
		a.digest = linked
	case a.digest == digest{} && hasFile(resp.StatusCode):
		a.digest = parseDigest(resp.Header.Get("ETag"))
	}
	if n, err := strconv.ParseInt(resp.Header.Get("X-Linked-Size"), 10, 64); err == nil && n >= 0 {
		a.size = n
	}
	if c := resp.Header.Get("X-Repo-Commit"); isHex(c, 40) {
		a.commit = c
	}
}

// noteSize takes the size from the last response where the hub told none.
func (a *answer) noteSize() {
	if a.size >= 0 {
		return
	}
	switch a.StatusCode {
	case http.StatusOK:
		a.size = a.ContentLength
	case http.StatusPartialContent:
		_, a.size = contentRange(a.Header.Get("Content-Range"))
	}
}

// contentRange reads "bytes 5-9/10" as 5 and 10; what it cannot read is -1.
func contentRange(s string) (from, size int64) {
	s, _ = strings.CutPrefix(s, "bytes ")
	place, total, _ := strings.Cut(s, "/")
	first, _, _ := strings.Cut(place, "-")
	return number(first), number(total)
}

func number(s string) int64 {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	return -1
}

// hasFile tells the answers whose headers are those of the file itself.
func hasFile(status int) bool {
	return status == http.StatusOK || status == http.StatusPartialContent ||
		status == http.StatusRequestedRangeNotSatisfiable
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}
