package simd

import (
	"fmt"
	"testing"
	"time"
)

// Benchmarks run on the level that SMART_SIMD names (see TestMain), by default the fastest.

func BenchmarkDot(b *testing.B) {
	for _, n := range []int{128, 384, 1536} {
		x, y := random(1, n), random(2, n)
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.SetBytes(int64(8 * n))
			for b.Loop() {
				sink = Dot(x, y)
			}
		})
	}
}

// BenchmarkDotRows is the scan of an index, one thread: from the cache with 300 rows, from memory with 100,000. The
// latter is set against how fast the same rows can be read at all, which is measured in turns with it: read_% is the
// share of that, each at its best. impl=read is the reading alone.
func BenchmarkDotRows(b *testing.B) {
	const dims = 384
	for _, count := range []int{300, 100_000} {
		q, rows, dst := random(1, dims), random(2, count*dims), make([]float32, count)
		for _, impl := range []struct {
			name string
			run  func()
		}{
			{"scan", func() { DotRows(dst, q, rows) }},
			{"read", func() { readAll(rows) }},
		} {
			b.Run(fmt.Sprintf("rows=%d/dims=%d/impl=%s", count, dims, impl.name), func(b *testing.B) {
				b.SetBytes(int64(4 * len(rows)))
				best, read := time.Hour, time.Hour
				for b.Loop() {
					start := time.Now()
					impl.run()
					best = min(best, time.Since(start))
					b.StopTimer()
					start = time.Now()
					readAll(rows)
					read = min(read, time.Since(start))
					b.StartTimer()
				}
				b.ReportMetric(best.Seconds()*1e3, "best-ms")
				b.ReportMetric(float64(4*len(rows))/best.Seconds()/1e9, "best-GB/s")
				b.ReportMetric(100*read.Seconds()/best.Seconds(), "read_%")
			})
		}
	}
}

// readAll reads every cache line of x once, from front to back, four places at a time as the scan does.
func readAll(x []float32) {
	const line = 16 // values
	quarter := len(x) / 4 / line * line
	a, b, c, d := x[:quarter], x[quarter:2*quarter], x[2*quarter:3*quarter], x[3*quarter:4*quarter]
	var s0, s1, s2, s3 float32
	for i := 0; i < quarter; i += line {
		s0, s1, s2, s3 = s0+a[i], s1+b[i], s2+c[i], s3+d[i]
	}
	sink = s0 + s1 + s2 + s3
}

// BenchmarkPack is what a weight costs once, at load: from halves, from their values, and from values that are none.
func BenchmarkPack(b *testing.B) {
	const n, k = 1536, 384
	h, w := finiteHalves(n*k), make([]float32, n*k)
	Widen(w, h)
	for _, c := range []struct {
		name string
		run  func(m *Matrix)
	}{
		{"halves", func(m *Matrix) { m.ResizeHalves(k, n); m.SetColumnsHalves(0, h, n, k) }},
		{"halved", func(m *Matrix) { packTransposed(m, w, n, k, k); m.Halve() }},
		{"float32", func(m *Matrix) { packTransposed(m, w, n, k, k) }},
	} {
		b.Run("from="+c.name, func(b *testing.B) {
			for b.Loop() {
				c.run(new(Matrix))
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/(n*k), "ns/value")
		})
	}
}

func BenchmarkMul(b *testing.B) {
	for _, shape := range []struct{ n, k int }{{384, 384}, {1536, 384}, {384, 1536}} {
		var m Matrix
		packTransposed(&m, random(1, shape.n*shape.k), shape.n, shape.k, shape.k)
		bias := random(2, shape.n)
		for _, rows := range []int{1, 8, 16, 32, 64, 128, 256, 512} {
			x, y := random(3, rows*shape.k), make([]float32, rows*shape.n)
			b.Run(fmt.Sprintf("n=%d/k=%d/rows=%d", shape.n, shape.k, rows), func(b *testing.B) {
				for b.Loop() {
					m.Mul(y, shape.n, x, shape.k, rows, bias)
				}
				flop := 2 * float64(rows*shape.n*shape.k)
				b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

// BenchmarkAttention packs and multiplies as one head of 128 tokens does.
func BenchmarkAttention(b *testing.B) {
	const tokens, hidden, head = 128, 384, 32
	qkv := random(1, tokens*hidden)
	scores, out := make([]float32, tokens*tokens), make([]float32, tokens*hidden)
	var m Matrix
	for _, step := range []struct {
		name string
		run  func()
	}{
		{"pack_keys", func() { packTransposed(&m, qkv, tokens, head, hidden) }},
		{"scores", func() { packTransposed(&m, qkv, tokens, head, hidden); m.Mul(scores, tokens, qkv, hidden, tokens, nil) }},
		{"pack_values", func() { m.Resize(tokens, head); m.SetRows(0, qkv, tokens, hidden) }},
		{"output", func() {
			m.Resize(tokens, head)
			m.SetRows(0, qkv, tokens, hidden)
			m.Mul(out, hidden, scores, tokens, tokens, nil)
		}},
	} {
		b.Run("step="+step.name, func(b *testing.B) {
			for b.Loop() {
				step.run()
			}
		})
	}
}

func BenchmarkGELU(b *testing.B) { benchmarkRows(b, 16*1536, 1, 3, GELU) }

func BenchmarkGELUTanh(b *testing.B) { benchmarkRows(b, 1536, 1, 3, GELUTanh) }

func BenchmarkSoftmax(b *testing.B) {
	for _, n := range []int{16, 128, 512} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			benchmarkRows(b, 16384/n*n, 16384/n, 3, func(x []float32) { Softmax(x, 0.17) })
		})
	}
}

func BenchmarkLayerNorm(b *testing.B) {
	const n = 384
	gamma, beta := random(2, n), random(3, n)
	benchmarkRows(b, 32*n, 32, 1, func(x []float32) { LayerNorm(x, gamma, beta, 1e-12) })
}

func BenchmarkAdd(b *testing.B) {
	src := random(2, 384)
	benchmarkRows(b, 384, 1, 1, func(x []float32) { Add(x, src) })
}

// benchmarkRows applies f in place to rows of n/rows values between -size and size, fresh each time, and reports the
// time of one value (a copy of it included).
func benchmarkRows(b *testing.B, n, rows int, size float32, f func(x []float32)) {
	fresh, x := random(1, n), make([]float32, n)
	for i := range fresh {
		fresh[i] *= size
	}
	b.SetBytes(int64(4 * n))
	for b.Loop() {
		copy(x, fresh)
		for r := range rows {
			f(x[r*n/rows : (r+1)*n/rows])
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(n), "ns/value")
}

var sink float32
