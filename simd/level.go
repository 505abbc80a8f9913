package simd

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// Level is one implementation of the kernels. The zero Level is Generic.
type Level int

const (
	Generic Level = iota // plain Go, on every machine: the meaning of the package
	AVX2                 // amd64 with AVX2 and FMA
	AVX512               // amd64 with AVX-512 F, BW, DQ and VL
	NEON                 // arm64, where it is part of the base instruction set
)

var levelNames = [...]string{Generic: "generic", AVX2: "avx2", AVX512: "avx512", NEON: "neon"}

// String returns the name that Use takes: "generic", "avx2", "avx512" or "neon".
func (l Level) String() string {
	if l < 0 || int(l) >= len(levelNames) {
		return fmt.Sprintf("Level(%d)", int(l))
	}
	return levelNames[l]
}

// active is the CPU switch that every exported function consults. Only Use writes it.
var active = best()

// Active returns the level in force.
func Active() Level { return active }

// Available returns the levels that this machine and this build can run: Generic first, the fastest last. AVX512 is
// among them, but only its name chooses it.
func Available() []Level {
	levels := []Level{Generic}
	for _, l := range built {
		if l.supported() {
			levels = append(levels, l)
		}
	}
	return levels
}

// Use forces one level by its name, or the best one of the machine but AVX512 when name is "". It is meant for diagnosis
// and for tests, and must be called before the first kernel runs: it does not synchronise with kernels in flight. The
// error of a level that cannot run here ends with the names of those that can; the level in force is then unchanged.
func Use(name string) error {
	if name == "" {
		active = best()
		return nil
	}
	i := slices.Index(levelNames[:], name)
	if i < 0 {
		return fmt.Errorf("unknown simd level %q: use %s", name, choices())
	}
	l := Level(i)
	if reason := l.missing(); reason != "" {
		return fmt.Errorf("simd level %q cannot run here, %s: use %s", name, reason, choices())
	}
	active = l
	return nil
}

// missing says what l lacks on this machine or in this build, or "".
func (l Level) missing() string {
	var reasons []string
	if l != Generic && !slices.Contains(built, l) {
		reasons = append(reasons, fmt.Sprintf("this %s/%s build has no %s kernels", runtime.GOOS, runtime.GOARCH, l))
	}
	if !l.supported() {
		reasons = append(reasons, fmt.Sprintf("this machine has no %s", l))
	}
	return strings.Join(reasons, " and ")
}

// supported reports whether the machine (CPU and operating system) can run instructions of l.
func (l Level) supported() bool {
	switch l {
	case Generic:
		return true
	case AVX2:
		return cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3)
	case AVX512:
		return cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL)
	case NEON:
		return runtime.GOARCH == "arm64"
	}
	return false
}

// best leaves AVX512 to those who ask for it: no processor has run it for us, only an emulator (.ci/avx512).
func best() Level {
	levels := slices.DeleteFunc(Available(), func(l Level) bool { return l == AVX512 })
	return levels[len(levels)-1]
}

// choices lists what Use accepts here, for error texts.
func choices() string {
	var names []string
	for _, l := range Available() {
		names = append(names, l.String())
	}
	return strings.Join(names, " or ") + ", or leave it empty for the default"
}
