package simd

import "math/rand/v2"

// random returns n values in [-1, 1), always the same for one seed.
func random(seed uint64, n int) []float32 {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*rng.Float32() - 1
	}
	return x
}
