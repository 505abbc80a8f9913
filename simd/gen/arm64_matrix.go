package main

import "fmt"

// neonMatrix writes the matrix product's blocks of 1 to 8 rows and 8 columns, any number of them below each other: at
// full height 16 of the 32 registers are sums, 8 hold four values of each row, and the products take the value by its
// lane. All heights sum in the same order, as on AVX2.
func neonMatrix() string {
	f := newFile("Blocks of the matrix product for NEON: 1 to 8 rows of x times a panel of 8 columns.")
	for height := 1; height <= 8; height++ {
		neonBlock(f, height)
	}
	return f.String()
}

func neonBlock(f *file, height int) {
	name := fmt.Sprintf("mul%dx8NEON", height)
	f.function(fmt.Sprintf(`
func %s(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

	for r := range %d * blocks {
		for c := range 8 {
			y[r*ystride+c] = base[r*basestride+c] // 0 when base is nil
			for i := range k {
				y[r*ystride+c] += x[r*xstride+i] * panel[i*8+c]
			}
		}
	}

R0  y: next row    R1 bytes from row to row    R2-R%d next values of the block's rows of x
R10 panel: next 8 values    R11 k left    R12 base: next row    R13 bytes from row to row of x, R14 of base
R15 ahead: what will be read soon    R19 blocks left    R20 bytes from the end of a row of x to the next block's
V0-V%d  sums, two registers a row    V16-V%d values of the rows    V24-V27 values of the panel`,
		name, height, 1+height, 2*height-1, 15+height), name, 80)
	neonBlockLoad(f, height)
	neonBlockSum(f, height)
	neonBlockStore(f, height)
}

// neonBlockSum goes through k, four at a time. For every eight it has one cache line brought nearer, low blocks two:
// Matrix.mulPanel counts on it.
func neonBlockSum(f *file, height int) {
	f.code("SUBS $4, R11, R11\nBLT  less_than_4\n\nat_least_4:")
	for r := range height {
		f.op("VLD1.P 16(R%d), [V%d.S4]", 2+r, 16+r)
	}
	f.op("PRFM (R15), PLDL2KEEP")
	if height <= 4 {
		f.op("ADD  $64, R15, R15")
	} else {
		f.op("ADD  $32, R15, R15 // each line twice")
	}
	for lane := range 4 {
		b := 24 + lane%2*2
		f.op("VLD1.P 32(R10), [V%d.S4, V%d.S4]", b, b+1)
		neonProducts(f, height, b, lane)
	}
	f.code("SUBS $4, R11, R11\nBGE  at_least_4\n\nless_than_4:\nADDS $4, R11, R11\nBEQ  summed\n\none_more:")
	for r := range height {
		f.op("FMOVS.P 4(R%d), F%d", 2+r, 16+r)
	}
	f.op("VLD1.P 32(R10), [V24.S4, V25.S4]")
	neonProducts(f, height, 24, 0)
	f.code("SUBS $1, R11, R11\nBNE  one_more\n\nsummed:")
}

// neonProducts adds to every row's sums the panel's registers b and b+1 times one lane of the row's values.
func neonProducts(f *file, height, b, lane int) {
	for r := range height {
		f.code(fmlaLane(2*r, b, 16+r, lane))
		f.code(fmlaLane(2*r+1, b+1, 16+r, lane))
	}
}

// neonBlockLoad reads the arguments and sets the sums to the base.
func neonBlockLoad(f *file, height int) {
	f.code(`
MOVD y+0(FP), R0
MOVD ystride+8(FP), R1
MOVD x+16(FP), R2
MOVD xstride+24(FP), R13
MOVD k+40(FP), R11
MOVD base+48(FP), R12
MOVD basestride+56(FP), R14
MOVD ahead+64(FP), R15
MOVD blocks+72(FP), R19
LSL  $2, R1, R1
LSL  $2, R13, R13
LSL  $2, R14, R14`)
	f.op("MOVD $%d, R20", height)
	f.code("MUL  R13, R20, R20\nSUB  R11<<2, R20, R20")
	for r := 1; r < height; r++ {
		f.op("ADD  R13, R%d, R%d", 1+r, 2+r)
	}
	neonLabel(f, "next_block")
	f.code("MOVD panel+32(FP), R10\nMOVD k+40(FP), R11")
	for i := range 2 * height {
		f.op("VEOR V%d.B16, V%d.B16, V%d.B16", i, i, i)
	}
	f.code("CBZ  R12, no_base")
	for r := range height {
		f.op("VLD1 (R12), [V%d.S4, V%d.S4]", 2*r, 2*r+1)
		f.op("ADD  R14, R12, R12")
	}
	f.WriteString("\nno_base:\n")
}

// neonBlockStore stores the sums and goes on with the rows below, if there are more blocks.
func neonBlockStore(f *file, height int) {
	for r := range height {
		f.op("VST1 [V%d.S4, V%d.S4], (R0)", 2*r, 2*r+1)
		f.op("ADD  R1, R0, R0")
		f.op("ADD  R20, R%d, R%d", 2+r, 2+r)
	}
	f.code("SUBS $1, R19, R19\nBNE  next_block\nRET")
	f.WriteString("\n")
}
