package values

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"reflect"
	"slices"
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
		got := c.dtype.Make(1 << 16)
		c.dtype.Decode(got, all)
		for i := range got.Len() {
			x, want := float32(0), c.value(i)
			if c.dtype == F16 {
				x = float32(half(int(got.Halves[i])))
			} else {
				x = got.Floats[i]
			}
			same := float64(x) == want && math.Signbit(float64(x)) == math.Signbit(want)
			if !same && !(math.IsNaN(want) && x != x) {
				t.Fatalf("%s %#04x = %v, want %v", c.dtype, i, x, want)
			}
		}
	}
}

func TestRead(t *testing.T) {
	for _, dtype := range []Type{F32, F16, BF16} {
		// More than two chunks, and not a whole number of them.
		n := 2*Chunk/dtype.Width() + 3
		data := make([]byte, n*dtype.Width())
		for i := range data {
			data[i] = byte(i * 37 & 0x3f)
		}
		want := dtype.Make(n)
		dtype.Decode(want, data)
		got, buf := dtype.Make(n), make([]byte, Chunk)
		if err := dtype.Read(bytes.NewReader(data), got, buf); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Floats, want.Floats) || !slices.Equal(got.Halves, want.Halves) {
			t.Errorf("%s: Read gives other values than Decode", dtype)
		}
		if err := got.Finite(); err != nil || got.Len() != n {
			t.Errorf("%s: Read gives %d values and Finite = %v, want %d finite ones", dtype, got.Len(), err, n)
		}
		if err := dtype.Read(bytes.NewReader(data[:len(data)-1]), got, buf); err != io.ErrUnexpectedEOF {
			t.Errorf("%s: Read(file cut short) = %v, want %v", dtype, err, io.ErrUnexpectedEOF)
		}
	}
}

// What F32 and F16 values are, and what they stay, is their bits.
func TestBacking(t *testing.T) {
	data := []byte{0, 0x3c, 0, 0xbc} // 1 and -1 as F16
	for _, c := range []struct {
		dtype Type
		want  any
	}{{F16, []uint16{0x3c00, 0xbc00}}, {BF16, []float32{0x1p-7, -0x1p-7}}, {F32, []float32{math.Float32frombits(0xbc003c00)}}} {
		got := c.dtype.Make(len(data) / c.dtype.Width())
		if err := c.dtype.Read(bytes.NewReader(data), got, make([]byte, Chunk)); err != nil || !reflect.DeepEqual(got.Backing(), c.want) {
			t.Errorf("%s: backing %v, %v, want %v", c.dtype, got.Backing(), err, c.want)
		}
	}
}

func TestFinite(t *testing.T) {
	const n, at = 100, 98
	for _, x := range []float32{float32(math.NaN()), float32(math.Inf(-1)), float32(math.Inf(1))} {
		s := F32.Make(n)
		s.Floats[at] = x
		if err := s.Finite(); err == nil || !strings.Contains(err.Error(), strconv.Itoa(at)) {
			t.Errorf("Finite with %v at %d = %v, want the place named", x, at, err)
		}
	}
	for h := range 1 << 16 {
		s, at := F16.Make(n), h*31%n
		s.Halves[at] = uint16(h)
		err := s.Finite()
		if finite := half(h)-half(h) == 0; finite != (err == nil) || err != nil && !strings.Contains(err.Error(), strconv.Itoa(at)) {
			t.Errorf("Finite with the half %#04x = %v at %d = %v", h, half(h), at, err)
		}
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

func BenchmarkRead(b *testing.B) {
	src, buf := make([]byte, 8*Chunk), make([]byte, Chunk)
	for _, dtype := range []Type{F32, F16, BF16} {
		b.Run("dtype="+string(dtype), func(b *testing.B) {
			dst := dtype.Make(len(src) / dtype.Width())
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if err := dtype.Read(bytes.NewReader(src), dst, buf); err != nil || dst.Finite() != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
