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
				m.PackTransposed(w, n, k, k)
				half.PackTransposed(w, n, k, k)
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
				half.PackTransposed(random(4, n*k), n, k, k)
				if half.half != nil || half.data == nil {
					t.Fatal("packed again, the matrix still holds halves")
				}
			}
		}
		var m Matrix
		w := rounded(1, 64*33)
		w[64*33-1] = 1.0001
		m.PackTransposed(w, 33, 64, 64)
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
	m.PackTransposed(w, 48, 64, 64)
	m.Halve()
	if n := testing.AllocsPerRun(100, func() { m.Mul(y, 48, x, 64, 8, nil) }); n >= 1 {
		t.Errorf("Mul allocates %v times, want 0", n)
	}
}
