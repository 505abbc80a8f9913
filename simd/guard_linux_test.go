package simd

import (
	"fmt"
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/klauspost/cpuid/v2"
	"golang.org/x/sys/unix"
)

// guarded returns n values that end where an unreadable page begins (atEnd) or begin where one ends: touching the
// byte beside them is a fault. Ordinary tests cannot see a read past the end, because zeros follow.
func guarded(t *testing.T, n int, atEnd bool) []float32 {
	t.Helper()
	page := unix.Getpagesize()
	inner := (4*n + page - 1) / page * page
	if inner == 0 {
		inner = page
	}
	memory, err := unix.Mmap(-1, 0, inner+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(memory) })
	for _, border := range [][]byte{memory[:page], memory[page+inner:]} {
		if err := unix.Mprotect(border, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	start := page
	if atEnd {
		start = page + inner - 4*n
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&memory[start])), n)
}

// faultless fails the test, naming the call, when f touches a guard page.
func faultless(t *testing.T, call string, f func()) {
	t.Helper()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		t.Helper()
		if fault := recover(); fault != nil {
			t.Fatalf("%s: %v", call, fault)
		}
	}()
	f()
}

// skipEmulatedMasks skips AVX2 under qemu's own emulation, whose version 7.2 reads the whole operand of VMASKMOVPS. A CPU
// promises not to touch the lanes that the mask leaves out.
func skipEmulatedMasks(t *testing.T) {
	if Active() == AVX2 && cpuid.CPU.HypervisorVendorID == cpuid.QEMU {
		t.Skip("qemu reads what VMASKMOVPS masks out")
	}
}

// guardedSizes are the tails and one length that goes round every unrolled loop.
func guardedSizes() []int {
	var all []int
	for n := 1; n <= 70; n++ {
		all = append(all, n)
	}
	return append(all, 384)
}

func TestGuardItself(t *testing.T) {
	for _, atEnd := range []bool{false, true} {
		x := guarded(t, 8, atEnd)
		beside := unsafe.Add(unsafe.Pointer(&x[0]), -4)
		if atEnd {
			beside = unsafe.Add(unsafe.Pointer(&x[0]), 4*len(x))
		}
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("guarded(atEnd=%v): the value beside it can be read", atEnd)
				}
			}()
			sink = *(*float32)(beside)
		}()
	}
}

func TestGuardedVectors(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		skipEmulatedMasks(t)
		for _, n := range guardedSizes() {
			for _, atEnd := range []bool{false, true} {
				x, y, z := guarded(t, n, atEnd), guarded(t, n, atEnd), guarded(t, n, atEnd)
				copy(x, random(1, n))
				copy(y, random(2, n))
				call := func(name string) string { return fmt.Sprintf("%s of %d values, guard at end: %v", name, n, atEnd) }
				faultless(t, call("Dot"), func() { sink = Dot(x, y) })
				faultless(t, call("Add"), func() { Add(x, y) })
				faultless(t, call("GELU"), func() { GELU(x) })
				faultless(t, call("GELUTanh"), func() { GELUTanh(x) })
				faultless(t, call("ReLU"), func() { ReLU(x) })
				faultless(t, call("Softmax"), func() { Softmax(x, 1) })
				faultless(t, call("LayerNorm"), func() { LayerNorm(x, y, z, 1e-12) })
				faultless(t, call("Normalize"), func() { Normalize(y) })
				for _, count := range []int{1, 4, 5, 8} {
					rows, dst := guarded(t, n*count, atEnd), guarded(t, count, atEnd)
					faultless(t, call("DotRows"), func() { DotRows(dst, x, rows) })
				}
			}
		}
	})
}

func TestGuardedMatrix(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for _, n := range []int{1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33} {
			for _, k := range []int{1, 2, 3, 4, 5, 7, 8, 13} {
				for _, atEnd := range []bool{false, true} {
					checkGuardedMatrix(t, n, k, atEnd)
				}
			}
		}
	})
}

// checkGuardedMatrix multiplies 1 to 15 rows, with every slice at a guard page, the packed panels too.
func checkGuardedMatrix(t *testing.T, n, k int, atEnd bool) {
	w, bias := guarded(t, n*k, atEnd), guarded(t, n, atEnd)
	var m Matrix
	faultless(t, "Pack", func() { m.Resize(k, n); m.SetRows(0, w, k, n) })
	faultless(t, "SetColumns", func() { packTransposed(&m, w, n, k, k) })
	packed := guarded(t, len(m.data), atEnd)
	copy(packed, m.data)
	m.data = packed
	for rows := 1; rows <= 15; rows++ {
		x, y := guarded(t, rows*k, atEnd), guarded(t, rows*n, atEnd)
		call := fmt.Sprintf("Mul rows=%d n=%d k=%d, guard at end: %v", rows, n, k, atEnd)
		faultless(t, call, func() { m.Mul(y, n, x, k, rows, bias) })
	}
}

func TestGuardedWiden(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for sixteens := 1; sixteens < 5; sixteens++ {
			for _, atEnd := range []bool{false, true} {
				dst, memory := guarded(t, 16*sixteens, atEnd), guarded(t, 8*sixteens, atEnd)
				src := unsafe.Slice((*uint16)(unsafe.Pointer(&memory[0])), 16*sixteens)
				faultless(t, fmt.Sprintf("widen of %d halves, guard at end: %v", 16*sixteens, atEnd), func() { widen(Active(), dst, src) })
				var m Matrix
				m.ResizeHalves(sixteens, 16)
				faultless(t, "SetColumnsHalves", func() { m.SetColumnsHalves(0, src, 16, sixteens) })
			}
		}
	})
}
