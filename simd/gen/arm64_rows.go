package main

import (
	"fmt"
	"slices"
	"strings"
)

// neonRows writes the row functions. Their formulas and coefficients are those of generic.go, where they are derived.
// FMAX and FMIN give NaN when one value is NaN, so NaN needs no care.
func neonRows() string {
	f := newFile("GELU, softmax and layer norm for NEON. The formulas are derived in generic.go.")
	f.note("the constants of softmax, then those of GELU only")
	for i, c := range neonConstants {
		fmt.Fprintf(f, "DATA constants<>+%d(SB)/4, $0x%08x // %s = %s\n", 4*i, c.bits, c.name, c.about)
	}
	fmt.Fprintf(f, "GLOBL constants<>(SB), RODATA|NOPTR, $%d\n\n", 4*len(neonConstants))
	neonGELU(f)
	neonSoftmax(f)
	neonLayerNorm(f)
	return f.String()
}

// neonConstants stay in registers, each in all lanes, from firstConstant on: multiply-add overwrites what it adds to, so
// a coefficient is moved there first, and a move between registers costs next to nothing.
var neonConstants = slices.Concat(expConstants, geluConstants)

const firstConstant = 10

// held returns the register of a constant.
func held(name string) int {
	i := slices.IndexFunc(neonConstants, func(c constant) bool { return c.name == name })
	if i < 0 {
		panic("no constant " + name)
	}
	return firstConstant + i
}

// neonHold loads the first count constants, spoiling R4.
func neonHold(f *file, count int) {
	f.op("MOVD $constants<>(SB), R4")
	for i := range count {
		f.op("VLD1R.P 4(R4), [V%d.S4]", firstConstant+i)
	}
}

func vmov(d, n int) string { return fmt.Sprintf("VMOV V%d.B16, V%d.B16", n, d) }

// vfmla adds to register d the product of registers n and m, vfmls subtracts it.
func vfmla(d, n, m int) string { return fmt.Sprintf("VFMLA V%d.S4, V%d.S4, V%d.S4", m, n, d) }
func vfmls(d, n, m int) string { return fmt.Sprintf("VFMLS V%d.S4, V%d.S4, V%d.S4", m, n, d) }

// neonPolynomial sets register d to the polynomial of register x whose coefficients, highest first, are these constants.
// It spoils register spare.
func neonPolynomial(d, spare, x int, coefficients ...string) string {
	var lines []string
	to, other := d, spare
	if len(coefficients)%2 != 0 { // so that the last step ends in d
		to, other = spare, d
	}
	sum := held(coefficients[0])
	for _, c := range coefficients[1:] {
		lines = append(lines, vmov(to, held(c)), vfmla(to, sum, x))
		sum, to, other = to, other, to
	}
	return lined(lines...)
}

func lined(lines ...string) string { return strings.Join(lines, "\n") }

// neonExp2 sets register x to 2 to its power for x <= 0 or NaN, as exp8 in amd64_rows.go does. It spoils n, p and q.
func neonExp2(x, n, p, q int) string {
	return lined(
		fmax(x, x, held("exp2Min")),
		fadd(n, x, held("rounder")), // its last bits are the exponent
		fsub(p, n, held("rounder")),
		fsub(x, x, p),
		fmt.Sprintf("VSHL $23, V%d.S4, V%d.S4", n, n),
		neonPolynomial(p, q, x, "exp2_0", "exp2_1", "exp2_2", "exp2_3", "exp2_4", "one"),
		fmul(x, n, p))
}

func neonLabel(f *file, name string) { fmt.Fprintf(f, "\n%s:\n", name) }

// each is one pass over R3 values that begin at R2, with what it does to V0. Its body may use the values of further
// operands, R5 and R6, in V1 and V2.
type each struct {
	operands int
	body     string
	sum      int // the register, if any, to which the results are added
}

// neonEach writes the pass, four values at a time and the last ones singly, in the lowest lane: nothing beyond the end
// is touched. It spoils R0, R1 and the operands' pointers. The label begins those of the pass.
func neonEach(f *file, label string, e each) {
	load := func(at string) {
		for i := range e.operands {
			f.op(at, 5+i, 1+i)
		}
		f.code(e.body)
	}
	f.op("MOVD R2, R0")
	f.op("SUBS $4, R3, R1")
	f.op("BLT  %s_less_than_4", label)
	neonLabel(f, label+"_4")
	f.op("VLD1 (R0), [V0.S4]")
	load("VLD1.P 16(R%d), [V%d.S4]")
	f.op("VST1.P [V0.S4], 16(R0)")
	if e.sum > 0 {
		f.code(fadd(e.sum, e.sum, 0))
	}
	f.op("SUBS $4, R1, R1")
	f.op("BGE  %s_4", label)
	neonLabel(f, label+"_less_than_4")
	f.op("ADDS $4, R1, R1")
	f.op("BEQ  %s_done", label)
	neonLabel(f, label+"_1")
	f.op("FMOVS (R0), F0")
	load("FMOVS.P 4(R%d), F%d")
	f.op("FMOVS.P F0, 4(R0)")
	if e.sum > 0 {
		f.op("FMOVS F0, F0 // clears the lanes above")
		f.code(fadd(e.sum, e.sum, 0))
	}
	f.op("SUBS $1, R1, R1")
	f.op("BNE  %s_1", label)
	neonLabel(f, label+"_done")
}

// fold brings R3 values that begin at R2 down to one.
type fold struct {
	begin string // sets register %d to what holds for no values, or for the first one alone
	step  func(result, value int) string
	join  func(d, n, m int) string // of two results
	pairs func(d, n, m int) string // joins lanes next to each other
}

// neonFold writes the fold, 16 values at a time with four results in turn, then fewer; the last ones go through the
// lowest lane, which holds the result in V4. It spoils V0-V7, R0 and R1.
func neonFold(f *file, label string, o fold) {
	for i := range 4 {
		f.op(o.begin, 4+i)
	}
	f.op("MOVD R2, R0")
	f.op("SUBS $16, R3, R1")
	f.op("BLT  %s_less_than_16", label)
	neonLabel(f, label+"_16")
	f.op("VLD1.P 64(R0), [V0.S4, V1.S4, V2.S4, V3.S4]")
	for i := range 4 {
		f.code(o.step(4+i, i))
	}
	f.op("SUBS $16, R1, R1")
	f.op("BGE  %s_16", label)
	neonLabel(f, label+"_less_than_16")
	f.code(lined(o.join(4, 4, 5), o.join(6, 6, 7), o.join(4, 4, 6)))
	f.op("ADDS $12, R1, R1")
	f.op("BLT  %s_less_than_4", label)
	neonLabel(f, label+"_4")
	f.op("VLD1.P 16(R0), [V0.S4]")
	f.code(o.step(4, 0))
	f.op("SUBS $4, R1, R1")
	f.op("BGE  %s_4", label)
	neonLabel(f, label+"_less_than_4")
	f.code(lined(o.pairs(4, 4, 4), o.pairs(4, 4, 4)))
	f.op("ADDS $4, R1, R1")
	f.op("BEQ  %s_done", label)
	neonLabel(f, label+"_1")
	f.op("FMOVS.P 4(R0), F0")
	f.code(o.step(4, 0))
	f.op("SUBS $1, R1, R1")
	f.op("BNE  %s_1", label)
	neonLabel(f, label+"_done")
}

func neonGELU(f *file) {
	f.function(`
func geluNEON(x *float32, n int)

	for i := range n {
		x[i] = max(x[i], 0) - h(min(|x[i]|, 14))
	}

R2  x, R0 next values    R3 n, R1 values left    V0-V5 work    V6 zeros    V10-V31 constants`, "geluNEON", 16)
	f.code("MOVD x+0(FP), R2\nMOVD n+8(FP), R3\nVEOR V6.B16, V6.B16, V6.B16")
	neonHold(f, len(neonConstants))
	neonEach(f, "each", each{body: lined(
		fmt.Sprintf("VAND V%d.B16, V0.B16, V1.B16", held("absMask")),
		fmin(1, 1, held("geluMax"))+": t = min(|x|, 14)",
		vmov(2, held("one")),
		vfmla(2, 1, held("geluP")),
		fdiv(2, held("one"), 2)+": u = 1/(1+0.4t)",
		fmul(3, 1, held("minusHalfLog2e")),
		fmul(3, 3, 1)+": -t²/2 in base 2",
		neonPolynomial(4, 5, 2, "tail0", "tail1", "tail2", "tail3", "tail4", "tail5", "tail6", "tail7", "tail8"),
		fmul(4, 4, 1)+": t*Q(t)*exp(t²/2)",
		neonExp2(3, 1, 2, 5),
		fmax(0, 0, 6),
		vfmls(0, 4, 3),
	)})
	f.op("RET")
	f.WriteString("\n")
}

func neonSoftmax(f *file) {
	f.function(`
func softmaxNEON(x *float32, n int, scale float32)

	top := max(x[i] for all i)
	for i := range n {
		x[i] = exp2((x[i]-top) * scale*log2e)
		sum += x[i]
	}
	for i := range n {
		x[i] /= sum
	}

R2  x, R0 next values    R3 n, R1 values left
V0-V7  work, V4 also the sum, then 1/sum    V8 top    V9 scale*log2e    V10-V18 constants`, "softmaxNEON", 20)
	f.code("MOVD x+0(FP), R2\nMOVD n+8(FP), R3\nFMOVS scale+16(FP), F9")
	neonHold(f, len(expConstants))
	f.op("FMULS F%d, F9, F9", held("log2e"))
	f.op("VDUP V9.S[0], V9.S4")
	neonFold(f, "top", fold{
		begin: "VLD1R (R2), [V%d.S4]",
		step:  func(result, value int) string { return fmax(result, result, value) },
		join:  fmax, pairs: fmaxp,
	})
	f.code("VDUP V4.S[0], V8.S4\nVEOR V4.B16, V4.B16, V4.B16")
	neonEach(f, "exp", each{body: lined(fsub(0, 0, 8), fmul(0, 0, 9), neonExp2(0, 1, 2, 3)), sum: 4})
	f.code(lined(faddp(4, 4, 4), faddp(4, 4, 4)))
	f.code(fdiv(4, held("one"), 4))
	neonEach(f, "divide", each{body: fmul(0, 0, 4)})
	f.op("RET")
	f.WriteString("\n")
}

func neonLayerNorm(f *file) {
	f.function(`
func layerNormNEON(x, gamma, beta *float32, n int, eps float32)

	mean := Σ x[i] / n
	variance := Σ (x[i]-mean)² / n
	for i := range n {
		x[i] = (x[i]-mean)/sqrt(variance+eps)*gamma[i] + beta[i]
	}

R2  x, R0 next values    R3 n, R1 values left    R5 gamma, R6 beta: next values
V0-V7  work    V8 mean    V9 1/deviation    V10 n, in its lowest lane`, "layerNormNEON", 36)
	f.code(`
MOVD x+0(FP), R2
MOVD gamma+8(FP), R5
MOVD beta+16(FP), R6
MOVD n+24(FP), R3
SCVTFS R3, F10`)
	sum := fold{
		begin: "VEOR V%[1]d.B16, V%[1]d.B16, V%[1]d.B16",
		step:  func(result, value int) string { return fadd(result, result, value) },
		join:  fadd, pairs: faddp,
	}
	neonFold(f, "mean", sum)
	f.code("FDIVS F10, F4, F4\nVDUP V4.S[0], V8.S4")
	sum.step = func(result, value int) string { return lined(fsub(value, value, 8), vfmla(result, value, value)) }
	neonFold(f, "squares", sum)
	f.code(`
FDIVS F10, F4, F4
FMOVS eps+32(FP), F0
FADDS F0, F4, F4
FSQRTS F4, F4
FMOVS $1.0, F0
FDIVS F4, F0, F4
VDUP V4.S[0], V9.S4`)
	neonEach(f, "scale", each{operands: 2, body: lined(fsub(0, 0, 8), fmul(0, 0, 9), vfmla(2, 0, 1), vmov(0, 2))})
	f.op("RET")
}
