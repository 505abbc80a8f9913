package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"smart-connections-mcp/smartenv"
)

// connect drives the server with the SDK's own client over two pipes.
func connect(t *testing.T, s *Server) *mcp.ClientSession {
	t.Helper()
	in, send := io.Pipe()
	receive, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- s.Serve(t.Context(), in, out)
		out.Close()
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: receive, Writer: send}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Serve() = %v, want nil", err)
			}
		case <-time.After(5 * time.Second):
			t.Error("Serve does not end")
		}
	})
	return session
}

func textOf(res *mcp.CallToolResult) string { return res.Content[0].(*mcp.TextContent).Text }

func TestOfficialClient(t *testing.T) {
	session := connect(t, serverOf(t, vaultNotes()))
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		a := tool.Annotations
		if a == nil || !a.ReadOnlyHint || !a.IdempotentHint || a.DestructiveHint == nil || *a.DestructiveHint || a.OpenWorldHint == nil || *a.OpenWorldHint || tool.Title == "" {
			t.Errorf("%s: annotations %+v", tool.Name, a)
		}
	}
	want := []string{"backlinks", "broken_links", "connection_graph", "get_note", "index_status", "related_notes", "resolve_link", "search_health", "search_notes"}
	if !slices.Equal(names, want) {
		t.Errorf("tools %v, want %v", names, want)
	}
	caps := session.InitializeResult().Capabilities
	if caps.Tools == nil || caps.Tools.ListChanged || caps.Resources == nil || caps.Resources.ListChanged || caps.Resources.Subscribe ||
		caps.Prompts == nil || caps.Prompts.ListChanged || caps.Completions == nil {
		t.Errorf("capabilities %+v, want tools, resources, prompts without changes, and completions", caps)
	}
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_notes", Arguments: map[string]any{"query": "compost", "limit": 2}})
	if err != nil || res.IsError {
		t.Fatalf("search_notes = %+v, %v", res, err)
	}
	var out SearchOutput
	if err := json.Unmarshal([]byte(textOf(res)), &out); err != nil || len(out.Results) != 2 || out.Results[0].Path != "Garden/Compost.md" {
		t.Errorf("results %+v, %v", out.Results, err)
	}
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "nope"}); err == nil {
		t.Error("an unknown tool is no error")
	}
	if err := session.Ping(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// An error that lists names is bounded, whatever they are.
func TestErrorTextIsBounded(t *testing.T) {
	res := failure(errors.New(strings.Repeat("Ordner\u202e ", 10_000)))
	data, err := json.Marshal(res)
	if err != nil || len(data) > maxError*5/4 || !strings.Contains(string(data), `Ordner\\u202e`) {
		t.Errorf("%d bytes, %v: %.100s", len(data), err, data)
	}
}

// V7: an error may quote what is not to be seen, and breaks no line but its own.
func TestErrorText(t *testing.T) {
	deceiving := errors.New("a\nb\x1b[31m\u009b\u200b\u202e\U000e0041")
	const shown = `a\u000ab\u001b[31m\u009b\u200b\u202e\udb40\udc41`
	for _, test := range []struct {
		err  error
		want string
	}{
		{deceiving, shown},
		{errors.Join(nil, deceiving, errors.New("ü 👨‍👩‍👧‍👦")), shown + "\nü 👨‍👩‍👧‍👦"},
		{errors.Join(deceiving), shown},
	} {
		if got := errorText(test.err); got != test.want {
			t.Errorf("errorText(%q) = %q, want %q", test.err, got, test.want)
		}
	}
}

// embedderFunc is an embedder made of a function.
type embedderFunc func(ctx context.Context, text string) ([]float32, error)

func (f embedderFunc) Embed(ctx context.Context, text string) ([]float32, error) { return f(ctx, text) }

// EmbedDocument fails, so that nothing is proved: the index of these tests was
// not made with the function.
func (f embedderFunc) EmbedDocument(context.Context, string) ([]float32, error) {
	return nil, errNotProved
}

var errNotProved = errors.New("this test has no documents")

// P4: a panic in a tool is an error result; the session goes on, and the stack is
// in the log only.
func TestPanicInTool(t *testing.T) {
	s := serverOf(t, vaultNotes())
	var log lockedBuffer
	s.log = slog.New(slog.NewTextHandler(&log, nil))
	s.embedder = func(context.Context, smartenv.Model) (Embedder, error) {
		return embedderFunc(func(_ context.Context, text string) ([]float32, error) {
			if text == "panic" {
				panic("kernel")
			}
			return wordEmbedder{}.Embed(t.Context(), text)
		}), nil
	}
	session := connect(t, s)
	for range 3 { // more than there are processors' places to lose
		for range cap(s.cpu) {
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_notes", Arguments: map[string]any{"query": "panic"}})
			if err != nil || !res.IsError || !strings.HasPrefix(textOf(res), "internal error in search_notes: kernel") || strings.Contains(textOf(res), "goroutine") {
				t.Fatalf("search_notes = %+v, %v; want an internal error", res, err)
			}
		}
	}
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_notes", Arguments: map[string]any{"query": "rose"}})
	if err != nil || res.IsError {
		t.Errorf("the next call = %+v, %v", res, err)
	}
	session.Close()
	if !strings.Contains(log.String(), "goroutine") {
		t.Errorf("the log has no stack: %.300s", log.String())
	}
}

// lockedBuffer is a buffer that several goroutines may use.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// P4: a panic in the loading at the start must not end the process.
func TestPanicWhileLoading(t *testing.T) {
	s := serverOf(t, vaultNotes())
	s.embedder = func(context.Context, smartenv.Model) (Embedder, error) { panic("weights") }
	session := connect(t, s)
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_notes", Arguments: map[string]any{"query": "rose"}})
	if err != nil || !res.IsError || !strings.Contains(textOf(res), "internal error in search_notes: weights") {
		t.Errorf("search_notes = %+v, %v", res, err)
	}
	if res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "index_status"}); err != nil || res.IsError {
		t.Errorf("index_status = %+v, %v", res, err)
	}
}

// Nor must one in what is looked at before anything is asked.
func TestPanicAtTheStart(t *testing.T) {
	s := serverOf(t, vaultNotes())
	var log lockedBuffer
	s.log = slog.New(slog.NewTextHandler(&log, nil))
	s.atHand = func(smartenv.Model) bool { panic("cache") }
	session := connect(t, s)
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(log.String(), "cache"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the log does not tell of the panic: %.300s", log.String())
		}
	}
	if res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_note", Arguments: map[string]any{"path": "Garden/Roses.md"}}); err != nil || res.IsError {
		t.Errorf("get_note = %+v, %v", res, err)
	}
}

// 66: while weights are loaded, initialize is answered at once, other tools work,
// and a search says to come back before the client gives up. The load is not
// lost with the call that waited for it.
func TestSlowWeights(t *testing.T) {
	s := serverOf(t, vaultNotes())
	s.patience = 700 * time.Millisecond
	release := make(chan struct{})
	var cancelled atomic.Bool
	s.embedder = func(ctx context.Context, _ smartenv.Model) (Embedder, error) {
		select {
		case <-release:
			return wordEmbedder{}, nil
		case <-ctx.Done():
			cancelled.Store(true)
			return nil, ctx.Err()
		}
	}
	session := connect(t, s) // initialize is answered before release is closed
	search := &mcp.CallToolParams{Name: "search_notes", Arguments: map[string]any{"query": "rose"}}
	res, err := session.CallTool(t.Context(), search)
	if err != nil || !res.IsError || !strings.Contains(textOf(res), "still being loaded") || !strings.Contains(textOf(res), "call again") {
		t.Fatalf("search_notes = %+v, %v", res, err)
	}
	if res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "related_notes", Arguments: map[string]any{"path": "Garden/Roses.md"}}); err != nil || res.IsError {
		t.Errorf("related_notes = %+v, %v", res, err)
	}
	if cancelled.Load() {
		t.Error("the load was cancelled with the call that waited")
	}
	close(release)
	if res, err := session.CallTool(t.Context(), search); err != nil || res.IsError {
		t.Errorf("search_notes after loading = %+v, %v", res, err)
	}
}

// P5: a cancelled call stops its work.
func TestCancelledCallStops(t *testing.T) {
	s := serverOf(t, vaultNotes())
	started, stopped := make(chan struct{}), make(chan struct{})
	s.embedder = func(context.Context, smartenv.Model) (Embedder, error) {
		return embedderFunc(func(ctx context.Context, _ string) ([]float32, error) {
			close(started)
			<-ctx.Done()
			close(stopped)
			return nil, ctx.Err()
		}), nil
	}
	session := connect(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "search_notes", Arguments: map[string]any{"query": "rose"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("CallTool = %v, want context.Canceled", err)
	}
	select {
	case <-stopped:
	case <-time.After(2 * time.Second):
		t.Error("the work goes on")
	}
}

// Many calls at once, of all tools: all are answered, the weights are asked for
// by few computations at a time.
func TestConcurrentCalls(t *testing.T) {
	s := serverOf(t, vaultNotes())
	var running, most atomic.Int32
	s.embedder = func(context.Context, smartenv.Model) (Embedder, error) {
		return embedderFunc(func(ctx context.Context, text string) ([]float32, error) {
			n := running.Add(1)
			defer running.Add(-1)
			for {
				old := most.Load()
				if n <= old || most.CompareAndSwap(old, n) {
					break
				}
			}
			time.Sleep(time.Millisecond)
			return wordEmbedder{}.Embed(ctx, text)
		}), nil
	}
	session := connect(t, s)
	calls := []*mcp.CallToolParams{
		{Name: "search_notes", Arguments: map[string]any{"query": "compost"}},
		{Name: "related_notes", Arguments: map[string]any{"path": "Garden/Roses.md"}},
		{Name: "get_note", Arguments: map[string]any{"path": "Short.md"}},
		{Name: "index_status"},
	}
	want := make([]string, len(calls))
	for i, call := range calls[:3] {
		res, err := session.CallTool(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		want[i] = textOf(res)
	}
	var wait sync.WaitGroup
	for i := range 400 {
		wait.Go(func() {
			call := *calls[i%4] // the client writes into it
			res, err := session.CallTool(t.Context(), &call)
			if err != nil || res.IsError || want[i%4] != "" && textOf(res) != want[i%4] {
				t.Errorf("%s = %+v, %v", calls[i%4].Name, res, err)
			}
		})
	}
	wait.Wait()
	if got := int(most.Load()); got > cap(s.cpu) {
		t.Errorf("%d computations at once, want at most %d", got, cap(s.cpu))
	}
}

// The index changes on disk: the next call sees it.
func TestServesTheNewIndex(t *testing.T) {
	dir := writeVault(t, vaultNotes())
	s := newTestServer(t, dir)
	before := mustSearch(t, s, DefaultSearch("rose")).Coverage
	other := writeVault(t, append(vaultNotes(), testNote{path: "Garden/New rose.md", text: "# N\n" + para("A rose", 240) + "\n"}))
	copyTree(t, other, dir)
	time.Sleep(30 * time.Millisecond) // more than Recheck
	after := mustSearch(t, s, DefaultSearch("rose"))
	if after.Coverage.NotesSearched != before.NotesSearched+1 || !slices.ContainsFunc(after.Results, func(r Row) bool { return r.Path == "Garden/New rose.md" }) {
		t.Errorf("before %+v, after %+v", before, after.Coverage)
	}
}

// P8: Serve ends with its context, although the client neither writes nor reads.
func TestServeEndsWithContext(t *testing.T) {
	s := serverOf(t, vaultNotes())
	in, send := io.Pipe()
	_, out := io.Pipe() // nobody reads
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, in, out) }()
	fmt.Fprintln(send, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("Serve() = %v, want nil", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("Serve does not end")
	}
}

// P8, 69: three calls and the end of the input, as a script pipes them.
func TestPipedSession(t *testing.T) {
	s := serverOf(t, vaultNotes())
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_notes","arguments":{"query":"rose"}}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"index_status"}}`)
	var out bytes.Buffer
	if err := s.Serve(t.Context(), in, &out); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "\n"); got != 3 || strings.Contains(out.String(), "isError") {
		t.Errorf("%d answers, want 3:\n%s", got, out.String())
	}
}
