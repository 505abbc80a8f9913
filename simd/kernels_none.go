//go:build (!amd64 && !arm64) || purego

package simd

import "unsafe"

// Built without assembly: everything is plain Go.

var built []Level

func dot(a, b []float32) float32                      { return dotGeneric(a, b) }
func dotRows(dst, q, rows []float32)                  { dotRowsGeneric(dst, q, rows) }
func add(dst, src []float32)                          { addGeneric(dst, src) }
func gelu(x []float32)                                { geluGeneric(x) }
func softmax(x []float32, scale float32)              { softmaxGeneric(x, scale) }
func layerNorm(x, gamma, beta []float32, eps float32) { layerNormGeneric(x, gamma, beta, eps) }
func (l Level) widens() bool                          { return false }

func widen(_ Level, dst []float32, src []uint16) { widenGeneric(dst, src) }

func transpose(_ Level, dst []float32, dstride int, src []float32, sstride, rows, width int) {
	transposeGeneric(dst, dstride, src, sstride, rows, width)
}

func mulBlocks(_ Level, y []float32, ystride int, x []float32, xstride, height, blocks int, panel []float32, k int, base []float32, basestride int, _ unsafe.Pointer) {
	mulBlocksGeneric(y, ystride, x, xstride, height, blocks, panel, k, base, basestride)
}
