package simd

import (
	"math"
	"slices"
	"sync"
	"testing"
)

// halfValue is the value of a half with these bits, by the formula.
func halfValue(h int) float64 {
	sign, exponent, fraction := 1.0, h>>10&0x1f, float64(h&0x3ff)
	if h>>15 == 1 {
		sign = -1
	}
	switch {
	case exponent == 31 && fraction == 0:
		return math.Inf(int(sign))
	case exponent == 31:
		return math.NaN()
	case exponent == 0:
		return sign * math.Ldexp(fraction/1024, -14)
	}
	return sign * math.Ldexp(1+fraction/1024, exponent-15)
}

// Every half is widened to its value, on every level, and is found to be one; what lies beside a half is none.
func TestEveryHalf(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		src, dst := make([]uint16, 1<<16), make([]float32, 1<<16)
		for i := range src {
			src[i] = uint16(i)
		}
		widen(Active(), dst, src)
		for i, got := range dst {
			want := halfValue(i)
			if math.IsNaN(want) {
				if got == got {
					t.Errorf("widen(%#04x) = %v, want NaN", i, got)
				}
				if _, exact := toHalf(got); exact {
					t.Errorf("toHalf(NaN) is exact")
				}
				continue
			}
			if float64(got) != want || math.Signbit(float64(got)) != math.Signbit(want) {
				t.Errorf("widen(%#04x) = %v, want %v", i, got, want)
			}
			if h, exact := toHalf(got); !exact || h != uint16(i) {
				t.Errorf("toHalf(%v) = %#04x, %v, want %#04x", got, h, exact, i)
			}
			if math.IsInf(want, 0) {
				continue
			}
			for _, beside := range []float32{math.Nextafter32(got, -70000), math.Nextafter32(got, 70000)} {
				if h, exact := toHalf(beside); exact {
					t.Errorf("toHalf(%v) = %#04x, want none", beside, h)
				}
			}
		}
	})
}

func TestToHalfOfOthers(t *testing.T) {
	for _, v := range []float32{65504 + 32, 65536, 1e30, 0x1p-25, 0x1.8p-24, 0x1p-140, math.MaxFloat32, 0x1.002p0, 1.5 + 0x1p-11} {
		for _, v := range []float32{v, -v} {
			if h, exact := toHalf(v); exact {
				t.Errorf("toHalf(%v) = %#04x, want none", v, h)
			}
		}
	}
}

// rounded is random values that are halves.
func rounded(seed uint64, n int) []float32 {
	x := random(seed, n)
	for i := range x {
		x[i] = float32(math.Round(float64(x[i])*256) / 256)
	}
	return x
}

// Halving changes no bit of a product, whatever the shape, also with several that share the matrix; and packing again
// forgets it.
func TestHalve(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for _, n := range []int{1, 15, 16, 17, 32, 40, 96} {
			for _, k := range []int{1, 3, 4, 7, 64} {
				w := rounded(1, n*k)
				var m, half Matrix
				packTransposed(&m, w, n, k, k)
				packTransposed(&half, w, n, k, k)
				half.Halve()
				if halved := half.half != nil; halved != Active().widens() || halved && (half.data != nil || len(half.half.data) < n*k) {
					t.Fatalf("n=%d k=%d: halved %v, want %v, and nothing else kept", n, k, halved, Active().widens())
				}
				for _, rows := range []int{1, 5, 8, 13, 60} {
					x, bias := random(2, rows*k), random(3, n)
					want := make([]float32, rows*n)
					m.Mul(want, n, x, k, rows, bias)
					var wait sync.WaitGroup
					for range 3 {
						wait.Go(func() {
							got := make([]float32, rows*n)
							half.Mul(got, n, x, k, rows, bias)
							if !slices.Equal(got, want) {
								t.Errorf("n=%d k=%d rows=%d: %v, want %v", n, k, rows, got, want)
							}
						})
					}
					wait.Wait()
				}
				packTransposed(&half, random(4, n*k), n, k, k)
				if half.half != nil || half.data == nil {
					t.Fatal("packed again, the matrix still holds halves")
				}
			}
		}
		var m Matrix
		w := rounded(1, 64*33)
		w[64*33-1] = 1.0001
		packTransposed(&m, w, 33, 64, 64)
		m.Halve()
		if m.half != nil || m.data == nil {
			t.Error("a matrix was halved though one value is no half")
		}
		var none Matrix
		none.Halve() // nothing to do
	})
}

// The memory for widened panels is taken once.
func TestHalvedMulAllocates(t *testing.T) {
	var m Matrix
	w, x, y := rounded(1, 48*64), random(2, 8*64), make([]float32, 8*48)
	packTransposed(&m, w, 48, 64, 64)
	m.Halve()
	if n := testing.AllocsPerRun(100, func() { m.Mul(y, 48, x, 64, 8, nil) }); n >= 1 {
		t.Errorf("Mul allocates %v times, want 0", n)
	}
}

// finiteHalves is n halves of all sizes, subnormal ones and both zeros among them.
func finiteHalves(n int) []uint16 {
	h := make([]uint16, n)
	for i := range h {
		h[i] = uint16(i * 40503) // odd: all 65536 in turn
		switch {
		case i%5 == 0:
			h[i] &= 0x83ff
		case h[i]&0x7c00 == 0x7c00:
			h[i] &^= 0x4000
		}
	}
	return h
}

// A Matrix that is set from halves, at once or in parts, gives the bits of the one packed from their values, and so does
// one that is set so after Resize or Halve.
func TestSetColumnsHalves(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for _, n := range []int{1, 4, 15, 16, 17, 33, 43, 96} {
			for _, k := range []int{1, 3, 16, 67} {
				stride := k + n%3
				h, w := finiteHalves(n*stride), make([]float32, n*stride)
				Widen(w, h)
				var plain Matrix
				packTransposed(&plain, w, n, k, stride)
				const rows = 5
				x, want := random(2, rows*k), make([]float32, rows*n)
				plain.Mul(want, n, x, k, rows, nil)
				for name, resize := range map[string]func(m *Matrix){
					"ResizeHalves":        func(m *Matrix) { m.ResizeHalves(k, n) },
					"ResizeHalves, again": func(m *Matrix) { packTransposed(m, random(4, 99), 9, 11, 11); m.ResizeHalves(k, n) },
					"Resize":              func(m *Matrix) { m.Resize(k, n) },
					"Halve":               func(m *Matrix) { m.Resize(k, n); m.Halve() },
				} {
					for _, part := range []int{1, 5, 16, n} {
						var m Matrix
						resize(&m)
						if halved := m.half != nil; halved != (name != "Resize" && Active().widens()) || halved && m.data != nil {
							t.Fatalf("%s: halved %v on a level that widens: %v", name, halved, Active().widens())
						}
						for first := 0; first < n; first += part {
							m.SetColumnsHalves(first, h[first*stride:], min(part, n-first), stride)
						}
						got := make([]float32, rows*n)
						m.Mul(got, n, x, k, rows, nil)
						if !slices.Equal(got, want) {
							t.Fatalf("%s n=%d k=%d, %d at a time: %v, want %v", name, n, k, part, got, want)
						}
					}
				}
			}
		}
		for _, size := range [][2]int{{0, 3}, {3, 0}, {0, 0}} {
			var m Matrix
			m.ResizeHalves(size[0], size[1])
			m.SetColumnsHalves(0, nil, size[1], 0)
			x, y := make([]float32, 3), []float32{1, 1, 1}
			m.Mul(y, size[1], x, size[0], 1, nil)
			if want := make([]float32, size[1]); !slices.Equal(y[:size[1]], want) {
				t.Errorf("ResizeHalves(%v): a row of products is %v, want %v", size, y, want)
			}
		}
	})
}

func TestHalvesPanics(t *testing.T) {
	h, f := make([]uint16, 100), make([]float32, 100)
	eachImpl(t, func(t *testing.T) {
		var m Matrix
		m.ResizeHalves(4, 5)
		for name, call := range map[string]func(){
			"too short":     func() { m.SetColumnsHalves(0, h[:19], 5, 4) },
			"stride":        func() { m.SetColumnsHalves(0, h, 5, -4) },
			"too many":      func() { m.SetColumnsHalves(1, h, 5, 4) },
			"before":        func() { m.SetColumnsHalves(-1, h, 2, 4) },
			"negative size": func() { m.ResizeHalves(4, -7) },
			"Widen lengths": func() { Widen(f[:16], h[:32]) },
			"Widen short":   func() { Widen(f[:32], h[:16]) },
		} {
			mustPanic(t, name, call)
		}
		if m.ResizeHalves(4, 5); m.half != nil {
			mustPanic(t, "floats into halves", func() { m.SetColumns(0, f, 5, 4) })
			mustPanic(t, "rows into halves", func() { m.SetRows(0, f, 4, 5) })
		}
	})
}

// Widen takes any length, and writes nothing beside it.
func TestWiden(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for n := range 70 {
			src, dst := finiteHalves(n), make([]float32, n+1)
			dst[n] = canary
			Widen(dst[:n], src)
			for i, h := range src {
				if float64(dst[i]) != halfValue(int(h)) {
					t.Fatalf("Widen of %d: value %d is %v, want %v", n, i, dst[i], halfValue(int(h)))
				}
			}
			if dst[n] != canary {
				t.Fatalf("Widen of %d wrote the value behind", n)
			}
		}
	})
}
