package simd

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestRequired keeps a machine of the CI from losing a level in silence: SIMD_REQUIRE names one that must be there.
func TestRequired(t *testing.T) {
	name := os.Getenv("SIMD_REQUIRE")
	if name == "" {
		t.Skip("SIMD_REQUIRE is not set")
	}
	for _, l := range Available() {
		if l.String() == name {
			return
		}
	}
	t.Fatalf("SIMD_REQUIRE=%s, but Available() = %v", name, Available())
}

func TestAvailable(t *testing.T) {
	levels := Available()
	if levels[0] != Generic {
		t.Errorf("Available() = %v, want Generic first", levels)
	}
	for _, l := range levels {
		use(t, l)
		if Active() != l {
			t.Errorf("Active() = %v after Use(%q)", Active(), l)
		}
	}
	chosen := slices.DeleteFunc(levels, func(l Level) bool { return l == AVX512 }) // which only its name chooses
	if err := Use(""); err != nil || Active() != chosen[len(chosen)-1] {
		t.Errorf("Use(\"\") = %v, Active() = %v, want the last of %v", err, Active(), chosen)
	}
}

func TestUseRefuses(t *testing.T) {
	foreign := "neon"
	if runtime.GOARCH == "arm64" {
		foreign = "avx2"
	}
	tests := []struct{ name, want string }{
		{foreign, "this machine has no " + foreign},
		{foreign, "build has no " + foreign + " kernels"},
		{"sse", `unknown simd level "sse"`},
		{"AVX2", `unknown simd level "AVX2"`},
		{" generic", `unknown simd level " generic"`},
	}
	if !AVX512.supported() {
		tests = append(tests, struct{ name, want string }{"avx512", `level "avx512" cannot run here, `})
		tests = append(tests, struct{ name, want string }{"avx512", "this machine has no avx512: use generic"})
	}
	for _, test := range tests {
		before := Active()
		err := Use(test.name)
		if err == nil {
			t.Errorf("Use(%q) = nil, want an error", test.name)
			continue
		}
		for _, want := range []string{test.want, "use generic"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("Use(%q) = %q, want it to contain %q", test.name, err, want)
			}
		}
		if Active() != before {
			t.Errorf("Use(%q) failed and changed the level from %v to %v", test.name, before, Active())
		}
	}
}

func TestLevelString(t *testing.T) {
	for l, want := range map[Level]string{Generic: "generic", AVX2: "avx2", AVX512: "avx512", NEON: "neon", 9: "Level(9)", -1: "Level(-1)"} {
		if got := l.String(); got != want {
			t.Errorf("Level(%d).String() = %q, want %q", int(l), got, want)
		}
	}
}

// TestTileFits holds the bounds that mulNarrow's block on the stack relies on.
func TestTileFits(t *testing.T) {
	for l := range Level(len(levelNames)) {
		if rows, cols := l.tile(); rows*cols > maxRows*maxCols || cols > maxCols {
			t.Errorf("%v.tile() = %d, %d, more than %d × %d", l, rows, cols, maxRows, maxCols)
		}
	}
	if !slices.Contains(levelNames[:], NEON.String()) {
		t.Error("levelNames lacks the last level")
	}
}
