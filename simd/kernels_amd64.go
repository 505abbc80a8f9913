//go:build !purego

package simd

import (
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

var built = []Level{AVX2, AVX512}

func dot(a, b []float32) float32 {
	switch active {
	case AVX512:
		return dotAVX512(&a[0], &b[0], len(a))
	case AVX2:
		return dotAVX2(&a[0], &b[0], len(a))
	}
	return dotGeneric(a, b)
}

func dotRows(dst, q, rows []float32) {
	if active == Generic {
		dotRowsGeneric(dst, q, rows)
		return
	}
	whole := len(dst) &^ 3 // rows in four quarters
	if whole > 0 && active == AVX512 {
		dotRows4AVX512(&dst[0], &q[0], &rows[0], len(q), whole/4)
	} else if whole > 0 {
		dotRows4AVX2(&dst[0], &q[0], &rows[0], len(q), whole/4)
	}
	for i := whole; i < len(dst); i++ {
		dst[i] = dot(q, rows[i*len(q):][:len(q)])
	}
}

func add(dst, src []float32) {
	switch active {
	case AVX512:
		addAVX512(&dst[0], &src[0], len(dst))
	case AVX2:
		addAVX2(&dst[0], &src[0], len(dst))
	default:
		addGeneric(dst, src)
	}
}

func gelu(x []float32) {
	switch active {
	case AVX512:
		geluAVX512(&x[0], len(x))
	case AVX2:
		geluAVX2(&x[0], len(x))
	default:
		geluGeneric(x)
	}
}

func softmax(x []float32, scale float32) {
	switch active {
	case AVX512:
		softmaxAVX512(&x[0], len(x), scale)
	case AVX2:
		softmaxAVX2(&x[0], len(x), scale)
	default:
		softmaxGeneric(x, scale)
	}
}

func layerNorm(x, gamma, beta []float32, eps float32) {
	switch active {
	case AVX512:
		layerNormAVX512(&x[0], &gamma[0], &beta[0], len(x), eps)
	case AVX2:
		layerNormAVX2(&x[0], &gamma[0], &beta[0], len(x), eps)
	default:
		layerNormGeneric(x, gamma, beta, eps)
	}
}

func (l Level) widens() bool { return l == AVX512 || l == AVX2 && cpuid.CPU.Supports(cpuid.F16C) }

func widen(l Level, dst []float32, src []uint16) {
	switch {
	case l == AVX512:
		widenAVX512(&dst[0], &src[0], len(dst)/16)
	case l.widens():
		widenAVX2(&dst[0], &src[0], len(dst)/16)
	default:
		widenGeneric(dst, src)
	}
}

func transpose(l Level, dst []float32, dstride int, src []float32, sstride, rows, width int) {
	whole := 0 // rows in groups of eight
	if width%8 == 0 && (l == AVX2 || l == AVX512) {
		for ; rows-whole >= 8; whole += 8 {
			transpose8AVX2(&dst[whole], dstride, &src[whole*sstride], sstride, width/8)
		}
	}
	if whole < rows {
		transposeGeneric(dst[whole:], dstride, src[whole*sstride:], sstride, rows-whole, width)
	}
}

func mulBlocks(l Level, y []float32, ystride int, x []float32, xstride, height, blocks int, panel []float32, k int, base []float32, basestride int, ahead unsafe.Pointer) {
	switch l {
	case AVX512:
		mulBlocksAVX512(&y[0], ystride, &x[0], xstride, height, blocks, &panel[0], k, unsafe.SliceData(base), basestride, ahead)
	case AVX2:
		mulBlocksAVX2(&y[0], ystride, &x[0], xstride, height, blocks, &panel[0], k, unsafe.SliceData(base), basestride, ahead)
	default:
		mulBlocksGeneric(y, ystride, x, xstride, height, blocks, panel, k, base, basestride)
	}
}

// mulBlocksAVX2 is for blocks of 1 to 6 rows and 16 columns.
func mulBlocksAVX2(y *float32, ystride int, x *float32, xstride, height, blocks int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer) {
	switch height {
	case 1:
		mul1x16AVX2(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 2:
		mul2x16AVX2(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 3:
		mul3x16AVX2(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 4:
		mul4x16AVX2(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 5:
		mul5x16AVX2(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 6:
		mul6x16AVX2(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	}
}

// The kernels below trust their arguments. Each stands in its .s file with the equivalent Go loop.

//go:noescape
func dotAVX2(a, b *float32, n int) float32

//go:noescape
func dotRows4AVX2(dst, q, rows *float32, n, quarter int)

//go:noescape
func widenAVX2(dst *float32, src *uint16, sixteens int)

//go:noescape
func transpose8AVX2(dst *float32, dstride int, src *float32, sstride, eights int)

//go:noescape
func addAVX2(dst, src *float32, n int)

//go:noescape
func geluAVX2(x *float32, n int)

//go:noescape
func softmaxAVX2(x *float32, n int, scale float32)

//go:noescape
func layerNormAVX2(x, gamma, beta *float32, n int, eps float32)

//go:noescape
func mul1x16AVX2(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul2x16AVX2(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul3x16AVX2(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul4x16AVX2(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul5x16AVX2(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul6x16AVX2(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)
