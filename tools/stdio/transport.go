package stdio

import (
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

// A Transport is one MCP session over In and Out. In and Out stay the
// caller's: neither is closed. Zero limits mean the defaults.
type Transport struct {
	In      io.Reader
	Out     io.Writer
	MaxLine int           // bytes of the longest line that is read
	Drain   time.Duration // how long calls in flight may take once In has ended
	Log     *slog.Logger  // nil: quiet
}

// Connect starts reading. The goroutine that reads ends when In does, or with
// the first line after the connection was closed: a blocked read of a
// process's standard input cannot be interrupted.
func (t *Transport) Connect(context.Context) (mcp.Connection, error) {
	c := &conn{
		out:     t.Out,
		drain:   t.Drain,
		log:     t.Log,
		lines:   make(chan lineOrErr),
		closed:  make(chan struct{}),
		pending: map[jsonrpc.ID]*call{},
		idle:    make(chan struct{}, 1),
	}
	if c.drain == 0 {
		c.drain = DefaultDrain
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	maxLine := t.MaxLine
	if maxLine == 0 {
		maxLine = DefaultMaxLine
	}
	go c.scan(newLines(t.In, maxLine))
	return c, nil
}

type lineOrErr struct {
	line []byte
	err  error
}

// A call is a request that has no answer yet.
type call struct{ cancelled bool }

type conn struct {
	log   *slog.Logger
	drain time.Duration
	lines chan lineOrErr // from scan to Read
	end   error          // why lines ended; only Read touches it

	closeOnce sync.Once
	closed    chan struct{}

	writing sync.Mutex // held while a line goes out
	out     io.Writer

	mu      sync.Mutex // guards pending
	pending map[jsonrpc.ID]*call
	idle    chan struct{} // gets a value when pending becomes empty
}

func (c *conn) SessionID() string { return "" }

func (c *conn) Close() error {
	c.closeOnce.Do(func() { close(c.closed) })
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
		var l lineOrErr
		select {
		case l = <-c.lines:
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		msg, refused := c.accept(l)
		if refused != nil {
			if err := c.write(refused.encode()); err != nil {
				return nil, err
			}
		}
		if msg != nil {
			return msg, nil
		}
	}
	c.wait(ctx)
	return nil, c.end
}

// accept turns what scan passed into a message, a refusal, or the end.
func (c *conn) accept(l lineOrErr) (jsonrpc.Message, *refusal) {
	switch {
	case errors.Is(l.err, errLineTooLong):
		c.log.Warn("a line over the limit was skipped")
		return nil, &refusal{code: jsonrpc.CodeInvalidRequest, text: "the line is too long and was skipped: send less in one message"}
	case l.err != nil:
		c.end = l.err
		return nil, nil
	}
	msg, refused := parse(l.line)
	if refused != nil {
		c.log.Warn("a line was refused", "reason", refused.text)
		return nil, refused
	}
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		return msg, nil
	}
	if refused := c.track(req); refused != nil {
		return nil, refused
	}
	return msg, nil
}

// track remembers a call until its answer is written, and which calls the
// client has cancelled. A subscription is never waited for: it lasts as long
// as the session.
func (c *conn) track(req *jsonrpc.Request) *refusal {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id, ok := cancelled(req); ok {
		if open := c.pending[id]; open != nil {
			open.cancelled = true
		}
		return nil
	}
	if !req.IsCall() || req.Method == "subscriptions/listen" {
		return nil
	}
	if c.pending[req.ID] != nil { // the SDK would leave it without an answer
		return &refusal{code: jsonrpc.CodeInvalidRequest, text: cut(fmt.Sprintf("request id %v is still in use: give each request an id of its own", req.ID.Raw()))}
	}
	c.pending[req.ID] = &call{}
	return nil
}

// wait returns when no call is in flight, after the drain time, or when the
// connection is closed.
func (c *conn) wait(ctx context.Context) {
	limit := time.NewTimer(c.drain)
	defer limit.Stop()
	for c.inFlight() > 0 {
		select {
		case <-c.idle:
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		case <-limit.C:
			c.log.Warn("the client left; calls still running are given up", "calls", c.inFlight())
			return
		}
	}
}

func (c *conn) inFlight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)
}

// Write sends one message as one line. The answer to a call that the client
// cancelled is dropped.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	resp, isResponse := msg.(*jsonrpc.Response)
	if isResponse {
		defer c.settle(resp.ID)
		if c.wasCancelled(resp.ID) {
			return nil
		}
		msg = withCode(resp)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	return c.write(append(data, '\n'))
}

// settle forgets a call whose answer is written or dropped.
func (c *conn) settle(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
	if len(c.pending) == 0 {
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
}

func (c *conn) wasCancelled(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	open := c.pending[id]
	return open != nil && open.cancelled
}

func (c *conn) write(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	n, err := c.out.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("writing to the client: %w", err)
	}
	return nil
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
