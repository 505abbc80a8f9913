package main

import "math"

// avx2Rows writes the row functions. Their formulas and coefficients are those of generic.go, where they are derived.
// Every instruction on X and Y registers is of the V kind: one legacy SSE move between them once made softmax of 16
// values seven times slower, because it has to keep the upper halves.
func avx2Rows() string {
	f := newFile("GELU, softmax and layer norm for AVX2 and FMA. The formulas are derived in generic.go.")
	f.tailMask()
	f.vectors(expConstants)
	f.vectors(geluConstants)
	f.macro("EXP8(X, N, P, MIN)", exp8)
	f.macro("GELU8", gelu8)
	avx2GELU(f)
	avx2Softmax(f)
	avx2LayerNorm(f)
	return f.String()
}

var expConstants = []constant{
	float("log2e", 1.44269504088896341),
	float("exp2Min", -127),
	float("rounder", 0x1.8p23+127),
	float("exp2_0", 1.3264727252e-3),
	float("exp2_1", 9.6715127858e-3),
	float("exp2_2", 5.5507337445e-2),
	float("exp2_3", 2.4022242083e-1),
	float("exp2_4", 6.9314697760e-1),
	float("one", 1),
}

// exp8 sets X to 2 to the power X for X <= 0 or NaN, spoiling N and P; MIN holds exp2Min,
// for which 2ⁿ comes out as 0. Adding the rounder leaves n+127, the exponent of
// 2ⁿ, in the lowest bits, where a shift puts it in its place. VMAXPS gives the first one named here when one is NaN.
const exp8 = `
VMAXPS X, MIN, X
VADDPS rounder<>(SB), X, N // its last bits are n+127
VSUBPS rounder<>(SB), N, P // P = n
VSUBPS P, X, X // X = f
VPSLLD $23, N, N // N = 2ⁿ
VMOVUPS exp2_0<>(SB), P
VFMADD213PS exp2_1<>(SB), X, P // P = P*f + exp2_1
VFMADD213PS exp2_2<>(SB), X, P
VFMADD213PS exp2_3<>(SB), X, P
VFMADD213PS exp2_4<>(SB), X, P
VFMADD213PS one<>(SB), X, P
VMULPS N, P, X
`

var geluConstants = []constant{
	{"absMask", math.MaxInt32, "all but the sign"},
	float("geluMax", 14),
	float("geluP", 0.4),
	float("minusHalfLog2e", -0.5*1.44269504088896341),
	float("tail0", -0.0399810974369),
	float("tail1", 0.202332934316),
	float("tail2", -0.377027729041),
	float("tail3", 0.254533633798),
	float("tail4", -0.0146574061807),
	float("tail5", 0.159300002408),
	float("tail6", 0.155583735586),
	float("tail7", 0.159929137748),
	float("tail8", -1.3238136107e-05),
}

// gelu8 sets Y0 to GELU(Y0). Of two values VMAXPS and VMINPS give the first one named here when one is NaN.
const gelu8 = `
VANDPS absMask<>(SB), Y0, Y1
VMINPS Y1, Y14, Y1 // Y1 = t = min(|x|, 14)
VMOVUPS geluP<>(SB), Y2
VFMADD213PS Y13, Y1, Y2
VDIVPS Y2, Y13, Y2 // Y2 = u = 1/(1+0.4t)
VMULPS minusHalfLog2e<>(SB), Y1, Y3
VMULPS Y1, Y3, Y3 // Y3 = -t²/2 in base 2
VMOVUPS tail0<>(SB), Y4
VFMADD213PS tail1<>(SB), Y2, Y4
VFMADD213PS tail2<>(SB), Y2, Y4
VFMADD213PS tail3<>(SB), Y2, Y4
VFMADD213PS tail4<>(SB), Y2, Y4
VFMADD213PS tail5<>(SB), Y2, Y4
VFMADD213PS tail6<>(SB), Y2, Y4
VFMADD213PS tail7<>(SB), Y2, Y4
VFMADD213PS tail8<>(SB), Y2, Y4
VMULPS Y1, Y4, Y4 // Y4 = t*Q(t)*exp(t²/2)
EXP8(Y3, Y5, Y6, Y12)
VMAXPS Y0, Y15, Y0 // max(x, 0)
VFNMADD231PS Y3, Y4, Y0
`

func avx2GELU(f *file) {
	f.function(`
func geluAVX2(x *float32, n int)

	for i := range n {
		x[i] = max(x[i], 0) - h(min(|x[i]|, 14))
	}

SI  x: next values    CX values left
Y0-Y6  work of GELU8    Y8 tail mask    Y12 exp2Min    Y13 ones    Y14 14    Y15 zeros`, "geluAVX2", 16)
	f.code(`
MOVQ x+0(FP), SI
MOVQ n+8(FP), CX
VMOVUPS one<>(SB), Y13
VMOVUPS geluMax<>(SB), Y14
VMOVUPS exp2Min<>(SB), Y12
VXORPS Y15, Y15, Y15
SUBQ $8, CX
JLT  less_than_8

at_least_8:
VMOVUPS (SI), Y0
GELU8
VMOVUPS Y0, (SI)
ADDQ $32, SI
SUBQ $8, CX
JGE  at_least_8

less_than_8:
ADDQ $8, CX
JZ   done`)
	f.avx2Mask("CX", "Y8")
	f.code(`
VMASKMOVPS (SI), Y8, Y0
GELU8
VMASKMOVPS Y0, Y8, (SI)

done:
VZEROUPPER
RET
`)
	f.WriteString("\n")
}

func avx2Softmax(f *file) {
	f.function(`
func softmaxAVX2(x *float32, n int, scale float32)

	top := max(x[i] for all i)
	for i := range n {
		x[i] = exp2((x[i]-top) * scale*log2e)
		sum += x[i]
	}
	for i := range n {
		x[i] /= sum
	}

DI  x    DX n    SI next values    CX values left
Y8  tail mask, when there is a tail (BX != 0)    Y9 scale*log2e    Y10 top    Y11 sum, then 1/sum    Y12 exp2Min    Y0-Y5 work`, "softmaxAVX2", 20)
	f.code(`
MOVQ x+0(FP), DI
MOVQ n+8(FP), DX
VBROADCASTSS scale+16(FP), Y9
VMULPS log2e<>(SB), Y9, Y9
VMOVUPS exp2Min<>(SB), Y12
MOVQ DX, BX
ANDQ $7, BX
MOVQ BX, AX`)
	f.avx2Mask("AX", "Y8")
	avx2SoftmaxTop(f)
	avx2SoftmaxExp(f)
	avx2SoftmaxDivide(f)
}

// avx2SoftmaxTop puts the greatest x in all lanes of Y10.
func avx2SoftmaxTop(f *file) {
	f.code(`
MOVL $0xff800000, AX // -Inf
VMOVD AX, X10
VBROADCASTSS X10, Y10
VMOVAPS Y10, Y5
MOVQ DI, SI
MOVQ DX, CX
SUBQ $32, CX
JLT  top_less_than_32

top_32:`)
	for i := range 4 {
		f.op("VMAXPS %d(SI), Y10, Y10", 32*i)
	}
	f.code(`
ADDQ $128, SI
SUBQ $32, CX
JGE  top_32

top_less_than_32:
ADDQ $24, CX
JLT  top_tail

top_8:
VMAXPS (SI), Y10, Y10
ADDQ $32, SI
SUBQ $8, CX
JGE  top_8

top_tail:
TESTQ BX, BX
JZ   top_lanes
VMASKMOVPS (SI), Y8, Y0
VBLENDVPS Y8, Y0, Y5, Y0 // -Inf beyond the end
VMAXPS Y0, Y10, Y10

top_lanes:
VPERM2F128 $1, Y10, Y10, Y0
VMAXPS Y0, Y10, Y10
VPERMILPS $0x4e, Y10, Y0
VMAXPS Y0, Y10, Y10
VPERMILPS $0xb1, Y10, Y0
VMAXPS Y0, Y10, Y10 // top in all lanes`)
}

// avx2SoftmaxExp replaces x by exp2((x-top)*scale*log2e) and puts 1/sum in all lanes of Y11.
func avx2SoftmaxExp(f *file) {
	f.code(`
VXORPS Y11, Y11, Y11
MOVQ DI, SI
MOVQ DX, CX
SUBQ $8, CX
JLT  exp_tail

exp_8:
VMOVUPS (SI), Y0
VSUBPS Y10, Y0, Y0
VMULPS Y9, Y0, Y0
EXP8(Y0, Y1, Y2, Y12)
VMOVUPS Y0, (SI)
VADDPS Y0, Y11, Y11
ADDQ $32, SI
SUBQ $8, CX
JGE  exp_8

exp_tail:
TESTQ BX, BX
JZ   exp_lanes
VMASKMOVPS (SI), Y8, Y0
VSUBPS Y10, Y0, Y0
VMULPS Y9, Y0, Y0
EXP8(Y0, Y1, Y2, Y12)
VMASKMOVPS Y0, Y8, (SI)
VANDPS Y8, Y0, Y0
VADDPS Y0, Y11, Y11

exp_lanes:`)
	avx2SumLanes(f, "11", "0")
	f.code(`
VMOVUPS one<>(SB), Y0
VDIVPS Y11, Y0, Y11`)
}

func avx2SoftmaxDivide(f *file) {
	f.code(`
MOVQ DI, SI
MOVQ DX, CX
SUBQ $32, CX
JLT  divide_less_than_32

divide_32:`)
	for i := range 4 {
		f.op("VMULPS %d(SI), Y11, Y%d", 32*i, i)
	}
	for i := range 4 {
		f.op("VMOVUPS Y%d, %d(SI)", i, 32*i)
	}
	f.code(`
ADDQ $128, SI
SUBQ $32, CX
JGE  divide_32

divide_less_than_32:
ADDQ $24, CX
JLT  divide_tail

divide_8:
VMULPS (SI), Y11, Y0
VMOVUPS Y0, (SI)
ADDQ $32, SI
SUBQ $8, CX
JGE  divide_8

divide_tail:
TESTQ BX, BX
JZ   done
VMASKMOVPS (SI), Y8, Y0
VMULPS Y0, Y11, Y0
VMASKMOVPS Y0, Y8, (SI)

done:
VZEROUPPER
RET
`)
	f.WriteString("\n")
}

// avx2SumLanes puts the sum of the eight lanes of register Y<sum> in all of them, spoiling Y<spare>.
func avx2SumLanes(f *file, sum, spare string) {
	f.op("VPERM2F128 $1, Y%s, Y%s, Y%s", sum, sum, spare)
	f.op("VADDPS Y%s, Y%s, Y%s", spare, sum, sum)
	f.op("VHADDPS Y%s, Y%s, Y%s", sum, sum, sum)
	f.op("VHADDPS Y%s, Y%s, Y%s // the sum in all lanes", sum, sum, sum)
}
