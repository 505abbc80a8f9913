package weights

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

const (
	maxFails    = 4   // attempts in a row that bring no byte
	maxAttempts = 100 // attempts in all, for a server that sends a byte at a time
	maxRestarts = 2   // times that the content may change under a download

	// A connection must bring so many bytes in the time that it may be silent,
	// or the file's end: a drip would keep a download alive for years.
	dripBytes = 16 << 10
)

// download fetches one file of a hub into the cache: resumed where an earlier
// attempt ended, compared with the hub's digest and the pinned one, and only
// then under its name.
type download struct {
	disk   disk
	hub    *hub
	dir    string
	name   string
	limit  int64  // no file of this kind is larger
	pinned digest // zero when nothing is known
	limits limits
	show   *progress

	part    *part
	promise digest // the hub's, of the last answer
	commit  string // of the last answer
	resumed bool   // the part holds bytes of an earlier process
	got     bool   // this process has received bytes
}

// run fetches the file and returns its sha256 (hex). When it fails, the final
// name has not been touched; the part stays if it can be of use.
func (d *download) run(ctx context.Context, shared bool) (sum string, err error) {
	if d.part, err = openPart(d.disk, d.dir, d.name, shared); err != nil {
		return "", &diskError{err}
	}
	defer func() {
		var mismatch *mismatchError
		if errors.As(err, &mismatch) || diskFull(err) || errors.Is(err, errNoFile) || errors.Is(err, errRestart) {
			d.part.remove()
		} else if err != nil {
			d.part.leave()
		}
	}()
	d.resumed = d.part.have > 0
	if err := d.complete(ctx); err != nil {
		return "", err
	}
	sum, err = d.verify()
	if _, mismatch := errors.AsType[*mismatchError](err); mismatch && d.resumed {
		// The bytes of the earlier process may be the bad ones.
		if err := d.part.discard(); err != nil {
			return "", &diskError{err}
		}
		if err := d.complete(ctx); err != nil {
			return "", err
		}
		sum, err = d.verify()
	}
	if err != nil {
		return "", err
	}
	if err := d.part.publish(filepath.Join(d.dir, filepath.FromSlash(d.name))); err != nil {
		return "", &diskError{err}
	}
	return sum, nil
}

// complete makes attempts until the part is whole.
func (d *download) complete(ctx context.Context) error {
	fails, restarts := 0, 0
	for range maxAttempts {
		before := d.part.have
		err := d.attempt(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, errRestart) && restarts < maxRestarts {
			restarts++
			if err := d.part.discard(); err != nil {
				return &diskError{err}
			}
			continue
		}
		if !d.worthwhile(err) {
			return err
		}
		if got := d.part.have - before; got >= dripBytes || got > 0 && !errors.Is(err, errStalled) {
			fails = 0
		}
		if fails++; fails > maxFails {
			return err
		}
		if err := sleep(ctx, d.limits.wait<<(fails-1)); err != nil {
			return err
		}
	}
	return fmt.Errorf("the connection broke %d times", maxAttempts)
}

// worthwhile tells whether to try again after err. A server that has not sent a
// byte yet is taken at its word: somebody waits for the answer.
func (d *download) worthwhile(err error) bool {
	if _, retry := errors.AsType[*retryError](err); retry {
		return true
	}
	_, silent := errors.AsType[*connectError](err)
	return silent && d.got
}

// attempt makes one request and writes what it brings to the part.
func (d *download) attempt(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(d.limits.idle, func() { cancel(errStalled) })
	defer watchdog.Stop()

	a, err := d.hub.get(ctx, d.name, d.part.have, d.part.of.ETag)
	if err != nil {
		if context.Cause(ctx) == errStalled {
			return &connectError{host: d.hub.base.Host, err: errStalled}
		}
		return err
	}
	defer a.Body.Close()
	d.promise, d.commit = a.digest, a.commit
	whole, err := d.place(a)
	if err != nil || whole {
		return err
	}
	err = d.receive(a, func() { watchdog.Reset(d.limits.idle) })
	if err != nil && context.Cause(ctx) == errStalled {
		return &retryError{errStalled}
	}
	return err
}

// place decides where the answer's bytes go and prepares the part for them.
// whole says that the part already has them all.
func (d *download) place(a answer) (whole bool, err error) {
	if coding := a.Header.Get("Content-Encoding"); hasFile(a.StatusCode) && coding != "" && coding != "identity" {
		return false, &mismatchError{fmt.Sprintf("the answer is compressed (%.20q), though the file was asked for as it is", coding)}
	}
	now := partState{ETag: strongETag(a.Header.Get("ETag")), Digest: a.digest, Size: a.size}
	switch a.StatusCode {
	case http.StatusOK:
		if err := d.plausible(a); err != nil {
			return false, err
		}
		if err := d.part.begin(now); err != nil {
			return false, &diskError{err}
		}
		return false, nil
	case http.StatusPartialContent:
		if from, _ := contentRange(a.Header.Get("Content-Range")); from != d.part.have || !d.part.of.same(now) {
			return false, errRestart
		}
		return false, nil
	case http.StatusRequestedRangeNotSatisfiable:
		// Nothing is left to send: either all is here, or the file changed.
		if d.part.have == d.part.of.Size && a.digest != (digest{}) && d.part.of.Digest == a.digest {
			return true, nil
		}
		return false, errRestart
	}
	return false, d.statusError(a)
}

// plausible refuses an answer that cannot be the file, before anything is
// written: a login page, or more than the hub promised.
func (d *download) plausible(a answer) error {
	if kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type")); kind == "text/html" {
		return &pageError{}
	}
	if a.ContentLength >= 0 && a.size >= 0 && a.ContentLength != a.size {
		return &mismatchError{fmt.Sprintf("the answer has %d bytes, the hub says %d", a.ContentLength, a.size)}
	}
	if max(a.ContentLength, a.size) > d.limit {
		return &mismatchError{fmt.Sprintf("%d bytes are more than any such file has (%d)", max(a.ContentLength, a.size), d.limit)}
	}
	return nil
}

// receive copies the body to the part. alive is called when enough has come.
func (d *download) receive(a answer, alive func()) error {
	size := d.part.of.Size
	limit := d.limit
	if size >= 0 {
		limit = size
	}
	defer func() { d.show.end(d.part.have, size) }()
	buf := make([]byte, 128<<10)
	drip := 0 // bytes since alive was called
	for {
		n, err := a.Body.Read(buf)
		if n > 0 {
			if drip += n; drip >= dripBytes {
				drip = 0
				alive()
			}
			d.got = true
			if d.part.have == 0 && looksLikePage(buf[:n]) {
				return &pageError{}
			}
			if d.part.have+int64(n) > limit {
				return &mismatchError{fmt.Sprintf("more than the %d bytes it should have", limit)}
			}
			if _, err := d.part.Write(buf[:n]); err != nil {
				return &diskError{err}
			}
			d.show.at(d.part.have, size)
		}
		switch {
		case err == io.EOF && size >= 0 && d.part.have < size:
			return &retryError{fmt.Errorf("the connection ended after %d of %d bytes", d.part.have, size)}
		case err == io.EOF:
			return nil
		case err != nil:
			return &retryError{fmt.Errorf("the connection broke after %d bytes: %w", d.part.have, err)}
		}
	}
}

// looksLikePage tells a page for people, or a storage server's XML, by its
// first bytes. (The length that a safetensors file begins with may happen to be
// an angle bracket, but not a tag.)
func looksLikePage(b []byte) bool {
	kind := http.DetectContentType(b)
	return strings.HasPrefix(kind, "text/html") || strings.HasPrefix(kind, "text/xml")
}

// verify compares the finished part with what was promised.
func (d *download) verify() (sum string, err error) {
	c, err := hashFile(d.part.file, d.part.have)
	if err != nil {
		return "", &diskError{err}
	}
	if err := c.check(d.promise, "the hub"); err != nil {
		return "", err
	}
	return c.sha256.Hex, c.check(d.pinned, "this program")
}
