package stdio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Defaults of a Transport.
const (
	DefaultMaxLine = 4 << 20          // bytes
	DefaultDrain   = 20 * time.Second // longer than a cold start, shorter than a patient user
)

// What a client may leave open before no more of it is read: a client that does
// not read its answers must not fill the memory.
const (
	maxOpen  = 512      // calls without an answer, and lines that wait to go out
	maxHeld  = 16 << 20 // bytes of both
	maxStall = 2 * time.Minute
)

// flush is how long what is still to go out may take when the session is closed.
const flush = 300 * time.Millisecond

// glance is how often a session that has ended looks whether anybody still reads.
const glance = 200 * time.Millisecond

var (
	errStalled = errors.New("the client sends calls and does not read the answers")
	errWaiting = errors.New("not everything is answered")
)

// A Transport is one MCP session over In and Out. In and Out stay the
// caller's: neither is closed. Zero limits mean the defaults.
type Transport struct {
	In      io.Reader
	Out     io.Writer
	MaxLine int           // bytes of the longest line that is read
	Drain   time.Duration // how long calls in flight may take once In has ended
	Log     *slog.Logger  // nil: quiet

	stall time.Duration // maxStall, but for tests
}

// Connect starts reading and writing. The goroutine that reads ends when In
// does, or with the first line after the connection was closed: a blocked read of
// a process's standard input cannot be interrupted. So does the one that writes.
func (t *Transport) Connect(context.Context) (mcp.Connection, error) {
	c := &conn{
		drain:   cmp.Or(t.Drain, DefaultDrain),
		stall:   cmp.Or(t.stall, maxStall),
		log:     t.Log,
		lines:   make(chan lineOrErr),
		closed:  make(chan struct{}),
		pending: map[jsonrpc.ID]*call{},
		changed: make(chan struct{}, 1),
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.out = newOutbox(t.Out, c.log, c.tell)
	go c.scan(newLines(t.In, cmp.Or(t.MaxLine, DefaultMaxLine)))
	return c, nil
}

type lineOrErr struct {
	line []byte
	err  error
}

// A call is a request that has no answer yet.
type call struct {
	cancelled bool
	lasting   bool // a subscription: it may last as long as the session
	size      int  // bytes of its line
}

type conn struct {
	log   *slog.Logger
	drain time.Duration
	stall time.Duration
	lines chan lineOrErr // from scan to Read
	end   error          // why lines ended; only Read touches it
	out   *outbox

	closeOnce sync.Once
	closed    chan struct{}

	mu      sync.Mutex // guards what follows
	pending map[jsonrpc.ID]*call
	asked   int           // bytes of the pending calls' lines
	lasting int           // calls of pending that nobody waits for
	changed chan struct{} // gets a value when less is pending or waits to go out
}

func (c *conn) SessionID() string { return "" }

func (c *conn) Close() error {
	c.closeOnce.Do(func() {
		close(c.closed)
		c.out.close(flush)
	})
	return nil
}

// scan hands lines to Read until the stream ends or the connection is closed.
func (c *conn) scan(in *lines) {
	defer func() { // a reader of the caller's may panic; the session then ends in order
		if p := recover(); p != nil {
			c.log.Error("panic while reading", "panic", p, "stack", string(debug.Stack()))
			c.pass(lineOrErr{err: fmt.Errorf("reading the client's messages: %v", p)})
		}
	}()
	for {
		line, err := in.next()
		if !c.pass(lineOrErr{line, err}) || err != nil && !errors.Is(err, errLineTooLong) {
			return
		}
	}
}

func (c *conn) pass(l lineOrErr) bool {
	select {
	case c.lines <- l:
		return true
	case <-c.closed:
		return false
	}
}

// Read returns the next message for the SDK. It answers by itself what is no
// message. At the end of the stream it waits for the calls in flight, because
// the SDK drops their answers once Read has failed.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for c.end == nil {
		if err := c.await(ctx, c.room, c.stall, errStalled); err != nil {
			return nil, err
		}
		var l lineOrErr
		select {
		case l = <-c.lines:
		case <-c.closed:
			return nil, io.EOF
		case <-c.out.broken:
			return nil, c.out.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		msg, refused := c.accept(l)
		if refused != nil {
			c.out.put(refused.encode())
		}
		if msg != nil {
			return msg, nil
		}
	}
	return nil, c.drained(ctx)
}

// accept turns what scan passed into a message, a refusal, or the end.
func (c *conn) accept(l lineOrErr) (msg jsonrpc.Message, refused *refusal) {
	defer func() { // the SDK would let a panic end the process
		if p := recover(); p != nil {
			c.log.Error("panic in a line", "panic", p, "stack", string(debug.Stack()))
			msg, refused = nil, &refusal{code: jsonrpc.CodeInternalError, text: "internal error in reading the line: this is a bug; other calls still work"}
		}
	}()
	switch {
	case errors.Is(l.err, errLineTooLong):
		c.log.Warn("a line over the limit was skipped")
		return nil, &refusal{code: jsonrpc.CodeInvalidRequest, text: "the line is too long and was skipped: send less in one message"}
	case l.err != nil:
		c.end = l.err
		return nil, nil
	}
	msg, refused = parse(l.line)
	if refused != nil {
		c.log.Warn("a line was refused", "reason", refused.text)
		return nil, refused
	}
	if req, ok := msg.(*jsonrpc.Request); ok {
		if refused := c.track(req, len(l.line)); refused != nil {
			return nil, refused
		}
	}
	return msg, nil
}

// track remembers a call of so many bytes until it has an answer, and which calls
// the client has cancelled.
func (c *conn) track(req *jsonrpc.Request, size int) *refusal {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id, ok := cancelled(req); ok {
		if open := c.pending[id]; open != nil {
			open.cancelled = true
		}
	}
	if !req.IsCall() {
		return nil
	}
	if c.pending[req.ID] != nil { // the SDK would leave it without an answer
		return &refusal{code: jsonrpc.CodeInvalidRequest, text: cut(fmt.Sprintf("request id %#v is still in use: give each request an id of its own", req.ID.Raw()))}
	}
	open := &call{lasting: req.Method == "subscriptions/listen", size: size}
	c.pending[req.ID] = open
	c.asked += size
	if open.lasting {
		c.lasting++
	}
	return nil
}

// open counts the calls without an answer and the lines that are to go out, and
// the bytes of both; lasting are those of the calls that nobody waits for.
func (c *conn) open() (n, lasting, bytes int) {
	c.mu.Lock()
	n, lasting, bytes = len(c.pending), c.lasting, c.asked
	c.mu.Unlock()
	lines, waiting := c.out.waiting()
	return n + lines, lasting, bytes + waiting
}

// room reports whether more may be read.
func (c *conn) room() bool {
	n, _, bytes := c.open()
	return n < maxOpen && bytes < maxHeld
}

// idle reports whether everything is answered.
func (c *conn) idle() bool {
	n, lasting, _ := c.open()
	return n == lasting
}

// await returns nil when something holds, late when nothing has changed for so
// long, and otherwise why it never will.
func (c *conn) await(ctx context.Context, holds func() bool, patience time.Duration, late error) error {
	for !holds() {
		timer := time.NewTimer(patience)
		select {
		case <-c.changed:
		case <-c.closed:
			return io.EOF
		case <-c.out.broken:
			return c.out.err
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return late
		}
		timer.Stop()
	}
	return nil
}

// drained waits until everything is answered, until the drain time is over, or
// until nobody is left who would read the answers, and returns why the session
// ends.
func (c *conn) drained(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.drain)
	defer cancel()
	for {
		err := c.await(ctx, c.idle, glance, errWaiting)
		switch {
		case err == nil:
			return c.end
		case errors.Is(err, errWaiting) && !unread(c.out.to):
		default:
			n, lasting, _ := c.open()
			c.log.Warn("the client left; calls still running are given up", "calls", n-lasting)
			return c.end
		}
	}
}

// Write sends one message as one line, behind those that wait to go out. The
// answer to a call that the client cancelled is dropped.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) (err error) {
	defer func() { // the SDK would let a panic end the process
		if p := recover(); p != nil {
			c.log.Error("panic while writing", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("writing to the client: %v", p)
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	resp, isResponse := msg.(*jsonrpc.Response)
	if isResponse {
		msg = withCode(resp)
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil && isResponse { // the error would end the session; the call gets an answer all the same
		c.log.Error("encoding an answer", "err", err)
		data, err = jsonrpc.EncodeMessage(unencodable(resp.ID))
	}
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock() // a call is counted as pending or as waiting to go out, or both
	if isResponse && c.settle(resp.ID) {
		c.tell()
		return nil
	}
	c.out.put(append(data, '\n'))
	return nil
}

// unencodable answers a call whose true answer is no JSON.
func unencodable(id jsonrpc.ID) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error: the answer cannot be encoded: this is a bug; other calls still work"}}
}

// settle forgets a call, and reports whether the client has cancelled it. The
// caller holds mu.
func (c *conn) settle(id jsonrpc.ID) (cancelled bool) {
	open := c.pending[id]
	if open == nil {
		return false
	}
	delete(c.pending, id)
	c.asked -= open.size
	if open.lasting {
		c.lasting--
	}
	return open.cancelled
}

// tell wakes Read if it waits.
func (c *conn) tell() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// withCode gives errors that the SDK sends without a code (a call before
// initialize, a second initialize) the code of an invalid request, and bounds
// their text.
func withCode(resp *jsonrpc.Response) *jsonrpc.Response {
	if resp.Error == nil {
		return resp
	}
	wire := jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: cut(resp.Error.Error())}
	if known := (*jsonrpc.Error)(nil); errors.As(resp.Error, &known) {
		wire.Code, wire.Data = known.Code, known.Data
	}
	return &jsonrpc.Response{ID: resp.ID, Error: &wire}
}
