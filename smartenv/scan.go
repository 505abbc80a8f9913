package smartenv

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"time"

	"smart-connections-mcp/smartenv/note"
)

// A noteState is a record with what the disk says about its note.
type noteState struct {
	rec   *record
	state State
	info  note.Info
}

// A scan is the state of all live notes on disk at one moment.
type scan struct {
	notes      []noteState // sorted by path
	notIndexed int         // notes on disk without a record, exclusions apart
	unlisted   int         // what could not be listed
	refused    int         // records whose path may not be followed
	took       time.Duration
}

// scanEvery is how many notes are examined between looks at the context.
const scanEvery = 100

// scanNotes examines the note of every record: whether it is excluded, exists,
// can be read, and still has the text that was embedded.
func scanNotes(ctx context.Context, fresh *freshness, records map[string]*record, excluded func(string) bool) (*scan, error) {
	start := time.Now()
	listed, unlisted, err := fresh.vault.List()
	if err != nil {
		return nil, err
	}
	sc := &scan{unlisted: unlisted, notes: make([]noteState, 0, len(records))}
	onDisk := make(map[string]bool, len(listed))
	for _, path := range listed {
		onDisk[path] = true
		if records[path] == nil && !excluded(path) {
			sc.notIndexed++
		}
	}
	for i, path := range slices.Sorted(maps.Keys(records)) {
		if i%scanEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		n := noteState{rec: records[path], state: Excluded}
		if !excluded(path) {
			sc.examine(fresh, &n)
		}
		if !onDisk[path] && n.state != Missing && n.state != Excluded && respelled(fresh.vault, path, records) {
			n.state = Missing
		}
		sc.notes = append(sc.notes, n)
	}
	sc.took = time.Since(start)
	return sc, nil
}

// equal says whether two scans found the same notes in the same state.
func (sc *scan) equal(other *scan) bool {
	return sc.notIndexed == other.notIndexed && sc.unlisted == other.unlisted &&
		slices.EqualFunc(sc.notes, other.notes, func(a, b noteState) bool {
			return a.rec == b.rec && a.state == b.state && a.info.Size == b.info.Size && a.info.ModTime.Equal(b.info.ModTime)
		})
}

// examine fills in state and info of a note from the disk.
func (sc *scan) examine(fresh *freshness, n *noteState) {
	info, err := fresh.vault.Stat(n.rec.path)
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
		n.state = Excluded
		sc.refused++
	default:
		n.state = Unreadable
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
