package main

import "fmt"

// The Go assembler lacks these NEON instructions; they are encoded, and followed by their mnemonic.

func neonThree(op string, code uint32, d, n, m int) string {
	return fmt.Sprintf("WORD $0x%08x // %s v%d.4s, v%d.4s, v%d.4s", code|uint32(m<<16|n<<5|d), op, d, n, m)
}

func fadd(d, n, m int) string  { return neonThree("fadd", 0x4e20d400, d, n, m) }
func faddp(d, n, m int) string { return neonThree("faddp", 0x6e20d400, d, n, m) }
func fsub(d, n, m int) string  { return neonThree("fsub", 0x4ea0d400, d, n, m) }
func fmul(d, n, m int) string  { return neonThree("fmul", 0x6e20dc00, d, n, m) }
func fdiv(d, n, m int) string  { return neonThree("fdiv", 0x6e20fc00, d, n, m) }
func fmin(d, n, m int) string  { return neonThree("fmin", 0x4ea0f400, d, n, m) } // NaN if one is NaN, as the next two
func fmax(d, n, m int) string  { return neonThree("fmax", 0x4e20f400, d, n, m) }
func fmaxp(d, n, m int) string { return neonThree("fmaxp", 0x6e20f400, d, n, m) }

// fmlaLane adds to register d the product of register n and one lane of register m.
func fmlaLane(d, n, m, lane int) string {
	code := 0x4f801000 | uint32(lane&1<<21|m<<16|lane>>1<<11|n<<5|d)
	return fmt.Sprintf("WORD $0x%08x // fmla v%d.4s, v%d.4s, v%d.s[%d]", code, d, n, m, lane)
}

// fcvtl widens the four halves in the lower half of register n to register d, fcvtl2 those in the upper half.
func fcvtl(d, n int) string {
	return fmt.Sprintf("WORD $0x%08x // fcvtl v%d.4s, v%d.4h", 0x0e217800|n<<5|d, d, n)
}

func fcvtl2(d, n int) string {
	return fmt.Sprintf("WORD $0x%08x // fcvtl2 v%d.4s, v%d.8h", 0x4e217800|n<<5|d, d, n)
}

// neonVectors writes the dot products, the addition, the widening and the transposition.
func neonVectors() string {
	f := newFile("Dot products, addition, widening and transposition for NEON.")
	neonDot(f)
	neonDotRows4(f)
	neonAdd(f)
	neonWiden(f)
	neonTranspose(f)
	return f.String()
}

func neonAdd(f *file) {
	f.function(`
func addNEON(dst, src *float32, n int)

	for i := range n {
		dst[i] += src[i]
	}

R2  dst, R0 next values    R3 n, R1 values left    R5 src: next values    V0 V1 values`, "addNEON", 24)
	f.code("MOVD dst+0(FP), R2\nMOVD src+8(FP), R5\nMOVD n+16(FP), R3")
	neonEach(f, "each", each{operands: 1, body: fadd(0, 0, 1)})
	f.op("RET")
	f.WriteString("\n")
}

func neonWiden(f *file) {
	f.function(`
func widenNEON(dst *float32, src *uint16, eights int)

	for i := range 8 * eights {
		dst[i] = fromHalf(src[i])
	}

R0  dst, R1 src: next values    R2 eights left    V0 halves    V1 V2 their values`, "widenNEON", 24)
	f.code(`
MOVD dst+0(FP), R0
MOVD src+8(FP), R1
MOVD eights+16(FP), R2
CBZ  R2, widened

eight:
VLD1.P 16(R1), [V0.H8]`)
	f.code(fcvtl(1, 0))
	f.code(fcvtl2(2, 0))
	f.code(`
VST1.P [V1.S4, V2.S4], 32(R0)
SUBS $1, R2, R2
BNE  eight

widened:
RET`)
	f.WriteString("\n")
}

// neonTranspose moves squares of 4 by 4: single values change places between rows next to each other, then pairs.
func neonTranspose(f *file) {
	f.function(`
func transpose4NEON(dst *float32, dstride int, src *float32, sstride, fours int)

	for i := range 4 * fours {
		for r := range 4 {
			dst[i*dstride+r] = src[r*sstride+i]
		}
	}

R0  dst: next row    R1 bytes from row to row    R2 R3 R4 R5 next values of the rows of src    R6 fours left
V0-V3  rows of the square, later its columns    V4-V7 in between`, "transpose4NEON", 40)
	f.code(`
MOVD dst+0(FP), R0
MOVD dstride+8(FP), R1
MOVD src+16(FP), R2
MOVD sstride+24(FP), R5
MOVD fours+32(FP), R6
LSL  $2, R1, R1
LSL  $2, R5, R5
ADD  R5, R2, R3
ADD  R5, R3, R4
ADD  R5, R4, R5

square:`)
	for r := range 4 {
		f.op("VLD1.P 16(R%d), [V%d.S4]", 2+r, r)
	}
	f.code(`
VTRN1 V1.S4, V0.S4, V4.S4 // a0 b0 a2 b2
VTRN2 V1.S4, V0.S4, V5.S4 // a1 b1 a3 b3
VTRN1 V3.S4, V2.S4, V6.S4 // c0 d0 c2 d2
VTRN2 V3.S4, V2.S4, V7.S4 // c1 d1 c3 d3
VTRN1 V6.D2, V4.D2, V0.D2 // a0 b0 c0 d0
VTRN1 V7.D2, V5.D2, V1.D2
VTRN2 V6.D2, V4.D2, V2.D2
VTRN2 V7.D2, V5.D2, V3.D2`)
	for c := range 4 {
		f.op("VST1 [V%d.S4], (R0)", c)
		f.op("ADD  R1, R0, R0")
	}
	f.code("SUBS $1, R6, R6\nBNE  square\nRET")
}

func neonDot(f *file) {
	f.function(`
func dotNEON(a, b *float32, n int) float32

	for i := range n {
		sum += a[i] * b[i]
	}

R0  a, R1 b: next values    R2 values left
V0-V3  sums of 4 lanes each    V4-V7 values of a    V8-V11 values of b`, "dotNEON", 28)
	f.code(`
MOVD a+0(FP), R0
MOVD b+8(FP), R1
MOVD n+16(FP), R2
VEOR V0.B16, V0.B16, V0.B16
VEOR V1.B16, V1.B16, V1.B16
VEOR V2.B16, V2.B16, V2.B16
VEOR V3.B16, V3.B16, V3.B16
SUBS $16, R2, R2
BLT  less_than_16

at_least_16:
VLD1.P 64(R0), [V4.S4, V5.S4, V6.S4, V7.S4]
VLD1.P 64(R1), [V8.S4, V9.S4, V10.S4, V11.S4]
VFMLA V4.S4, V8.S4, V0.S4
VFMLA V5.S4, V9.S4, V1.S4
VFMLA V6.S4, V10.S4, V2.S4
VFMLA V7.S4, V11.S4, V3.S4
SUBS $16, R2, R2
BGE  at_least_16

less_than_16:
ADDS $12, R2, R2
BLT  less_than_4

at_least_4:
VLD1.P 16(R0), [V4.S4]
VLD1.P 16(R1), [V8.S4]
VFMLA V4.S4, V8.S4, V0.S4
SUBS $4, R2, R2
BGE  at_least_4

less_than_4:`)
	f.code(fadd(0, 0, 1))
	f.code(fadd(2, 2, 3))
	f.code(fadd(0, 0, 2))
	f.code(faddp(0, 0, 0))
	f.code(faddp(0, 0, 0))
	f.code(`
ADDS $4, R2, R2
BEQ  all_read

one_more:
FMOVS.P 4(R0), F4
FMOVS.P 4(R1), F8
FMADDS F4, F0, F8, F0
SUBS $1, R2, R2
BNE  one_more

all_read:
FMOVS F0, ret+24(FP)
RET
`)
	f.WriteString("\n")
}

func neonDotRows4(f *file) {
	f.function(`
func dotRows4NEON(dst, q, rows *float32, n, quarter int)

	for i := range quarter {
		for r := range 4 {
			dst[r*quarter+i] = q · rows[(r*quarter+i)*n:][:n]
		}
	}

R0  dst: next result of the first quarter    R4 rows left of each quarter    R11 bytes from quarter to quarter of dst
R5  q: next values    R1 q    R6 values left in the row
R7 R8 R9 R10  next values of the four rows    R3 values in a row    R12 dst of the other quarters
V0-V3  sums of the rows, V4-V7 second sums    V16-V19 values of q    V20-V23 values of a row`, "dotRows4NEON", 40)
	f.code(`
MOVD dst+0(FP), R0
MOVD q+8(FP), R1
MOVD rows+16(FP), R7
MOVD n+24(FP), R3
MOVD quarter+32(FP), R4
LSL  $2, R4, R11
MUL  R11, R3, R12
ADD  R12, R7, R8
ADD  R12, R8, R9
ADD  R12, R9, R10

next_rows:
MOVD R1, R5`)
	for i := range 8 {
		f.op("VEOR V%d.B16, V%d.B16, V%d.B16", i, i, i)
	}
	f.code(`
SUBS $16, R3, R6
BLT  less_than_16

at_least_16:
VLD1.P 64(R5), [V16.S4, V17.S4, V18.S4, V19.S4]`)
	for r := range 4 {
		f.op("VLD1.P 64(R%d), [V20.S4, V21.S4, V22.S4, V23.S4]", 7+r)
		for i := range 4 {
			f.op("VFMLA V%d.S4, V%d.S4, V%d.S4", 20+i, 16+i, r+4*(i%2))
		}
	}
	f.code("SUBS $16, R6, R6\nBGE  at_least_16")
	neonDotRows4Tail(f)
}

// neonDotRows4Tail adds the last values of each row, fewer than 16, stores the four sums and goes to the next rows.
func neonDotRows4Tail(f *file) {
	f.code(`

less_than_16:
ADDS $12, R6, R6
BLT  less_than_4

at_least_4:
VLD1.P 16(R5), [V16.S4]`)
	for r := range 4 {
		f.op("VLD1.P 16(R%d), [V20.S4]", 7+r)
		f.op("VFMLA V20.S4, V16.S4, V%d.S4", r)
	}
	f.code(`
SUBS $4, R6, R6
BGE  at_least_4

less_than_4:`)
	for r := range 4 {
		f.code(fadd(r, r, r+4))
	}
	f.code(faddp(0, 0, 1))
	f.code(faddp(2, 2, 3))
	f.code(faddp(0, 0, 2)) // lane r: the sum of row r
	f.code(`
ADDS $4, R6, R6
BEQ  row_read

one_more:
VLD1R.P 4(R5), [V16.S4]
VLD1.P 4(R7), V20.S[0]
VLD1.P 4(R8), V20.S[1]
VLD1.P 4(R9), V20.S[2]
VLD1.P 4(R10), V20.S[3]
VFMLA V20.S4, V16.S4, V0.S4
SUBS $1, R6, R6
BNE  one_more

row_read:
ADD  R11, R0, R12
VST1.P V0.S[0], 4(R0)
VST1 V0.S[1], (R12)
ADD  R11, R12, R12
VST1 V0.S[2], (R12)
ADD  R11, R12, R12
VST1 V0.S[3], (R12)
SUBS $1, R4, R4
BNE  next_rows
RET
`)
}
