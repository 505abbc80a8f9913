package weights

import (
	"fmt"
	"io"
	"time"
)

// progress writes one line about a download and rewrites it in place. With a
// nil writer it is silent.
type progress struct {
	w     io.Writer
	what  string
	last  time.Time
	shown bool
}

const progressEvery = 200 * time.Millisecond

// at reports that have bytes of size have come; size is -1 when unknown.
func (p *progress) at(have, size int64) {
	if p.w == nil || time.Since(p.last) < progressEvery {
		return
	}
	p.last = time.Now()
	p.write(have, size)
}

func (p *progress) write(have, size int64) {
	p.shown = true
	if size > 0 {
		fmt.Fprintf(p.w, "\r%s  %.1f of %.1f MB (%d %%) ", p.what, megabytes(have), megabytes(size), 100*have/size)
		return
	}
	fmt.Fprintf(p.w, "\r%s  %.1f MB ", p.what, megabytes(have))
}

// end leaves the last state standing, if anything was shown at all.
func (p *progress) end(have, size int64) {
	if p.w != nil && p.shown {
		p.write(have, size)
		fmt.Fprintln(p.w)
	}
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }
