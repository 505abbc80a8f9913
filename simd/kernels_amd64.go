//go:build !purego

package simd

import (
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

var built = []Level{AVX2}

func dot(a, b []float32) float32 {
	if active == AVX2 {
		return dotAVX2(&a[0], &b[0], len(a))
	}
	return dotGeneric(a, b)
}

func dotRows(dst, q, rows []float32) {
	if active == AVX2 {
		whole := len(dst) &^ 3 // rows in groups of four
		if whole > 0 {
			dotRows4AVX2(&dst[0], &q[0], &rows[0], len(q), whole/4)
		}
		for i := whole; i < len(dst); i++ {
			dst[i] = dotAVX2(&q[0], &rows[i*len(q)], len(q))
		}
		return
	}
	dotRowsGeneric(dst, q, rows)
}

func add(dst, src []float32) {
	if active == AVX2 {
		addAVX2(&dst[0], &src[0], len(dst))
		return
	}
	addGeneric(dst, src)
}

func gelu(x []float32) {
	if active == AVX2 {
		geluAVX2(&x[0], len(x))
		return
	}
	geluGeneric(x)
}

func softmax(x []float32, scale float32) {
	if active == AVX2 {
		softmaxAVX2(&x[0], len(x), scale)
		return
	}
	softmaxGeneric(x, scale)
}

func layerNorm(x, gamma, beta []float32, eps float32) {
	if active == AVX2 {
		layerNormAVX2(&x[0], &gamma[0], &beta[0], len(x), eps)
		return
	}
	layerNormGeneric(x, gamma, beta, eps)
}

func (l Level) widens() bool { return l == AVX2 && cpuid.CPU.Supports(cpuid.F16C) }

func widen(l Level, dst []float32, src []uint16) {
	if l.widens() {
		widenAVX2(&dst[0], &src[0], len(dst)/16)
		return
	}
	widenGeneric(dst, src)
}

func transpose(l Level, dst []float32, dstride int, src []float32, sstride, rows, width int) {
	if l == AVX2 {
		for r := 0; r < rows; r += 8 {
			if rows-r < 8 || width%8 != 0 {
				transposeGeneric(dst[r:], dstride, src[r*sstride:], sstride, rows-r, width)
				return
			}
			transpose8AVX2(&dst[r], dstride, &src[r*sstride], sstride, width/8)
		}
		return
	}
	transposeGeneric(dst, dstride, src, sstride, rows, width)
}

func mulBlocks(l Level, y []float32, ystride int, x []float32, xstride, height, blocks int, panel []float32, k int, base []float32, basestride int, ahead unsafe.Pointer) {
	if l == AVX2 {
		mulBlocksAVX2(&y[0], ystride, &x[0], xstride, height, blocks, &panel[0], k, unsafe.SliceData(base), basestride, ahead)
		return
	}
	mulBlocksGeneric(y, ystride, x, xstride, height, blocks, panel, k, base, basestride)
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
func dotRows4AVX2(dst, q, rows *float32, n, groups int)

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
