//go:build !purego

package simd

import "unsafe"

var built = []Level{NEON}

func dot(a, b []float32) float32 {
	if active == NEON {
		return dotNEON(&a[0], &b[0], len(a))
	}
	return dotGeneric(a, b)
}

func dotRows(dst, q, rows []float32) {
	if active == NEON {
		whole := len(dst) &^ 3 // rows in four quarters
		if whole > 0 {
			dotRows4NEON(&dst[0], &q[0], &rows[0], len(q), whole/4)
		}
		for i := whole; i < len(dst); i++ {
			dst[i] = dotNEON(&q[0], &rows[i*len(q)], len(q))
		}
		return
	}
	dotRowsGeneric(dst, q, rows)
}

func add(dst, src []float32) {
	if active == NEON {
		addNEON(&dst[0], &src[0], len(dst))
		return
	}
	addGeneric(dst, src)
}

func gelu(x []float32) {
	if active == NEON {
		geluNEON(&x[0], len(x))
		return
	}
	geluGeneric(x)
}

func softmax(x []float32, scale float32) {
	if active == NEON {
		softmaxNEON(&x[0], len(x), scale)
		return
	}
	softmaxGeneric(x, scale)
}

func layerNorm(x, gamma, beta []float32, eps float32) {
	if active == NEON {
		layerNormNEON(&x[0], &gamma[0], &beta[0], len(x), eps)
		return
	}
	layerNormGeneric(x, gamma, beta, eps)
}

func (l Level) widens() bool { return l == NEON }

func widen(l Level, dst []float32, src []uint16) {
	if l == NEON {
		widenNEON(&dst[0], &src[0], len(dst)/8)
		return
	}
	widenGeneric(dst, src)
}

func transpose(l Level, dst []float32, dstride int, src []float32, sstride, rows, width int) {
	r := 0
	if l == NEON && width%4 == 0 {
		for ; rows-r >= 4; r += 4 {
			transpose4NEON(&dst[r], dstride, &src[r*sstride], sstride, width/4)
		}
	}
	if r < rows {
		transposeGeneric(dst[r:], dstride, src[r*sstride:], sstride, rows-r, width)
	}
}

func mulBlocks(l Level, y []float32, ystride int, x []float32, xstride, height, blocks int, panel []float32, k int, base []float32, basestride int, ahead unsafe.Pointer) {
	if l == NEON {
		mulBlocksNEON(&y[0], ystride, &x[0], xstride, height, blocks, &panel[0], k, unsafe.SliceData(base), basestride, ahead)
		return
	}
	mulBlocksGeneric(y, ystride, x, xstride, height, blocks, panel, k, base, basestride)
}

// mulBlocksNEON is for blocks of 1 to 8 rows and 8 columns.
func mulBlocksNEON(y *float32, ystride int, x *float32, xstride, height, blocks int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer) {
	switch height {
	case 1:
		mul1x8NEON(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 2:
		mul2x8NEON(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 3:
		mul3x8NEON(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 4:
		mul4x8NEON(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 5:
		mul5x8NEON(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 6:
		mul6x8NEON(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 7:
		mul7x8NEON(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 8:
		mul8x8NEON(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	}
}

// The kernels below trust their arguments. Each stands in its .s file with the equivalent Go loop.

//go:noescape
func dotNEON(a, b *float32, n int) float32

//go:noescape
func dotRows4NEON(dst, q, rows *float32, n, quarter int)

//go:noescape
func addNEON(dst, src *float32, n int)

//go:noescape
func widenNEON(dst *float32, src *uint16, eights int)

//go:noescape
func transpose4NEON(dst *float32, dstride int, src *float32, sstride, fours int)

//go:noescape
func geluNEON(x *float32, n int)

//go:noescape
func softmaxNEON(x *float32, n int, scale float32)

//go:noescape
func layerNormNEON(x, gamma, beta *float32, n int, eps float32)

//go:noescape
func mul1x8NEON(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul2x8NEON(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul3x8NEON(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul4x8NEON(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul5x8NEON(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul6x8NEON(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul7x8NEON(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul8x8NEON(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)
