package simd

import (
	"fmt"
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
	m.keep(data)
}

// keep makes halves the values of m.
func (m *Matrix) keep(data []uint16) {
	m.half = &halves{data: data, spares: make(chan []float32, maxSpares)}
	m.buf, m.data = nil, nil
}

// ResizeHalves is Resize for values that will all come from SetColumnsHalves: where the level has an instruction to
// widen halves, the Matrix keeps them as such from the beginning. The memory is new.
func (m *Matrix) ResizeHalves(k, n int) {
	if !active.widens() || k <= 0 || n <= 0 {
		m.Resize(k, n)
		return
	}
	m.k, m.n, m.level = k, n, active
	m.keep(make([]uint16, m.size()))
}

// SetColumnsHalves is SetColumns for IEEE 754 halves. It sets columns of a halved Matrix too.
func (m *Matrix) SetColumnsHalves(first int, w []uint16, count, stride int) {
	checkRows("SetColumnsHalves", "w", len(w), count, m.k, stride)
	checkPart("SetColumnsHalves", first, count, m.n)
	if m.half == nil {
		column := make([]float32, m.k)
		for i := range count {
			Widen(column, w[i*stride:][:m.k])
			m.SetColumns(first+i, column, 1, m.k)
		}
		return
	}
	_, cols := m.level.tile()
	for i := 0; i < count; {
		at := (first + i) % cols
		width := min(cols-at, count-i)
		panel := m.half.data[(first+i-at)*m.k:][:cols*m.k]
		transposeHalves(panel[at:], cols, w[i*stride:], stride, width, m.k)
		i += width
	}
}

// transposeHalves is transposeGeneric for halves, four rows at a time: a store takes as long for one value as for four.
// The machines whose levels keep halves are all little-endian.
func transposeHalves(dst []uint16, dstride int, src []uint16, sstride, rows, width int) {
	r := 0
	for ; r+4 <= rows; r += 4 {
		a := src[r*sstride:][:width]
		b, c, d := src[(r+1)*sstride:][:len(a)], src[(r+2)*sstride:][:len(a)], src[(r+3)*sstride:][:len(a)]
		at := r
		for i := range a {
			four := uint64(a[i]) | uint64(b[i])<<16 | uint64(c[i])<<32 | uint64(d[i])<<48
			*(*uint64)(unsafe.Pointer(&dst[at : at+4][0])) = four
			at += dstride
		}
	}
	for ; r < rows; r++ {
		for i, h := range src[r*sstride:][:width] {
			dst[i*dstride+r] = h
		}
	}
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

// Widen sets dst[i] to the value of the IEEE 754 half src[i]. It panics when the lengths differ.
func Widen(dst []float32, src []uint16) {
	if len(dst) != len(src) {
		panic(fmt.Sprintf("simd: Widen of %d halves to %d values", len(src), len(dst)))
	}
	whole := len(dst) &^ 15 // what kernels take
	if whole > 0 {
		widen(active, dst[:whole], src[:whole])
	}
	widenGeneric(dst[whole:], src[whole:])
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
