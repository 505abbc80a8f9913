package simd

import "fmt"

// GELU replaces each x by x*Φ(x) = x/2*(1+erf(x/√2)), the exact Gaussian error linear unit, within
// 3e-7*max(1, |x|) of the real number.
func GELU(x []float32) {
	if len(x) > 0 {
		gelu(x)
	}
}

// GELUTanh replaces each x by x/2*(1+tanh(√(2/π)*(x+0.044715*x³))), the approximation that configurations call
// "gelu_new" and "gelu_pytorch_tanh".
func GELUTanh(x []float32) { geluTanhGeneric(x) }

// ReLU replaces each negative x by 0.
func ReLU(x []float32) { reluGeneric(x) }

// Softmax replaces one row x by exp(scale*x[i]) / Σ exp(scale*x[j]). An element more than 87 below the greatest
// becomes 0. A NaN or +Inf anywhere, or a row of only -Inf, makes the whole row NaN. It panics when
// scale is negative.
func Softmax(x []float32, scale float32) {
	if scale < 0 {
		panic(fmt.Sprintf("simd: Softmax with scale %v", scale))
	}
	if len(x) > 0 {
		softmax(x, scale)
	}
}

// LayerNorm replaces one row x by (x-mean)/sqrt(variance+eps)*gamma + beta, with the biased variance (divided by
// len(x)). It panics when gamma or beta is not as long as x.
func LayerNorm(x, gamma, beta []float32, eps float32) {
	if len(gamma) != len(x) || len(beta) != len(x) {
		panic(fmt.Sprintf("simd: LayerNorm of %d values with %d gammas and %d betas", len(x), len(gamma), len(beta)))
	}
	if len(x) > 0 {
		layerNorm(x, gamma, beta, eps)
	}
}
