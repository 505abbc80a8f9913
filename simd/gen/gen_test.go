package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGenerated: the checked-in assembly is what this program writes, and nobody's hand is in it.
func TestGenerated(t *testing.T) {
	want := files()
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != text {
			t.Errorf("%s differs from what gen writes: run go generate ./simd", name)
		}
	}
	checkedIn, err := filepath.Glob("../*.s")
	if err != nil || len(checkedIn) == 0 {
		t.Fatalf("Glob(../*.s) = %v, %v", checkedIn, err)
	}
	for _, path := range checkedIn {
		if _, ok := want[filepath.Base(path)]; !ok {
			t.Errorf("%s is not written by gen", path)
		}
	}
}

// TestNoLegacySSE: see avx2Rows.
func TestNoLegacySSE(t *testing.T) {
	legacy := regexp.MustCompile(`(?m)^\s+[A-UW-Z]\w* [^/\n]*\b[XY](1[0-5]|[0-9])\b`)
	if !legacy.MatchString("\tMOVQ AX, X10\n") {
		t.Fatal("the pattern misses MOVQ AX, X10")
	}
	for name, text := range files() {
		if found := legacy.FindString(text); strings.Contains(name, "amd64") && found != "" {
			t.Errorf("%s: %q, want the instruction of that kind that begins with V", name, found)
		}
	}
}

// TestEncodings compares the instructions that are encoded by hand with the words that llvm-mc gives.
func TestEncodings(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{fadd(1, 2, 3), "WORD $0x4e23d441 // fadd v1.4s, v2.4s, v3.4s"},
		{faddp(0, 31, 16), "WORD $0x6e30d7e0 // faddp v0.4s, v31.4s, v16.4s"},
		{fsub(1, 2, 3), "WORD $0x4ea3d441 // fsub v1.4s, v2.4s, v3.4s"},
		{fmul(1, 2, 3), "WORD $0x6e23dc41 // fmul v1.4s, v2.4s, v3.4s"},
		{fdiv(1, 2, 3), "WORD $0x6e23fc41 // fdiv v1.4s, v2.4s, v3.4s"},
		{fmin(1, 2, 3), "WORD $0x4ea3f441 // fmin v1.4s, v2.4s, v3.4s"},
		{fmax(1, 2, 3), "WORD $0x4e23f441 // fmax v1.4s, v2.4s, v3.4s"},
		{fmaxp(1, 2, 3), "WORD $0x6e23f441 // fmaxp v1.4s, v2.4s, v3.4s"},
		{fcvtl(1, 2), "WORD $0x0e217841 // fcvtl v1.4s, v2.4h"},
		{fcvtl2(31, 2), "WORD $0x4e21785f // fcvtl2 v31.4s, v2.8h"},
		{fmlaLane(15, 24, 23, 0), "WORD $0x4f97130f // fmla v15.4s, v24.4s, v23.s[0]"},
		{fmlaLane(0, 27, 16, 3), "WORD $0x4fb01b60 // fmla v0.4s, v27.4s, v16.s[3]"},
	} {
		if test.got != test.want {
			t.Errorf("encoded %q, want %q", test.got, test.want)
		}
	}
}
