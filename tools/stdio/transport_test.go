package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
	`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// toolCall is a tools/call with the given id.
func toolCall(id, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q}}`, id, tool) + "\n"
}

// newServer has a tool quick and a tool slow, which ends when release is
// closed or its call is cancelled.
func newServer(release <-chan struct{}) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	schema := json.RawMessage(`{"type":"object"}`)
	s.AddTool(&mcp.Tool{Name: "quick", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
	s.AddTool(&mcp.Tool{Name: "slow", InputSchema: schema}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-release:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return &mcp.CallToolResult{}, nil
	})
	return s
}

// output collects what the server writes; every Write must be one whole line,
// and none may begin before another has ended.
type output struct {
	writing atomic.Bool
	mu      sync.Mutex
	lines   []string
	bad     []string
}

func (o *output) Write(p []byte) (int, error) {
	if o.writing.Swap(true) {
		panic("two writes at once")
	}
	defer o.writing.Store(false)
	time.Sleep(100 * time.Microsecond)
	o.mu.Lock()
	defer o.mu.Unlock()
	if line, ok := bytes.CutSuffix(p, []byte("\n")); ok && json.Valid(line) && !bytes.Contains(line, []byte("\n")) {
		o.lines = append(o.lines, string(line))
	} else {
		o.bad = append(o.bad, string(p))
	}
	return len(p), nil
}

func (o *output) sorted(t *testing.T) []string {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.bad) > 0 {
		t.Errorf("writes that are not one line of JSON: %.200q", o.bad)
	}
	return slices.Sorted(slices.Values(o.lines))
}

// answers shortens lines to "id:result" or "id:code", sorted.
func (o *output) answers(t *testing.T) (short []string) {
	t.Helper()
	for _, line := range o.sorted(t) {
		var m struct {
			ID    json.RawMessage
			Error *jsonrpc.Error
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.Error != nil {
			short = append(short, fmt.Sprintf("%s:%d", m.ID, m.Error.Code))
		} else {
			short = append(short, fmt.Sprintf("%s:ok", m.ID))
		}
	}
	slices.Sort(short)
	return short
}

// serve runs one session to its end.
func serve(t *testing.T, s *mcp.Server, in io.Reader, drain time.Duration) (*output, error) {
	t.Helper()
	out := &output{}
	session, err := s.Connect(t.Context(), &Transport{In: in, Out: out, MaxLine: 10_000, Drain: drain}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the session does not end")
	}
	return out, err
}

// P1, P3: each input is answered as wanted, the session goes on with a ping behind it,
// and ends without an error.
func TestHostileLines(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     string // answers besides those to initialize and ping
	}{
		{"nothing", "", ""},
		{"blank lines", "\n\n \t \r\n", ""},
		{"no json", "hello\n", "null:-32700"},
		{"half a message", `{"jsonrpc":"2.0","id":2,` + "\n", "null:-32700"},
		{"two messages on a line", `{"jsonrpc":"2.0","id":2,"method":"ping"}{"jsonrpc":"2.0","id":3,"method":"ping"}` + "\n", "null:-32700"},
		{"utf-16", "\xff\xfe{\x00}\x00\n", "null:-32700"},
		{"a number", "7\n", "null:-32600"},
		{"null", "null\n", "null:-32600"},
		{"an empty object", "{}\n", "null:-32600"},
		{"an id and nothing to do", `{"jsonrpc":"2.0","id":5}` + "\n", "5:-32600"},
		{"a fractional id and nothing to do", `{"jsonrpc":"2.0","id":1.5}` + "\n", "1.5:-32600"},
		{"batch", `[{"jsonrpc":"2.0","id":2,"method":"ping"}]` + "\n", "null:-32600"},
		{"empty batch", "[]\n", "null:-32600"},
		{"wrong version", `{"jsonrpc":"1.0","id":2,"method":"ping"}` + "\n", "2:-32600"},
		{"no version", `{"id":"a","method":"ping"}` + "\n", `"a":-32600`},
		{"method is no string", `{"jsonrpc":"2.0","id":2,"method":7}` + "\n", "2:-32600"},
		{"method null", `{"jsonrpc":"2.0","id":2,"method":null}` + "\n", "2:-32601"},
		{"unknown method", `{"jsonrpc":"2.0","id":2,"method":"nope"}` + "\n", "2:-32601"},
		{"unknown notification", `{"jsonrpc":"2.0","method":"notifications/nope"}` + "\n", ""},
		{"unknown tool", toolCall("2", "nope"), "2:-32602"},
		{"params are an array", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":[1]}` + "\n", "2:-32602"},
		{"params missing", `{"jsonrpc":"2.0","id":2,"method":"tools/call"}` + "\n", "2:-32600"},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}` + "\n", "null:-32600"},
		{"id fractional", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}` + "\n", "1.5:-32600"},
		{"id too big", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}` + "\n", "9007199254740993:-32600"},
		{"id an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}` + "\n", "null:-32600"},
		{"id 0", `{"jsonrpc":"2.0","id":0,"method":"ping"}` + "\n", "0:ok"},
		{"id negative", `{"jsonrpc":"2.0","id":-7,"method":"ping"}` + "\n", "-7:ok"},
		{"id empty string", `{"jsonrpc":"2.0","id":"","method":"ping"}` + "\n", `"":ok`},
		{"id a string with signs", `{"jsonrpc":"2.0","id":"a<b & ü","method":"ping"}` + "\n", `"a<b & ü":ok`},
		{"a response to nothing", `{"jsonrpc":"2.0","id":5,"result":{}}` + "\n", ""},
		{"an error without id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}` + "\n", ""},
		{"over the limit", `{"jsonrpc":"2.0","id":2,"method":"ping","x":"` + strings.Repeat("x", 10_000) + "\"}\n", "null:-32600"},
		{"deep nesting", strings.Repeat("[", 4000) + strings.Repeat("]", 4000) + "\n", "null:-32600"},
		{"deeply nested params", `{"jsonrpc":"2.0","id":2,"method":"ping","params":` + strings.Repeat("[", 4000) + strings.Repeat("]", 4000) + "}\n", "2:-32600"},
		{"invalid utf-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}\n", "\"\ufffd\":ok"},
		{"lone surrogate", `{"jsonrpc":"2.0","id":"\ud800","method":"ping"}` + "\n", "\"\ufffd\":ok"},
		{"cancelling nothing", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}` + "\n", ""},
		{"cancelling nonsense", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}` + "\n", ""},
		{"second initialize", strings.Replace(initialize, `"id":1`, `"id":2`, 1), "2:-32600"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ping := `{"jsonrpc":"2.0","id":"last","method":"ping"}` // and no final newline
			out, err := serve(t, newServer(nil), strings.NewReader("\xef\xbb\xbf"+initialize+tt.in+ping), 5*time.Second)
			if err != nil {
				t.Errorf("Wait() = %v, want nil", err)
			}
			want := []string{`"last":ok`, "1:ok"}
			if tt.want != "" {
				want = append(want, tt.want)
			}
			slices.Sort(want)
			if got := out.answers(t); !slices.Equal(got, want) {
				t.Errorf("answers %q, want %q\n%s", got, want, strings.Join(out.sorted(t), "\n"))
			}
		})
	}
}

func TestCallBeforeInitialize(t *testing.T) {
	out, err := serve(t, newServer(nil), strings.NewReader(toolCall("2", "quick")), time.Second)
	if got := out.answers(t); err != nil || !slices.Equal(got, []string{"2:-32600"}) {
		t.Errorf("answers %q, %v; want 2:-32600 and no error", got, err)
	}
}

func TestErrorTextIsBounded(t *testing.T) {
	in := initialize + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":["` + strings.Repeat("ü", 4000) + "\"]}\n"
	out, _ := serve(t, newServer(nil), strings.NewReader(in), time.Second)
	for _, line := range out.sorted(t) {
		if len(line) > 1000 {
			t.Errorf("an answer of %d bytes: %.100s", len(line), line)
		}
	}
}

// P8, 69: three calls and the end of the input: three answers, then the end.
func TestEndDrains(t *testing.T) {
	release := make(chan struct{})
	time.AfterFunc(100*time.Millisecond, func() { close(release) })
	in := initialize + toolCall("2", "slow") + toolCall("3", "quick") + toolCall(`"four"`, "slow") +
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestid":2}}` + "\n" // which says nothing: requestId would
	out, err := serve(t, newServer(release), strings.NewReader(in), 5*time.Second)
	want := []string{`"four":ok`, "1:ok", "2:ok", "3:ok"}
	if got := out.answers(t); err != nil || !slices.Equal(got, want) {
		t.Errorf("answers %q, %v; want %q and no error", got, err, want)
	}
}

// Answers that are ready at the same time go out one after the other.
func TestWritesDoNotMix(t *testing.T) {
	in := initialize
	for i := range 200 {
		in += toolCall(fmt.Sprint(i+2), "quick")
	}
	out, err := serve(t, newServer(nil), strings.NewReader(in), 20*time.Second)
	if got := len(out.sorted(t)); err != nil || got != 201 {
		t.Errorf("%d answers, %v; want 201 and no error", got, err)
	}
}

// A call that never ends must not keep the process alive.
func TestEndDrainsNotForever(t *testing.T) {
	start := time.Now()
	out, err := serve(t, newServer(nil), strings.NewReader(initialize+toolCall("2", "slow")+toolCall("3", "quick")), 50*time.Millisecond)
	if got := out.answers(t); err != nil || !slices.Equal(got, []string{"1:ok", "3:ok"}) {
		t.Errorf("answers %q, %v; want those to 1 and 3, and no error", got, err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the end took %v", took)
	}
}

// P5: so says the protocol.
func TestCancelledCallGetsNoAnswer(t *testing.T) {
	in := initialize + toolCall("2", "slow") + toolCall(`"2"`, "slow") +
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"2"}}` + "\n" + toolCall("3", "quick")
	out, err := serve(t, newServer(nil), strings.NewReader(in), 5*time.Second)
	if got := out.answers(t); err != nil || !slices.Equal(got, []string{"1:ok", "3:ok"}) {
		t.Errorf("answers %q, %v; want those to 1 and 3, and no error", got, err)
	}
}

// P5: a cancellation that names no possible call ends none. The SDK would take 2.5
// for 2.
func TestCancellationOfNothing(t *testing.T) {
	for _, id := range []string{"2.5", "null", "[2]", "true", "1e99"} {
		release := make(chan struct{})
		time.AfterFunc(100*time.Millisecond, func() { close(release) })
		notice := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + "}}\n"
		call := `{"jsonrpc":"2.0","id":3,"method":"notifications/cancelled","params":{"requestId":` + id + "}}\n"
		out, err := serve(t, newServer(release), strings.NewReader(initialize+toolCall("2", "slow")+notice+call), 5*time.Second)
		if got := out.answers(t); err != nil || !slices.Equal(got, []string{"1:ok", "2:ok", "3:-32602"}) {
			t.Errorf("after a cancellation of %s: answers %q, %v; want 2:ok and 3:-32602", id, got, err)
		}
	}
}

// The SDK leaves a request whose id is in use without an answer.
func TestDuplicateID(t *testing.T) {
	release := make(chan struct{})
	time.AfterFunc(100*time.Millisecond, func() { close(release) })
	out, err := serve(t, newServer(release), strings.NewReader(initialize+toolCall("2", "slow")+toolCall("2", "quick")), 5*time.Second)
	if got := out.answers(t); err != nil || !slices.Equal(got, []string{"1:ok", "2:ok", "null:-32600"}) {
		t.Errorf("answers %q, %v; want 2:ok and null:-32600", got, err)
	}
}

// The same holds for requests that are none to the SDK's handlers.
func TestDuplicateOddID(t *testing.T) {
	for _, odd := range []string{"notifications/cancelled", "subscriptions/listen"} {
		in := initialize + toolCall("3", "slow") + fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":%q,"params":{"requestId":3}}`, odd) + "\n" + toolCall("2", "quick")
		c := &conn{out: &outbox{}, pending: map[jsonrpc.ID]*call{}}
		for line := range strings.Lines(in) {
			msg, refused := parse([]byte(strings.TrimSpace(line)))
			if refused == nil {
				refused = c.track(msg.(*jsonrpc.Request), 1)
			}
			if want := strings.Contains(line, "quick"); (refused != nil) != want {
				t.Errorf("%s: %s is refused: %v, want %v", odd, line, refused, want)
			}
		}
	}
}

// closedOutput fails like a pipe whose reader is gone.
type closedOutput struct{}

func (closedOutput) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// P8: so that the process can end, too.
func TestClosedOutputEndsTheSession(t *testing.T) {
	in, write := io.Pipe()
	defer write.Close()
	session, err := newServer(nil).Connect(t.Context(), &Transport{In: in, Out: closedOutput{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	go io.WriteString(write, initialize)
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err := <-ended:
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("Wait() = %v, want io.ErrClosedPipe", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the session does not end")
	}
}

// P7: a client that writes all its calls before it reads anything must not block
// the server for good.
func TestClientThatReadsLate(t *testing.T) {
	in, write := io.Pipe()
	read, out := io.Pipe()
	session, err := newServer(nil).Connect(t.Context(), &Transport{In: in, Out: out}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const calls = 500
	io.WriteString(write, initialize)
	for i := range calls {
		io.WriteString(write, toolCall(fmt.Sprint(i+2), "quick"))
	}
	write.Close()
	go func() { session.Wait(); out.Close() }()
	data, err := io.ReadAll(read)
	if got := bytes.Count(data, []byte("\n")); err != nil || got != calls+1 {
		t.Errorf("%d answers, %v; want %d", got, err, calls+1)
	}
}

// panicking is a reader with a bug.
type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("reader") }

// P4: the SDK recovers nothing.
func TestReaderPanicEndsTheSession(t *testing.T) {
	_, err := serve(t, newServer(nil), panicking{}, time.Second)
	if err == nil || !strings.Contains(err.Error(), "reader") {
		t.Errorf("Wait() = %v, want the panic as an error", err)
	}
}

// Whatever bytes come, each line written is one JSON message, every call gets
// its answer, and the session ends without an error.
func FuzzSession(f *testing.F) {
	f.Add([]byte("hello\n"))
	f.Add([]byte(toolCall("2", "quick")))
	f.Add([]byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":[]},"name":7}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":2,"method":"completion/complete","params":{"ref":{"type":"ref/prompt"}}}`))
	f.Add([]byte("\xef\xbb\xbf[{}]\r\n\r\n{\"id\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		start := time.Now()
		out, err := serve(t, newServer(nil), io.MultiReader(strings.NewReader(initialize), bytes.NewReader(data)), 5*time.Second)
		if err != nil {
			t.Errorf("Wait() = %v, want nil", err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("the end took %v: a call got no answer", took)
		}
		for _, line := range out.sorted(t) {
			var m map[string]json.RawMessage
			if err := json.Unmarshal([]byte(line), &m); err != nil || string(m["jsonrpc"]) != `"2.0"` {
				t.Errorf("not a message: %s", line)
			}
		}
	})
}
