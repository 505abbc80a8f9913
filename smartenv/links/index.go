package links

import (
	"context"
	"sync/atomic"
	"time"

	"smart-connections-mcp/smartenv/note"
)

// An Index keeps the Graph of a vault. It is safe for concurrent use and has no
// goroutine of its own: whoever asks first does the reading, and when that call ends
// early the next one goes on with it.
type Index struct {
	vault  *note.Vault
	closed func() func(path string) bool

	turn    chan struct{} // held while reading
	reader  reader        // used by the holder of turn
	failure failure       // of the last reading; used by the holder of turn
	current atomic.Pointer[state]
}

// A failure is why there is no graph at all.
type failure struct {
	err error
	at  time.Time
}

// A state is a graph with what tells whether it is still the newest.
type state struct {
	graph   *Graph
	checked time.Time
	took    time.Duration // of the listing
}

const (
	recheck   = 2 * time.Second
	lookShare = 20 // the listing takes at most one part in so many of the time
)

// Open makes an Index and reads nothing yet. closed is asked before the notes are
// read: those for which what it returns is true are known to exist, and that is all.
func Open(v *note.Vault, closed func() func(path string) bool) *Index {
	return &Index{vault: v, closed: closed, turn: make(chan struct{}, 1), reader: reader{vault: v, known: map[string]*entry{}}}
}

// Graph returns the state of the vault, as it was at most a few seconds ago. Calls
// that come while the notes are read share the reading. When the vault cannot be
// listed any more, the graph before is returned with Behind set. The error is a
// *note.LostError when the vault cannot be read and there is none, or that of ctx.
func (x *Index) Graph(ctx context.Context) (*Graph, error) {
	asked := time.Now()
	if cur := x.current.Load(); cur != nil && cur.recent() {
		return cur.graph, nil
	}
	select {
	case x.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-x.turn }()
	cur := x.current.Load()
	switch {
	case cur != nil && (cur.recent() || cur.checked.After(asked)):
		return cur.graph, nil
	case cur == nil && x.failure.err != nil && x.failure.at.After(asked):
		return nil, x.failure.err // of the reading this call has waited for
	}
	return x.refresh(ctx, cur)
}

// Peek returns the last Graph without waiting or reading; nil when there is none yet.
func (x *Index) Peek() *Graph {
	if cur := x.current.Load(); cur != nil {
		return cur.graph
	}
	return nil
}

func (s *state) recent() bool {
	age := max(time.Since(s.checked), 1) // the clock of Windows stands still between two calls
	return age < recheck || age < lookShare*s.took
}

// refresh reads what has changed since cur, the state before.
func (x *Index) refresh(ctx context.Context, cur *state) (*Graph, error) {
	var before *Graph
	if cur != nil {
		before = cur.graph
	}
	g, took, err := x.reader.read(ctx, before, x.closed())
	switch {
	case err == nil:
		x.current.Store(&state{g, time.Now(), took})
		return g, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case cur == nil:
		x.failure = failure{err, time.Now()}
		return nil, err
	}
	older := *before
	older.Behind = "the vault could not be read (" + err.Error() + "); what was last known of its links is used until it can"
	x.current.Store(&state{&older, time.Now(), took})
	return &older, nil
}
