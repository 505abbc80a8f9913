package smartenv

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"smart-connections-mcp/smartenv/note"
)

// Options change how an Index reads. The zero value is right for most.
type Options struct {
	Model   string        // the model key that must be the vault's (SMART_EMBED_MODEL); "" = the vault's own
	Recheck time.Duration // how old a look at the files may be; 0 = 2 s, or longer where looking takes long
	Log     *slog.Logger  // nil = none
}

// An Index is the plugin's index of one vault. It is safe for concurrent use and
// has no goroutine of its own: whoever asks first does the reading.
type Index struct {
	recheck time.Duration
	patient bool // recheck may be exceeded where looking takes long
	log     *slog.Logger

	turn    chan struct{} // held while loading
	loader  *loader       // used by the holder of turn
	failure failure       // of the last load; used by the holder of turn
	current atomic.Pointer[state]
}

// A failure is why there is no snapshot at all.
type failure struct {
	err error
	at  time.Time
}

// A state is a snapshot with what tells whether it is still the newest.
type state struct {
	snap    *Snapshot
	files   *listing
	checked time.Time
}

// Open returns the index of a vault. Nothing is read before the first Snapshot.
func Open(v *note.Vault, o Options) *Index {
	x := &Index{recheck: o.Recheck, log: o.Log, turn: make(chan struct{}, 1), loader: newLoader(v, o.Model)}
	if x.recheck <= 0 {
		x.recheck, x.patient = 2*time.Second, true
	}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	return x
}

// Snapshot returns the index as it is on disk, give or take Options.Recheck. The
// first call reads it; calls meanwhile wait for that one. Later calls look
// whether the files changed and read what did; calls meanwhile get the snapshot
// before. When a reload cannot succeed the snapshot before is returned, with
// Behind set. An error means that there is nothing to answer with: a
// *GenerationError when the vault has no index that is read here, the context's
// error when it ended.
func (x *Index) Snapshot(ctx context.Context) (*Snapshot, error) {
	asked := time.Now()
	cur := x.current.Load()
	if cur != nil && x.recent(cur) {
		return cur.snap, nil
	}
	if cur != nil {
		select {
		case x.turn <- struct{}{}:
		default:
			return cur.snap, nil // another call is at it
		}
	} else {
		select {
		case x.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer func() { <-x.turn }()
	if cur = x.current.Load(); cur != nil && x.recent(cur) {
		return cur.snap, nil
	}
	if cur == nil && x.failure.err != nil && x.failure.at.After(asked) {
		return nil, x.failure.err // of the load this call has waited for
	}
	return x.refresh(ctx, cur)
}

// lookShare bounds the share of the time that goes into looking whether the files
// changed: in an inline index there is one for each note.
const lookShare = 20

// recent says whether the files were looked at a moment ago.
func (x *Index) recent(s *state) bool {
	age := max(time.Since(s.checked), 1) // the clock of Windows stands still between two calls
	return age < x.recheck || x.patient && age < lookShare*s.files.took
}

// refresh loads the index unless its files are those of cur, the state before.
func (x *Index) refresh(ctx context.Context, cur *state) (*Snapshot, error) {
	if cur != nil && cur.snap.Behind == "" {
		files, err := list(ctx, x.loader.in)
		if err == nil && files.same(cur.files) {
			moved, err := x.loader.notesMoved(ctx)
			if err == nil && !moved {
				x.current.Store(&state{snap: cur.snap, files: cur.files, checked: time.Now()})
				return cur.snap, nil
			}
		}
	}
	start := time.Now()
	snap, files, err := x.loader.load(ctx, cur != nil)
	switch {
	case err == nil:
		x.log.Info("index loaded", "took", time.Since(start), "notes", len(snap.Notes.Items), "blocks", len(snap.Blocks.Items))
		x.current.Store(&state{snap: snap, files: files, checked: time.Now()})
		return snap, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case cur == nil:
		x.failure = failure{err, time.Now()}
		return nil, err
	}
	x.log.Warn("index not reloaded", "err", err)
	older := *cur.snap
	older.Behind = "the index on disk could not be read (" + err.Error() + "); the state of " +
		older.LoadedAt.Format(time.DateTime) + " is used until it can"
	x.current.Store(&state{snap: &older, files: cur.files, checked: time.Now()})
	return &older, nil
}
