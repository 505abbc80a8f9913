// Package values reads the numbers of weight files: F32, F16 and BF16,
// little-endian. F16 stays what it is, the others become float32.
package values

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"unsafe"
)

// Chunk is how many bytes of values are best read at a time: small enough for
// the first cache level, large enough that calls do not count.
const Chunk = 32 << 10

// A Type is a number format, named as safetensors names it. The zero Type is
// none.
type Type string

// The types that a parameter may have.
const (
	F32  Type = "F32"
	F16  Type = "F16"
	BF16 Type = "BF16"
)

// Width is the size of a value in bytes, 0 for a type that is not read.
func (t Type) Width() int {
	switch t {
	case F32:
		return 4
	case F16, BF16:
		return 2
	}
	return 0
}

// A Slice holds values as the program keeps them: one of the two, or none.
type Slice struct {
	Floats []float32
	Halves []uint16 // IEEE 754, bit by bit
}

// Make returns a Slice for n values of type t.
func (t Type) Make(n int) Slice {
	if t == F16 {
		return Slice{Halves: make([]uint16, n)}
	}
	return Slice{Floats: make([]float32, n)}
}

// Len is the number of values.
func (s Slice) Len() int { return len(s.Floats) + len(s.Halves) }

// Backing is the slice that s is, a []float32 or a []uint16.
func (s Slice) Backing() any {
	if s.Halves != nil {
		return s.Halves
	}
	return s.Floats
}

// Decode sets dst, which t.Make has made, to the values of type t in src.
func (t Type) Decode(dst Slice, src []byte) {
	switch t {
	case F32:
		decodeF32(dst.Floats, src)
	case F16:
		decodeF16(dst.Halves, src)
	case BF16:
		decodeBF16(dst.Floats, src)
	default:
		panic(fmt.Sprintf("values: type %q is not read", string(t)))
	}
}

// Read fills dst, which t.Make has made, with values of type t from r. buf is
// scratch of Chunk bytes. Values that are kept as the file has them are read to
// where they stay.
func (t Type) Read(r io.Reader, dst Slice, buf []byte) error {
	width := t.Width()
	asTheyAre := t != BF16 && binary.NativeEndian.Uint16([]byte{1, 0}) == 1
	for done, all := 0, dst.Len(); done < all; {
		n := min(all-done, len(buf)/width)
		part, raw := dst.part(done, done+n), buf[:n*width]
		if asTheyAre {
			raw = part.bytes()
		}
		if _, err := io.ReadFull(r, raw); err != nil {
			return err
		}
		if !asTheyAre {
			t.Decode(part, raw)
		}
		done += n
	}
	return nil
}

// part is the values from first up to end.
func (s Slice) part(first, end int) Slice {
	if s.Halves != nil {
		return Slice{Halves: s.Halves[first:end]}
	}
	return Slice{Floats: s.Floats[first:end]}
}

// bytes is the memory of s.
func (s Slice) bytes() []byte {
	if s.Halves != nil {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s.Halves))), 2*len(s.Halves))
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s.Floats))), 4*len(s.Floats))
}

// Finite refuses a value that is NaN or infinite: in a parameter, it would turn
// every embedding into NaN without a word.
func (s Slice) Finite() error {
	for i, x := range s.Floats {
		if x-x != 0 {
			return fmt.Errorf("value %d is %v", i, x)
		}
	}
	const exponent = 0x7c00 // all ones: infinity or NaN
	for i := finiteRun(s); i < len(s.Halves); i++ {
		if h := s.Halves[i]; h&exponent == exponent {
			return fmt.Errorf("value %d is NaN or infinite: F16 %#04x", i, h)
		}
	}
	return nil
}

// finiteRun is how many halves at the beginning of s are finite, or a few less.
// It looks at four at once: 1 added to an exponent of all ones carries into the
// place of the sign.
func finiteRun(s Slice) (n int) {
	const exponents, ones, carries = 0x7c00_7c00_7c00_7c00, 0x0400_0400_0400_0400, 0x8000_8000_8000_8000
	for memory := s.bytes(); len(memory) >= 32; memory = memory[32:] {
		a, b := binary.NativeEndian.Uint64(memory)&exponents+ones, binary.NativeEndian.Uint64(memory[8:])&exponents+ones
		c, d := binary.NativeEndian.Uint64(memory[16:])&exponents+ones, binary.NativeEndian.Uint64(memory[24:])&exponents+ones
		if (a|b|c|d)&carries != 0 {
			break
		}
		n += 16
	}
	return n
}

func decodeF32(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func decodeF16(dst []uint16, src []byte) {
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint16(src[2*i:])
	}
}

func decodeBF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
	}
}
