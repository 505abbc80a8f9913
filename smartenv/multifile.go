package smartenv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"unsafe"

	"smart-connections-mcp/smartenv/disk"
)

// unitTolerance is how far a row's length may be from 1 before it counts as
// none of unit length. The plugin's own unit vectors, also those rounded to
// eight decimals on the way, are within 1e-6. unitRounding is how far it is when
// each value was rounded to a float32.
const (
	unitTolerance = 1e-5
	unitRounding  = 3e-8
)

// chunkBytes is about how much of a multifile is in memory at once.
const chunkBytes = 1 << 20

// A multifile is one packed vector file: rows of float32, little-endian, without
// a header. The file of the same name in the other collection's folder has
// nothing to do with it.
type multifile struct {
	in      folder
	name    string // "smart_sources/mf_ccarbz"
	missing bool
	size    int64       // bytes
	rows    int64       // whole rows
	info    fs.FileInfo // before the log was read
}

// openMultifile examines the file of a collection, whose rows have dims values.
// before tells what stood in the folder when the log was not yet read: rows that
// are written now may be numbered anew, so it must still be the same file, but it
// may have grown. That there is no such file is no error: missing is set.
func openMultifile(in folder, collection, fingerprint string, dims int, before fileInfos) (*multifile, error) {
	m := &multifile{in: in, name: collection + "/" + fingerprint}
	m.info = before[m.name]
	m.missing = m.info == nil
	now, err := in.stat(m.name)
	switch {
	case m.missing && errors.Is(err, fs.ErrNotExist):
		return m, nil
	case err != nil:
		return nil, vanished(m.name, err)
	case m.missing:
		return nil, &retryError{m.name + " appeared while the index was read"}
	}
	m.size, m.rows = now.Size(), now.Size()/int64(4*dims)
	return m, nil
}

// torn says whether the file ends within a row: an append that did not finish,
// or that goes on just now.
func (m *multifile) torn(dims int) bool { return m.size%int64(4*dims) != 0 }

// verify checks that the file is still the one that was read.
func (m *multifile) verify() error {
	if m.missing {
		return nil
	}
	info, err := m.in.stat(m.name)
	if err != nil {
		return vanished(m.name, err)
	}
	return unmoved(m.name, m.info, info)
}

// read copies rows of the file: row rows[i] to dst[i*dims:(i+1)*dims], those that
// stand together at once. The file is closed after it.
func (m *multifile) read(ctx context.Context, dst []float32, rows []int64, dims int) error {
	if len(rows) == 0 {
		return nil
	}
	f, err := m.in.open(m.name)
	if err != nil {
		return vanished(m.name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return unread(disk.PathError("stat", m.name, err))
	}
	if unmoved(m.name, m.info, info) != nil {
		return &retryError{m.name + " was replaced while the index was read"}
	}
	stride := int64(dims) * 4
	for i := 0; i < len(rows); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := 1 // rows that stand together
		for i+n < len(rows) && rows[i+n] == rows[i]+int64(n) && n < chunkBytes/dims/4 {
			n++
		}
		if rows[i]+int64(n) > m.rows {
			return fmt.Errorf("reading the index: row %d of %s, which has %d: this is a bug", rows[i]+int64(n)-1, m.name, m.rows)
		}
		switch err := readValues(f, dst[i*dims:(i+n)*dims], rows[i]*stride); {
		case err == io.EOF:
			return &retryError{m.name + " shrank while it was read"}
		case err != nil:
			return unread(disk.PathError("read", m.name, err))
		}
		i += n
	}
	return nil
}

// readValues reads len(dst) little-endian values. Where the machine is of that
// order, as all of ours are, the bytes are the values.
func readValues(f io.ReaderAt, dst []float32, at int64) error {
	if len(dst) == 0 {
		return nil
	}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&dst[0])), 4*len(dst))
	if n, err := f.ReadAt(raw, at); n < len(raw) {
		return err
	}
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	}
	return nil
}

// repair makes a row a unit vector, unless its length is within tolerance of 1,
// and says what it was.
func repair(row []float32, tolerance float64) rowState {
	var sum, odd float64 // two, so that they need not wait for one another
	for i := 0; i+1 < len(row); i += 2 {
		a, b := float64(row[i]), float64(row[i+1])
		sum, odd = sum+a*a, odd+b*b
	}
	if len(row)%2 == 1 {
		last := float64(row[len(row)-1])
		sum += last * last
	}
	sum += odd
	norm := math.Sqrt(sum)
	switch {
	case math.IsNaN(sum):
		return rowNaN
	case math.IsInf(sum, 0):
		return rowInf
	case norm < 1e-8: // the plugin's own bound
		return rowZero
	case math.Abs(norm-1) <= tolerance:
		return rowUnit
	}
	for i, v := range row {
		row[i] = float32(float64(v) / norm)
	}
	if math.Abs(norm-1) > unitTolerance {
		return rowScaled
	}
	return rowUnit
}

// deriveDims finds a row's length from the size of the model's files and the
// greatest row any reference names, for models whose record has no dims: the one
// number that fits every file. 0 when there is none.
func deriveDims(records map[string]*record, fingerprint string, files fileInfos) int {
	last := map[string]int64{sourcesCollection: -1, blocksCollection: -1}
	note := func(collection string, refs []reference) {
		for _, ref := range refs {
			if ref.fingerprint == fingerprint {
				last[collection] = max(last[collection], ref.row)
			}
		}
	}
	for _, rec := range records {
		note(sourcesCollection, rec.refs)
		for i := range rec.blocks {
			note(blocksCollection, rec.blocks[i].refs)
		}
	}
	var dims int64
	for collection, row := range last {
		info := files[collection+"/"+fingerprint]
		if info == nil || row < 0 {
			continue
		}
		fit := fittingDims(info.Size(), row)
		if fit == 0 || dims != 0 && fit != dims {
			return 0
		}
		dims = fit
	}
	return int(dims)
}

// fittingDims returns how many values a row has when a file of this size ends
// with row last; 0 when that is no whole number.
func fittingDims(size, last int64) int64 {
	values := size / 4
	if size%4 != 0 || last < 0 || values == 0 || values%(last+1) != 0 {
		return 0
	}
	return values / (last + 1)
}
