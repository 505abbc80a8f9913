package main

func avx2LayerNorm(f *file) {
	f.function(`
func layerNormAVX2(x, gamma, beta *float32, n int, eps float32)

	mean := Σ x[i] / n
	variance := Σ (x[i]-mean)² / n
	for i := range n {
		x[i] = (x[i]-mean)/sqrt(variance+eps)*gamma[i] + beta[i]
	}

DI  x    DX n    SI next values    CX values left    R8 gamma, R9 beta: next values
Y8  tail mask, when there is a tail (BX != 0)    Y9 n    Y10 mean    Y11 squares, then 1/deviation    Y0-Y3 work`,
		"layerNormAVX2", 36)
	f.code(`
MOVQ x+0(FP), DI
MOVQ gamma+8(FP), R8
MOVQ beta+16(FP), R9
MOVQ n+24(FP), DX
MOVQ DX, BX
ANDQ $7, BX
MOVQ BX, AX`)
	f.avx2Mask("AX", "Y8")
	avx2LayerNormMean(f)
	avx2LayerNormDeviation(f)
	avx2LayerNormScale(f)
}

// avx2LayerNormMean puts the mean in all lanes of Y10 and n in those of Y9.
func avx2LayerNormMean(f *file) {
	f.code(`
VXORPS X9, X9, X9
VCVTSI2SSQ DX, X9, X9
VBROADCASTSS X9, Y9
VXORPS Y10, Y10, Y10
VXORPS Y11, Y11, Y11
MOVQ DI, SI
MOVQ DX, CX
SUBQ $8, CX
JLT  mean_tail

mean_8:
VADDPS (SI), Y10, Y10
ADDQ $32, SI
SUBQ $8, CX
JGE  mean_8

mean_tail:
TESTQ BX, BX
JZ   mean_lanes
VMASKMOVPS (SI), Y8, Y0
VADDPS Y0, Y10, Y10

mean_lanes:`)
	avx2SumLanes(f, "10", "0")
	f.op("VDIVPS Y9, Y10, Y10")
}

// avx2LayerNormDeviation puts 1/sqrt(variance+eps) in all lanes of Y11.
func avx2LayerNormDeviation(f *file) {
	f.code(`
MOVQ DI, SI
MOVQ DX, CX
SUBQ $8, CX
JLT  squares_tail

squares_8:
VMOVUPS (SI), Y0
VSUBPS Y10, Y0, Y0
VFMADD231PS Y0, Y0, Y11
ADDQ $32, SI
SUBQ $8, CX
JGE  squares_8

squares_tail:
TESTQ BX, BX
JZ   squares_lanes
VMASKMOVPS (SI), Y8, Y0
VSUBPS Y10, Y0, Y0
VANDPS Y8, Y0, Y0
VFMADD231PS Y0, Y0, Y11

squares_lanes:`)
	avx2SumLanes(f, "11", "0")
	f.code(`
VDIVPS Y9, Y11, Y11
VBROADCASTSS eps+32(FP), Y0
VADDPS Y0, Y11, Y11
VSQRTPS Y11, Y11
VMOVUPS one<>(SB), Y0
VDIVPS Y11, Y0, Y11`)
}

func avx2LayerNormScale(f *file) {
	f.code(`
MOVQ DI, SI
MOVQ DX, CX
SUBQ $8, CX
JLT  scale_tail

scale_8:
VMOVUPS (SI), Y0
VMOVUPS (R8), Y1
VSUBPS Y10, Y0, Y0
VMULPS Y11, Y0, Y0
VFMADD213PS (R9), Y1, Y0 // Y0 = Y0*gamma + beta
VMOVUPS Y0, (SI)
ADDQ $32, SI
ADDQ $32, R8
ADDQ $32, R9
SUBQ $8, CX
JGE  scale_8

scale_tail:
TESTQ BX, BX
JZ   done
VMASKMOVPS (SI), Y8, Y0
VMASKMOVPS (R8), Y8, Y1
VMASKMOVPS (R9), Y8, Y2
VSUBPS Y10, Y0, Y0
VMULPS Y11, Y0, Y0
VFMADD213PS Y2, Y1, Y0
VMASKMOVPS Y0, Y8, (SI)

done:
VZEROUPPER
RET
`)
}
