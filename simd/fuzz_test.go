package simd

import (
	"encoding/binary"
	"math"
	"testing"
)

// floats reads data as float32 values; what is not finite or greater than limit in size becomes a small number.
func floats(data []byte, limit float32) []float32 {
	x := make([]float32, len(data)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		if !(x[i] >= -limit && x[i] <= limit) {
			x[i] = float32(data[4*i]) / 16
		}
	}
	return x
}

// bytesOf is the inverse of floats, for seeds.
func bytesOf(x []float32) []byte {
	var data []byte
	for _, v := range x {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

// onEach runs check on every level, within one fuzz input.
func onEach(t *testing.T, check func(l Level)) {
	for _, l := range Available() {
		before := active
		active = l
		check(l)
		active = before
	}
}

// FuzzDot: a dot product is within the bound of doc.go of the exact one, does not depend on the order of its
// arguments, and DotRows finds the same for each row.
func FuzzDot(f *testing.F) {
	for _, n := range []int{0, 1, 7, 8, 33, 100} {
		f.Add(bytesOf(random(1, 2*n)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x := floats(data, 1e15)
		a, b := x[:len(x)/2], x[len(x)/2:][:len(x)/2]
		want, allowed := refDot(a, b)
		allowed += float64(len(a)) * 0x1p-149 // products that vanish
		onEach(t, func(l Level) {
			got := Dot(a, b)
			if math.Abs(float64(got)-want) > allowed || got != Dot(b, a) {
				t.Fatalf("%v: Dot(%v, %v) = %v, reversed %v, want %v within %v", l, a, b, got, Dot(b, a), want, allowed)
			}
			rows := append(append([]float32(nil), b...), a...)
			rows = append(rows, rows...)
			dst := make([]float32, 4)
			DotRows(dst, a, rows)
			if math.Abs(float64(dst[0])-want) > allowed || dst[0] != dst[2] || dst[1] != dst[3] {
				t.Fatalf("%v: DotRows = %v, want %v first, and equal for equal rows", l, dst, want)
			}
		})
	})
}

// FuzzMul: any shape and stride gives the product, and touches nothing beside its rows.
func FuzzMul(f *testing.F) {
	f.Add(uint8(7), uint8(17), uint8(5), uint8(3), uint8(3))
	f.Add(uint8(64), uint8(16), uint8(32), uint8(0), uint8(1))
	f.Add(uint8(29), uint8(65), uint8(9), uint8(5), uint8(2))
	f.Fuzz(func(t *testing.T, rows, n, k, pad, bits uint8) {
		p := newProduct(int(rows)%128, int(n)%80, int(k)%80, int(pad)%20, bits&1 != 0, bits&2 != 0)
		onEach(t, func(Level) {
			var m Matrix
			w := worst{text: "nothing to compare"}
			p.pack(&m)
			p.check(t, &m, &w)
			if w.share > 1 {
				t.Fatal(w.text)
			}
		})
	})
}

// FuzzSoftmax: the results are shares of one whole, and a greater value has no smaller share.
func FuzzSoftmax(f *testing.F) {
	f.Add(bytesOf([]float32{1, 2, 3}), float32(1))
	f.Add(bytesOf(scaled(1, 37, 80)), float32(0.125))
	f.Fuzz(func(t *testing.T, data []byte, scale float32) {
		in := floats(data, 1e6)
		if len(in) == 0 || !(scale > 1e-6 && scale < 1e6) {
			t.Skip()
		}
		onEach(t, func(l Level) {
			x := append([]float32(nil), in...)
			Softmax(x, scale)
			var sum float64
			top := 0
			for i, v := range x {
				if !(v >= 0 && v <= 1+1e-6) {
					t.Fatalf("%v: Softmax(%v, %v)[%d] = %v, want a share", l, in, scale, i, v)
				}
				sum += float64(v)
				if in[i] > in[top] {
					top = i
				}
			}
			if math.Abs(sum-1) > float64(len(x)+4)*2*ulp {
				t.Fatalf("%v: Softmax(%v, %v) adds up to %v", l, in, scale, sum)
			}
			for i, v := range x {
				if float64(v) > float64(x[top])*(1+1e-6) {
					t.Fatalf("%v: Softmax(%v, %v)[%d] = %v, more than that of the greatest, %v", l, in, scale, i, v, x[top])
				}
			}
		})
	})
}

// FuzzGELU: every finite value is within the bound of its doc comment.
func FuzzGELU(f *testing.F) {
	f.Add(bytesOf(scaled(1, 19, 9)))
	f.Add(bytesOf([]float32{0, -0x1p-149, math.MaxFloat32, -13.999, -14.001}))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := floats(data, math.MaxFloat32)
		onEach(t, func(l Level) {
			x := append([]float32(nil), in...)
			GELU(x)
			for i, v := range in {
				want := refGELU(float64(v))
				if !(math.Abs(float64(x[i])-want) <= 3e-7*math.Max(1, math.Abs(float64(v)))) {
					t.Fatalf("%v: GELU(%v) = %v, want %v", l, v, x[i], want)
				}
			}
		})
	})
}
