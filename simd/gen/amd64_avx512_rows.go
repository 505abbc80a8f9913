package main

import "fmt"

// avx512Rows writes the row functions. Formulas and coefficients are those of AVX2, 16 lanes at a time: constants are
// single values that instructions broadcast as they read them, and tails are the same code under a mask.
func avx512Rows() string {
	f := newFile("GELU, softmax and layer norm for AVX-512. The formulas are derived in generic.go.")
	f.singles(expConstants)
	f.singles(geluConstants)
	f.macro("EXP16(X, N, P, MIN)", exp16)
	f.macro("GELU16", gelu16)
	avx512GELU(f)
	avx512Softmax(f)
	avx512LayerNorm(f)
	return f.String()
}

// singles writes read-only constants under names local to the file.
func (f *file) singles(constants []constant) {
	for _, c := range constants {
		fmt.Fprintf(f, "DATA %s<>+0(SB)/4, $0x%08x // %s\n", c.name, c.bits, c.about)
		fmt.Fprintf(f, "GLOBL %s<>(SB), RODATA|NOPTR, $4\n", c.name)
	}
	f.WriteString("\n")
}

// exp16 sets X to 2 to the power X for X <= 0 or NaN, spoiling N and P; MIN holds exp2Min. See exp8.
const exp16 = `
VMAXPS X, MIN, X
VBROADCASTSS rounder<>(SB), N
VADDPS X, N, N // its last bits are n+127
VSUBPS.BCST rounder<>(SB), N, P // P = n
VSUBPS P, X, X // X = f
VPSLLD $23, N, N // N = 2ⁿ
VBROADCASTSS exp2_0<>(SB), P
VFMADD213PS.BCST exp2_1<>(SB), X, P // P = P*f + exp2_1
VFMADD213PS.BCST exp2_2<>(SB), X, P
VFMADD213PS.BCST exp2_3<>(SB), X, P
VFMADD213PS.BCST exp2_4<>(SB), X, P
VFMADD213PS.BCST one<>(SB), X, P
VMULPS N, P, X
`

// gelu16 sets Z0 to GELU(Z0). Of two values VMAXPS and VMINPS give the first one named here when one is NaN.
const gelu16 = `
VANDPS.BCST absMask<>(SB), Z0, Z1
VMINPS Z1, Z14, Z1 // Z1 = t = min(|x|, 14)
VBROADCASTSS geluP<>(SB), Z2
VFMADD213PS Z13, Z1, Z2
VDIVPS Z2, Z13, Z2 // Z2 = u = 1/(1+0.4t)
VMULPS.BCST minusHalfLog2e<>(SB), Z1, Z3
VMULPS Z1, Z3, Z3 // Z3 = -t²/2 in base 2
VBROADCASTSS tail0<>(SB), Z4
VFMADD213PS.BCST tail1<>(SB), Z2, Z4
VFMADD213PS.BCST tail2<>(SB), Z2, Z4
VFMADD213PS.BCST tail3<>(SB), Z2, Z4
VFMADD213PS.BCST tail4<>(SB), Z2, Z4
VFMADD213PS.BCST tail5<>(SB), Z2, Z4
VFMADD213PS.BCST tail6<>(SB), Z2, Z4
VFMADD213PS.BCST tail7<>(SB), Z2, Z4
VFMADD213PS.BCST tail8<>(SB), Z2, Z4
VMULPS Z1, Z4, Z4 // Z4 = t*Q(t)*exp(t²/2)
EXP16(Z3, Z5, Z6, Z12)
VMAXPS Z0, Z15, Z0 // max(x, 0)
VFNMADD231PS Z3, Z4, Z0
`

func avx512GELU(f *file) {
	f.function(`
func geluAVX512(x *float32, n int)

	for i := range n {
		x[i] = max(x[i], 0) - h(min(|x[i]|, 14))
	}

SI  x: next values    CX values left
Z0-Z6  work of GELU16    K1 tail mask    Z12 exp2Min    Z13 ones    Z14 14    Z15 zeros`, "geluAVX512", 16)
	f.code(`
MOVQ x+0(FP), SI
MOVQ n+8(FP), CX
VBROADCASTSS one<>(SB), Z13
VBROADCASTSS geluMax<>(SB), Z14
VBROADCASTSS exp2Min<>(SB), Z12
VPXORD Z15, Z15, Z15
SUBQ $16, CX
JLT  less_than_16

at_least_16:
VMOVUPS (SI), Z0
GELU16
VMOVUPS Z0, (SI)
ADDQ $64, SI
SUBQ $16, CX
JGE  at_least_16

less_than_16:
ADDQ $16, CX
JZ   done`)
	f.avx512Mask("K1")
	f.code(`
VMOVUPS.Z (SI), K1, Z0
GELU16
VMOVUPS Z0, K1, (SI)

done:
VZEROUPPER
RET
`)
	f.WriteString("\n")
}

func avx512Softmax(f *file) {
	f.function(`
func softmaxAVX512(x *float32, n int, scale float32)

	top := max(x[i] for all i)
	for i := range n {
		x[i] = exp2((x[i]-top) * scale*log2e)
		sum += x[i]
	}
	for i := range n {
		x[i] /= sum
	}

DI  x    DX n    SI next values    CX values left
K1  tail mask, when there is a tail (BX != 0)    Z9 scale*log2e    Z10 top    Z11 sum, then 1/sum    Z12 exp2Min    Z0-Z2 work`, "softmaxAVX512", 20)
	f.code(`
MOVQ x+0(FP), DI
MOVQ n+8(FP), DX
VBROADCASTSS scale+16(FP), Z9
VMULPS.BCST log2e<>(SB), Z9, Z9
VBROADCASTSS exp2Min<>(SB), Z12
MOVQ DX, CX
ANDQ $15, CX
MOVQ CX, BX`)
	f.avx512Mask("K1")
	avx512SoftmaxTop(f)
	avx512SoftmaxExp(f)
	avx512SoftmaxDivide(f)
}

// avx512SoftmaxTop puts the greatest x in all lanes of Z10.
func avx512SoftmaxTop(f *file) {
	f.code(`
MOVL $0xff800000, AX // -Inf
VPBROADCASTD AX, Z10
MOVQ DI, SI
MOVQ DX, CX
SUBQ $16, CX
JLT  top_tail

top_16:
VMAXPS (SI), Z10, Z10
ADDQ $64, SI
SUBQ $16, CX
JGE  top_16

top_tail:
TESTQ BX, BX
JZ   top_lanes
VMAXPS (SI), Z10, K1, Z10

top_lanes:`)
	avx512Lanes(f, "VMAXPS", "Z10", "Z0")
}

// avx512SoftmaxExp replaces x by exp2((x-top)*scale*log2e) and puts 1/sum in all lanes of Z11.
func avx512SoftmaxExp(f *file) {
	f.code(`
VPXORD Z11, Z11, Z11
MOVQ DI, SI
MOVQ DX, CX
SUBQ $16, CX
JLT  exp_tail

exp_16:
VMOVUPS (SI), Z0
VSUBPS Z10, Z0, Z0
VMULPS Z9, Z0, Z0
EXP16(Z0, Z1, Z2, Z12)
VMOVUPS Z0, (SI)
VADDPS Z0, Z11, Z11
ADDQ $64, SI
SUBQ $16, CX
JGE  exp_16

exp_tail:
TESTQ BX, BX
JZ   exp_lanes
VMOVUPS.Z (SI), K1, Z0
VSUBPS Z10, Z0, Z0
VMULPS Z9, Z0, Z0
EXP16(Z0, Z1, Z2, Z12)
VMOVUPS Z0, K1, (SI)
VADDPS Z0, Z11, K1, Z11

exp_lanes:`)
	avx512Lanes(f, "VADDPS", "Z11", "Z0")
	f.code(`
VBROADCASTSS one<>(SB), Z0
VDIVPS Z11, Z0, Z11`)
}

func avx512SoftmaxDivide(f *file) {
	f.code(`
MOVQ DI, SI
MOVQ DX, CX
SUBQ $16, CX
JLT  divide_tail

divide_16:
VMULPS (SI), Z11, Z0
VMOVUPS Z0, (SI)
ADDQ $64, SI
SUBQ $16, CX
JGE  divide_16

divide_tail:
TESTQ BX, BX
JZ   done
VMULPS.Z (SI), Z11, K1, Z0
VMOVUPS Z0, K1, (SI)

done:
VZEROUPPER
RET
`)
	f.WriteString("\n")
}

// avx512Lanes combines the 16 lanes of a register by an operation of two, VADDPS or VMAXPS, and puts the result in all
// of them.
func avx512Lanes(f *file, operation, register, spare string) {
	for _, swap := range []string{"VSHUFF32X4 $0x4e, %[1]s, %[1]s", "VSHUFF32X4 $0xb1, %[1]s, %[1]s", "VPERMILPS $0x4e, %[1]s", "VPERMILPS $0xb1, %[1]s"} {
		f.op(swap+", %[2]s", register, spare)
		f.op("%s %s, %s, %s", operation, spare, register, register)
	}
}
