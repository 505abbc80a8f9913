// Package values widens the numbers of weight files to float32: F32, F16 and
// BF16, little-endian.
package values

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
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

// Decode widens the values of type t in src, len(dst) of them.
func (t Type) Decode(dst []float32, src []byte) {
	switch t {
	case F32:
		decodeF32(dst, src)
	case F16:
		decodeF16(dst, src)
	case BF16:
		decodeBF16(dst, src)
	default:
		panic(fmt.Sprintf("values: type %q is not read", string(t)))
	}
}

// Read fills dst with values of type t from r. buf is scratch of Chunk bytes.
func (t Type) Read(r io.Reader, dst []float32, buf []byte) error {
	width := t.Width()
	for done := 0; done < len(dst); {
		n := min(len(dst)-done, len(buf)/width)
		if _, err := io.ReadFull(r, buf[:n*width]); err != nil {
			return err
		}
		t.Decode(dst[done:done+n], buf[:n*width])
		done += n
	}
	return nil
}

// Finite refuses a value that is NaN or infinite: in a parameter, it would turn
// every embedding into NaN without a word.
func Finite(v []float32) error {
	for i, x := range v {
		if x-x != 0 {
			return fmt.Errorf("value %d is %v", i, x)
		}
	}
	return nil
}

func decodeF32(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func decodeF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = fromF16(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

func decodeBF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
	}
}

// fromF16 widens an IEEE 754 half: sign, 5 bits of exponent (bias 15), 10 of
// mantissa. Moved to float32's places, exponent and mantissa read as the value
// times 2^(15-127); the product undoes that exactly, for subnormals too.
func fromF16(h uint16) float32 {
	magnitude := uint32(h&0x7fff) << 13
	if h&0x7c00 == 0x7c00 { // infinity, or NaN with its payload
		magnitude |= 0x7f800000
	} else {
		magnitude = math.Float32bits(math.Float32frombits(magnitude) * 0x1p112)
	}
	return math.Float32frombits(uint32(h&0x8000)<<16 | magnitude)
}
