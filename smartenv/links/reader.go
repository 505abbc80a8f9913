package links

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"smart-connections-mcp/smartenv/note"
	"smart-connections-mcp/smartenv/parallel"
)

// A reader reads the notes of a vault and keeps what they say.
type reader struct {
	vault *note.Vault
	known map[string]*entry // by path
}

// An entry is what is known of a note that may be read.
type entry struct {
	note  Note
	read  bool // note is what it said; else it could not be read so far
	again bool // to be read again, whatever its size and time
	own   bool // no Graph has note's links yet
}

const (
	readers  = 8 // notes read at once: on slow disks it is waiting that takes the time
	readPart = 8 // notes that one of them takes at a time

	// grain is the least difference in time that a disk may record (FAT: two
	// seconds). A note written so shortly before it was read may change unseen.
	grain = 2 * time.Second
)

// read lists the vault, reads what is new or has changed since the graph before (nil
// the first time), and resolves all links. took is how long it took to list. What
// was read stays known when ctx ends or the vault is lost on the way.
func (r *reader) read(ctx context.Context, before *Graph, closed func(string) bool) (g *Graph, took time.Duration, err error) {
	start := time.Now()
	notes, others, unlisted, err := r.vault.ListAll(ctx)
	if err == nil && before != nil {
		notes, others, err = r.addUnseen(ctx, before, notes, others)
	}
	took = time.Since(start)
	if err != nil {
		return nil, took, err
	}
	all := make([]file, 0, len(notes)+len(others))
	open := notes[:0]
	for _, n := range notes {
		if closed(n.Path) {
			all = append(all, file{path: n.Path, kind: ToExcluded})
		} else {
			open = append(open, n)
		}
	}
	for _, path := range others {
		kind := ToAttachment
		if closed(path) {
			kind = ToExcluded
		}
		all = append(all, file{path: path, kind: kind})
	}
	entries, changed, err := r.update(ctx, open, start)
	if err != nil {
		return nil, took, err
	}
	for _, e := range entries {
		all = append(all, file{path: e.note.Path, kind: ToNote})
	}
	slices.SortFunc(all, func(a, b file) int { return strings.Compare(a.path, b.path) })
	same := before != nil && before.files.same(all)
	switch {
	case !same:
		g = r.graph(entries, newFiles(all), false)
	case changed:
		g = r.graph(entries, before.files, true)
	case before.Unlisted == unlisted && before.Behind == "":
		return before, took, nil
	default:
		again := *before
		g = &again
	}
	g.Unlisted, g.Behind = unlisted, ""
	return g, took, nil
}

// addUnseen adds to a listing the files of the graph before that are not in it but
// not gone either: those of a folder that cannot be listed just now.
func (r *reader) addUnseen(ctx context.Context, before *Graph, notes []note.Listed, others []string) ([]note.Listed, []string, error) {
	seen := make(map[string]bool, len(notes)+len(others))
	for i := range notes {
		seen[notes[i].Path] = true
	}
	for _, path := range others {
		seen[path] = true
	}
	for i := range before.files.all {
		path := before.files.all[i].path
		if seen[path] {
			continue
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		info, err := r.vault.Stat(path)
		var lost *note.LostError
		switch {
		case errors.As(err, &lost):
			return nil, nil, err
		case errors.Is(err, fs.ErrNotExist):
		case extension(path) == "md":
			notes = append(notes, note.Listed{Path: path, Info: info})
		default:
			others = append(others, path)
		}
	}
	slices.SortFunc(notes, func(a, b note.Listed) int { return strings.Compare(a.Path, b.Path) })
	return notes, others, nil
}

// update reads those of the notes, listed at the time at, that are not known as they
// are now, and forgets all others. It returns what is known of the notes that are
// still there, in their order, and whether there are any that no Graph has.
func (r *reader) update(ctx context.Context, listed []note.Listed, at time.Time) (there []*entry, changed bool, err error) {
	var todo []int
	entries := make([]*entry, len(listed))
	for i, n := range listed {
		e := r.known[n.Path]
		if entries[i] = e; e == nil || e.again || e.note.Size != n.Size || !e.note.ModTime.Equal(n.ModTime) {
			todo = append(todo, i)
		}
	}
	done := make([]bool, len(todo))
	var lost atomic.Pointer[note.LostError]
	parallel.Do(readers, len(todo), readPart, func(first, end int) {
		for k := first; k < end && ctx.Err() == nil && lost.Load() == nil; k++ {
			i := todo[k]
			e, err := r.readNote(listed[i], entries[i], at)
			var away *note.LostError
			if errors.As(err, &away) {
				lost.Store(away)
				return
			}
			entries[i], done[k] = e, true
		}
	})
	for k, i := range todo {
		if e := entries[i]; done[k] && e != nil {
			r.known[e.note.Path] = e
		}
	}
	if away := lost.Load(); away != nil {
		return nil, false, away
	}
	if slices.Contains(done, false) {
		return nil, false, ctx.Err()
	}
	known := make(map[string]*entry, len(entries))
	for _, e := range entries {
		if e != nil {
			known[e.note.Path] = e
			there, changed = append(there, e), changed || e.own
		}
	}
	r.known = known
	return there, changed, nil
}

// readNote reads a note of which e was known, nil when nothing was. It returns nil
// when the note is gone, and an error when it is the vault that cannot be read.
func (r *reader) readNote(listed note.Listed, e *entry, at time.Time) (*entry, error) {
	raw, err := r.vault.Read(listed.Path)
	var lost *note.LostError
	switch {
	case errors.As(err, &lost):
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil && e != nil:
		return &entry{note: e.note, read: e.read, again: true}, nil
	case err != nil:
		return &entry{note: Note{Path: listed.Path}, again: true}, nil
	}
	n, ok := scan(listed.Path, note.Decode(raw))
	if !ok {
		return &entry{note: Note{Path: listed.Path, Size: listed.Size, ModTime: listed.ModTime}}, nil
	}
	n.Path, n.Size, n.ModTime = listed.Path, listed.Size, listed.ModTime
	age := at.Sub(n.ModTime)
	return &entry{note: n, read: true, again: n.ModTime.IsZero() || -grain < age && age < grain, own: true}, nil
}

// scan is Scan, which a fault of it may not take from all other notes: ok is false
// then, and the note counts as one that cannot be read until it changes.
func scan(path, text string) (n Note, ok bool) {
	defer func() { _ = recover() }()
	return Scan(path, text), true
}

// graph makes the graph of what is known of the notes.
func (r *reader) graph(entries []*entry, files *files, same bool) *Graph {
	var unreadable []string
	notes := make([]Note, 0, len(entries))
	own := make([]bool, 0, len(entries))
	for _, e := range entries {
		if e.read {
			notes, own = append(notes, e.note), append(own, e.own)
		} else {
			unreadable = append(unreadable, e.note.Path)
		}
	}
	g := newGraph(notes, own, files, same)
	g.Unreadable = unreadable
	for i := range g.Notes {
		e := r.known[g.Notes[i].Path]
		e.note, e.own = g.Notes[i], false
	}
	return g
}
