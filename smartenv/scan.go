package smartenv

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"smart-connections-mcp/smartenv/note"
	"smart-connections-mcp/smartenv/parallel"
)

// A noteState is a record with what the disk says about its note.
type noteState struct {
	rec   *record
	state State
	info  note.Info

	refused bool  // the path may not be followed
	away    bool  // iCloud has the note
	trouble error // why it is Unreadable otherwise
}

// A scan is the state of all live notes on disk at one moment.
type scan struct {
	notes     []noteState     // sorted by path
	unindexed map[string]bool // notes on disk without a record, exclusions apart
	unlisted  int             // what could not be listed
	took      time.Duration
}

// scanners is how many notes are examined at once: more than there are
// processors, since on slow disks (WSL's /mnt/c, network drives) it is waiting
// that takes the time.
const scanners = 8

// scannedAtOnce is how many notes one of them takes at a time.
const scannedAtOnce = 8

// scanNotes examines the note of every record: whether it is excluded, exists,
// can be read, and still has the text that was embedded.
func scanNotes(ctx context.Context, fresh *freshness, records map[string]*record, excluded func(string) bool) (*scan, error) {
	start := time.Now()
	listed, unlisted, err := fresh.vault.ListStat(ctx)
	if err != nil {
		return nil, err
	}
	sc := &scan{unlisted: unlisted, unindexed: map[string]bool{}, notes: make([]noteState, 0, len(records))}
	onDisk := make(map[string]note.Info, len(listed))
	for _, n := range listed {
		onDisk[n.Path] = n.Info
		if records[n.Path] == nil && !strings.Contains(n.Path, "#") && !excluded(n.Path) {
			sc.unindexed[n.Path] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(records)) {
		sc.notes = append(sc.notes, noteState{rec: records[path]})
	}
	parallel.Do(scanners, len(sc.notes), scannedAtOnce, func(first, end int) {
		for i := first; i < end && ctx.Err() == nil; i++ {
			n := &sc.notes[i]
			info, listed := onDisk[n.rec.path]
			n.examine(fresh, excluded, info)
			if !listed {
				n.checkSpelling(fresh.vault, records)
			}
		}
	})
	fresh.forget(records)
	sc.took = time.Since(start)
	return sc, ctx.Err()
}

// examine fills in state and info of a note from the disk. info is what a listing
// told of it, zero when that was nothing.
func (n *noteState) examine(fresh *freshness, excluded func(string) bool, info note.Info) {
	if excluded(n.rec.path) {
		n.state = Excluded
		return
	}
	var err error
	if info.ModTime.IsZero() {
		info, err = fresh.vault.Stat(n.rec.path)
	}
	if err == nil {
		n.info = info
		n.state, err = fresh.note(n.rec, info)
	}
	var refused *note.RefusedError
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist):
		n.state = Missing
	case errors.As(err, &refused):
		n.state, n.refused = Excluded, true
	case errors.Is(err, note.ErrNotDownloaded):
		n.state, n.away = Unreadable, true
	default:
		n.state, n.trouble = Unreadable, err
	}
}

// paths lists the notes of which is holds.
func (sc *scan) paths(is func(*noteState) bool) (paths []string) {
	for i := range sc.notes {
		if is(&sc.notes[i]) {
			paths = append(paths, sc.notes[i].rec.path)
		}
	}
	return paths
}

// equal says whether two scans found the same notes in the same state.
func (sc *scan) equal(other *scan) bool {
	return len(sc.unindexed) == len(other.unindexed) && sc.unlisted == other.unlisted &&
		slices.EqualFunc(sc.notes, other.notes, func(a, b noteState) bool { return a.equal(&b) })
}

func (n *noteState) equal(other *noteState) bool {
	return n.rec == other.rec && n.state == other.state && n.refused == other.refused && n.away == other.away &&
		n.info.Size == other.info.Size && n.info.ModTime.Equal(other.info.ModTime)
}

// checkSpelling makes a note Missing whose path is an old spelling.
func (n *noteState) checkSpelling(v *note.Vault, records map[string]*record) {
	if n.state != Missing && n.state != Excluded && respelled(v, n.rec.path, records) {
		n.state = Missing
	}
}

// respelled says whether path is the old spelling of a note that has a record
// under its present one. A disk that ignores case or Unicode form still finds the
// file under the old spelling after such a renaming; the directory's spelling is
// the true one.
func respelled(v *note.Vault, path string, records map[string]*record) bool {
	exact, err := v.Resolve(path)
	return err == nil && exact != path && records[exact] != nil
}
