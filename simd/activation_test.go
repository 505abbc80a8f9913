package simd

import (
	"math"
	"testing"
)

var (
	inf = float32(math.Inf(1))
	nan = float32(math.NaN())
)

func TestGELU(t *testing.T) {
	for name, test := range map[string]struct {
		f   func([]float32)
		ref func(float64) float64
	}{"GELU": {GELU, refGELU}, "GELUTanh": {GELUTanh, refGELUTanh}} {
		t.Run(name, func(t *testing.T) {
			eachImpl(t, func(t *testing.T) {
				var in []float32
				for i := -1 << 17; i <= 1<<17; i++ {
					in = append(in, float32(i)*(16.0/(1<<17)))
				}
				for e := -149; e < 128; e++ { // every size of number
					v := float32(math.Ldexp(1, e))
					in = append(in, v, -v, v*1.7, v*-1.7)
				}
				x := append([]float32(nil), in...)
				test.f(x)
				var w worst
				for i, v := range in {
					w.see(x[i], test.ref(float64(v)), 3e-7*math.Max(1, math.Abs(float64(v))), "%s(%v)", name, v)
				}
				w.report(t)
			})
		})
	}
}

// TestElementwiseTails compares every length with the same values taken one by one.
func TestElementwiseTails(t *testing.T) {
	for name, f := range map[string]func([]float32){"GELU": GELU, "GELUTanh": GELUTanh, "ReLU": ReLU} {
		t.Run(name, func(t *testing.T) {
			eachImpl(t, func(t *testing.T) {
				for _, n := range lengths() {
					in := scaled(7, n, 6)
					x, check := fenced(t, in)
					f(x)
					check()
					for i, v := range in {
						one := []float32{v}
						f(one)
						if x[i] != one[0] {
							t.Fatalf("%s of %d values: [%d] = %v, alone %v", name, n, i, x[i], one[0])
						}
					}
				}
			})
		})
	}
}

func TestElementwiseSpecials(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for _, test := range []struct {
			name    string
			f       func([]float32)
			x, want float32
		}{
			{"GELU", GELU, inf, inf}, {"GELU", GELU, -inf, 0}, {"GELU", GELU, 0, 0}, {"GELU", GELU, nan, nan},
			{"GELU", GELU, -math.MaxFloat32, 0}, {"GELU", GELU, math.MaxFloat32, math.MaxFloat32},
			{"GELUTanh", GELUTanh, inf, inf}, {"GELUTanh", GELUTanh, 0, 0}, {"GELUTanh", GELUTanh, nan, nan},
			{"ReLU", ReLU, 2.5, 2.5}, {"ReLU", ReLU, -2.5, 0}, {"ReLU", ReLU, nan, nan}, {"ReLU", ReLU, inf, inf}, {"ReLU", ReLU, -inf, 0},
		} {
			for _, n := range []int{1, 8, 11, 16, 19} {
				x := make([]float32, n)
				fill(x, test.x)
				test.f(x)
				for _, got := range x {
					if !same(got, test.want) {
						t.Errorf("%s(%v) = %v, want %v", test.name, test.x, got, test.want)
					}
				}
			}
		}
	})
}

func TestSoftmax(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		var w worst
		for _, n := range lengths() {
			for _, scale := range []float32{1, 0.17677669, 2, 0, 30} {
				in := scaled(3, n, 3)
				x, check := fenced(t, in)
				Softmax(x, scale)
				check()
				for i, want := range refSoftmax(in, scale) {
					// Rounding scale*x costs up to 2⁻²⁴ of its size before exp; below 2⁻¹²⁶ only zeros are promised.
					allowed := want*(8+2*90*math.Abs(float64(scale)/30)+float64(n)/8)*ulp + 1e-37
					w.see(x[i], want, allowed, "Softmax(%d values, %v)[%d]", n, scale, i)
				}
			}
		}
		w.report(t)
	})
}

func TestSoftmaxSpecials(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for _, test := range []struct {
			about    string
			at       int // where, among 21 equal values
			v        float32
			self, by float32 // the results at this place and at the others
		}{
			{"masked", 3, -inf, 0, 0.05},
			{"masked in the tail", 17, -inf, 0, 0.05},
			{"far below", 17, -1e30, 0, 0.05},
			{"far above", 3, 1e30, 1, 0},
			{"far above in the tail", 20, 1e30, 1, 0},
			{"NaN", 3, nan, nan, nan},
			{"NaN in the tail", 16, nan, nan, nan},
			{"infinite", 3, inf, nan, nan},
		} {
			x := make([]float32, 21)
			fill(x, 5)
			x[test.at] = test.v
			Softmax(x, 1)
			for i, got := range x {
				want := test.by
				if i == test.at {
					want = test.self
				}
				if math.Abs(float64(got-want)) > 1e-8 || (got != got) != (want != want) {
					t.Errorf("%s: Softmax(...)[%d] = %v, want %v", test.about, i, got, want)
				}
			}
		}
	})
}

// TestSoftmaxShift: a constant added to all values changes nothing, however far it takes them from zero. (Zeros that
// fill up a vector must not pass for values.)
func TestSoftmaxShift(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for _, n := range lengths() {
			for _, shift := range []float32{-1000, 1000} {
				x := make([]float32, n)
				fill(x, shift)
				Softmax(x, 1)
				for i, v := range x {
					if want := 1 / float64(n); !(math.Abs(float64(v)-want) <= 4*ulp*want) {
						t.Fatalf("Softmax of %d times %v: [%d] = %v, want %v", n, shift, i, v, want)
					}
				}
			}
		}
	})
}

// TestSoftmaxGreatest: wherever the greatest value stands, it is found; far above the others, it takes the whole.
func TestSoftmaxGreatest(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for n := 1; n <= 70; n++ {
			for at := range n {
				x := make([]float32, n)
				x[at] = 1000
				Softmax(x, 1)
				for i, got := range x {
					want := float32(0)
					if i == at {
						want = 1
					}
					if got != want {
						t.Fatalf("Softmax of %d values with 1000 at %d: [%d] = %v, want %v", n, at, i, got, want)
					}
				}
			}
		}
	})
}

func TestLayerNorm(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		var w worst
		for _, n := range lengths() {
			for _, offset := range []float32{0, 2.5} {
				in, gamma, beta := scaled(5, n, 4), random(6, n), random(7, n)
				for i := range in {
					in[i] += offset
				}
				x, check := fenced(t, in)
				LayerNorm(x, gamma, beta, 1e-12)
				check()
				for i, want := range refLayerNorm(in, gamma, beta, 1e-12) {
					w.see(x[i], want, 2e-6*math.Max(1, math.Sqrt(float64(n))/8), "LayerNorm(%d values around %v)[%d]", n, offset, i)
				}
			}
		}
		w.report(t)
	})
}

func TestLayerNormOfEqualValues(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for _, n := range lengths() {
			x, gamma, beta := make([]float32, n), random(1, n), random(2, n)
			fill(x, 4)
			LayerNorm(x, gamma, beta, 1e-12)
			for i, v := range x {
				if v != beta[i] {
					t.Fatalf("LayerNorm of %d equal values: [%d] = %v, want beta %v", n, i, v, beta[i])
				}
			}
		}
	})
}

// TestLayerNormEpsilon separates eps inside the root from eps beside it, and the biased variance from the other one.
func TestLayerNormEpsilon(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		x := []float32{1, -1}
		LayerNorm(x, []float32{1, 1}, []float32{0, 0}, 3)
		if x[0] != 0.5 || x[1] != -0.5 {
			t.Errorf("LayerNorm([1 -1], eps 3) = %v, want [0.5 -0.5]", x)
		}
	})
}

func TestExp2(t *testing.T) {
	var w worst
	for y := float32(-126); y <= exp2Max; y += 0.00317 {
		want := math.Exp2(float64(y))
		w.see(exp2(y), want, 2e-7*want, "exp2(%v)", y)
	}
	w.report(t)
	most := exp2(exp2Max)
	for _, test := range []struct{ y, want float32 }{{0, 1}, {1, 2}, {-126, 0x1p-126}, {-127, 0}, {-inf, 0}, {-1000, 0}, {nan, nan}, {inf, most}, {1000, most}} {
		if got := exp2(test.y); got != test.want && !(got != got && test.want != test.want) {
			t.Errorf("exp2(%v) = %v, want %v", test.y, got, test.want)
		}
	}
}
