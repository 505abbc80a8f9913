package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// TestMain lets SMART_SIMD choose the level of whatever does not loop over all of them (examples, benchmarks), and
// fails as loudly as the program when the machine lacks it.
func TestMain(m *testing.M) {
	if err := Use(os.Getenv("SMART_SIMD")); err != nil {
		fmt.Fprintln(os.Stderr, "SMART_SIMD:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// eachImpl runs test once for every level that this machine and build can run.
func eachImpl(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	for _, l := range Available() {
		t.Run(l.String(), func(t *testing.T) {
			use(t, l)
			test(t)
		})
	}
}

// use forces l until the test is over.
func use(t testing.TB, l Level) {
	before := Active()
	t.Cleanup(func() { active = before })
	if err := Use(l.String()); err != nil {
		t.Fatal(err)
	}
}

// ulp is half the distance of 1 to the next float32: the relative error of one rounding.
const ulp = 1.0 / (1 << 24)

// lengths holds every tail size of every kernel, and the borders of its unrolled loops at greater lengths.
func lengths() []int {
	var all []int
	for n := range 71 {
		all = append(all, n)
	}
	for _, border := range []int{80, 96, 128, 256, 384, 1536} {
		all = append(all, border-1, border, border+1)
	}
	return all
}

// random returns n values in [-1, 1), always the same for one seed.
func random(seed uint64, n int) []float32 {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*rng.Float32() - 1
	}
	return x
}

// scaled returns random values in [-size, size).
func scaled(seed uint64, n int, size float32) []float32 {
	x := random(seed, n)
	for i := range x {
		x[i] *= size
	}
	return x
}

// canary is a value that no function here computes: memory that must stay as it is holds it.
const canary = -12345.678

// fenced returns a copy of x that begins at an odd address within a larger array, and a function that fails the test
// when something was written beside it.
func fenced(t *testing.T, x []float32) (inner []float32, check func()) {
	const margin = 19
	outer := make([]float32, margin+len(x)+margin)
	fill(outer, canary)
	inner = outer[margin:][:len(x)]
	copy(inner, x)
	return inner, func() {
		t.Helper()
		for i, v := range outer {
			if (i < margin || i >= margin+len(x)) && v != canary {
				t.Fatalf("wrote %v at offset %d of a slice of %d values", v, i-margin, len(x))
			}
		}
	}
}

func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

// same is equality that takes NaN for equal to NaN.
func same(got, want float32) bool { return got == want || got != got && want != want }

// worst keeps the greatest error seen, as a share of what is allowed.
type worst struct {
	share float64
	text  string
}

// see notes one result; the format and args say which.
func (w *worst) see(got float32, want, allowed float64, format string, args ...any) {
	share := math.Abs(float64(got)-want) / allowed
	if math.IsNaN(share) {
		share = math.Inf(1)
	}
	if float64(got) == want || math.IsNaN(float64(got)) && math.IsNaN(want) {
		share = 0
	}
	if share > w.share || w.text == "" {
		w.share = share
		w.text = fmt.Sprintf(format, args...) + fmt.Sprintf(" = %v, want %v within %.3g", got, want, allowed)
	}
}

// report fails the test when the worst error exceeds what is allowed, and logs it in any case.
func (w *worst) report(t *testing.T) {
	t.Helper()
	if w.text == "" {
		t.Fatal("nothing was compared")
	}
	if w.share > 1 {
		t.Fatal(w.text)
	}
	t.Logf("worst: %s (%.0f%% of that)", w.text, 100*w.share)
}

// mustPanic fails unless f panics with a text of this package.
func mustPanic(t *testing.T, name string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		text, _ := recover().(string)
		if len(text) < 5 || text[:5] != "simd:" {
			t.Errorf("%s: panic %q, want one that begins simd:", name, text)
		}
	}()
	f()
}

// The reference: the same functions in float64, without any trick.

// refDot also returns how far a float32 sum in any order may be off, and never less than one denormal.
func refDot(a, b []float32) (sum, allowed float64) {
	var size float64
	for i := range a {
		p := float64(a[i]) * float64(b[i])
		sum += p
		size += math.Abs(p)
	}
	return sum, float64(len(a)+1)*ulp*size + math.SmallestNonzeroFloat32
}

func refGELU(x float64) float64 { return x / 2 * math.Erfc(-x/math.Sqrt2) }

func refGELUTanh(x float64) float64 {
	return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func refSoftmax(x []float32, scale float32) []float64 {
	top := math.Inf(-1)
	for _, v := range x {
		top = math.Max(top, float64(v)*float64(scale))
	}
	y := make([]float64, len(x))
	var sum float64
	for i, v := range x {
		y[i] = math.Exp(float64(v)*float64(scale) - top)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
	}
	return y
}

func refLayerNorm(x, gamma, beta []float32, eps float32) []float64 {
	var mean, variance float64
	for _, v := range x {
		mean += float64(v) / float64(len(x))
	}
	for _, v := range x {
		variance += (float64(v) - mean) * (float64(v) - mean) / float64(len(x))
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = (float64(v)-mean)/math.Sqrt(variance+float64(eps))*float64(gamma[i]) + float64(beta[i])
	}
	return y
}

// packTransposed makes m the Matrix [k×n] = wᵀ, where w has n rows of k values and row i begins at w[i*stride].
func packTransposed(m *Matrix, w []float32, n, k, stride int) {
	m.Resize(k, n)
	m.SetColumns(0, w, n, stride)
}
