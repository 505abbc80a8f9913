package simd

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"unsafe"
)

// product is one call of Mul with its surroundings: values beside the rows that are written must stay.
type product struct {
	rows, n, k       int
	bias, transposed bool
	x, w, b          []float32
	xstride, wstride int
	ystride          int
}

func newProduct(rows, n, k, pad int, bias, transposed bool) *product {
	p := &product{rows: rows, n: n, k: k, bias: bias, transposed: transposed}
	p.xstride, p.ystride, p.wstride = k+pad, n+pad, n+2*pad
	if transposed {
		p.wstride = k + 2*pad
	}
	p.x, p.w = random(1, rows*p.xstride), random(2, (n+k)*p.wstride)
	if bias {
		p.b = random(3, n)
	}
	return p
}

func (p *product) String() string {
	return fmt.Sprintf("Mul rows=%d n=%d k=%d xstride=%d ystride=%d wstride=%d bias=%v transposed=%v",
		p.rows, p.n, p.k, p.xstride, p.ystride, p.wstride, p.bias, p.transposed)
}

func (p *product) pack(m *Matrix) {
	if p.transposed {
		packTransposed(m, p.w, p.n, p.k, p.wstride)
	} else {
		m.Resize(p.k, p.n)
		m.SetRows(0, p.w, p.k, p.wstride)
	}
}

// check multiplies with m, which holds w, and compares with a sum in float64.
func (p *product) check(t *testing.T, m *Matrix, w *worst) {
	t.Helper()
	y := make([]float32, p.rows*p.ystride+40)
	fill(y, canary)
	m.Mul(y, p.ystride, p.x, p.xstride, p.rows, p.b)
	column := make([]float32, p.k)
	for c := range p.n {
		for i := range column {
			if p.transposed {
				column[i] = p.w[c*p.wstride+i]
			} else {
				column[i] = p.w[i*p.wstride+c]
			}
		}
		for r := range p.rows {
			want, allowed := refDot(p.x[r*p.xstride:][:p.k], column)
			if p.bias {
				want += float64(p.b[c])
				allowed += 4 * ulp * math.Abs(float64(p.b[c]))
			}
			w.see(y[r*p.ystride+c], want, allowed+2*ulp*math.Abs(want), "%v: [%d][%d]", p, r, c)
			y[r*p.ystride+c] = canary
		}
	}
	for i, v := range y {
		if v != canary {
			t.Fatalf("%v wrote %v at %d, beside its rows", p, v, i)
		}
	}
}

// TestMul crosses every height of block, every width around the panels and every k around the unrolled loop.
func TestMul(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		var m Matrix
		var w worst
		for rows := range 20 {
			for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65} {
				for _, k := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 33} {
					p := newProduct(rows, n, k, (rows+n+k)%3*5, (rows+n)%2 == 0, k%2 == 0)
					p.pack(&m)
					p.check(t, &m, &w)
				}
			}
		}
		w.report(t)
	})
}

// TestMulTails takes every tail of n and k with both ways of packing, with and without bias, at even and odd strides.
func TestMulTails(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		var m Matrix
		var w worst
		for size := range 71 {
			for bits := range 8 {
				bias, transposed, pad := bits&1 != 0, bits&2 != 0, bits>>2*7
				for _, p := range []*product{
					newProduct(7, size, 13, pad, bias, transposed),
					newProduct(5, 19, size, pad, bias, transposed),
				} {
					p.pack(&m)
					p.check(t, &m, &w)
				}
			}
		}
		w.report(t)
	})
}

// TestMulLarge goes beyond one group of blocks, at the sizes of real layers.
func TestMulLarge(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		var m Matrix
		var w worst
		for _, s := range []struct{ rows, n, k int }{{47, 48, 384}, {48, 48, 384}, {49, 48, 384}, {97, 33, 96}, {130, 130, 32}, {3, 64, 1536}, {512, 24, 65}} {
			for _, bias := range []bool{false, true} {
				p := newProduct(s.rows, s.n, s.k, 0, bias, true)
				p.pack(&m)
				p.check(t, &m, &w)
			}
		}
		w.report(t)
	})
}

// TestMulEachValue is exact: one row and one column at a time hold a single 1, so a result can only come from one place.
func TestMulEachValue(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		const rows, n, k = 15, 69, 11
		w := make([]float32, n*k)
		for i := range w {
			w[i] = float32(i + 1)
		}
		var m Matrix
		packTransposed(&m, w, n, k, k)
		for r := range rows {
			for i := range k {
				x, y := make([]float32, rows*k), make([]float32, rows*n)
				x[r*k+i] = 1
				m.Mul(y, n, x, k, rows, nil)
				for at, got := range y {
					want := float32(0)
					if at/n == r {
						want = w[at%n*k+i]
					}
					if got != want {
						t.Fatalf("x[%d][%d] = 1: y[%d][%d] = %v, want %v", r, i, at/n, at%n, got, want)
					}
				}
			}
		}
	})
}

// TestMatrixReuse packs sizes of all kinds into one Matrix: nothing of an earlier one may show, and memory is kept.
func TestMatrixReuse(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		var m Matrix
		var w worst
		big := newProduct(4, 70, 70, 0, true, true)
		big.pack(&m)
		memory := &m.buf[0]
		for _, s := range []struct{ n, k int }{{3, 5}, {70, 1}, {17, 64}, {1, 70}, {0, 9}, {9, 0}, {70, 70}} {
			fill(m.buf, nan)
			p := newProduct(8, s.n, s.k, 3, false, s.n%2 == 0)
			p.pack(&m)
			p.check(t, &m, &w)
			if &m.buf[0] != memory {
				t.Fatalf("packing %d×%d took new memory", s.k, s.n)
			}
		}
		w.report(t)
	})
}

// TestMatrixKeepsItsLevel: a Matrix is multiplied as it was packed, whatever level is in force later.
func TestMatrixKeepsItsLevel(t *testing.T) {
	for _, packed := range Available() {
		for _, later := range Available() {
			var m Matrix
			var w worst
			p := newProduct(7, 35, 20, 2, true, true)
			use(t, packed)
			p.pack(&m)
			use(t, later)
			p.check(t, &m, &w)
			w.report(t)
		}
	}
}

func TestMatrixAlignment(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for n := 1; n < 200; n += 7 {
			var m Matrix
			packTransposed(&m, random(1, n*3), n, 3, 3)
			if at := address(m.data) % 64; at != 0 {
				t.Fatalf("packed data of %d columns begins %d bytes past a cache line", n, at)
			}
		}
	})
}

func TestZeroMatrix(t *testing.T) {
	var m Matrix
	y := []float32{canary}
	m.Mul(y, 1, nil, 0, 1, nil)
	if y[0] != canary {
		t.Errorf("the zero Matrix wrote %v", y[0])
	}
}

func TestMatrixIsShared(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		const rows, n, k = 23, 45, 67
		var m Matrix
		packTransposed(&m, random(1, n*k), n, k, k)
		x, bias, want := random(2, rows*k), random(3, n), make([]float32, rows*n)
		m.Mul(want, n, x, k, rows, bias)
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				for range 50 {
					y := make([]float32, rows*n)
					m.Mul(y, n, x, k, rows, bias)
					for i := range y {
						if y[i] != want[i] {
							t.Errorf("concurrent Mul: [%d] = %v, want %v", i, y[i], want[i])
							return
						}
					}
				}
			})
		}
		wait.Wait()
	})
}

func TestMatrixPanics(t *testing.T) {
	s := make([]float32, 100)
	eachImpl(t, func(t *testing.T) {
		var m Matrix
		m.Resize(4, 5)
		m.SetRows(0, s, 4, 5)
		for name, f := range map[string]func(){
			"SetColumns too short":     func() { packTransposed(&m, s[:19], 5, 4, 4) },
			"SetColumns stride":        func() { packTransposed(&m, s, 5, 4, -4) },
			"Resize negative, columns": func() { packTransposed(&m, s, -5, 4, 4) },
			"SetRows too short":        func() { m.Resize(4, 7); m.SetRows(0, s[:27], 4, 7) },
			"Resize negative":          func() { m.Resize(4, -7); m.SetRows(0, s, 4, 7) },
			"Mul x too short":          func() { m.Mul(s, 5, s[:11:11], 4, 3, nil) },
			"Mul x only in capacity":   func() { m.Mul(s, 5, s[:11], 4, 3, nil) },
			"Mul y too short":          func() { m.Mul(s[:14], 5, s, 4, 3, nil) },
			"Mul y rows overlap":       func() { m.Mul(s, 4, s, 4, 3, nil) },
			"Mul bias too short":       func() { m.Mul(s, 5, s, 4, 3, s[:4]) },
			"Mul negative rows":        func() { m.Mul(s, 5, s, 4, -1, nil) },
			"Mul negative stride":      func() { m.Mul(s, 5, s, -4, 3, nil) },
		} {
			mustPanic(t, name, f)
		}
	})
}

func address(x []float32) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(x))) }
