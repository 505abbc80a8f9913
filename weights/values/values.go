package weights

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// decodeChunk is how many bytes of values are read at a time: small enough for
// the first cache level, large enough that calls do not count.
const decodeChunk = 32 << 10

// decoder widens little-endian values in src to float32, len(dst) of them.
type decoder func(dst []float32, src []byte)

// decoders are the value types that a parameter may have.
var decoders = map[string]decoder{"F32": decodeF32, "F16": decodeF16, "BF16": decodeBF16}

// readValues fills dst with values of the given dtype from r. buf is scratch of
// decodeChunk bytes. A value that is not finite is refused: it would turn every
// embedding into NaN without a word.
func readValues(r io.Reader, dst []float32, dtype string, buf []byte) error {
	decode, width := decoders[dtype], int(dtypeSize[dtype])
	for done := 0; done < len(dst); {
		n := min(len(dst)-done, len(buf)/width)
		if _, err := io.ReadFull(r, buf[:n*width]); err != nil {
			return err
		}
		part := dst[done : done+n]
		decode(part, buf[:n*width])
		if i := notFinite(part); i >= 0 {
			return fmt.Errorf("value %d is %v", done+i, part[i])
		}
		done += n
	}
	return nil
}

func notFinite(v []float32) int {
	for i, x := range v {
		if x-x != 0 {
			return i
		}
	}
	return -1
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
