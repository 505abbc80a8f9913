package main

import "fmt"

// avx2Matrix writes the matrix product's blocks of 1 to 6 rows and 16 columns, any number of them below each other: 12 of the 16 registers are sums, enough
// to hide the latency of the multiplier (4 cycles at two a cycle needs 8). All heights sum in the same order, so that a
// row's result does not depend on its neighbours; that low blocks wait for the multiplier shows little, since few rows
// wait for the panel anyway.
func avx2Matrix() string {
	f := newFile("Blocks of the matrix product for AVX2 and FMA: 1 to 6 rows of x times a panel of 16 columns.")
	for height := 1; height <= 6; height++ {
		avx2Block(f, height)
	}
	return f.String()
}

// avx2Ahead is how many cache lines a block has brought nearer for every four k: low blocks are over sooner, and there
// are fewer of them. Matrix.mulPanel counts on it.
func avx2Ahead(height int) int {
	if height <= 4 {
		return 2
	}
	return 1
}

// avx2Row is the address of row r counted from the pointers at, for row 0, and at3, for row 3; stride is in bytes.
func avx2Row(r int, at, at3, stride string) string {
	if r >= 3 {
		at, r = at3, r-3
	}
	return [...]string{"(" + at + ")", "(" + at + ")(" + stride + "*1)", "(" + at + ")(" + stride + "*2)"}[r]
}

func avx2Block(f *file, height int) {
	f.macro(fmt.Sprintf("STEP%d(X, B)", height), avx2Step(height))
	name := fmt.Sprintf("mul%dx16AVX2", height)
	var third [2]string // registers that only blocks of more than three rows need
	if height > 3 {
		third = [2]string{", R10 of row 3", ", R11 row 3"}
	}
	f.function(fmt.Sprintf(`
func %s(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

	for r := range %d * blocks {
		for c := range 16 {
			y[r*ystride+c] = base[r*basestride+c] // 0 when base is nil
			for i := range k {
				y[r*ystride+c] += x[r*xstride+i] * panel[i*16+c]
			}
		}
	}

SI  x: next value of row 0 of the block%s    R9 bytes from row to row
R12 bytes from the end of row 0 to the beginning of the next block's
DI  y: row 0 of the block%s    R8 bytes from row to row
DX  panel: next 16 values    CX k left    R13 blocks left
AX  base: next row    R14 bytes from row to row    BX ahead: what will be read soon
Y0-Y%d  sums, two registers a row    Y12 Y13 values of the panel    Y14 Y15 one value of x`,
		name, height, third[0], third[1], 2*height-1), name, 80)
	avx2BlockLoad(f, height)
	avx2BlockSum(f, height)
	avx2BlockStore(f, height)
}

// avx2BlockSum goes through k, eight at a time: what is done once for them all costs the multiplier little then.
func avx2BlockSum(f *file, height int) {
	const unroll = 8
	pointers := func(k int) {
		f.op("ADDQ $%d, SI", 4*k)
		if height > 3 {
			f.op("ADDQ $%d, R10", 4*k)
		}
		f.op("ADDQ $%d, DX", 64*k)
	}
	f.op("SUBQ $%d, CX", unroll)
	f.op("JLT  less_than_%d", unroll)
	f.code(fmt.Sprintf("\nat_least_%d:", unroll))
	for i := range unroll {
		f.op("STEP%d(%d, %d)", height, 4*i, 64*i)
	}
	lines := unroll / 4 * avx2Ahead(height)
	for line := range lines {
		f.op("PREFETCHT1 %d(BX)", 64*line)
	}
	f.op("ADDQ $%d, BX", 64*lines)
	pointers(unroll)
	f.op("SUBQ $%d, CX", unroll)
	f.op("JGE  at_least_%d", unroll)
	f.code(fmt.Sprintf("\nless_than_%d:\nADDQ $%d, CX\nJZ   summed\n\none_more:", unroll, unroll))
	f.op("STEP%d(0, 0)", height)
	pointers(1)
	f.code("DECQ CX\nJNZ  one_more\n\nsummed:")
}

// avx2Step multiplies one k: two registers of the panel times one value of each row.
func avx2Step(height int) string {
	text := "VMOVUPS B(DX), Y12\nVMOVUPS B+32(DX), Y13\n"
	for r := range height {
		sum, value := 2*r, 14+r%2
		text += fmt.Sprintf("VBROADCASTSS X%s, Y%d\n", avx2Row(r, "SI", "R10", "R9"), value)
		text += fmt.Sprintf("VFMADD231PS Y12, Y%d, Y%d\nVFMADD231PS Y13, Y%d, Y%d\n", value, sum, value, sum+1)
	}
	return text
}

// avx2BlockLoad reads the arguments and sets the sums to the base.
func avx2BlockLoad(f *file, height int) {
	f.code(`
MOVQ y+0(FP), DI
MOVQ ystride+8(FP), R8
MOVQ x+16(FP), SI
MOVQ xstride+24(FP), R9
MOVQ k+40(FP), CX
MOVQ base+48(FP), AX
MOVQ basestride+56(FP), R14
MOVQ ahead+64(FP), BX
MOVQ blocks+72(FP), R13
SHLQ $2, R8
SHLQ $2, R9
SHLQ $2, R14`)
	f.op("IMUL3Q $%d, R9, R12", height)
	f.code("SHLQ $2, CX\nSUBQ CX, R12\n")
	if height > 3 {
		f.code("LEAQ (SI)(R9*2), R10\nADDQ R9, R10\nLEAQ (DI)(R8*2), R11\nADDQ R8, R11")
	}
	f.code("\nnext_block:\nMOVQ panel+32(FP), DX\nMOVQ k+40(FP), CX")
	for i := range 2 * height {
		f.op("VXORPS Y%d, Y%d, Y%d", i, i, i)
	}
	f.code("TESTQ AX, AX\nJZ   no_base")
	for r := range height {
		f.op("VMOVUPS (AX), Y%d", 2*r)
		f.op("VMOVUPS 32(AX), Y%d", 2*r+1)
		f.op("ADDQ R14, AX")
	}
	f.WriteString("\nno_base:\n")
}

func avx2BlockStore(f *file, height int) {
	for r := range height {
		row := avx2Row(r, "DI", "R11", "R8")
		f.op("VMOVUPS Y%d, %s", 2*r, row)
		f.op("VMOVUPS Y%d, 32%s", 2*r+1, row)
	}
	avx2NextBlock(f, height)
	f.code("VZEROUPPER\nRET")
	f.WriteString("\n")
}

// avx2NextBlock goes on with the rows below, if there are more blocks.
func avx2NextBlock(f *file, height int) {
	f.op("ADDQ R12, SI")
	for range height {
		f.op("ADDQ R8, DI")
	}
	if height > 3 {
		f.op("ADDQ R12, R10")
		f.code("LEAQ (DI)(R8*2), R11\nADDQ R8, R11")
	}
	f.code("DECQ R13\nJNZ  next_block")
}
