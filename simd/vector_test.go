package simd

import (
	"math"
	"testing"
)

func TestDot(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		var w worst
		for _, n := range lengths() {
			for shift := range 3 { // loads need no alignment
				a, b := random(1, n+shift)[shift:], random(2, n+2*shift)[2*shift:]
				want, allowed := refDot(a, b)
				w.see(Dot(a, b), want, allowed, "Dot of %d values", n)
			}
		}
		w.report(t)
	})
}

// TestDotEachValue sees a lane that is dropped, doubled or taken from elsewhere, which a sum of random values hides.
func TestDotEachValue(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for _, n := range lengths() {
			a, b := make([]float32, n), make([]float32, n)
			for i := range b {
				b[i] = float32(i + 1)
			}
			for i := range a {
				a[i] = 2
				if got, want := Dot(a, b), float32(2*(i+1)); got != want {
					t.Fatalf("Dot with only value %d of %d = %v, want %v", i, n, got, want)
				}
				a[i] = 0
			}
		}
	})
}

func TestDotRows(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		var w worst
		for _, n := range lengths() {
			for _, count := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 13} {
				q, rows := random(1, n), random(2, n*count)
				dst, check := fenced(t, make([]float32, count))
				fill(dst, canary)
				DotRows(dst, q, rows)
				check()
				for i := range dst {
					want, allowed := refDot(q, rows[i*n:][:n])
					w.see(dst[i], want, allowed, "DotRows of %d values, row %d of %d", n, i, count)
				}
			}
		}
		w.report(t)
	})
}

func TestAdd(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for _, n := range lengths() {
			a, b := random(1, n), random(2, n)
			dst, check := fenced(t, a)
			Add(dst, b)
			check()
			for i := range dst {
				if want := a[i] + b[i]; dst[i] != want {
					t.Fatalf("Add of %d values: [%d] = %v, want %v", n, i, dst[i], want)
				}
			}
		}
	})
}

func TestNormalize(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	tiny := float32(math.SmallestNonzeroFloat32)
	eachImpl(t, func(t *testing.T) {
		for _, test := range []struct {
			x, want []float32
			ok      bool
		}{
			{[]float32{3, 4}, []float32{0.6, 0.8}, true},
			{[]float32{-2}, []float32{-1}, true},
			{[]float32{3e30, 4e30}, []float32{0.6, 0.8}, true},         // squares overflow float32
			{[]float32{3e-30, 4e-30}, []float32{0.6, 0.8}, true},       // squares vanish in float32
			{[]float32{3 * tiny, 4 * tiny}, []float32{0.6, 0.8}, true}, // 1/length overflows float32
			{[]float32{math.MaxFloat32, 0}, []float32{1, 0}, true},
			{[]float32{0, 0, 0}, []float32{0, 0, 0}, false},
			{nil, nil, false},
			{[]float32{1, nan}, []float32{1, nan}, false},
			{[]float32{1, -inf}, []float32{1, -inf}, false},
		} {
			x := append([]float32(nil), test.x...)
			if ok := Normalize(x); ok != test.ok {
				t.Errorf("Normalize(%v) = %v, want %v", test.x, ok, test.ok)
			}
			for i, v := range x {
				if !(math.Abs(float64(v-test.want[i])) <= 1e-7) && !same(v, test.want[i]) {
					t.Errorf("Normalize(%v) made %v, want %v", test.x, x, test.want)
				}
			}
		}
		x := random(1, 384)
		if !Normalize(x) || !(math.Abs(float64(Dot(x, x))-1) <= 1e-6) {
			t.Errorf("Normalize of 384 values left squares of %v, want 1", Dot(x, x))
		}
	})
}

func TestVectorPanics(t *testing.T) {
	x := make([]float32, 8)
	eachImpl(t, func(t *testing.T) {
		mustPanic(t, "Dot", func() { Dot(x[:3], x[:4]) }) // the capacity would do
		mustPanic(t, "Dot", func() { Dot(x, nil) })
		mustPanic(t, "DotRows too short", func() { DotRows(x[:2], x[:4], x[:7]) })
		mustPanic(t, "DotRows too long", func() { DotRows(x[:1], x[:4], x) })
		mustPanic(t, "DotRows no rows", func() { DotRows(nil, x[:4], x) })
		mustPanic(t, "Add", func() { Add(x[:3], x[:4]) })
		mustPanic(t, "LayerNorm", func() { LayerNorm(x[:4], x[:3], x[:4], 1) })
		mustPanic(t, "LayerNorm", func() { LayerNorm(x[:4], x[:4], x[:5], 1) })
	})
}

func TestNothingAllocates(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		x, y, rows := random(1, 61), random(2, 61), random(3, 61*9)
		out, bias := make([]float32, 61*61), random(4, 61)
		var m Matrix
		m.Resize(61, 9)
		m.SetRows(0, rows, 61, 9)
		for name, f := range map[string]func(){
			"Dot":       func() { Dot(x, y) },
			"DotRows":   func() { DotRows(out[:9], x, rows) },
			"Add":       func() { Add(x, y) },
			"Normalize": func() { Normalize(x) },
			"GELU":      func() { GELU(x) },
			"GELUTanh":  func() { GELUTanh(x) },
			"ReLU":      func() { ReLU(x) },
			"Softmax":   func() { Softmax(x, 2) },
			"LayerNorm": func() { LayerNorm(x, y, y, 1e-12) },
			"SetRows":   func() { m.Resize(60, 9); m.SetRows(0, rows, 60, 9) },
			"SetColumns": func() {
				packTransposed(&m, rows, 8, 61, 61)
				m.Mul(out, 61, rows, 61, 9, bias)
			},
		} {
			if n := testing.AllocsPerRun(10, f); n != 0 {
				t.Errorf("%s allocates %v times, want 0", name, n)
			}
		}
	})
}
