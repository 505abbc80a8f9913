package main

import "fmt"

// avx2Vectors writes the dot products, the addition, the widening and the transposition.
func avx2Vectors() string {
	f := newFile("Dot products and addition for AVX2 and FMA. Loads of a tail are masked: lanes beyond the end are not touched.")
	f.tailMask()
	avx2Dot(f)
	avx2DotRows4(f)
	avx2Add(f)
	avx2Widen(f)
	avx2Transpose(f)
	return f.String()
}

func avx2Widen(f *file) {
	f.function(`
func widenAVX2(dst *float32, src *uint16, sixteens int)

	for i := range 16 * sixteens {
		dst[i] = fromHalf(src[i])
	}

SI  src: next halves, DI dst    CX sixteens left`, "widenAVX2", 24)
	f.code(`
MOVQ dst+0(FP), DI
MOVQ src+8(FP), SI
MOVQ sixteens+16(FP), CX
TESTQ CX, CX
JZ   widened

sixteen:
VCVTPH2PS (SI), Y0
VCVTPH2PS 16(SI), Y1
VMOVUPS Y0, (DI)
VMOVUPS Y1, 32(DI)
ADDQ $32, SI
ADDQ $64, DI
DECQ CX
JNZ  sixteen

widened:
VZEROUPPER
RET`)
	f.WriteString("\n")
}

// avx2Transpose moves squares of 8 by 8: pairs of rows are interleaved, pairs of pairs, and then the halves of registers.
func avx2Transpose(f *file) {
	f.function(`
func transpose8AVX2(dst *float32, dstride int, src *float32, sstride, eights int)

	for i := range 8 * eights {
		for r := range 8 {
			dst[i*dstride+r] = src[r*sstride+i]
		}
	}

SI  src: next square's row 0, R10 row 3, R12 row 6    R9 bytes from row to row
DI  dst: next square's row 0, R11 row 3, R13 row 6    R8 bytes from row to row    CX squares left
Y0-Y7  the rows of the square, Y8-Y15 what they become`, "transpose8AVX2", 40)
	f.code(`
MOVQ dst+0(FP), DI
MOVQ dstride+8(FP), R8
MOVQ src+16(FP), SI
MOVQ sstride+24(FP), R9
MOVQ eights+32(FP), CX
SHLQ $2, R8
SHLQ $2, R9

square:
LEAQ (SI)(R9*2), R10
ADDQ R9, R10
LEAQ (R10)(R9*2), R12
ADDQ R9, R12
LEAQ (DI)(R8*2), R11
ADDQ R8, R11
LEAQ (R11)(R8*2), R13
ADDQ R8, R13`)
	row := func(r int, stride string) string {
		return [...]string{"(%s)", "(%s)(" + stride + "*1)", "(%s)(" + stride + "*2)"}[r%3]
	}
	for r := range 8 {
		from := [...]string{"SI", "R10", "R12"}[r/3]
		f.op("VMOVUPS "+row(r, "R9")+", Y%d", from, r)
	}
	for i := 0; i < 8; i += 2 { // Y8+i: a0 b0 a1 b1 of each half, Y9+i: a2 b2 a3 b3
		f.op("VUNPCKLPS Y%d, Y%d, Y%d", i+1, i, 8+i)
		f.op("VUNPCKHPS Y%d, Y%d, Y%d", i+1, i, 9+i)
	}
	for i := 0; i < 8; i += 4 { // Y0+i to Y3+i: column 0 to 3 of four rows in each half
		for low := range 2 {
			f.op("VUNPCKLPD Y%d, Y%d, Y%d", 10+i+low, 8+i+low, i+2*low)
			f.op("VUNPCKHPD Y%d, Y%d, Y%d", 10+i+low, 8+i+low, i+2*low+1)
		}
	}
	for c := range 4 { // columns 0 to 3 and 4 to 7 of all eight rows
		f.op("VPERM2F128 $0x20, Y%d, Y%d, Y%d", 4+c, c, 8+c)
		f.op("VPERM2F128 $0x31, Y%d, Y%d, Y%d", 4+c, c, 12+c)
	}
	for c := range 8 {
		to := [...]string{"DI", "R11", "R13"}[c/3]
		f.op("VMOVUPS Y%d, "+row(c, "R8"), 8+c, to)
	}
	f.code(`
ADDQ $32, SI
LEAQ (DI)(R8*8), DI
DECQ CX
JNZ  square
VZEROUPPER
RET`)
	f.WriteString("\n")
}

func avx2Dot(f *file) {
	f.function(`
func dotAVX2(a, b *float32, n int) float32

	for i := range n {
		sum += a[i] * b[i]
	}

SI  a, DI b: next values    CX values left
Y0-Y3  sums of 8 lanes each    Y4-Y7  values of a    Y8  tail mask`, "dotAVX2", 28)
	f.code(`
MOVQ a+0(FP), SI
MOVQ b+8(FP), DI
MOVQ n+16(FP), CX
VXORPS Y0, Y0, Y0
VXORPS Y1, Y1, Y1
VXORPS Y2, Y2, Y2
VXORPS Y3, Y3, Y3
SUBQ $32, CX
JLT  less_than_32

at_least_32:`)
	for i := range 4 {
		f.op("VMOVUPS %d(SI), Y%d", 32*i, 4+i)
	}
	for i := range 4 {
		f.op("VFMADD231PS %d(DI), Y%d, Y%d", 32*i, 4+i, i)
	}
	f.code(`
ADDQ $128, SI
ADDQ $128, DI
SUBQ $32, CX
JGE  at_least_32

less_than_32:
VADDPS Y2, Y0, Y0
VADDPS Y3, Y1, Y1
ADDQ $24, CX
JLT  less_than_8

at_least_8:
VMOVUPS (SI), Y4
VFMADD231PS (DI), Y4, Y0
ADDQ $32, SI
ADDQ $32, DI
SUBQ $8, CX
JGE  at_least_8

less_than_8:
ADDQ $8, CX
JZ   all_read`)
	f.avx2Mask("CX", "Y8")
	f.code(`
VMASKMOVPS (SI), Y8, Y4
VMASKMOVPS (DI), Y8, Y5
VFMADD231PS Y5, Y4, Y1

all_read:
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

// avx2DotRows4 takes four rows at a time, so that one load of q serves four products. The rows lie far from each other,
// for memory gives nearly twice as much when several places of it are read in turn. Prefetching takes that away again.
func avx2DotRows4(f *file) {
	f.function(`
func dotRows4AVX2(dst, q, rows *float32, n, quarter int)

	for i := range quarter {
		for r := range 4 {
			dst[r*quarter+i] = q · rows[(r*quarter+i)*n:][:n]
		}
	}

DI  dst: next result of the first quarter    R12 quarter    R14 rows left of each
SI  q: next values    DX q    CX values left in the row
R8 R9 R10 R11  next values of the four rows    R13 n
Y0-Y3  sums of the rows, Y4-Y7 second sums    Y8 Y9 values of q    Y10 tail mask`, "dotRows4AVX2", 40)
	f.code(`
MOVQ dst+0(FP), DI
MOVQ q+8(FP), DX
MOVQ rows+16(FP), R8
MOVQ n+24(FP), R13
MOVQ quarter+32(FP), R12
MOVQ R12, R14
MOVQ R12, BX
IMULQ R13, BX
LEAQ (R8)(BX*4), R9
LEAQ (R9)(BX*4), R10
LEAQ (R10)(BX*4), R11

next_rows:
MOVQ DX, SI`)
	for i := range 8 {
		f.op("VXORPS Y%d, Y%d, Y%d", i, i, i)
	}
	f.code(`
MOVQ R13, CX
SUBQ $16, CX
JLT  less_than_16

at_least_16:
VMOVUPS (SI), Y8
VMOVUPS 32(SI), Y9
ADDQ $64, SI`)
	for i := range 4 {
		row := fmt.Sprintf("R%d", 8+i)
		f.op("VFMADD231PS (%s), Y8, Y%d", row, i)
		f.op("VFMADD231PS 32(%s), Y9, Y%d", row, 4+i)
		f.op("ADDQ $64, %s", row)
	}
	f.code("SUBQ $16, CX\nJGE  at_least_16")
	avx2DotRows4Tail(f)
	avx2DotRows4Sums(f)
}

// avx2DotRows4Tail adds the last values of each row, fewer than 16.
func avx2DotRows4Tail(f *file) {
	f.code(`

less_than_16:
ADDQ $8, CX
JLT  less_than_8
VMOVUPS (SI), Y8
ADDQ $32, SI
SUBQ $8, CX`)
	for i := range 4 {
		f.op("VFMADD231PS (R%d), Y8, Y%d", 8+i, i)
		f.op("ADDQ $32, R%d", 8+i)
	}
	f.code(`
less_than_8:
ADDQ $8, CX
JZ   row_read
MOVQ CX, AX`)
	f.avx2Mask("AX", "Y10")
	f.op("VMASKMOVPS (SI), Y10, Y8")
	for i := range 4 {
		f.op("VMASKMOVPS (R%d), Y10, Y9", 8+i)
		f.op("VFMADD231PS Y9, Y8, Y%d", 4+i)
	}
	for i := range 4 {
		f.op("LEAQ (R%d)(CX*4), R%d", 8+i, 8+i)
	}
}

// avx2DotRows4Sums stores the four sums and goes to the next rows.
func avx2DotRows4Sums(f *file) {
	f.code(`
row_read:
VADDPS Y4, Y0, Y0
VADDPS Y5, Y1, Y1
VADDPS Y6, Y2, Y2
VADDPS Y7, Y3, Y3
VHADDPS Y1, Y0, Y0 // pairs of rows 0 and 1
VHADDPS Y3, Y2, Y2 // pairs of rows 2 and 3
VHADDPS Y2, Y0, Y0 // each half: a part of all four sums
VEXTRACTF128 $1, Y0, X1
VADDPS X1, X0, X0
LEAQ (DI)(R12*8), AX
VMOVSS X0, (DI)
VEXTRACTPS $1, X0, (DI)(R12*4)
VEXTRACTPS $2, X0, (AX)
VEXTRACTPS $3, X0, (AX)(R12*4)
ADDQ $4, DI
DECQ R14
JNZ  next_rows
VZEROUPPER
RET
`)
	f.WriteString("\n")
}

func avx2Add(f *file) {
	f.function(`
func addAVX2(dst, src *float32, n int)

	for i := range n {
		dst[i] += src[i]
	}

DI  dst, SI src: next values    CX values left
Y0 Y1  values    Y2 tail mask`, "addAVX2", 24)
	f.code(`
MOVQ dst+0(FP), DI
MOVQ src+8(FP), SI
MOVQ n+16(FP), CX
SUBQ $16, CX
JLT  less_than_16

at_least_16:
VMOVUPS (SI), Y0
VMOVUPS 32(SI), Y1
VADDPS (DI), Y0, Y0
VADDPS 32(DI), Y1, Y1
VMOVUPS Y0, (DI)
VMOVUPS Y1, 32(DI)
ADDQ $64, SI
ADDQ $64, DI
SUBQ $16, CX
JGE  at_least_16

less_than_16:
ADDQ $8, CX
JLT  less_than_8
VMOVUPS (SI), Y0
VADDPS (DI), Y0, Y0
VMOVUPS Y0, (DI)
ADDQ $32, SI
ADDQ $32, DI
SUBQ $8, CX

less_than_8:
ADDQ $8, CX
JZ   all_added`)
	f.avx2Mask("CX", "Y2")
	f.code(`
VMASKMOVPS (SI), Y2, Y0
VMASKMOVPS (DI), Y2, Y1
VADDPS Y1, Y0, Y0
VMASKMOVPS Y0, Y2, (DI)

all_added:
VZEROUPPER
RET
`)
}
