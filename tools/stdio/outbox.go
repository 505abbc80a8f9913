package stdio

import (
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// An outbox sends lines one after the other, each by one Write, in the order in
// which they were put. A client that reads late holds up nothing but the sending.
type outbox struct {
	to     io.Writer
	log    *slog.Logger
	sent   func()        // called after each line
	broken chan struct{} // closed when to has failed
	err    error         // why; set before broken is closed

	mu     sync.Mutex // guards what follows
	lines  [][]byte   // the first is the one that goes out
	bytes  int        // of lines
	closed bool       // nothing more comes
	more   sync.Cond  // lines or closed has changed
	ended  chan struct{}
}

func newOutbox(to io.Writer, log *slog.Logger, sent func()) *outbox {
	o := &outbox{to: to, log: log, sent: sent, broken: make(chan struct{}), ended: make(chan struct{})}
	o.more.L = &o.mu
	go o.deliver()
	return o
}

func (o *outbox) put(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.lines = append(o.lines, line)
	o.bytes += len(line)
	o.more.Signal()
}

// waiting tells how many lines and bytes are not sent yet.
func (o *outbox) waiting() (lines, bytes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.lines), o.bytes
}

// close takes no more lines and returns when the others are sent, or after
// patience.
func (o *outbox) close(patience time.Duration) {
	o.mu.Lock()
	o.closed = true
	o.more.Signal()
	o.mu.Unlock()
	select {
	case <-o.ended:
	case <-time.After(patience):
	}
}

// deliver sends lines until the outbox is closed and empty, or a Write fails.
func (o *outbox) deliver() {
	defer close(o.ended)
	defer func() { // a writer of the caller's may panic; the session then ends in order
		if p := recover(); p != nil {
			o.log.Error("panic while writing", "panic", p, "stack", string(debug.Stack()))
			o.fail(fmt.Errorf("writing to the client: %v", p))
		}
	}()
	for {
		line := o.first()
		if line == nil {
			return
		}
		n, err := o.to.Write(line)
		if err == nil && n < len(line) {
			err = io.ErrShortWrite
		}
		if err != nil {
			o.fail(fmt.Errorf("writing to the client: %w", err))
			return
		}
		o.mu.Lock()
		o.lines[0] = nil
		o.lines = o.lines[1:]
		o.bytes -= len(line)
		o.mu.Unlock()
		o.sent()
	}
}

// first waits for a line; nil when none will come.
func (o *outbox) first() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.lines) == 0 && !o.closed {
		o.more.Wait()
	}
	if len(o.lines) == 0 {
		return nil
	}
	return o.lines[0]
}

// fail ends the session: Read returns err.
func (o *outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed, o.lines, o.bytes = true, nil, 0
	o.err = err
	close(o.broken)
}
