package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"

	"smart-connections-mcp/weights/values"
)

// The fields of a TensorProto that matter here.
const (
	tensorDim         = 1<<3 | varint
	tensorDims        = 1<<3 | bytes // packed
	tensorType        = 2<<3 | varint
	tensorFloat       = 4<<3 | fixed32
	tensorFloats      = 4<<3 | bytes // packed
	tensorInt         = 5<<3 | varint
	tensorInts        = 5<<3 | bytes // packed; the bits of F16 and BF16 values, among others
	tensorName        = 8<<3 | bytes
	tensorRaw         = 9<<3 | bytes
	tensorExternal    = 13<<3 | bytes
	tensorLocation    = 14<<3 | varint
	locationElsewhere = 1
)

const (
	maxName = 1 << 10
	maxRank = 8 // of tensors whose values are kept; a parameter has 1 or 2
)

// tensor is a constant of the graph.
type tensor struct {
	name   string
	dims   []int64
	kind   uint64       // a TensorProto.DataType
	values values.Slice // of kinds that values can read; row by row
}

// types are the kinds whose values are kept.
var types = map[uint64]values.Type{1: values.F32, 10: values.F16, 16: values.BF16}

// kindNames are the kinds that make a matrix a quantised one.
var kindNames = map[uint64]string{
	2: "UINT8", 3: "INT8", 17: "FLOAT8E4M3FN", 18: "FLOAT8E4M3FNUZ", 19: "FLOAT8E5M2", 20: "FLOAT8E5M2FNUZ",
	21: "UINT4", 22: "INT4", 23: "FLOAT4E2M1", 24: "FLOAT8E8M0", 25: "UINT2", 26: "INT2",
}

// tensorReader is a tensor on its way. The fields may come in any order; the
// usual one, kind before values, costs no second copy of them.
type tensorReader struct {
	*wire
	t         tensor
	loose     []byte    // raw values whose kind is not known yet
	halves    []byte    // 16-bit values that came as numbers
	floats    []float32 // values that came as floats
	raw       bool      // raw values have come
	elsewhere bool
	buf       []byte // scratch of values.Chunk
}

// tensor reads the TensorProto that ends at end.
func (w *wire) tensor(end int64, buf []byte) (*tensor, error) {
	r := tensorReader{wire: w, buf: buf}
	err := w.message(end, r.field)
	if err == nil {
		err = r.finish()
	}
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", r.t.name, err)
	}
	t := r.t // without the scratch
	return &t, nil
}

func (r *tensorReader) field(f field) (err error) {
	switch f.key {
	case tensorDim:
		return r.dim(f.value)
	case tensorDims:
		return r.packed(f.end, r.dim)
	case tensorType:
		r.t.kind = f.value
	case tensorName:
		r.t.name, err = r.text(f, maxName)
	case tensorRaw:
		return r.readRaw(f)
	case tensorFloat:
		r.floats = append(r.floats, math.Float32frombits(uint32(f.value)))
	case tensorFloats:
		return r.readFloats(f)
	case tensorInt:
		return r.half(f.value)
	case tensorInts:
		return r.packed(f.end, r.half)
	case tensorExternal:
		r.elsewhere = true
	case tensorLocation:
		r.elsewhere = r.elsewhere || f.value == locationElsewhere
	}
	return err
}

func (r *tensorReader) dim(n uint64) error {
	if len(r.t.dims) == maxRank || n > math.MaxInt64 {
		return fmt.Errorf("the shape has a side of %d, or more than %d sides", int64(n), maxRank)
	}
	r.t.dims = append(r.t.dims, int64(n))
	return nil
}

func (r *tensorReader) half(bits uint64) error {
	if kind := types[r.t.kind]; r.t.kind != 0 && kind.Width() != 2 {
		return nil // int32, say
	}
	r.halves = binary.LittleEndian.AppendUint16(r.halves, uint16(bits))
	return nil
}

// readRaw reads values as they lie in memory. When the kind is known they go
// straight into the slice that is handed out.
func (r *tensorReader) readRaw(f field) error {
	if r.raw {
		return errors.New("its values come twice")
	}
	r.raw = true
	n := f.end - r.at
	kind, keep := types[r.t.kind]
	switch {
	case r.t.kind == 0:
		r.loose = make([]byte, n)
		_, err := io.ReadFull(r, r.loose)
		return err
	case !keep:
		return nil
	case n%int64(kind.Width()) != 0:
		return fmt.Errorf("%d bytes are no whole number of %s values", n, kind)
	}
	r.t.values = kind.Make(int(n) / kind.Width())
	return kind.Read(r, r.t.values, r.buf)
}

func (r *tensorReader) readFloats(f field) error {
	n := f.end - r.at
	if n%4 != 0 {
		return fmt.Errorf("%d bytes are no whole number of F32 values", n)
	}
	v := make([]float32, n/4)
	if err := values.F32.Read(r, values.Slice{Floats: v}, r.buf); err != nil {
		return err
	}
	if r.floats == nil { // all in one, as writers do it
		r.floats = v
	} else {
		r.floats = append(r.floats, v...)
	}
	return nil
}

// finish gathers the values from where they came and counts them.
func (r *tensorReader) finish() error {
	if name := kindNames[r.t.kind]; name != "" && len(r.t.dims) > 1 {
		return quantised("a matrix of " + name)
	}
	if r.elsewhere {
		return errors.New("its values lie in a file of their own (external data), which is not read: " +
			"use model.safetensors, or an export that is one file")
	}
	kind, keep := types[r.t.kind]
	if !keep {
		r.t.values = values.Slice{}
		return nil
	}
	if r.loose != nil {
		if len(r.loose)%kind.Width() != 0 {
			return fmt.Errorf("%d bytes are no whole number of %s values", len(r.loose), kind)
		}
		r.t.values = kind.Make(len(r.loose) / kind.Width())
		kind.Decode(r.t.values, r.loose)
	}
	switch {
	case len(r.floats) > 0 && (r.raw || kind != values.F32), len(r.halves) > 0 && (r.raw || kind == values.F32):
		return fmt.Errorf("its values come in two ways, or not as %s", kind)
	case len(r.floats) > 0:
		r.t.values.Floats = r.floats
	case len(r.halves) > 0:
		r.t.values = kind.Make(len(r.halves) / 2)
		kind.Decode(r.t.values, r.halves)
	}
	if !holds(r.t.dims, r.t.values.Len()) {
		return fmt.Errorf("%d values for the shape %v", r.t.values.Len(), r.t.dims)
	}
	return nil
}

// holds tells whether a tensor of that shape has n values.
func holds(dims []int64, n int) bool {
	count := uint64(1)
	for _, d := range dims {
		hi, lo := bits.Mul64(count, uint64(d))
		if hi != 0 {
			return false
		}
		count = lo
	}
	return count == uint64(n)
}

// quantised is the error for a file whose values have been rounded.
func quantised(what string) error {
	return fmt.Errorf("the model is quantised (%s): its vectors are not those of the model itself; "+
		"use an export in F32 or F16 (onnx/model.onnx), or model.safetensors", what)
}
