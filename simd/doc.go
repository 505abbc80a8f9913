// Package simd holds the arithmetic that the program's time goes into: dot products of embedding vectors, matrix
// products, and the row functions of a transformer (GELU, softmax, layer norm), all on float32.
//
// # Use
//
// The exported functions pick the fastest implementation of the machine by themselves; a caller never sees which one
// ran. Scores of a query against an index are DotRows. A linear layer packs its weight once and multiplies many times:
//
//	var weight simd.Matrix
//	weight.Resize(in, out)
//	weight.SetColumns(0, w, out, in)                 // w is [out×in], as checkpoints store it
//	weight.Mul(y, out, x, in, rows, bias)            // y[rows×out] = x[rows×in]·wᵀ + bias
//
// Halve keeps a packed weight in half the memory where that changes none of its values. Weights that come as IEEE 754
// halves are packed as they are, by ResizeHalves and SetColumnsHalves, and Widen gives their values.
//
// Strides count values, so that one head of attention is a Matrix over every H-th stretch of a larger array. Nothing
// here allocates, except a Matrix that is packed with more values than it ever held, and one of halves, whose products
// need memory for a widened panel, which is kept for the next ones.
//
// # Levels
//
// A Level is one implementation: Generic is plain Go and the meaning of the package (generic.go); AVX2, AVX512 and NEON
// replace parts of it by assembly. Use forces one for tests and diagnosis; with the build tag purego there is
// only Generic. AVX512 has to be asked for: its kernels pass the tests in an emulator (.ci/avx512), but no processor
// has run or timed them.
//
// To add a level: its instructions in gen, its declarations and one case per function in kernels_$GOARCH.go, its block
// size in Level.tile, its name in built. The tests then run on it through Available.
//
// # Accuracy
//
// Levels agree within rounding, not bit by bit: kernels sum in another order and fuse multiplication and addition. Each
// sum of n products is within n*2⁻²⁴*Σ|a*b| of the exact one (in practice far closer), GELU within 3e-7*max(1,|x|), exp
// within 2e-7 (relative). NaN goes in, NaN comes out.
//
// # Broken contracts
//
// Every exported function compares lengths and panics with a text that begins "simd:" when they do not fit, since the
// kernels trust them. Kernels load and store unaligned and touch no byte outside the slices. Slices that are written
// must not overlap the ones that are read.
package simd

//go:generate go run ./gen
