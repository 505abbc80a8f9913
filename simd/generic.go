package simd

import "math"

// This file is the meaning of the package. Each kernels_*.go supplies, for its architecture:
//
//	built      the levels besides Generic that have kernels in this build, slowest first
//	dot        dot product; len(a) == len(b) > 0
//	dotRows    dst[i] = q·row i; len(rows) == len(dst)*len(q) > 0
//	add        dst += src; len(dst) == len(src) > 0
//	gelu       GELU in place; len(x) > 0
//	softmax    softmax(scale*x) in place; len(x) > 0, scale >= 0
//	layerNorm  layer norm in place; all three slices have one length > 0
//	mulBlocks  blocks of a matrix product, see mulBlocksGeneric
//
// and each of them falls back to the function of the same name and the suffix Generic. The exported functions have
// compared all lengths before they call one of these.
//
// Products are written float32(x*y) + z: without the conversion the compiler may fuse them on arm64 (not on amd64), and
// the same program would round differently.

func dotGeneric(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += float32(a[i] * b[i])
		s1 += float32(a[i+1] * b[i+1])
		s2 += float32(a[i+2] * b[i+2])
		s3 += float32(a[i+3] * b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += float32(a[i] * b[i])
	}
	return (s0 + s1) + (s2 + s3)
}

func dotRowsGeneric(dst, q, rows []float32) {
	for i := range dst {
		dst[i] = dotGeneric(q, rows[i*len(q):(i+1)*len(q)])
	}
}

func addGeneric(dst, src []float32) {
	src = src[:len(dst)]
	for i, v := range src {
		dst[i] += v
	}
}

func reluGeneric(x []float32) {
	for i, v := range x {
		if v < 0 {
			x[i] = 0
		}
	}
}

// geluGeneric computes x*Φ(x) as max(x, 0) - h(|x|), where h(t) = t*Q(t) and Q(t) = erfc(t/√2)/2 is the upper tail of
// the normal distribution. h never exceeds 0.17, so its relative error hardly shows, and nothing cancels for negative x.
// Q(t) is exp(-t²/2) times a function that falls so gently that eight terms in u = 1/(1+0.4t) give it within 2.5e-7
// (relative, for t up to 14; our own Chebyshev fit of the form of Abramowitz and Stegun 7.1.26).
func geluGeneric(x []float32) {
	for i, v := range x {
		t := float32(math.Abs(float64(v)))
		if t > geluMax {
			t = geluMax
		}
		u := 1 / (1 + float32(geluP*t))
		q := float32(geluTail[0])
		for _, c := range geluTail[1:] {
			q = float32(q*u) + c
		}
		h := float32(float32(q*t) * exp2(float32(minusHalfLog2e*t)*t))
		if v > 0 || v != v {
			h = v - h
		} else {
			h = -h
		}
		x[i] = h
	}
}

const (
	geluP   = 0.4
	geluMax = 14 // beyond, exp(-t²/2) is 0 here
	// exp(-t²/2) is 2 to the power of this times t².
	minusHalfLog2e = -0.5 * log2e
)

// geluTail holds the coefficients of Q(t)*exp(t²/2) in powers of u, highest first.
var geluTail = [...]float32{-0.0399810974369, 0.202332934316, -0.377027729041, 0.254533633798, -0.0146574061807,
	0.159300002408, 0.155583735586, 0.159929137748, -1.3238136107e-05}

// geluTanhGeneric uses (1+tanh(z))/2 = 1/(1+exp(-2z)) = 1/(1+2^(-2z*log2e)).
func geluTanhGeneric(x []float32) {
	const twoRootTwoOverPi = 2 * 0.7978845608028654
	for i, v := range x {
		cube := float32(float32(v*v) * v)
		x[i] = v / (1 + exp2(float32(-twoRootTwoOverPi*log2e*(v+float32(0.044715*cube)))))
	}
}

// softmaxGeneric works with powers of two: exp(scale*x) is 2^(scale*log2e*x). The difference is taken first, so that the
// greatest element gives 1 however large it is.
func softmaxGeneric(x []float32, scale float32) {
	scale *= log2e
	top := float32(math.Inf(-1))
	for _, v := range x {
		if v > top {
			top = v
		}
	}
	var sum float32
	for i, v := range x {
		e := exp2(float32((v - top) * scale))
		x[i] = e
		sum += e
	}
	inv := 1 / sum
	for i := range x {
		x[i] *= inv
	}
}

func layerNormGeneric(x, gamma, beta []float32, eps float32) {
	gamma, beta = gamma[:len(x)], beta[:len(x)]
	var sum float32
	for _, v := range x {
		sum += v
	}
	n := float32(len(x))
	mean := sum / n
	var squares float32
	for _, v := range x {
		d := v - mean
		squares += float32(d * d)
	}
	inv := 1 / float32(math.Sqrt(float64(squares/n+eps)))
	for i, v := range x {
		x[i] = float32(float32((v-mean)*inv)*gamma[i]) + beta[i]
	}
}

const (
	log2e   = 1.44269504088896341
	exp2Min = -127   // its bits as a float32's exponent are 0, and so is what exp2 gives from there down
	exp2Max = 127.49 // the exponent of about the greatest result; above, exp2 stays there
	// Adding and subtracting 1.5*2²³ rounds a small float32 to the nearest integer.
	rounder = 0x1.8p23
)

// exp2Poly holds the coefficients of (2^f-1)/f for |f| <= 1/2, highest first (our own minimax fit, 1.0e-7).
var exp2Poly = [...]float32{1.3264727252e-3, 9.6715127858e-3, 5.5507337445e-2, 2.4022242083e-1, 6.9314697760e-1}

// exp2 returns 2 to the power y within 2e-7 (relative): with y = n + f it is 2ⁿ*2^f.
func exp2(y float32) float32 {
	if y != y {
		return y
	}
	y = min(max(y, exp2Min), exp2Max)
	n := y + rounder
	n -= rounder
	f := y - n
	p := exp2Poly[0]
	for _, c := range exp2Poly[1:] {
		p = float32(p*f) + c
	}
	p = float32(p*f) + 1
	return p * math.Float32frombits(uint32(int32(n)+127)<<23)
}
