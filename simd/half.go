package simd

import (
	"math"
	"unsafe"
)

// halves is a Matrix's values as IEEE 754 halves, where each of them is one. They take half the memory and half the
// time to come from it, which is what short texts wait for; a panel is widened before it is multiplied with.
type halves struct {
	data   []uint16       // as Matrix.data
	spares chan []float32 // memory for one widened piece each, of calls that have ended
}

// halvesDeep is how many rows of a panel are widened at once: few enough that they stay in the first level of cache until
// they have been multiplied with.
const halvesDeep = 192

// maxSpares is how many calls at once find memory that was used before.
const maxSpares = 16

// Halve makes m keep its values as halves when that changes none of them, as it does where a checkpoint stores halves,
// and when the level has an instruction to widen them. Results are the same to the bit. Packing again forgets it.
func (m *Matrix) Halve() {
	if !m.level.widens() || len(m.data) == 0 {
		return
	}
	data := make([]uint16, len(m.data))
	for i, v := range m.data {
		h, exact := toHalf(v)
		if !exact {
			return
		}
		data[i] = h
	}
	m.half = &halves{data: data, spares: make(chan []float32, maxSpares)}
	m.buf, m.data = nil, nil
}

// spare returns memory for a widened piece of size values.
func (h *halves) spare(size int) []float32 {
	select {
	case spare := <-h.spares:
		return spare
	default:
		return align(make([]float32, size+cacheLine-1))[:size]
	}
}

// giveBack keeps memory that spare returned for a later call.
func (h *halves) giveBack(spare []float32) {
	select {
	case h.spares <- spare:
	default:
	}
}

// widen sets dst to the values from place at on.
func (h *halves) widen(l Level, dst []float32, at int) []float32 {
	widen(l, dst, h.data[at:][:len(dst)])
	return dst
}

// toHalf returns the half that v is; exact is false when it is none. A NaN is none.
func toHalf(v float32) (h uint16, exact bool) {
	bits := math.Float32bits(v)
	sign, magnitude := uint16(bits>>16&0x8000), bits&0x7fffffff
	switch {
	case magnitude == 0x7f800000: // infinity
		return sign | 0x7c00, true
	case magnitude >= 0x38800000: // at least 2^-14: the exponent fits, and so must 10 bits of the fraction
		if magnitude > 0x477fe000 || magnitude&0x1fff != 0 { // 65504 is the greatest half
			return 0, false
		}
		return sign | uint16((magnitude-0x38000000)>>13), true
	}
	// Below, halves are the multiples of 2^-24.
	n := math.Float32frombits(magnitude) * 0x1p24
	if n != float32(uint16(n)) {
		return 0, false
	}
	return sign | uint16(n), true
}

// fromHalf widens an IEEE 754 half: sign, 5 bits of exponent (bias 15), 10 of fraction. Moved to float32's places,
// exponent and fraction read as the value times 2^(15-127); the product undoes that exactly, for subnormals too.
func fromHalf(h uint16) float32 {
	magnitude := uint32(h&0x7fff) << 13
	if h&0x7c00 == 0x7c00 {
		magnitude |= 0x7f800000
	} else {
		magnitude = math.Float32bits(math.Float32frombits(magnitude) * 0x1p112)
	}
	return math.Float32frombits(uint32(h&0x8000)<<16 | magnitude)
}

// widenGeneric sets dst[i] to the value of the half src[i].
func widenGeneric(dst []float32, src []uint16) {
	for i, h := range src {
		dst[i] = fromHalf(h)
	}
}

// cacheLine is 64 bytes in values.
const cacheLine = 16

// align returns what is left of buf from the next cache line on.
func align(buf []float32) []float32 {
	if over := int(uintptr(unsafe.Pointer(unsafe.SliceData(buf))) / 4 % cacheLine); over != 0 {
		return buf[cacheLine-over:]
	}
	return buf
}
