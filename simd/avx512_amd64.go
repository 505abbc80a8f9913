//go:build !purego

package simd

import "unsafe"

// mulBlocksAVX512 is for blocks of 1 to 14 rows and 32 columns.
func mulBlocksAVX512(y *float32, ystride int, x *float32, xstride, height, blocks int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer) {
	switch height {
	case 1:
		mul1x32AVX512(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 2:
		mul2x32AVX512(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 3:
		mul3x32AVX512(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 4:
		mul4x32AVX512(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 5:
		mul5x32AVX512(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 6:
		mul6x32AVX512(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 7:
		mul7x32AVX512(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 8:
		mul8x32AVX512(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 9:
		mul9x32AVX512(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 10:
		mul10x32AVX512(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 11:
		mul11x32AVX512(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 12:
		mul12x32AVX512(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 13:
		mul13x32AVX512(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	case 14:
		mul14x32AVX512(y, ystride, x, xstride, panel, k, base, basestride, ahead, blocks)
	}
}

// The kernels below trust their arguments. Each stands in its .s file with the equivalent Go loop.

//go:noescape
func dotAVX512(a, b *float32, n int) float32

//go:noescape
func dotRows4AVX512(dst, q, rows *float32, n, quarter int)

//go:noescape
func widenAVX512(dst *float32, src *uint16, sixteens int)

//go:noescape
func addAVX512(dst, src *float32, n int)

//go:noescape
func geluAVX512(x *float32, n int)

//go:noescape
func softmaxAVX512(x *float32, n int, scale float32)

//go:noescape
func layerNormAVX512(x, gamma, beta *float32, n int, eps float32)

//go:noescape
func mul1x32AVX512(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul2x32AVX512(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul3x32AVX512(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul4x32AVX512(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul5x32AVX512(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul6x32AVX512(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul7x32AVX512(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul8x32AVX512(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul9x32AVX512(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul10x32AVX512(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul11x32AVX512(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul12x32AVX512(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul13x32AVX512(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

//go:noescape
func mul14x32AVX512(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)
