package smartenv

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"smart-connections-mcp/smartenv/parallel"
)

// An inlineStore is the state of the folder multi/ as far as it has been read.
// It is used by one goroutine at a time.
type inlineStore struct {
	files      map[string]*inlineFile // by name; all in their newest state
	unsettled  []string               // files that looked unfinished, or changed while they were read
	unreadable []string               // files that could not be read: name and error
}

// update reads every file whose size or time is another than at the last time,
// and forgets those that are gone. The error is that of ctx.
func (st *inlineStore) update(ctx context.Context, in folder, stats []inlineStat) error {
	type outcome struct {
		file    *inlineFile
		settled bool
		err     error
	}
	outcomes := make([]outcome, len(stats))
	parallel.Do(scanners, len(stats), 1, func(i, _ int) {
		if ctx.Err() != nil {
			return
		}
		name := stats[i].name
		older := st.files[name]
		if older != nil && older.stat.same(stats[i]) {
			outcomes[i] = outcome{older, true, nil}
			return
		}
		f, settled, err := readInlineFile(ctx, in, name, older)
		outcomes[i] = outcome{f, settled, err}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	files := make(map[string]*inlineFile, len(stats))
	st.unsettled, st.unreadable = nil, nil
	for i, o := range outcomes {
		name := stats[i].name
		switch {
		case o.err != nil:
			if where, ok := errors.AsType[*fs.PathError](o.err); ok {
				o.err = where.Err // the rest of the path is nobody's business
			}
			st.unreadable = append(st.unreadable, name+": "+o.err.Error())
			st.unsettled = append(st.unsettled, name)
			o.file = st.files[name]
		case !o.settled:
			st.unsettled = append(st.unsettled, name)
		}
		if o.file != nil {
			files[name] = o.file
		}
	}
	st.files = files
	return nil
}

// inlineNote is a note with the file that speaks for it.
type inlineNote struct {
	path string
	file *inlineFile
}

// notes returns every live note once, sorted by path. When several files have a
// note (one was renamed, or a sync tool left a copy), the one with the name that
// the plugin gives it speaks for it, else the one written last.
func (st *inlineStore) notes() []inlineNote {
	chosen := map[string]*inlineFile{}
	for _, f := range st.files {
		for path := range f.notes {
			if other := chosen[path]; other == nil || f.before(other, path) {
				chosen[path] = f
			}
		}
	}
	list := make([]inlineNote, 0, len(chosen))
	for path, f := range chosen {
		// A falsy record in the note's own file counts against copies elsewhere.
		if own := st.files[inlineName(path)]; own == nil || own == f || !own.dead[entryKey{sourcesCollection, path}] {
			list = append(list, inlineNote{path, f})
		}
	}
	slices.SortFunc(list, func(a, b inlineNote) int { return strings.Compare(a.path, b.path) })
	return list
}

// before says whether f rather than other speaks for the note.
func (f *inlineFile) before(other *inlineFile, path string) bool {
	own := inlineName(path)
	switch {
	case f.stat.name == own || other.stat.name == own:
		return f.stat.name == own
	case !f.stat.modTime.Equal(other.stat.modTime):
		return f.stat.modTime.After(other.stat.modTime)
	}
	return f.stat.name < other.stat.name
}

// counts adds up what was read, files in the order of their names.
func (st *inlineStore) counts() (total lineCounts) {
	for _, name := range slices.Sorted(maps.Keys(st.files)) {
		c := &st.files[name].counts
		total.records += c.records
		total.tombstones += c.tombstones
		total.skipped += c.skipped
		total.examples = append(total.examples, c.examples...)
	}
	total.examples = total.examples[:min(len(total.examples), maxExamples)]
	return total
}
