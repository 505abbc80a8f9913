package smartenv

import (
	"context"
	"maps"
	"slices"
	"strings"

	"smart-connections-mcp/smartenv/note"
	"smart-connections-mcp/smartenv/parallel"
)

// A difference is how a scan differs from an earlier one, by places in their
// notes.
type difference struct {
	same []int // of each note: where the earlier scan has it, as it is; else -1
	gone []int // in the earlier scan: what is not there any more, or not as it was
}

// since compares a scan with an earlier one.
func (sc *scan) since(earlier *scan) (d difference) {
	d.same = make([]int, len(sc.notes))
	old := 0
	for i := range sc.notes {
		n := &sc.notes[i]
		for old < len(earlier.notes) && earlier.notes[old].rec != n.rec && earlier.notes[old].rec.path < n.rec.path {
			d.gone = append(d.gone, old)
			old++
		}
		d.same[i] = -1
		if old == len(earlier.notes) || earlier.notes[old].rec != n.rec && earlier.notes[old].rec.path != n.rec.path {
			continue
		}
		if n.equal(&earlier.notes[old]) {
			d.same[i] = old
		} else {
			d.gone = append(d.gone, old)
		}
		old++
	}
	for ; old < len(earlier.notes); old++ {
		d.gone = append(d.gone, old)
	}
	return d
}

// unseen is the state of a note that is yet to be examined.
const unseen State = -1

// update is what scanNotes would return when nothing but the log has changed since:
// it examines the notes whose record is another one now.
func (sc *scan) update(ctx context.Context, fresh *freshness, records map[string]*record, excluded func(string) bool) (*scan, error) {
	next := &scan{unindexed: maps.Clone(sc.unindexed), unlisted: sc.unlisted, took: sc.took, notes: make([]noteState, 0, len(records))}
	unsure := map[string]bool{} // paths that may be spelt otherwise on disk
	for i := range sc.notes {
		n := sc.notes[i]
		path := n.rec.path
		switch rec := records[path]; {
		case rec == nil:
			if !strings.Contains(path, "#") && !excluded(path) && onDisk(fresh.vault, path) {
				next.unindexed[path] = true
			}
			continue
		case rec != n.rec:
			if n.state == Missing || n.state == Excluded {
				unsure[path] = true
			}
			n = noteState{rec: rec, state: unseen}
		}
		next.notes = append(next.notes, n)
	}
	if len(next.notes) < len(records) {
		for path, rec := range records {
			if !sc.has(path) {
				unsure[path] = !next.unindexed[path]
				delete(next.unindexed, path)
				next.notes = append(next.notes, noteState{rec: rec, state: unseen})
			}
		}
		slices.SortFunc(next.notes, func(a, b noteState) int { return strings.Compare(a.rec.path, b.rec.path) })
	}
	parallel.Do(scanners, len(next.notes), scannedAtOnce, func(first, end int) {
		for i := first; i < end && ctx.Err() == nil; i++ {
			if n := &next.notes[i]; n.state == unseen {
				n.examine(fresh, excluded, note.Info{})
				if unsure[n.rec.path] {
					n.checkSpelling(fresh.vault, records)
				}
			}
		}
	})
	return next, ctx.Err()
}

// has says whether the scan had a note of that path.
func (sc *scan) has(path string) bool {
	_, found := slices.BinarySearchFunc(sc.notes, path, func(n noteState, path string) int { return strings.Compare(n.rec.path, path) })
	return found
}

// onDisk says whether there is a note that is spelt exactly so.
func onDisk(v *note.Vault, path string) bool {
	exact, err := v.Resolve(path)
	return err == nil && exact == path
}
