package main

import (
	"fmt"
	"strings"
)

// avx512Height is the height of the tallest block: 28 of the 32 registers are sums, 2 hold values of the panel, 2 of x.
const avx512Height = 14

// avx512Matrix writes the matrix product's blocks of 1 to 14 rows and 32 columns, any number of them below each other.
// All heights sum in the same order, as on AVX2.
func avx512Matrix() string {
	f := newFile("Blocks of the matrix product for AVX-512: 1 to 14 rows of x times a panel of 32 columns.")
	for height := 1; height <= avx512Height; height++ {
		avx512Block(f, height)
	}
	return f.String()
}

// avx512Ahead is how many cache lines a block has brought nearer for every four k: half of a panel in all, since up to
// 14 rows are one block and up to 28 are two. Matrix.mulPanel counts on it.
const avx512Ahead = 4

// avx512Bases are the registers that point to rows 0, 3, 6, 9 and 12 of x.
var avx512Bases = [...]string{"SI", "R10", "R11", "R12", "R13"}

// avx512Row is the address of row r of x.
func avx512Row(r int) string {
	return "(" + avx512Bases[r/3] + ")" + [...]string{"", "(R9*1)", "(R9*2)"}[r%3]
}

func avx512Block(f *file, height int) {
	bases := avx512Bases[:(height+2)/3]
	f.macro(fmt.Sprintf("STEP%d(X, B)", height), avx512Step(height))
	name := fmt.Sprintf("mul%dx32AVX512", height)
	more := "" // what only blocks of more than three rows need
	for i, base := range bases[1:] {
		more += fmt.Sprintf(", %s of row %d", base, 3*i+3)
	}
	f.function(fmt.Sprintf(`
func %s(y *float32, ystride int, x *float32, xstride int, panel *float32, k int, base *float32, basestride int, ahead unsafe.Pointer, blocks int)

	for r := range %d * blocks {
		for c := range 32 {
			y[r*ystride+c] = base[r*basestride+c] // 0 when base is nil
			for i := range k {
				y[r*ystride+c] += x[r*xstride+i] * panel[i*32+c]
			}
		}
	}

SI  x: next value of row 0 of the block%s    R9 bytes from row to row
R15 bytes from the end of row 0 to the beginning of the next block's
DI  y: next row    R8 bytes from row to row
DX  panel: next 32 values    CX k left    blocks (an argument) blocks left
AX  base: next row    R14 bytes from row to row    BX ahead: what will be read soon
Z0-Z%d  sums, two registers a row    Z28 Z29 values of the panel    Z30 Z31 one value of x`,
		name, height, more, 2*height-1), name, 80)
	avx512BlockLoad(f, height)
	avx512BlockSum(f, height, bases)
	avx512BlockStore(f, height, bases)
}

// avx512BlockSum goes through k, four at a time.
func avx512BlockSum(f *file, height int, bases []string) {
	f.code("SUBQ $4, CX\nJLT  less_than_4\n\nat_least_4:")
	for i := range 4 {
		f.op("STEP%d(%d, %d)", height, 4*i, 128*i)
	}
	for line := range avx512Ahead {
		f.op("PREFETCHT1 %d(BX)", 64*line)
	}
	f.op("ADDQ $%d, BX", 64*avx512Ahead)
	for _, base := range bases {
		f.op("ADDQ $16, %s", base)
	}
	f.code("ADDQ $512, DX\nSUBQ $4, CX\nJGE  at_least_4\n\nless_than_4:\nADDQ $4, CX\nJZ   summed\n\none_more:")
	f.op("STEP%d(0, 0)", height)
	for _, base := range bases {
		f.op("ADDQ $4, %s", base)
	}
	f.code("ADDQ $128, DX\nDECQ CX\nJNZ  one_more\n\nsummed:")
}

// avx512Step multiplies one k: two registers of the panel times one value of each row.
func avx512Step(height int) string {
	var text strings.Builder
	text.WriteString("VMOVUPS B(DX), Z28\nVMOVUPS B+64(DX), Z29\n")
	for r := range height {
		sum, value := 2*r, 30+r%2
		fmt.Fprintf(&text, "VBROADCASTSS X%s, Z%d\n", avx512Row(r), value)
		fmt.Fprintf(&text, "VFMADD231PS Z28, Z%d, Z%d\nVFMADD231PS Z29, Z%d, Z%d\n", value, sum, value, sum+1)
	}
	return text.String()
}

// avx512BlockLoad reads the arguments and sets the sums to the base.
func avx512BlockLoad(f *file, height int) {
	f.code(`
MOVQ y+0(FP), DI
MOVQ ystride+8(FP), R8
MOVQ x+16(FP), SI
MOVQ xstride+24(FP), R9
MOVQ k+40(FP), CX
MOVQ base+48(FP), AX
MOVQ basestride+56(FP), R14
MOVQ ahead+64(FP), BX
SHLQ $2, R8
SHLQ $2, R9
SHLQ $2, R14`)
	f.op("IMUL3Q $%d, R9, R15", height)
	f.code("SHLQ $2, CX\nSUBQ CX, R15\n")
	for i := 1; 3*i < height; i++ {
		f.op("LEAQ (%s)(R9*2), %s", avx512Bases[i-1], avx512Bases[i])
		f.op("ADDQ R9, %s", avx512Bases[i])
	}
	f.code("\nnext_block:\nMOVQ panel+32(FP), DX\nMOVQ k+40(FP), CX")
	for i := range 2 * height {
		f.op("VPXORD Z%d, Z%d, Z%d", i, i, i)
	}
	f.code("TESTQ AX, AX\nJZ   no_base")
	for r := range height {
		f.op("VMOVUPS (AX), Z%d", 2*r)
		f.op("VMOVUPS 64(AX), Z%d", 2*r+1)
		f.op("ADDQ R14, AX")
	}
	f.WriteString("\nno_base:\n")
}

// avx512BlockStore stores the sums and goes on with the rows below, if there are more blocks.
func avx512BlockStore(f *file, height int, bases []string) {
	for r := range height {
		f.op("VMOVUPS Z%d, (DI)", 2*r)
		f.op("VMOVUPS Z%d, 64(DI)", 2*r+1)
		f.op("ADDQ R8, DI")
	}
	for _, base := range bases {
		f.op("ADDQ R15, %s", base)
	}
	f.code("DECQ blocks+72(FP)\nJNZ  next_block\nVZEROUPPER\nRET")
	f.WriteString("\n")
}
