package simd

import (
	"math/rand/v2"
	"testing"
)

func TestMulSmoke(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for rows := 1; rows < 9; rows++ {
		for n := 1; n < 40; n++ {
			k := 1 + n%7
			w, x, bias := make([]float32, n*k), make([]float32, rows*k), make([]float32, n)
			for _, s := range [][]float32{w, x, bias} {
				for i := range s {
					s[i] = rng.Float32() - 0.5
				}
			}
			var m Matrix
			m.PackTransposed(w, n, k, k)
			y := make([]float32, rows*n)
			m.Mul(y, n, x, k, rows, bias)
			for r := range rows {
				for c := range n {
					want := bias[c] + Dot(x[r*k:][:k], w[c*k:][:k])
					if d := y[r*n+c] - want; d > 1e-5 || d < -1e-5 {
						t.Fatalf("%d %d %d: %v want %v", rows, n, k, y[r*n+c], want)
					}
				}
			}
		}
	}
}
