package weights

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// errNoFile says that the hub has no such file, model or revision.
var errNoFile = errors.New("not on the hub")

// diskError is a failure of the cache folder, not of the network.
type diskError struct{ err error }

func (e *diskError) Error() string { return e.err.Error() }
func (e *diskError) Unwrap() error { return e.err }

// pageError is an HTML page in place of a file.
type pageError struct{}

func (*pageError) Error() string { return "the answer is an HTML page, not the file" }

// connectError says that a server gave no answer.
type connectError struct {
	host string
	err  error
}

func (e *connectError) Error() string { return fmt.Sprintf("no answer from %s: %v", e.host, e.err) }
func (e *connectError) Unwrap() error { return e.err }

// mismatchError is a file that is not what the hub or the pin table promised.
type mismatchError struct{ text string }

func (e *mismatchError) Error() string { return e.text }

// errRestart says that what is on disk belongs to another content.
var errRestart = errors.New("the file changed on the hub while it was fetched")

// retryError is a failure that a second attempt may get past.
type retryError struct{ err error }

func (e *retryError) Error() string { return e.err.Error() }
func (e *retryError) Unwrap() error { return e.err }

// errStalled ends an attempt during which nothing came, or next to nothing.
var errStalled = errors.New("the server sends nothing any more, or only a drip")

// statusError turns an answer without the file into an error.
func (d *download) statusError(a answer) error {
	switch status := a.StatusCode; {
	case status == http.StatusNotFound:
		return errNoFile
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		// The public hub says so of models that do not exist, too.
		return fmt.Errorf("%s answers %q: the model does not exist there, or it is not public", d.hub.base.Host, a.Status)
	case status == http.StatusTooManyRequests || status >= 500:
		return &retryError{fmt.Errorf("%s answers %q", d.hub.base.Host, a.Status)}
	}
	return fmt.Errorf("%s answers %q", d.hub.base.Host, a.Status)
}

// explain adds to an error what the user can do about it.
func (f *fetcher) explain(name string, err error) error {
	var (
		disk     *diskError
		silent   *connectError
		mismatch *mismatchError
		page     *pageError
	)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w; the next start goes on from here", name, err)
	case diskFull(err):
		return fmt.Errorf("%s: no space is left for the cache folder %s: free some, or set SMART_MODEL_CACHE to a folder on another disk", name, f.dir)
	case errors.As(err, &disk):
		return fmt.Errorf("%s in the cache folder %s: %w: set SMART_MODEL_CACHE to a folder that can be written, or %s", name, f.dir, bare(disk.err), wayOut)
	case errors.As(err, &silent):
		return fmt.Errorf("%s: %w: the model is fetched once and needs the network for it; "+
			"check HTTPS_PROXY and HF_ENDPOINT, or %s", name, err, wayOut)
	case errors.As(err, &mismatch):
		return fmt.Errorf("%s: %w: refused; try again, for something on the way to %s changed it; or %s", name, err, f.hub.base.Host, wayOut)
	case errors.As(err, &page):
		return fmt.Errorf("%s: %w (a login page of the network, or HF_ENDPOINT is no hub): open %s in a browser, or %s", name, err, f.hub.base.Redacted(), wayOut)
	case errors.Is(err, errNoFile) && name == weightsFile:
		return fmt.Errorf("%s has neither %s nor %s at revision %s (%w): take a copy that has one, and %s",
			f.hub.model, weightsFile, onnxFile, f.hub.revision, err, wayOut)
	case errors.Is(err, errNoFile):
		return fmt.Errorf("%s has no %s at revision %s (%w): check the name, or %s", f.hub.model, name, f.hub.revision, err, wayOut)
	}
	return fmt.Errorf("%s: %w: %s", name, err, wayOut)
}
