package smartenv

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"smart-connections-mcp/smartenv/note"
)

// A loader reads the index. It keeps what the next load can build on: the
// replayed log, the settings that were readable last, and which notes were
// compared. It is used by one goroutine at a time.
type loader struct {
	vault *note.Vault
	dir   string // the index's folder
	model string // Options.Model

	replay  *replay
	config  *config // last complete one
	fresh   *freshness
	retries int
	busy    time.Time // since when the plugin seems to renumber rows; zero = it does not

	lastScan *scan
	rescanAt time.Time
}

func newLoader(v *note.Vault, model string) *loader {
	return &loader{
		vault: v, model: model,
		dir:   filepath.Join(v.Root(), indexFolder),
		fresh: newFreshness(v),
	}
}

// waits are the pauses after attempts that met a rewrite.
var firstWaits = [...]time.Duration{50, 100, 200, 400, 800}

// load reads the index, trying again while it is being rewritten: for about a
// second and a half, or, when there is an older snapshot to answer with, for a
// moment only.
func (l *loader) load(ctx context.Context, haveOlder bool) (*Snapshot, string, error) {
	waits := firstWaits[:]
	if haveOlder {
		waits = waits[:2]
	}
	for _, wait := range waits {
		snap, signature, err := l.attempt(ctx, false)
		var retry *retryError
		var generation *GenerationError
		switch {
		case err == nil:
			return snap, signature, nil
		case errors.As(err, &retry):
		case errors.As(err, &generation) && generation.Generation == "uncommitted":
		default:
			return nil, "", err
		}
		l.retries++
		select {
		case <-ctx.Done():
			return nil, "", ctx.Err()
		case <-time.After(wait * time.Millisecond):
		}
	}
	return l.attempt(ctx, !haveOlder || l.stuck())
}

// stuckAfter is how long a leftover of the plugin's Optimize must stand before
// it counts as one of a crash.
const stuckAfter = 30 * time.Second

func (l *loader) stuck() bool { return !l.busy.IsZero() && time.Since(l.busy) > stuckAfter }

// attempt reads the index once. With force it does so although the plugin seems
// to renumber rows. The order is that of format section 12: the log, then the
// vectors (which are written first), then a look whether all files still are
// what they were.
func (l *loader) attempt(ctx context.Context, force bool) (*Snapshot, string, error) {
	files, err := list(l.dir)
	if err != nil {
		if files.swapping() {
			return nil, "", &retryError{"smart_sources.ajson is missing beside its backup, so the plugin is replacing it, or a crash cut that short (then quit Obsidian and rename smart_sources.ajson.bak)"}
		}
		return nil, "", err
	}
	if err := l.checkBusy(&files, force); err != nil {
		return nil, "", err
	}
	before, err := files.statMultifiles(l.dir)
	if err != nil {
		return nil, "", err
	}
	cfg, incomplete, err := l.readConfig(ctx)
	if err != nil {
		return nil, "", err
	}
	l.replay, err = l.replay.update(ctx, l.dir, files.shards)
	if err != nil {
		return nil, "", err
	}
	snap := &Snapshot{Generation: "packed", Configured: cfg.model, Settings: cfg.settings, LoadedAt: time.Now()}
	sc, err := scanNotes(ctx, l.fresh, l.replay.records, excluder(cfg.settings.exclusions))
	if err != nil {
		return nil, "", err
	}
	pools, err := l.readVectors(ctx, snap, sc, &files, before)
	if err != nil {
		return nil, "", err
	}
	if err := l.verify(ctx, sc, pools, force); err != nil {
		return nil, "", err
	}
	l.describe(snap, sc, &files, before, pools)
	snap.warn(incomplete)
	l.scanned(sc)
	return snap, files.signature, nil
}

// verify checks that the vectors that were read are those the log points to: every
// file is still in its place, the plugin has not begun to renumber rows, and no
// reference was taken back meanwhile. The second matters because the plugin's
// Optimize swaps the vector files first and the log last, and in between only
// *.optimize.tmp tells; the third because its Re-index takes back all references
// before it deletes the vector files, and a new file may look like the old one
// that grew.
func (l *loader) verify(ctx context.Context, sc *scan, pools []*pool, force bool) error {
	for _, p := range pools {
		if err := p.file.verify(); err != nil {
			return err
		}
	}
	files, err := list(l.dir)
	if err != nil {
		return &retryError{"the index's files changed while they were read"}
	}
	if err := l.checkBusy(&files, force); err != nil {
		return err
	}
	read := l.replay
	if l.replay, err = read.update(ctx, l.dir, files.shards); err != nil {
		return err
	}
	if l.replay != read {
		return &retryError{"the log was rewritten while the index was read"}
	}
	for i := range sc.notes {
		rec := sc.notes[i].rec
		if now := l.replay.records[rec.path]; now != rec && !now.keeps(rec, pools[0].fingerprint) {
			return &retryError{"references were taken back while the index was read"}
		}
	}
	return nil
}

// checkBusy remembers since when the plugin renumbers rows and says to come back
// later while it does.
func (l *loader) checkBusy(files *listing, force bool) error {
	if len(files.rewriting) == 0 {
		l.busy = time.Time{}
		return nil
	}
	if l.busy.IsZero() {
		l.busy = time.Now()
	}
	if force {
		return nil
	}
	return &retryError{fmt.Sprintf("the plugin is rewriting its index (%s)", files.rewriting[0])}
}

// readConfig reads the settings. The plugin rewrites them in place, so an
// incomplete file is read again after a moment; then the last complete settings
// serve, or what could be read.
func (l *loader) readConfig(ctx context.Context) (c config, warning string, err error) {
	var incomplete string
	for try := range 3 {
		if try > 0 {
			select {
			case <-ctx.Done():
				return c, "", ctx.Err()
			case <-time.After(50 * time.Millisecond):
			}
		}
		if c, incomplete = readConfig(l.dir); incomplete == "" {
			l.config = &c
			return c, "", nil
		}
	}
	if l.config != nil {
		return *l.config, fmt.Sprintf("the plugin's settings could not be read just now (%s); those read before are used", incomplete), nil
	}
	return c, fmt.Sprintf("the plugin's settings could not be read in full (%s); its defaults are used for the rest: open the vault in Obsidian so that they are saved again", incomplete), nil
}

// readVectors chooses the model and fills the snapshot's collections. It returns
// the pool of the notes and that of the blocks.
func (l *loader) readVectors(ctx context.Context, snap *Snapshot, sc *scan, files *listing, before fileInfos) ([]*pool, error) {
	refs := countReferences(l.replay.records, files.multifiles)
	ch := chooseModel(snap.Configured, refs, l.model)
	if ch.model.Dims == 0 && ch.refusal == nil {
		ch.model.Dims = deriveDims(l.replay.records, ch.fingerprint, before)
		if ch.model.Dims == 0 && refs.readable[ch.fingerprint] > 0 {
			ch.refusal = refusal(fmt.Sprintf("the vault's model %s has no number of dimensions in its settings, and its vector files do not tell: choose the model again in the plugin's settings", ch.model.Name))
		}
	}
	snap.Model, snap.Fingerprint, snap.Refusal = ch.model, ch.fingerprint, ch.refusal
	snap.warn(ch.warning)
	if snap.Refusal != nil {
		snap.warn(snap.Refusal.Error())
	}
	var pools []*pool
	for _, collection := range []string{sourcesCollection, blocksCollection} {
		file, err := openMultifile(l.dir, collection, snap.Fingerprint, max(1, snap.Model.Dims), before)
		if err != nil {
			return nil, err
		}
		p := newPool(collection, snap.Fingerprint, file)
		p.closed = snap.Refusal != nil
		pools = append(pools, p)
	}
	return pools, snap.assemble(ctx, sc, l.fresh, pools[0], pools[1])
}

// A rescan of the notes is due when the last one is older than rescanAfter, and
// at most a hundredth of the time goes into it.
const (
	rescanAfter = 10 * time.Second
	rescanShare = 100
)

func (l *loader) scanned(sc *scan) {
	l.lastScan = sc
	l.rescanAt = time.Now().Add(max(rescanAfter, rescanShare*sc.took))
}

// notesMoved says whether notes appeared, vanished or changed since they were
// scanned. It looks only now and then, because it examines every note.
func (l *loader) notesMoved(ctx context.Context) (bool, error) {
	if l.lastScan == nil || l.config == nil || time.Now().Before(l.rescanAt) {
		return false, nil
	}
	sc, err := scanNotes(ctx, l.fresh, l.replay.records, excluder(l.config.settings.exclusions))
	if err != nil {
		return false, err
	}
	moved := !sc.equal(l.lastScan)
	l.scanned(sc)
	return moved, nil
}
