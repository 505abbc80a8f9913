package smartenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"runtime"
	"slices"

	"smart-connections-mcp/smartenv/note"
)

// maxExamples is how many damaged lines the status quotes.
const maxExamples = 5

// guardBytes is how much of a log's already read end is read again before the
// tail is trusted to continue it.
const guardBytes = 512

// linesAtOnce is how many lines of the log one goroutine parses at a time.
// Parsing is most of the work of a first load, so all processors share it.
const linesAtOnce = 256

// A replay is the state of the log after all lines read so far: the newest
// record of every live key. It can go on where it ended when the log has grown.
type replay struct {
	records map[string]*record
	decoder *decoder
	counts  lineCounts
	shards  []shardState
}

// lineCounts says how many lines of which kind were read.
type lineCounts struct {
	records    int // lines that were records of notes, tombstones included
	tombstones int
	skipped    int
	examples   []string // of skipped lines
}

// shardState is where the reading of one shard stands.
type shardState struct {
	shard
	info  fs.FileInfo // before the reading
	end   int64       // byte after the last line that ends in LF
	lines int         // lines before end
	guard []byte      // the bytes before end
	last  *lastLine   // the line after end, when there is one
}

// lastLine is the line that no LF ends yet. It counts, but more may be appended
// to it, so what it changed can be taken back.
type lastLine struct {
	counts lineCounts // before the line
	path   string     // the key it changed, when it was a record
	isNote bool
	before *record // its record before, nil when there was none
}

func newReplay() *replay {
	return &replay{records: map[string]*record{}, decoder: newDecoder()}
}

// update brings the replay to the state of the shards below dir, reading no more
// than what was appended since the last time. It returns a replay that started
// anew when that is not possible. The error is a *retryError when the files
// changed under it.
func (r *replay) update(ctx context.Context, dir string, shards []shard) (*replay, error) {
	if r != nil && r.continues(dir, shards) {
		if err := r.readAll(ctx, dir, shards); err != nil {
			return nil, err
		}
		return r, nil
	}
	fresh := newReplay()
	if err := fresh.readAll(ctx, dir, shards); err != nil {
		return nil, err
	}
	return fresh, nil
}

// readAll replays what is new in every shard. After an error the replay is in no
// state to go on.
func (r *replay) readAll(ctx context.Context, dir string, shards []shard) error {
	for i := range shards {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.readShard(dir, shards[i], i); err != nil {
			return err
		}
	}
	return nil
}

// continues says whether the files continue what was read: no shard but the
// last one changed, that one only grew, and new shards come after it.
func (r *replay) continues(dir string, shards []shard) bool {
	if len(shards) < len(r.shards) {
		return false
	}
	for i := range r.shards {
		known := &r.shards[i]
		if known.shard != shards[i] {
			return false
		}
		info, err := statShared(filepath.Join(dir, sourcesCollection, known.name))
		if err != nil || unmoved(known.name, known.info, info) != nil {
			return false
		}
		if info.Size() > known.info.Size() && i < len(r.shards)-1 {
			return false
		}
	}
	return true
}

// readShard replays what is new in the shard at place i of the list.
func (r *replay) readShard(dir string, sh shard, i int) error {
	f, err := note.OpenShared(filepath.Join(dir, sourcesCollection, sh.name))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return &retryError{sh.name + " vanished while the index was read"}
		}
		return fmt.Errorf("reading the index: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("reading the index: %w", err)
	}
	if i == len(r.shards) {
		r.shards = append(r.shards, shardState{shard: sh})
	}
	st := &r.shards[i]
	if st.info != nil && st.info.Size() == info.Size() {
		return unmoved(sh.name, st.info, info)
	}
	data, err := st.readTail(f, info.Size())
	if err != nil {
		return err
	}
	st.info = info
	r.replayShard(st, data)
	return nil
}

// readTail reads everything after the last complete line, in a file of this size,
// after a look at whether the bytes before it are still the ones that were
// replayed. What is appended meanwhile is for the next time.
func (st *shardState) readTail(f io.ReaderAt, size int64) ([]byte, error) {
	from := st.end - int64(len(st.guard))
	data := make([]byte, max(0, size-from))
	switch _, err := io.ReadFull(io.NewSectionReader(f, from, size-from), data); {
	case err == io.EOF && len(data) == 0:
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return nil, &retryError{st.name + " shrank while it was read"}
	case err != nil:
		return nil, fmt.Errorf("reading the index: %w", err)
	}
	rest, same := bytes.CutPrefix(data, st.guard)
	if !same {
		return nil, &retryError{st.name + " was rewritten in place"}
	}
	return rest, nil
}

// replayShard applies the lines of data, which begin at st.end.
func (r *replay) replayShard(st *shardState, data []byte) {
	r.takeBack(st)
	complete := bytes.LastIndexByte(data, '\n') + 1
	var lines [][]byte
	eachLine(data[:complete], func(line []byte) { lines = append(lines, line) })
	parsed := make([]parsedLine, len(lines))
	shareOut(runtime.GOMAXPROCS(0), len(lines), linesAtOnce, func(first, end int) {
		for i := first; i < end; i++ {
			parsed[i] = parse(lines[i])
		}
	})
	newest := map[string][]byte{} // nil value: tombstone
	for i, line := range lines {
		st.lines++
		if r.count(st, line, parsed[i], st.lines) {
			newest[parsed[i].entry.key] = parsed[i].entry.value
		}
	}
	r.applyAll(newest)
	st.end += int64(complete)
	st.guard = append(st.guard, data[max(0, complete-guardBytes):complete]...)
	st.guard = bytes.Clone(st.guard[max(0, len(st.guard)-guardBytes):])
	if complete < len(data) {
		r.replayLast(st, data[complete:])
	}
}

// A parsedLine is what parseLine says of a line.
type parsedLine struct {
	entry entry
	ok    bool
	err   error
}

func parse(line []byte) (p parsedLine) {
	p.entry, p.ok, p.err = parseLine(line)
	return p
}

// count counts a line and says whether it is the record of a note.
func (r *replay) count(st *shardState, line []byte, p parsedLine, number int) bool {
	if p.err != nil {
		r.counts.skipped++
		if len(r.counts.examples) < maxExamples {
			start := line[:min(len(line), 60)]
			r.counts.examples = append(r.counts.examples, fmt.Sprintf("%s line %d: %v: %q", st.name, number, p.err, start))
		}
		return false
	}
	if !p.ok || p.entry.collection != sourcesCollection {
		return false
	}
	r.counts.records++
	if p.entry.value == nil {
		r.counts.tombstones++
	}
	return true
}

// apply makes value the whole record of path; nil removes the record.
func (r *replay) apply(path string, value []byte) {
	if value == nil {
		delete(r.records, path)
		return
	}
	r.records[path] = r.decoder.record(path, value)
}

// applyAll is apply for many records.
func (r *replay) applyAll(newest map[string][]byte) {
	paths := slices.Collect(maps.Keys(newest))
	records := make([]*record, len(paths))
	shareOut(runtime.GOMAXPROCS(0), len(paths), linesAtOnce, func(first, end int) {
		d := newDecoder()
		for i := first; i < end; i++ {
			if value := newest[paths[i]]; value != nil {
				records[i] = d.record(paths[i], value)
			}
		}
	})
	for i, path := range paths {
		if records[i] == nil {
			delete(r.records, path)
		} else {
			r.records[path] = records[i]
		}
	}
}

// replayLast applies the line that no LF ends yet.
func (r *replay) replayLast(st *shardState, line []byte) {
	last := &lastLine{counts: r.counts}
	last.counts.examples = append([]string(nil), r.counts.examples...)
	if p := parse(line); r.count(st, line, p, st.lines+1) {
		last.path, last.isNote, last.before = p.entry.key, true, r.records[p.entry.key]
		r.apply(p.entry.key, p.entry.value)
	}
	st.last = last
}

// takeBack undoes replayLast.
func (r *replay) takeBack(st *shardState) {
	last := st.last
	if last == nil {
		return
	}
	st.last = nil
	r.counts = last.counts
	switch {
	case !last.isNote:
	case last.before == nil:
		delete(r.records, last.path)
	default:
		r.records[last.path] = last.before
	}
}
