package smartenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"smart-connections-mcp/smartenv/note"
	"smart-connections-mcp/smartenv/parallel"
)

// maxExamples is how many damaged lines the status quotes.
const maxExamples = 5

// guardBytes is how much of a log's already read end is read again before the
// tail is trusted to continue it.
const guardBytes = 512

// pieceBytes is about how much of a log is in memory at once. linesAtOnce is how
// many of its lines one goroutine reads at a time: this is most of the work of a
// first load, so all processors share it.
const (
	pieceBytes  = 1 << 20
	linesAtOnce = 16
)

// A replay is the state of the log after all lines read so far: the newest
// record of every live key. It can go on where it ended when the log has grown.
type replay struct {
	records map[string]*record
	counts  lineCounts
	shards  []shardState
	changes int  // how often something was read
	trusted bool // a snapshot was made of it, so what it lacks later was taken out

	decoders sync.Pool
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
	return &replay{records: map[string]*record{}, decoders: sync.Pool{New: func() any { return newDecoder() }}}
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

// unfinished says whether a log that was read from its beginning may be in the
// middle of being written anew: it is young and lacks a note that it had.
func (r *replay) unfinished(before *scan) bool {
	return !r.trusted &&
		slices.ContainsFunc(r.shards, func(st shardState) bool { return young(st.info.ModTime()) }) &&
		slices.ContainsFunc(before.notes, func(n noteState) bool { return r.records[n.rec.path] == nil })
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
	if err := r.readTail(st, f, info.Size()); err != nil {
		return err
	}
	st.info = info
	return nil
}

// readTail replays everything after the last complete line, in a file of this
// size, after a look at whether the bytes before it are still the ones that were
// replayed. What is appended meanwhile is for the next time.
func (r *replay) readTail(st *shardState, f io.ReaderAt, size int64) error {
	guard := make([]byte, len(st.guard))
	if err := st.read(f, guard, st.end-int64(len(guard))); err != nil {
		return err
	}
	if !bytes.Equal(guard, st.guard) {
		return &retryError{st.name + " was rewritten in place"}
	}
	r.changes++
	r.takeBack(st)
	at := st.end
	piece := make([]byte, 0, max(0, min(pieceBytes, size-at))) // the beginning of a line that is not read to its end
	for at < size {
		if len(piece) == cap(piece) {
			piece = slices.Grow(piece, cap(piece)) // for a line that is longer than that
		}
		begun := len(piece)
		piece = piece[:begun+int(min(int64(cap(piece)-begun), size-at))]
		if err := st.read(f, piece[begun:], at); err != nil {
			return err
		}
		at += int64(len(piece) - begun)
		if complete := bytes.LastIndexByte(piece[begun:], '\n') + 1; complete > 0 {
			r.replayLines(st, piece[:begun+complete])
			piece = piece[:copy(piece, piece[begun+complete:])]
		}
	}
	if len(piece) > 0 {
		r.replayLast(st, piece)
	}
	return nil
}

// read fills data with what the shard has at an offset.
func (st *shardState) read(f io.ReaderAt, data []byte, at int64) error {
	switch n, err := f.ReadAt(data, at); {
	case n == len(data):
		return nil
	case err == io.EOF:
		return &retryError{st.name + " shrank while it was read"}
	default:
		return fmt.Errorf("reading the index: %w", err)
	}
}

// replayLines applies complete lines, which begin at st.end.
func (r *replay) replayLines(st *shardState, data []byte) {
	var lines [][]byte
	eachLine(data, func(line []byte) { lines = append(lines, line) })
	read := make([]logRecord, len(lines))
	parallel.Do(runtime.GOMAXPROCS(0), len(lines), linesAtOnce, func(first, end int) {
		d := r.decoders.Get().(*decoder)
		defer r.decoders.Put(d)
		for i := first; i < end; i++ {
			read[i] = d.line(lines[i])
		}
	})
	for i := range read {
		st.lines++
		if r.count(st, lines[i], &read[i], st.lines) {
			r.apply(&read[i])
		}
	}
	st.end += int64(len(data))
	st.guard = append(st.guard, data[max(0, len(data)-guardBytes):]...)
	st.guard = bytes.Clone(st.guard[max(0, len(st.guard)-guardBytes):])
}

// A logRecord is what a line of the log says.
type logRecord struct {
	collection, key string
	record          *record // of a note; nil for a tombstone
	ok              bool    // it is neither empty nor bad
	err             error
}

// line reads a line as parseLine does, and the record in it at once.
func (d *decoder) line(line []byte) (l logRecord) {
	s, e, ok, err := openLine(line)
	if !ok {
		l.err = err
		return l
	}
	l.collection, l.key = e.collection, e.key
	switch c := s.peek(); {
	case c == '{' && e.collection == sourcesCollection:
		l.record = d.read(e.key, &s)
	case c == '{':
		s.skip()
	default:
		if value := s.raw(); !falsy(value) {
			s.bad = true
		}
	}
	if l.ok = s.ended(); !l.ok {
		return logRecord{err: errBadLine}
	}
	return l
}

// count counts a line and says whether it is the record of a note.
func (r *replay) count(st *shardState, line []byte, l *logRecord, number int) bool {
	if l.err != nil {
		r.counts.skipped++
		if len(r.counts.examples) < maxExamples {
			start := line[:min(len(line), 60)]
			r.counts.examples = append(r.counts.examples, fmt.Sprintf("%s line %d: %v: %q", st.name, number, l.err, start))
		}
		return false
	}
	if !l.ok || l.collection != sourcesCollection {
		return false
	}
	r.counts.records++
	if l.record == nil {
		r.counts.tombstones++
	}
	return true
}

// apply makes what a line says the whole record of its note.
func (r *replay) apply(l *logRecord) {
	if l.record == nil {
		delete(r.records, l.key)
		return
	}
	r.records[l.key] = l.record
}

// replayLast applies the line that no LF ends yet.
func (r *replay) replayLast(st *shardState, line []byte) {
	last := &lastLine{counts: r.counts}
	last.counts.examples = append([]string(nil), r.counts.examples...)
	if l := newDecoder().line(line); r.count(st, line, &l, st.lines+1) {
		last.path, last.isNote, last.before = l.key, true, r.records[l.key]
		r.apply(&l)
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
