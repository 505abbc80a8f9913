package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/links"
	"smart-connections-mcp/smartenv/note"
	"smart-connections-mcp/tools/stdio"
)

// An Embedder turns text into a unit vector in the space of one model. It is
// called by several goroutines at once.
type Embedder interface {
	Embed(ctx context.Context, query string) ([]float32, error)
	EmbedDocument(ctx context.Context, text string) ([]float32, error) // of a note or block
}

// Config is what a Server works with. Vault, Index, Embedder and EmbedderName are
// required.
type Config struct {
	Vault *note.Vault
	Index *smartenv.Index
	// Embedder returns the embedder of a model. It loads the weights at the
	// first call and shares them with later ones; it may block for as long as
	// a download takes. Its error says what is missing and what to do.
	Embedder func(ctx context.Context, m smartenv.Model) (Embedder, error)
	// EmbedderName tells, without waiting, which model's weights are or will
	// be used for queries ("" when that is not decided: then those of the
	// vault's model), and whether they are loaded.
	EmbedderName func() (name string, ready bool)
	// AtHand says at once whether Embedder needs no download. nil: it never does.
	AtHand   func(m smartenv.Model) bool
	AllTools bool // offer also the tools that are of no use to a language model
	Version  string
	Log      *slog.Logger // nil: quiet
}

// A Server answers the tools. It is safe for concurrent use.
type Server struct {
	vault    *note.Vault
	index    *smartenv.Index
	links    *links.Index
	embedder func(ctx context.Context, m smartenv.Model) (Embedder, error)
	name     func() (string, bool)
	atHand   func(m smartenv.Model) bool
	allTools bool
	version  string
	log      *slog.Logger

	begun    sync.Once                         // warm
	cpu      chan struct{}                     // one place for each computation that may run
	loaded   atomic.Pointer[smartenv.Snapshot] // the last one seen, for what must not wait
	proofs   proofs
	lacking  atomic.Pointer[lack] // why the last attempt to get an embedder failed
	embeds   atomic.Bool          // an embedder was got at least once
	patience time.Duration        // how long a client waits for one answer
}

// patience is shorter than the 30 to 60 seconds after which clients give up.
const patience = 25 * time.Second

// closing is how long a session may take to end once it has been told to.
const closing = 700 * time.Millisecond

// New makes a Server. It reads nothing yet.
func New(c Config) *Server {
	s := &Server{
		vault:    c.Vault,
		index:    c.Index,
		links:    links.Open(c.Vault, func() func(string) bool { return c.Index.Settings().Closer() }),
		embedder: c.Embedder,
		name:     c.EmbedderName,
		atHand:   c.AtHand,
		allTools: c.AllTools,
		version:  c.Version,
		log:      c.Log,
		cpu:      make(chan struct{}, runtime.GOMAXPROCS(0)),
		patience: patience,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.atHand == nil {
		s.atHand = func(smartenv.Model) bool { return true }
	}
	return s
}

// Serve speaks MCP over the two streams until in ends or ctx is done, and then
// returns nil; its error says why a stream failed. Calls in flight at the end
// of in are answered. The index and the weights are loaded in the background when
// the first tool is called, at the same time: clients start a server for every
// session, many of which never ask, and one that was not asked stays small. Only
// weights that must be downloaded, which takes minutes, are loaded from now on.
// initialize waits for nothing.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := s.protocol(ctx)
	session, err := server.Connect(ctx, &stdio.Transport{In: in, Out: out, Log: s.log}, nil)
	if err != nil {
		return fmt.Errorf("starting the session: %w", err)
	}
	go func() {
		defer s.recovered()
		if g, err := s.index.Glance(); err == nil && !s.atHand(g.Model) {
			s.begin(ctx)
		}
	}()
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		go session.Close()
		select {
		case <-ended:
		case <-time.After(closing): // a client that does not read must not hold us
		}
		return nil
	}
}

// protocol builds the MCP side. Calls that outlive their request, such as a
// download, end with ctx.
func (s *Server) protocol(ctx context.Context) *mcp.Server {
	server := mcp.NewServer(
		&mcp.Implementation{Name: "smart-connections-mcp", Title: "Smart Connections vault search", Version: s.version},
		&mcp.ServerOptions{
			Logger: s.log,
			Capabilities: &mcp.ServerCapabilities{ // no logging, and the lists never change
				Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}, Prompts: &mcp.PromptCapabilities{},
			},
			CompletionHandler: s.complete,
		})
	s.resources(ctx, server)
	s.prompts(server)
	offered := all()
	if s.allTools {
		offered = everything()
	}
	for _, t := range offered {
		server.AddTool(t.definition(), func(call context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.begin(ctx)
			answer, err := s.answer(ctx, call, t, req.Params.Arguments)
			if err != nil {
				return failure(s.scrubError(err)), nil
			}
			return success(answer)
		})
	}
	server.AddReceivingMiddleware(s.guard)
	return server
}

// guard puts the present instructions into the answers that carry them, and
// keeps a panic in any method from ending the process.
func (s *Server) guard(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: s.panicked(method, p).Error()}
			}
		}()
		if read, ok := req.(*mcp.ReadResourceRequest); ok && read.Params != nil {
			if read.Params.URI, err = knownURI(read.Params.URI); err != nil {
				return nil, err
			}
		}
		res, err = next(ctx, method, req)
		if err != nil {
			return nil, err // the SDK's result is then a nil in a type
		}
		switch res := res.(type) {
		case *mcp.InitializeResult:
			res.Instructions = s.instructions()
		case *mcp.DiscoverResult:
			res.Instructions = s.instructions()
		}
		return res, err
	}
}

// panicked logs a panic with its stack and returns what the client is told.
func (s *Server) panicked(where string, p any) error {
	s.log.Error("panic", "in", where, "panic", p, "stack", string(debug.Stack()))
	return fmt.Errorf("internal error in %s: %.200v: this is a bug; other calls still work", where, p)
}

// errStillLoading answers a call that would make the client give up.
var errStillLoading = errors.New("the index or the model is still being loaded (a first download takes minutes): call again in a moment; index_status tells what is ready, and get_note works already")

// errBusy answers a call that waits behind others for too long.
var errBusy = errors.New("the server is busy with other calls, and this one was given up: call again in a moment, with fewer calls at the same time")

// answer runs one tool. call is the request's context, life the session's.
// When patience is over the client gets an answer. While the index or the weights
// are loaded, the work goes on without it, so that the next call finds them; else
// it ends, so that the work of calls nobody waits for does not pile up.
func (s *Server) answer(life, call context.Context, t tool, raw []byte) (any, error) {
	type outcome struct {
		answer any
		err    error
	}
	ctx, cancel := context.WithCancel(life)
	detach := context.AfterFunc(call, cancel)
	done := make(chan outcome, 1)
	go func() {
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				done <- outcome{err: s.panicked(t.name, p)}
			}
		}()
		answer, err := t.run(ctx, s, newArgs(t.name, raw, t.arguments))
		done <- outcome{answer, err}
	}()
	wait := time.NewTimer(s.patience)
	defer wait.Stop()
	select {
	case o := <-done:
		return o.answer, o.err
	case <-call.Done():
		return nil, call.Err()
	case <-life.Done():
		return nil, errors.New("the server was told to end: start it again")
	case <-wait.C:
		if s.embeds.Load() && s.loaded.Load() != nil {
			cancel()
			return nil, errBusy
		}
		detach()
		return nil, errStillLoading
	}
}

// begin begins to warm, once.
func (s *Server) begin(ctx context.Context) {
	s.begun.Do(func() {
		go s.warmWeights(ctx)
		go s.warm(ctx)
	})
}

// warmWeights loads the weights of the model that the plugin is set to, when they
// are at hand. That is nearly always the one whose vectors the index holds, so
// that its log need not be read first.
func (s *Server) warmWeights(ctx context.Context) {
	defer s.recovered()
	g, err := s.index.Glance()
	if err == nil && g.Notes+g.Blocks > 0 && s.atHand(g.Model) {
		_, _ = s.embedder(ctx, g.Model) // whoever needs it gets the error
	}
}

// warm loads the index and the weights before they are asked for. Whatever
// goes wrong is said by the call that needs them.
func (s *Server) warm(ctx context.Context) {
	defer s.recovered()
	snap, err := s.snapshot(ctx)
	if err != nil || snap.Refusal != nil || len(snap.Notes.Items)+len(snap.Blocks.Items) == 0 {
		return
	}
	e, err := s.queryEmbedder(ctx, snap.Model)
	if err != nil {
		s.log.Warn("loading the model", "err", err)
		return
	}
	s.prove(ctx, snap, e).wait(ctx)
	settle()
}

// recovered ends a panic of what is done in the background.
func (s *Server) recovered() {
	if p := recover(); p != nil {
		_ = s.panicked("loading", p)
	}
}

// garbage is how much the heap may grow before it is collected.
const garbage = 8 << 20 // bytes

// settle returns to the system what loading has left, and keeps the process from
// growing much above what it holds. The collector would let the heap double, and
// most of the heap are vectors, which are never scanned and stay: that is memory
// for nothing. A collection takes a few milliseconds beside the other work.
func settle() {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(int(min(100, max(2, 100*garbage/max(1, m.HeapAlloc)))))
}

// snapshot returns the index as it is now.
func (s *Server) snapshot(ctx context.Context) (*smartenv.Snapshot, error) {
	snap, err := s.index.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	s.loaded.Store(snap)
	return snap, nil
}

// A lack is why there is no embedder of a model.
type lack struct {
	model smartenv.Model
	err   error
}

// queryEmbedder returns the embedder of a model and remembers when there is none.
func (s *Server) queryEmbedder(ctx context.Context, m smartenv.Model) (Embedder, error) {
	e, err := s.embedder(ctx, m)
	switch {
	case err == nil:
		s.embeds.Store(true)
		s.lacking.Store(nil)
	case ctx.Err() == nil:
		s.lacking.Store(&lack{m, err})
	}
	return e, err
}

// compute runs work when a processor is free for it.
func (s *Server) compute(ctx context.Context, work func() error) error {
	select {
	case s.cpu <- struct{}{}:
		defer func() { <-s.cpu }()
		runtime.Gosched() // lets what is read meanwhile, and what is answered at once, go first
		return work()
	case <-ctx.Done():
		return ctx.Err()
	}
}
