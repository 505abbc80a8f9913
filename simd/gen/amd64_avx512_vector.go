package main

// avx512Vectors writes the dot products, the addition and the widening of halves.
func avx512Vectors() string {
	f := newFile("Dot products and addition for AVX-512. Loads of a tail are masked: lanes beyond the end are not touched.")
	avx512Dot(f)
	avx512DotRows4(f)
	avx512Add(f)
	avx512Widen(f)
	return f.String()
}

// avx512Mask sets register mask to the first CX lanes, 0 to 15. It spoils AX.
func (f *file) avx512Mask(mask string) {
	f.code("MOVL $1, AX\nSHLL CX, AX\nDECL AX")
	f.op("KMOVW AX, %s // the first lanes only", mask)
}

func avx512Dot(f *file) {
	f.function(`
func dotAVX512(a, b *float32, n int) float32

	for i := range n {
		sum += a[i] * b[i]
	}

SI  a, DI b: next values    CX values left
Z0-Z3  sums of 16 lanes each    Z4-Z7  values of a    K1  tail mask`, "dotAVX512", 28)
	f.code(`
MOVQ a+0(FP), SI
MOVQ b+8(FP), DI
MOVQ n+16(FP), CX
VPXORD Z0, Z0, Z0
VPXORD Z1, Z1, Z1
VPXORD Z2, Z2, Z2
VPXORD Z3, Z3, Z3
SUBQ $64, CX
JLT  less_than_64

at_least_64:`)
	for i := range 4 {
		f.op("VMOVUPS %d(SI), Z%d", 64*i, 4+i)
	}
	for i := range 4 {
		f.op("VFMADD231PS %d(DI), Z%d, Z%d", 64*i, 4+i, i)
	}
	f.code(`
ADDQ $256, SI
ADDQ $256, DI
SUBQ $64, CX
JGE  at_least_64

less_than_64:
VADDPS Z2, Z0, Z0
VADDPS Z3, Z1, Z1
ADDQ $48, CX
JLT  less_than_16

at_least_16:
VMOVUPS (SI), Z4
VFMADD231PS (DI), Z4, Z0
ADDQ $64, SI
ADDQ $64, DI
SUBQ $16, CX
JGE  at_least_16

less_than_16:
ADDQ $16, CX
JZ   all_read`)
	f.avx512Mask("K1")
	f.code(`
VMOVUPS.Z (SI), K1, Z4
VFMADD231PS (DI), Z4, K1, Z1

all_read:
VADDPS Z1, Z0, Z0
VEXTRACTF64X4 $1, Z0, Y1
VADDPS Y1, Y0, Y0
VEXTRACTF128 $1, Y0, X1
VADDPS X1, X0, X0
VHADDPS X0, X0, X0
VHADDPS X0, X0, X0
VMOVSS X0, ret+24(FP)
VZEROUPPER
RET
`)
	f.WriteString("\n")
}

// avx512DotRows4 takes four rows at a time, as avx2DotRows4 does. Prefetching has been measured for it and gave nothing.
func avx512DotRows4(f *file) {
	f.function(`
func dotRows4AVX512(dst, q, rows *float32, n, quarter int)

	for i := range quarter {
		for r := range 4 {
			dst[r*quarter+i] = q · rows[(r*quarter+i)*n:][:n]
		}
	}

DI  dst: next result of the first quarter    BX quarter    R14 rows left of each
SI  q: next values    DX q    CX values left in the row
R8 R9 R10 R11  next values of the four rows    R13 values in a row    R12 values in the tail
Z0-Z3  sums of the rows, Z4-Z7 second sums    Z8 Z9 values of q    K1 tail mask`, "dotRows4AVX512", 40)
	f.code(`
MOVQ dst+0(FP), DI
MOVQ q+8(FP), DX
MOVQ rows+16(FP), R8
MOVQ n+24(FP), R13
MOVQ quarter+32(FP), BX
MOVQ BX, R14
MOVQ R13, CX
ANDQ $15, CX
MOVQ CX, R12`)
	f.avx512Mask("K1")
	f.code(`
MOVQ BX, AX
IMULQ R13, AX
LEAQ (R8)(AX*4), R9
LEAQ (R9)(AX*4), R10
LEAQ (R10)(AX*4), R11

next_rows:
MOVQ DX, SI`)
	for i := range 8 {
		f.op("VPXORD Z%d, Z%d, Z%d", i, i, i)
	}
	f.code(`
MOVQ R13, CX
SUBQ $32, CX
JLT  less_than_32

at_least_32:
VMOVUPS (SI), Z8
VMOVUPS 64(SI), Z9
ADDQ $128, SI`)
	for i := range 4 {
		f.op("VFMADD231PS (R%d), Z8, Z%d", 8+i, i)
		f.op("VFMADD231PS 64(R%d), Z9, Z%d", 8+i, 4+i)
		f.op("ADDQ $128, R%d", 8+i)
	}
	f.code("SUBQ $32, CX\nJGE  at_least_32")
	avx512DotRows4Tail(f)
	avx512DotRows4Sums(f)
}

// avx512DotRows4Tail adds the last values of each row, fewer than 32, and leaves R11 at its end.
func avx512DotRows4Tail(f *file) {
	f.code(`

less_than_32:
ADDQ $16, CX
JLT  less_than_16
VMOVUPS (SI), Z8
ADDQ $64, SI`)
	for i := range 4 {
		f.op("VFMADD231PS (R%d), Z8, Z%d", 8+i, i)
		f.op("ADDQ $64, R%d", 8+i)
	}
	f.code(`
less_than_16:
TESTQ R12, R12
JZ   row_read
VMOVUPS.Z (SI), K1, Z8`)
	for i := range 4 {
		f.op("VFMADD231PS (R%d), Z8, K1, Z%d", 8+i, 4+i)
	}
	for i := range 4 {
		f.op("LEAQ (R%d)(R12*4), R%d", 8+i, 8+i)
	}
}

// avx512DotRows4Sums stores the four sums and goes to the next rows.
func avx512DotRows4Sums(f *file) {
	f.code("\nrow_read:")
	for i := range 4 {
		f.op("VADDPS Z%d, Z%d, Z%d", 4+i, i, i)
	}
	for i := range 4 {
		f.op("VEXTRACTF64X4 $1, Z%d, Y%d", i, 4+i)
	}
	for i := range 4 {
		f.op("VADDPS Y%d, Y%d, Y%d", 4+i, i, i)
	}
	f.code(`
VHADDPS Y1, Y0, Y0 // pairs of rows 0 and 1
VHADDPS Y3, Y2, Y2 // pairs of rows 2 and 3
VHADDPS Y2, Y0, Y0 // each half: a part of all four sums
VEXTRACTF128 $1, Y0, X1
VADDPS X1, X0, X0
LEAQ (DI)(BX*8), AX
VMOVSS X0, (DI)
VEXTRACTPS $1, X0, (DI)(BX*4)
VEXTRACTPS $2, X0, (AX)
VEXTRACTPS $3, X0, (AX)(BX*4)
ADDQ $4, DI
DECQ R14
JNZ  next_rows
VZEROUPPER
RET
`)
	f.WriteString("\n")
}

func avx512Add(f *file) {
	f.function(`
func addAVX512(dst, src *float32, n int)

	for i := range n {
		dst[i] += src[i]
	}

DI  dst, SI src: next values    CX values left
Z0 Z1  values    K1 tail mask`, "addAVX512", 24)
	f.code(`
MOVQ dst+0(FP), DI
MOVQ src+8(FP), SI
MOVQ n+16(FP), CX
SUBQ $16, CX
JLT  less_than_16

at_least_16:
VMOVUPS (SI), Z0
VADDPS (DI), Z0, Z0
VMOVUPS Z0, (DI)
ADDQ $64, SI
ADDQ $64, DI
SUBQ $16, CX
JGE  at_least_16

less_than_16:
ADDQ $16, CX
JZ   all_added`)
	f.avx512Mask("K1")
	f.code(`
VMOVUPS.Z (SI), K1, Z0
VMOVUPS.Z (DI), K1, Z1
VADDPS Z1, Z0, Z0
VMOVUPS Z0, K1, (DI)

all_added:
VZEROUPPER
RET
`)
	f.WriteString("\n")
}

func avx512Widen(f *file) {
	f.function(`
func widenAVX512(dst *float32, src *uint16, sixteens int)

	for i := range 16 * sixteens {
		dst[i] = fromHalf(src[i])
	}

SI  src: next halves, DI dst    CX sixteens left`, "widenAVX512", 24)
	f.code(`
MOVQ dst+0(FP), DI
MOVQ src+8(FP), SI
MOVQ sixteens+16(FP), CX
TESTQ CX, CX
JZ   widened

sixteen:
VCVTPH2PS (SI), Z0
VMOVUPS Z0, (DI)
ADDQ $32, SI
ADDQ $64, DI
DECQ CX
JNZ  sixteen

widened:
VZEROUPPER
RET
`)
}
