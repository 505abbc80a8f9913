package smartenv

import (
	"bytes"
	"context"
	"hash/maphash"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"smart-connections-mcp/smartenv/disk"
	"smart-connections-mcp/smartenv/parallel"
)

// partBytes is about how many bytes of vectors one goroutine reads at a time.
const partBytes = 1 << 20

// A store holds the vectors of a multifile that items refer to, from load to
// load. All stand in one buffer in the order in which they were read, and what a
// load adds goes to its end, so that snapshots share it: each has the part that
// was filled when it was made, and nothing in that part changes any more. When
// the buffer is full, what is still referred to moves to another one. It is used
// by one goroutine at a time.
type store struct {
	dims    int
	vectors []float32  // [rows that were read×dims]; there is room behind it
	rows    []int64    // of the multifile, in the order of vectors
	states  []rowState // by row of the multifile
	places  []int32    // by row of the multifile, of rows that were read: index in rows

	file  *multifile // as it was read
	guard []byte     // the bytes before its end then

	renumbered bool // the buffer is of another file, whose vectors this one may hold in other rows
}

// nowhere is the row of a vector that is in the buffer and, as far as is known, not
// in the file.
const nowhere = -1

// largeBuffer is the size from which on what earlier steps have left is returned
// to the system before a buffer is made, so that the two do not add up. That
// takes some milliseconds.
const largeBuffer = 32 << 20

// A rowState is what is known of a row of a multifile.
type rowState uint8

const (
	rowUnread rowState = iota
	rowWanted          // about to be read
	rowUnit
	rowScaled // it was not of unit length
	rowNaN
	rowInf
	rowZero
)

// bad returns why the row has no direction, "" when it has one.
func (s rowState) bad() Reason {
	return [...]Reason{rowNaN: badNaN, rowInf: badInf, rowZero: badZero}[s]
}

// continues says whether m is the file that was read, or that file grown, so that
// its rows need not be read again. As with the log, the bytes before the end are
// looked at too.
func (st *store) continues(m *multifile, dims int) bool {
	if st.file == nil || st.file.missing || m.missing || st.dims != dims || st.file.name != m.name || unmoved(m.name, st.file.info, m.info) != nil {
		return false
	}
	guard, err := st.file.end()
	return err == nil && bytes.Equal(guard, st.guard)
}

// follow makes m the file of which rows are read.
func (st *store) follow(m *multifile) (err error) {
	st.file = m
	if !m.missing && m.info != nil {
		st.guard, err = m.end()
	}
	return err
}

// renumber makes the store one of a file of which nothing was read, but which may
// hold the same vectors in other rows, as that of the plugin's Optimize does. The
// next load looks for them in the buffer, so that there is no second one beside
// that of the snapshot before.
func (st *store) renumber() {
	st.states, st.places, st.renumbered = nil, nil, len(st.rows) > 0
	for place := range st.rows {
		st.rows[place] = nowhere
	}
}

// end returns the last bytes that the file had when it was examined.
func (m *multifile) end() ([]byte, error) {
	f, err := m.in.open(m.name)
	if err != nil {
		return nil, vanished(m.name, err)
	}
	defer f.Close()
	guard := make([]byte, min(guardBytes, m.size))
	switch n, err := f.ReadAt(guard, m.size-int64(len(guard))); {
	case n == len(guard):
		return guard, nil
	case err == io.EOF:
		return nil, &retryError{m.name + " shrank while it was read"}
	default:
		return nil, unread(disk.PathError("read", m.name, err))
	}
}

// load reads those of the rows that are not yet in the buffer. A row counts as of
// unit length within the tolerance.
func (st *store) load(ctx context.Context, read readRows, rows []int64, dims int, tolerance float64) error {
	st.dims = dims
	wanted, last := 0, int64(-1)
	for _, row := range rows {
		last = max(last, row)
		if row >= int64(len(st.states)) {
			st.states = append(st.states, make([]rowState, row+1-int64(len(st.states)))...)
		}
		if st.states[row] == rowUnread {
			st.states[row] = rowWanted
			wanted++
		}
	}
	st.places = append(st.places, make([]int32, len(st.states)-len(st.places))...)
	if st.renumbered {
		found, err := st.recognise(ctx, read, tolerance)
		if err != nil {
			return err
		}
		wanted -= found
	}
	if wanted == 0 {
		return nil
	}
	if len(st.vectors)+wanted*dims > cap(st.vectors) {
		st.move(rows, wanted)
	}
	first := len(st.rows)
	for row := int64(0); row <= last; row++ { // in the order of the file, so that it is read in one go
		if st.states[row] == rowWanted {
			st.places[row] = int32(len(st.rows))
			st.rows = append(st.rows, row)
		}
	}
	st.vectors = st.vectors[:len(st.rows)*dims]
	return st.fill(ctx, read, first, tolerance)
}

// recognise finds the wanted rows whose vectors are in the buffer, bit for bit, and
// says how many these are.
func (st *store) recognise(ctx context.Context, read readRows, tolerance float64) (found int, err error) {
	st.renumbered = false
	var rows []int64
	for row, state := range st.states {
		if state == rowWanted {
			rows = append(rows, int64(row))
		}
	}
	seed, known := maphash.MakeSeed(), make(map[uint64]int32, len(st.rows))
	for place := range st.rows {
		known[hashRow(seed, st.at(int32(place)))] = int32(place)
	}
	places, states := make([]int32, len(rows)), make([]rowState, len(rows))
	part := max(1, partBytes/(4*max(1, st.dims)))
	buffers := sync.Pool{New: func() any { b := make([]float32, part*st.dims); return &b }}
	var failed atomic.Pointer[error]
	parallel.Do(runtime.GOMAXPROCS(0), len(rows), part, func(from, to int) {
		if failed.Load() != nil {
			return
		}
		kept := buffers.Get().(*[]float32)
		defer buffers.Put(kept)
		buffer := *kept
		if err := read(ctx, buffer[:(to-from)*st.dims], rows[from:to], st.dims); err != nil {
			failed.Store(&err)
			return
		}
		for i := from; i < to; i++ {
			vector := buffer[(i-from)*st.dims : (i-from+1)*st.dims]
			states[i] = repair(vector, tolerance)
			place, ok := known[hashRow(seed, vector)]
			if !ok || !slices.Equal(st.at(place), vector) {
				place = nowhere
			}
			places[i] = place
		}
	})
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	for i, row := range rows {
		if place := places[i]; place != nowhere && st.rows[place] == nowhere { // of equal vectors one is enough
			st.rows[place], st.places[row], st.states[row] = row, place, states[i]
			found++
		}
	}
	return found, nil
}

// at is the vector at a place of the buffer.
func (st *store) at(place int32) []float32 {
	return st.vectors[int(place)*st.dims : (int(place)+1)*st.dims]
}

// hashRow hashes a vector's bits.
func hashRow(seed maphash.Seed, row []float32) uint64 {
	if len(row) == 0 {
		return 0
	}
	return maphash.Bytes(seed, unsafe.Slice((*byte)(unsafe.Pointer(&row[0])), 4*len(row)))
}

// fill reads the rows from the place first on.
func (st *store) fill(ctx context.Context, read readRows, first int, tolerance float64) error {
	dims := st.dims
	var failed atomic.Pointer[error]
	parallel.Do(runtime.GOMAXPROCS(0), len(st.rows)-first, max(1, partBytes/(4*max(1, dims))), func(from, to int) {
		if failed.Load() != nil {
			return
		}
		from, to = first+from, first+to
		if err := read(ctx, st.vectors[from*dims:to*dims], st.rows[from:to], dims); err != nil {
			failed.Store(&err)
			return
		}
		for i := from; i < to; i++ {
			st.states[st.rows[i]] = repair(st.vectors[i*dims:(i+1)*dims], tolerance)
		}
	})
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// move copies the vectors that some of rows refer to into another buffer, with
// room for as many as are wanted and then some.
func (st *store) move(rows []int64, wanted int) {
	used := make([]bool, len(st.states))
	kept := wanted
	for _, row := range rows {
		if st.states[row] != rowWanted && !used[row] {
			used[row] = true
			kept++
		}
	}
	old := *st
	if 4*kept*st.dims >= largeBuffer {
		debug.FreeOSMemory()
	}
	st.vectors = make([]float32, 0, (kept+kept/8+64)*st.dims)
	st.rows = make([]int64, 0, kept+kept/8+64)
	for i, row := range old.rows {
		if row == nowhere {
			continue
		}
		if !used[row] {
			st.states[row] = rowUnread
			continue
		}
		st.places[row] = int32(len(st.rows))
		st.rows = append(st.rows, row)
		st.vectors = append(st.vectors, old.vectors[i*st.dims:(i+1)*st.dims]...)
	}
}
