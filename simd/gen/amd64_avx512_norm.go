package main

func avx512LayerNorm(f *file) {
	f.function(`
func layerNormAVX512(x, gamma, beta *float32, n int, eps float32)

	mean := Σ x[i] / n
	variance := Σ (x[i]-mean)² / n
	for i := range n {
		x[i] = (x[i]-mean)/sqrt(variance+eps)*gamma[i] + beta[i]
	}

DI  x    DX n    SI next values    CX values left    R8 gamma, R9 beta: next values
K1  tail mask, when there is a tail (BX != 0)    Z9 n    Z10 mean    Z11 squares, then 1/deviation    Z0-Z2 work`,
		"layerNormAVX512", 36)
	f.code(`
MOVQ x+0(FP), DI
MOVQ gamma+8(FP), R8
MOVQ beta+16(FP), R9
MOVQ n+24(FP), DX
MOVQ DX, CX
ANDQ $15, CX
MOVQ CX, BX`)
	f.avx512Mask("K1")
	avx512LayerNormMean(f)
	avx512LayerNormDeviation(f)
	avx512LayerNormScale(f)
}

// avx512LayerNormMean puts the mean in all lanes of Z10 and n in those of Z9.
func avx512LayerNormMean(f *file) {
	f.code(`
VXORPS X9, X9, X9
VCVTSI2SSQ DX, X9, X9
VBROADCASTSS X9, Z9
VPXORD Z10, Z10, Z10
VPXORD Z11, Z11, Z11
MOVQ DI, SI
MOVQ DX, CX
SUBQ $16, CX
JLT  mean_tail

mean_16:
VADDPS (SI), Z10, Z10
ADDQ $64, SI
SUBQ $16, CX
JGE  mean_16

mean_tail:
TESTQ BX, BX
JZ   mean_lanes
VADDPS (SI), Z10, K1, Z10

mean_lanes:`)
	avx512Lanes(f, "VADDPS", "Z10", "Z0")
	f.op("VDIVPS Z9, Z10, Z10")
}

// avx512LayerNormDeviation puts 1/sqrt(variance+eps) in all lanes of Z11.
func avx512LayerNormDeviation(f *file) {
	f.code(`
MOVQ DI, SI
MOVQ DX, CX
SUBQ $16, CX
JLT  squares_tail

squares_16:
VMOVUPS (SI), Z0
VSUBPS Z10, Z0, Z0
VFMADD231PS Z0, Z0, Z11
ADDQ $64, SI
SUBQ $16, CX
JGE  squares_16

squares_tail:
TESTQ BX, BX
JZ   squares_lanes
VMOVUPS.Z (SI), K1, Z0
VSUBPS Z10, Z0, Z0
VFMADD231PS Z0, Z0, K1, Z11

squares_lanes:`)
	avx512Lanes(f, "VADDPS", "Z11", "Z0")
	f.code(`
VDIVPS Z9, Z11, Z11
VBROADCASTSS eps+32(FP), Z0
VADDPS Z0, Z11, Z11
VSQRTPS Z11, Z11
VBROADCASTSS one<>(SB), Z0
VDIVPS Z11, Z0, Z11`)
}

func avx512LayerNormScale(f *file) {
	f.code(`
MOVQ DI, SI
MOVQ DX, CX
SUBQ $16, CX
JLT  scale_tail

scale_16:
VMOVUPS (SI), Z0
VMOVUPS (R8), Z1
VSUBPS Z10, Z0, Z0
VMULPS Z11, Z0, Z0
VFMADD213PS (R9), Z1, Z0 // Z0 = Z0*gamma + beta
VMOVUPS Z0, (SI)
ADDQ $64, SI
ADDQ $64, R8
ADDQ $64, R9
SUBQ $16, CX
JGE  scale_16

scale_tail:
TESTQ BX, BX
JZ   done
VMOVUPS.Z (SI), K1, Z0
VMOVUPS.Z (R8), K1, Z1
VSUBPS Z10, Z0, Z0
VMULPS Z11, Z0, Z0
VFMADD213PS (R9), Z1, K1, Z0
VMOVUPS Z0, K1, (SI)

done:
VZEROUPPER
RET
`)
}
