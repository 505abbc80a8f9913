package cli

import (
	"bytes"
	"io"
	"time"
)

// Lossy is a writer that never makes its user wait: what the other end does not
// take is dropped. A client that does not read the log must not stop the answers.
// It is safe for concurrent use.
type Lossy struct {
	to    io.Writer
	queue chan []byte
	end   chan struct{} // closed when nothing more comes
	ended chan struct{}
}

// NewLossy makes a Lossy that somebody must close.
func NewLossy(to io.Writer) *Lossy {
	l := &Lossy{to: to, queue: make(chan []byte, 256), end: make(chan struct{}), ended: make(chan struct{})}
	go l.deliver()
	return l
}

func (l *Lossy) Write(p []byte) (int, error) {
	select {
	case l.queue <- bytes.Clone(p):
	default:
	}
	return len(p), nil
}

// Close waits for what was written, but not long.
func (l *Lossy) Close() {
	close(l.end)
	select {
	case <-l.ended:
	case <-time.After(200 * time.Millisecond):
	}
}

func (l *Lossy) deliver() {
	defer close(l.ended)
	for {
		select {
		case text := <-l.queue:
			_, _ = l.to.Write(text) // there is nobody to tell
		case <-l.end:
			for {
				select {
				case text := <-l.queue:
					_, _ = l.to.Write(text)
				default:
					return
				}
			}
		}
	}
}
