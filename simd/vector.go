package simd

import (
	"fmt"
	"math"
)

// Dot returns the sum of a[i]*b[i]. It panics when the lengths differ.
func Dot(a, b []float32) float32 {
	if len(a) != len(b) {
		panic(fmt.Sprintf("simd: Dot of %d and %d values", len(a), len(b)))
	}
	if len(a) == 0 {
		return 0
	}
	return dot(a, b)
}

// DotRows scores every row of a matrix against one vector: dst[i] = q · rows[i*len(q):(i+1)*len(q)]. The rows are
// contiguous, so len(rows) must be len(dst)*len(q); it panics otherwise. This is the scan of a vector index.
func DotRows(dst, q, rows []float32) {
	if len(rows) != len(dst)*len(q) {
		panic(fmt.Sprintf("simd: DotRows of %d results, %d values a row, %d values", len(dst), len(q), len(rows)))
	}
	if len(rows) == 0 {
		clear(dst)
		return
	}
	dotRows(dst, q, rows)
}

// Add adds src to dst, value by value. It panics when the lengths differ.
func Add(dst, src []float32) {
	if len(dst) != len(src) {
		panic(fmt.Sprintf("simd: Add of %d values to %d", len(src), len(dst)))
	}
	if len(dst) > 0 {
		add(dst, src)
	}
}

// Normalize scales x to unit L2 length in place. It reports false and leaves x as it is when x has no direction: when
// it is empty or all zeros, or holds a NaN or an infinity.
func Normalize(x []float32) bool {
	// Squares of float32 can leave the range of float32; float64 holds them all.
	sum := float64(Dot(x, x))
	if !(sum > 1e-30 && sum < 1e30) {
		sum = 0
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return false
	}
	inv := 1 / math.Sqrt(sum)
	for i, v := range x {
		x[i] = float32(float64(v) * inv)
	}
	return true
}
