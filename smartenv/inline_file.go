package smartenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"smart-connections-mcp/smartenv/disk"
)

// An inlineFile is what one file of multi/ holds, in the state of its last
// record for each key.
type inlineFile struct {
	stat   inlineStat
	notes  map[string]*inlineRecord            // by path
	blocks map[string]map[string]*inlineRecord // by path, then by key below it
	dead   map[entryKey]bool                   // whose last record is falsy
	counts lineCounts
}

// An inlineStat tells which state of a file was read. The plugin rewrites these
// files in place, so their identity says nothing.
type inlineStat struct {
	name    string // below multi/
	size    int64
	modTime time.Time
	changed time.Time // as sameTimes has it
}

func statInline(info fs.FileInfo) inlineStat {
	return inlineStat{info.Name(), info.Size(), info.ModTime(), changed(info)}
}

func (a inlineStat) same(b inlineStat) bool {
	return a.name == b.name && a.size == b.size && a.modTime.Equal(b.modTime) && a.changed.Equal(b.changed)
}

// parseInline reads the text of one file.
func parseInline(stat inlineStat, data []byte) *inlineFile {
	f := &inlineFile{
		stat:  stat,
		notes: map[string]*inlineRecord{}, blocks: map[string]map[string]*inlineRecord{}, dead: map[entryKey]bool{},
	}
	newest := map[entryKey]entry{}
	var order []entryKey
	eachRecord(data, func(e entry) {
		if e.collection != sourcesCollection && e.collection != blocksCollection || e.key == "" {
			return
		}
		f.counts.records++
		if e.value == nil {
			f.counts.tombstones++
		}
		key := entryKey{e.collection, e.key}
		if _, again := newest[key]; !again {
			order = append(order, key)
		}
		newest[key] = e
	}, func(line int, text []byte) {
		f.counts.skipped++
		if len(f.counts.examples) < maxExamples {
			f.counts.examples = append(f.counts.examples, fmt.Sprintf("%s/%s line %d: %v: %q", inlineFolder, stat.name, line, errBadLine, text[:min(len(text), 60)]))
		}
	})
	d := newDecoder()
	for _, key := range order {
		if e := newest[key]; e.value == nil {
			f.dead[key] = true
		} else {
			f.keep(d, e)
		}
	}
	return f
}

// An entryKey is the whole key of a record.
type entryKey struct{ collection, key string }

// keep adds the newest record of a key.
func (f *inlineFile) keep(d *decoder, e entry) {
	rec := d.inline(e.value)
	rec.old = e.old
	if e.collection == sourcesCollection {
		f.notes[e.key] = rec
		return
	}
	path, below, isBlock := strings.Cut(e.key, "#")
	if !isBlock {
		return
	}
	if f.blocks[path] == nil {
		f.blocks[path] = map[string]*inlineRecord{}
	}
	f.blocks[path]["#"+below] = rec
}

// keeps says whether every record of the older state is here too, or was taken
// back by a falsy one. A nil state has none.
func (f *inlineFile) keeps(older *inlineFile) bool {
	if older == nil {
		return true
	}
	for path := range older.notes {
		if f.notes[path] == nil && !f.dead[entryKey{sourcesCollection, path}] {
			return false
		}
	}
	for path, blocks := range older.blocks {
		for key := range blocks {
			if f.blocks[path][key] == nil && !f.dead[entryKey{blocksCollection, path + key}] {
				return false
			}
		}
	}
	return true
}

// A file that was written to a moment ago and looks unfinished is read again.
const (
	inlineTries = 4
	inlineWait  = 40 * time.Millisecond // before the second attempt; doubled for each further one
)

// readInlineFile reads a file of multi/. The plugin rewrites these in place, so
// what is read may be the beginning of what it is writing: when the file changed
// meanwhile, or is young and damaged or lacks notes it had in its older state,
// it is read again. settled is false when it still looked so at last; then the
// older state is returned, when there is one. A file that is gone is nil, and not
// settled: it may come back as it was.
func readInlineFile(ctx context.Context, in folder, name string, older *inlineFile) (f *inlineFile, settled bool, err error) {
	for try := range inlineTries {
		if try > 0 {
			if err := sleep(ctx, inlineWait<<(try-1)); err != nil {
				return nil, false, err
			}
		}
		stat, data, whole, err := readWhole(in, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, false, nil
		case errors.Is(err, io.ErrUnexpectedEOF) && try+1 < inlineTries:
			continue
		case err != nil:
			return nil, false, err
		}
		f = parseInline(stat, data)
		odd := f.counts.skipped > 0 || len(bytes.TrimSpace(data)) == 0 || !f.keeps(older)
		if whole && !(odd && young(stat.modTime)) {
			return f, true, nil
		}
	}
	if older != nil {
		return older, false, nil
	}
	return f, false, nil
}

// readWhole reads a file and says whether it stayed the same meanwhile.
func readWhole(in folder, name string) (stat inlineStat, data []byte, whole bool, err error) {
	f, err := in.open(inlineFolder + "/" + name)
	if err != nil {
		return stat, nil, false, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return stat, nil, false, err
	}
	data = make([]byte, 0, before.Size()+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return stat, nil, false, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
	after, err := f.Stat()
	if err != nil {
		return stat, nil, false, err
	}
	stat = statInline(before)
	if int64(len(data)) < min(before.Size(), after.Size()) {
		return stat, nil, false, io.ErrUnexpectedEOF
	}
	return stat, data, stat.same(statInline(after)) && int64(len(data)) == stat.size, nil
}

// hasInline says whether multi/, the index of plugin versions before 4.7, has a file.
// It does not read all their names.
func hasInline(in folder) (bool, error) {
	f, err := in.disk.OpenFolder(in.path(inlineFolder))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, unread(disk.PathError("open", inlineFolder, err))
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(64)
		switch {
		case slices.ContainsFunc(entries, isInlineFile):
			return true, nil
		case err == io.EOF:
			return false, nil
		case err != nil:
			return false, unread(disk.PathError("read", inlineFolder, err))
		}
	}
}

// isInlineFile accepts what cloud drives put in a file's place, too, which Go
// reports as irregular.
func isInlineFile(e fs.DirEntry) bool {
	return e.Type()&^fs.ModeIrregular == 0 && strings.HasSuffix(e.Name(), ".ajson")
}

// inlineStats examines the files of multi/, in the order of their names. It does not
// open them: there is one for each note. One that cannot be examined has no time,
// which none is the same as, so that it is read.
func inlineStats(ctx context.Context, in folder) (stats []inlineStat, err error) {
	entries, err := in.entries(inlineFolder)
	if err != nil {
		return nil, vanished(inlineFolder, err)
	}
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !isInlineFile(entry) {
			continue
		}
		switch info, err := in.disk.Info(entry); {
		case err == nil:
			stats = append(stats, statInline(info))
		case !errors.Is(err, fs.ErrNotExist):
			stats = append(stats, inlineStat{name: entry.Name()})
		}
	}
	return stats, nil
}

// inlineName is the name of the file in which the plugin keeps a note's records:
// every white space, slash and dot of the path is an underscore. Several notes
// may share one.
func inlineName(path string) string {
	return strings.Map(func(r rune) rune {
		if isBlank(r) || r == '/' || r == '.' {
			return '_'
		}
		return r
	}, path) + ".ajson"
}
