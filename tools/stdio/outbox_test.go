package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stuck is a pipe that is full: the first Write returns when it is let go.
type stuck struct {
	output
	free    chan struct{}
	entered atomic.Int32
}

func (s *stuck) Write(p []byte) (int, error) {
	s.entered.Add(1)
	<-s.free
	return s.output.Write(p)
}

// begin begins a session that ends by itself or with the test.
func begin(t *testing.T, s *mcp.Server, transport *Transport) (ended chan error) {
	t.Helper()
	session, err := s.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended = make(chan error, 1)
	go func() { ended <- session.Wait() }()
	return ended
}

func soon(t *testing.T, ended chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Minute):
		t.Fatal("the session does not end")
		return nil
	}
}

// P7: a client that does not read holds up neither the reading, refusals among
// it, nor the calls. When it reads again everything comes, in the order in which
// it was ready.
func TestStuckClient(t *testing.T) {
	var ran atomic.Int32
	server := newServer(nil)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			ran.Add(1)
			return next(ctx, method, req)
		}
	})
	in, write := io.Pipe()
	out := &stuck{free: make(chan struct{})}
	ended := begin(t, server, &Transport{In: in, Out: out})
	io.WriteString(write, initialize) // returns when it was read
	for i := range 100 {
		io.WriteString(write, "no json\n"+toolCall(fmt.Sprint(i+2), "quick"))
	}
	for deadline := time.Now().Add(10 * time.Second); ran.Load() < 102; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d requests were handled, want all 102", ran.Load())
		}
	}
	if n := out.entered.Load(); n != 1 {
		t.Fatalf("%d writes at once", n)
	}
	close(out.free)
	write.Close()
	if err := soon(t, ended); err != nil {
		t.Errorf("Wait() = %v, want nil", err)
	}
	want := []string{"1:ok"}
	for i := range 100 {
		want = append(want, "null:-32700", fmt.Sprintf("%d:ok", i+2))
	}
	slices.Sort(want)
	if got := out.answers(t); !slices.Equal(got, want) {
		t.Errorf("answers %q, want %q", got, want)
	}
}

// P7: lines go out in the order in which they were put in, whoever puts them.
func TestOutboxOrder(t *testing.T) {
	out := &stuck{free: make(chan struct{})}
	o := newOutbox(out, slog.New(slog.DiscardHandler), func() {})
	for i := range 1000 {
		o.put(fmt.Appendf(nil, "%d\n", i))
	}
	close(out.free)
	o.close(10 * time.Second)
	o.put([]byte("too late\n"))
	for i, line := range out.lines {
		if line != fmt.Sprint(i) {
			t.Fatalf("line %d is %q", i, line)
		}
	}
	if len(out.lines) != 1000 {
		t.Errorf("%d lines, want 1000", len(out.lines))
	}
}

// calls are endlessly many calls, or lines that are none.
type calls struct {
	line func(i int) string
	n    atomic.Int32
	rest []byte
}

func (c *calls) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		c.rest = []byte(c.line(int(c.n.Add(1)) - 1))
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// P7: a client that writes without end and reads nothing costs bounded memory,
// and the session ends.
func TestClientThatNeverReads(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	for _, tt := range []struct {
		name string
		line func(i int) string
	}{
		{"calls", func(i int) string { return toolCall(fmt.Sprint(i+2), "quick") }},
		{"calls that wait", func(i int) string { return toolCall(fmt.Sprint(i+2), "slow") }},
		{"long calls that wait", func(i int) string {
			return strings.Replace(toolCall(fmt.Sprint(i+2), "slow"), `"params":{`, `"params":{"_meta":{"x":"`+long+`"},`, 1)
		}},
		{"refused lines", func(int) string { return "no json\n" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := &calls{line: tt.line}
			out := &stuck{free: make(chan struct{})}
			defer close(out.free)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			ended := begin(t, newServer(nil), &Transport{In: io.MultiReader(strings.NewReader(initialize), in), Out: out, stall: time.Second})
			if err := soon(t, ended); !errors.Is(err, errStalled) {
				t.Errorf("Wait() = %v, want %v", err, errStalled)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if grown := int(after.HeapAlloc) - int(before.HeapAlloc); grown > 6*maxHeld {
				t.Errorf("%d MB are held", grown>>20)
			}
			if tt.name != "refused lines" && in.n.Load() > 20*maxOpen {
				t.Errorf("%d calls were read", in.n.Load())
			}
		})
	}
}

// P7: one who reads late, after much longer than the stall, gets everything when
// the calls are few.
func TestLateReader(t *testing.T) {
	const stall = 100 * time.Millisecond
	in, write := io.Pipe()
	out := &stuck{free: make(chan struct{})}
	ended := begin(t, newServer(nil), &Transport{In: in, Out: out, stall: stall})
	io.WriteString(write, initialize)
	for i := range maxOpen - 2 { // and initialize
		io.WriteString(write, toolCall(fmt.Sprint(i+2), "quick"))
	}
	time.Sleep(2 * stall)
	close(out.free)
	write.Close()
	if err := soon(t, ended); err != nil {
		t.Errorf("Wait() = %v, want nil", err)
	}
	if got := len(out.sorted(t)); got != maxOpen-1 {
		t.Errorf("%d answers, want %d", got, maxOpen-1)
	}
}

// P7, P8: at the end of the input a client that never reads is not waited for
// longer than the drain time, nor one that is gone.
func TestEndWithoutReader(t *testing.T) {
	out := &stuck{free: make(chan struct{})}
	defer close(out.free)
	ended := begin(t, newServer(nil), &Transport{In: strings.NewReader(initialize + toolCall("2", "quick")), Out: out, Drain: 50 * time.Millisecond})
	if err := soon(t, ended); err != nil {
		t.Errorf("Wait() = %v, want nil", err)
	}
	if runtime.GOOS == "windows" {
		t.Skip("a closed pipe is noticed there when something is written")
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	in, client := io.Pipe()
	ended = begin(t, newServer(nil), &Transport{In: in, Out: write, Drain: time.Hour})
	io.WriteString(client, initialize+toolCall("2", "slow"))
	if _, err := read.Read(make([]byte, 1<<16)); err != nil { // the answer to initialize
		t.Fatal(err)
	}
	client.Close()
	select {
	case err := <-ended:
		t.Fatalf("the session ended with %v although a call is in flight and somebody reads", err)
	case <-time.After(2 * glance):
	}
	read.Close()
	if err := soon(t, ended); err != nil {
		t.Errorf("Wait() = %v, want nil", err)
	}
}

// The id of an answered call may be used again at once.
func TestIDUsedAgain(t *testing.T) {
	in, write := io.Pipe()
	read, out := io.Pipe()
	ended := begin(t, newServer(nil), &Transport{In: in, Out: out})
	io.WriteString(write, initialize)
	answer := make([]byte, 4096)
	for i := range 201 {
		n, err := read.Read(answer)
		if err != nil || bytes.Contains(answer[:n], []byte("in use")) {
			t.Fatalf("answer %d: %s, %v", i, answer[:n], err)
		}
		io.WriteString(write, toolCall("2", "quick"))
	}
	if _, err := read.Read(answer); err != nil {
		t.Fatal(err)
	}
	write.Close()
	if err := soon(t, ended); err != nil {
		t.Errorf("Wait() = %v, want nil", err)
	}
}

// panickingLog is a log with a bug: it runs in the SDK's goroutines.
type panickingLog struct{ slog.Handler }

func (panickingLog) Enabled(_ context.Context, level slog.Level) bool { return level == slog.LevelWarn }
func (panickingLog) Handle(context.Context, slog.Record) error        { panic("log") }

// P4: a panic in what the SDK calls of ours is answered, or ends the session in
// order; it does not end the process.
func TestPanicsUnderTheSDK(t *testing.T) {
	out := &output{}
	ended := begin(t, newServer(nil), &Transport{In: strings.NewReader(initialize + "no json\n" + toolCall("2", "quick")), Out: out,
		Log: slog.New(panickingLog{slog.DiscardHandler})})
	err := soon(t, ended)
	if got := out.answers(t); err != nil || !slices.Equal(got, []string{"1:ok", "2:ok", "null:-32603"}) {
		t.Errorf("answers %q, %v; want 2:ok and null:-32603", got, err)
	}
	in, write := io.Pipe()
	defer write.Close()
	ended = begin(t, newServer(nil), &Transport{In: in, Out: panickingWriter{}})
	io.WriteString(write, initialize)
	if err := soon(t, ended); err == nil || !strings.Contains(err.Error(), "writer") {
		t.Errorf("Wait() = %v, want the panic as an error", err)
	}
}

// panickingWriter is a writer with a bug.
type panickingWriter struct{}

func (panickingWriter) Write([]byte) (int, error) { panic("writer") }

// An answer that is no JSON is an internal error for its call, and not the end.
func TestUnencodableAnswer(t *testing.T) {
	in, feed := io.Pipe()
	receive, out := io.Pipe()
	c, err := (&Transport{In: in, Out: out}).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go feed.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"))
	msg, err := c.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bad := &jsonrpc.Response{ID: msg.(*jsonrpc.Request).ID, Error: &jsonrpc.Error{Code: -32002, Message: "x", Data: json.RawMessage(`{"uri":"\x00"}`)}}
	if err := c.Write(t.Context(), bad); err != nil {
		t.Fatalf("Write = %v, want an answer", err)
	}
	line, err := bufio.NewReader(receive).ReadString('\n')
	if got := line; err != nil || !strings.Contains(got, `"id":1`) || !strings.Contains(got, "cannot be encoded") {
		t.Errorf("written %q, want an internal error for call 1", got)
	}
	feed.Close()
}
