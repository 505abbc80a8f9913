package smartenv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"smart-connections-mcp/smartenv/note"
)

// A loader reads the index. It keeps what the next load can build on: the
// replayed log, the settings that were readable last, and which notes were
// compared. It is used by one goroutine at a time.
type loader struct {
	vault *note.Vault
	in    folder
	model string // Options.Model

	replay  *replay
	inline  inlineStore
	records map[string]*record // live ones, by path, of the last attempt
	config  *config            // last complete one
	fresh   *freshness
	sizes   map[string]int64 // of the multifiles at the last load that succeeded
	retries int
	busy    time.Time // since when the plugin seems to replace files; zero = it does not

	excluded func(path string) bool // as at the last scan
	lastScan *scan
	rescanAt time.Time
	few      int   // notes that are examined at every reload
	base     *base // nil after a load that failed
}

// A base is what a load of a packed index leaves to the next one. Of what has not
// changed, that makes nothing anew.
type base struct {
	settings   Settings
	multifiles map[string][]string
	scan       *scan
	refs       found
	choice     choice
	pools      []*pool // notes, blocks
	snap       *Snapshot
}

func newLoader(v *note.Vault, model string) *loader {
	return &loader{
		vault: v, model: model,
		in:    folderOf(v),
		fresh: newFreshness(v),
		few:   fewNotes,
	}
}

// load reads the index and returns a snapshot with the files it was made of.
// It tries again while the index is being rewritten: for about a second and a
// half, or, when there is an older snapshot to answer with, for a moment only.
func (l *loader) load(ctx context.Context, haveOlder bool) (*Snapshot, *listing, error) {
	waits := []time.Duration{50, 100, 200, 400, 800} // milliseconds
	if haveOlder {
		waits = waits[:2]
	}
	for _, wait := range waits {
		a := &attempt{loader: l}
		err := a.run(ctx)
		if err == nil {
			return a.result()
		}
		if !mayPass(err) {
			return nil, nil, err
		}
		l.retries++
		if err := sleep(ctx, wait*time.Millisecond); err != nil {
			return nil, nil, err
		}
	}
	a := &attempt{loader: l, force: !haveOlder}
	if err := a.run(ctx); err != nil {
		return nil, nil, err
	}
	return a.result()
}

// result is what load returns of an attempt that succeeded. The listing is a copy:
// a pointer into the attempt would keep all of it, and with it the snapshot before.
func (a *attempt) result() (*Snapshot, *listing, error) {
	files := a.files
	return a.snap, &files, nil
}

// mayPass says whether the next attempt may succeed where this one failed.
func mayPass(err error) bool {
	var retry *retryError
	var generation *GenerationError
	return errors.As(err, &retry) || errors.As(err, &generation) && generation.Generation == "uncommitted"
}

// sleep waits, but no longer than the context lasts.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// stuckAfter is how long a leftover of a rewrite must stand before it counts as one
// of a crash.
const stuckAfter = 30 * time.Second

func (l *loader) stuck() bool { return !l.busy.IsZero() && time.Since(l.busy) > stuckAfter }

// checkBusy remembers since when the plugin replaces files and says to come back
// later while it does. Between the swaps of Optimize the vectors are not those the
// log points to and nothing but its mark tells, so not even a first load may
// go on unless the mark is old.
func (l *loader) checkBusy(files *listing, force bool) error {
	name := files.busy()
	if name == "" {
		l.busy = time.Time{}
		return nil
	}
	if l.busy.IsZero() {
		l.busy = time.Now()
	}
	if at := files.rewritten; len(files.rewriting) > 0 && at.Before(l.busy) {
		l.busy = at
	}
	if l.stuck() || force && len(files.rewriting) == 0 {
		return nil
	}
	return &retryError{fmt.Sprintf("the plugin is rewriting its index (%s)", name)}
}

// readConfig reads the settings. The plugin rewrites them in place, so an
// incomplete file is read again after a moment; then the last complete settings
// serve, or what is in the file. A file that was not read is taken out of infos, so
// that it is read as soon as it can be.
func (l *loader) readConfig(ctx context.Context, infos fileInfos) (c config, warning string, err error) {
	var incomplete string
	for try := range 3 {
		if try > 0 {
			if err := sleep(ctx, 50*time.Millisecond); err != nil {
				return c, "", err
			}
		}
		if c, incomplete = readConfig(l.in); incomplete == "" {
			break
		}
	}
	for _, name := range c.unread {
		delete(infos, name)
	}
	if incomplete == "" {
		l.config = &c
		return c, "", nil
	}
	if l.config != nil {
		return *l.config, fmt.Sprintf("the plugin's settings could not be read just now (%s); those read before are used", incomplete), nil
	}
	if c.fault != nil { // with defaults, excluded notes would be found, and other vectors wanted
		return c, "", unread(c.fault)
	}
	return c, fmt.Sprintf("the plugin's settings could not be read in full (%s); its defaults are used for the rest: open the vault in Obsidian so that they are saved again", incomplete), nil
}

// unlisted is why the index's files could not be listed: err, unless the vault
// itself cannot be reached.
func (l *loader) unlisted(err error) error {
	if lost := l.vault.Check(); lost != nil {
		return lost
	}
	return err
}

// A rescan of the notes is due when the last one is older than rescanAfter, and
// at most a hundredth of the time goes into it. Where there are few notes, so that
// it takes a few milliseconds, it is also part of every reload.
const (
	fewNotes    = 1000
	rescanAfter = 10 * time.Second
	rescanShare = 100
)

// scanned remembers a scan.
func (l *loader) scanned(sc *scan) {
	l.lastScan = sc
	l.rescanAt = time.Now().Add(max(rescanAfter, rescanShare*sc.took))
}

// notesMoved says whether notes appeared, vanished or changed since they were
// scanned. It looks only now and then, because it examines every note.
func (l *loader) notesMoved(ctx context.Context) (bool, error) {
	if l.lastScan == nil || time.Now().Before(l.rescanAt) {
		return false, nil
	}
	sc, err := scanNotes(ctx, l.fresh, l.records, l.excluded)
	if err != nil {
		return false, err
	}
	moved := !sc.equal(l.lastScan)
	l.scanned(sc)
	return moved, nil
}
