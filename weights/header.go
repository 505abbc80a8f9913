package weights

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
)

// A safetensors file is: 8 bytes little-endian header length n, n bytes of
// JSON, then the values. The JSON maps a tensor's name to its dtype, its shape
// and the half-open byte range of its values, counted from the header's end.
const (
	prefixSize = 8
	maxHeader  = 10 << 20 // a 24-layer encoder needs 50 kB; JSON in memory is several times its text
	maxTensors = 1 << 16
)

// entry is one tensor as the header describes it. What newEntry and contiguous
// have passed is safe to allocate and to read.
type entry struct {
	name       string
	dtype      string
	shape      []int64
	begin, end int64 // byte range after the header
}

// dtypeSize is the width in bytes of each value type whose width is whole
// bytes. Types that are not listed may stand in tensors nobody asks for.
var dtypeSize = map[string]uint64{
	"BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1,
	"I16": 2, "U16": 2, "F16": 2, "BF16": 2,
	"I32": 4, "U32": 4, "F32": 4,
	"I64": 8, "U64": 8, "F64": 8, "C64": 8,
}

// readHeader reads and checks the header of a safetensors file of size bytes
// and leaves r at the first value. The entries come in the order of their
// values, and together cover all bytes after the header exactly once.
func readHeader(r io.Reader, size int64) ([]entry, error) {
	var prefix [prefixSize]byte
	if size < prefixSize {
		return nil, fmt.Errorf("%d bytes are too few for a safetensors file", size)
	}
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, fmt.Errorf("reading the header's length: %w", err)
	}
	n := binary.LittleEndian.Uint64(prefix[:])
	if n > maxHeader || n > uint64(size-prefixSize) {
		return nil, fmt.Errorf("header of %d bytes in a file of %d: not a safetensors file, or a damaged one", n, size)
	}
	head := make([]byte, n)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}
	entries, err := parseHeader(head)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return entries, contiguous(entries, size-prefixSize-int64(n))
}

// parseHeader reads the header's JSON. It goes token by token because a map
// would hide a name that comes twice.
func parseHeader(head []byte) ([]entry, error) {
	d := json.NewDecoder(bytes.NewReader(head))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	var entries []entry
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		if seen[name] {
			return nil, fmt.Errorf("tensor %q comes twice", name)
		}
		if seen[name] = true; len(seen) > maxTensors {
			return nil, fmt.Errorf("more than %d tensors", maxTensors)
		}
		if name == "__metadata__" {
			if err := d.Decode(new(json.RawMessage)); err != nil {
				return nil, err
			}
			continue
		}
		e, err := newEntry(name, d)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		entries = append(entries, e)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
	}
	return entries, nil
}

// newEntry reads one tensor's description and checks it against itself: the
// byte range must be as long as shape and dtype say.
func newEntry(name string, d *json.Decoder) (entry, error) {
	var v struct {
		Dtype   string  `json:"dtype"`
		Shape   []int64 `json:"shape"`
		Offsets []int64 `json:"data_offsets"`
	}
	if err := d.Decode(&v); err != nil {
		return entry{}, err
	}
	if v.Dtype == "" || v.Shape == nil || len(v.Offsets) != 2 {
		return entry{}, errors.New("dtype, shape or data_offsets is missing")
	}
	begin, end := v.Offsets[0], v.Offsets[1]
	if begin < 0 || end < begin {
		return entry{}, fmt.Errorf("data_offsets %v are no range", v.Offsets)
	}
	e := entry{name: name, dtype: v.Dtype, shape: v.Shape, begin: begin, end: end}
	width, known := dtypeSize[v.Dtype]
	if !known {
		return e, nil
	}
	want := width
	for _, n := range v.Shape {
		if n < 0 {
			return entry{}, fmt.Errorf("shape %v has a negative side", v.Shape)
		}
		hi, lo := bits.Mul64(want, uint64(n))
		if hi != 0 {
			return entry{}, fmt.Errorf("shape %v is too large", v.Shape)
		}
		want = lo
	}
	if want != uint64(end-begin) {
		return entry{}, fmt.Errorf("%s %v takes %d bytes, data_offsets give %d", v.Dtype, v.Shape, want, end-begin)
	}
	return e, nil
}

// contiguous sorts the entries by their place and refuses overlaps, holes, and
// a file that is shorter or longer than they say, as the format demands.
func contiguous(entries []entry, size int64) error {
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	at := int64(0)
	for _, e := range entries {
		switch {
		case e.begin < at:
			return fmt.Errorf("tensor %q overlaps the one before it", e.name)
		case e.begin > at:
			return fmt.Errorf("%d bytes before tensor %q belong to no tensor", e.begin-at, e.name)
		}
		at = e.end
	}
	switch {
	case size < at:
		return fmt.Errorf("the file is cut short: %d of %d bytes of values", size, at)
	case size > at:
		return fmt.Errorf("%d bytes follow the last tensor", size-at)
	}
	return nil
}
