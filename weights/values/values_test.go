package values

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
)

// half is the value of an IEEE 754 half with the given parts, by the formula.
func half(h int) float64 {
	sign, exponent, mantissa := 1.0, h>>10&0x1f, float64(h&0x3ff)
	if h>>15 == 1 {
		sign = -1
	}
	switch {
	case exponent == 31 && mantissa == 0:
		return math.Inf(int(sign))
	case exponent == 31:
		return math.NaN()
	case exponent == 0:
		return sign * math.Ldexp(mantissa/1024, -14)
	}
	return sign * math.Ldexp(1+mantissa/1024, exponent-15)
}

// bfloat is the value of a bfloat16, by the formula.
func bfloat(h int) float64 {
	sign, exponent, mantissa := 1.0, h>>7&0xff, float64(h&0x7f)
	if h>>15 == 1 {
		sign = -1
	}
	switch {
	case exponent == 255 && mantissa == 0:
		return math.Inf(int(sign))
	case exponent == 255:
		return math.NaN()
	case exponent == 0:
		return sign * math.Ldexp(mantissa/128, -126)
	}
	return sign * math.Ldexp(1+mantissa/128, exponent-127)
}

func TestEverySixteenBitValue(t *testing.T) {
	all := make([]byte, 2<<16)
	for i := range 1 << 16 {
		binary.LittleEndian.PutUint16(all[2*i:], uint16(i))
	}
	for _, c := range []struct {
		dtype Type
		value func(int) float64
	}{{F16, half}, {BF16, bfloat}} {
		got := make([]float32, 1<<16)
		c.dtype.Decode(got, all)
		for i, x := range got {
			want := c.value(i)
			same := float64(x) == want && math.Signbit(float64(x)) == math.Signbit(want)
			if !same && !(math.IsNaN(want) && x != x) {
				t.Fatalf("%s %#04x = %v, want %v", c.dtype, i, x, want)
			}
		}
	}
}

func TestRead(t *testing.T) {
	// More than two chunks, and not a whole number of them.
	want := make([]float32, 2*Chunk/4+3)
	for i := range want {
		want[i] = float32(i) - 0.5
	}
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, want)
	data := b.Bytes()
	buf := make([]byte, Chunk)

	got := make([]float32, len(want))
	if err := F32.Read(bytes.NewReader(data), got, buf); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("value %d = %v, want %v", i, got[i], want[i])
		}
	}
	if err := F32.Read(bytes.NewReader(data[:len(data)-1]), got, buf); err != io.ErrUnexpectedEOF {
		t.Errorf("Read(file cut short) = %v, want %v", err, io.ErrUnexpectedEOF)
	}
	for _, x := range []float32{float32(math.NaN()), float32(math.Inf(-1)), float32(math.Inf(1))} {
		if err := Finite(got); err != nil {
			t.Errorf("Finite = %v for finite values", err)
		}
		at := len(want) - 2
		got[at] = x
		if err := Finite(got); err == nil || !strings.Contains(err.Error(), strconv.Itoa(at)) {
			t.Errorf("Finite with %v at %d = %v, want the place named", x, at, err)
		}
		got[at] = 0
	}
}

// A width of 0 is how a type that is not read is told.
func TestWidth(t *testing.T) {
	for dtype, want := range map[Type]int{F32: 4, F16: 2, BF16: 2, "F64": 0, "I8": 0, "": 0} {
		if got := dtype.Width(); got != want {
			t.Errorf("%q.Width() = %d, want %d", dtype, got, want)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	dst, src := make([]float32, 8<<10), make([]byte, Chunk)
	for _, dtype := range []Type{F32, F16, BF16} {
		b.Run("dtype="+string(dtype), func(b *testing.B) {
			b.SetBytes(int64(len(dst) * dtype.Width()))
			for b.Loop() {
				dtype.Decode(dst, src)
			}
		})
	}
}
