package simd

import (
	"math"
	"slices"
	"testing"
	"unsafe"
)

// TestMulRowByRow: a row's result does not depend on the rows that are multiplied with it, to the bit.
func TestMulRowByRow(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for _, s := range []struct{ n, k int }{{16, 32}, {37, 83}, {48, 384}} {
			var m Matrix
			p := newProduct(21, s.n, s.k, 3, true, true)
			p.pack(&m)
			whole := make([]float32, p.rows*p.ystride)
			m.Mul(whole, p.ystride, p.x, p.xstride, p.rows, p.b)
			m.MulAdd(whole, p.ystride, p.x, p.xstride, p.rows)
			for rows := 1; rows <= 13; rows++ {
				y := make([]float32, p.rows*p.ystride)
				for first := 0; first < p.rows; first += rows {
					count := min(rows, p.rows-first)
					m.Mul(y[first*p.ystride:], p.ystride, p.x[first*p.xstride:], p.xstride, count, p.b)
					m.MulAdd(y[first*p.ystride:], p.ystride, p.x[first*p.xstride:], p.xstride, count)
				}
				if !slices.Equal(y, whole) {
					t.Errorf("%v: %d rows at a time give other bits", p, rows)
				}
			}
		}
	})
}

// TestMulAdd adds the product to what is there, a second product too.
func TestMulAdd(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for _, n := range []int{1, 15, 16, 17, 40} {
			for _, k := range []int{0, 1, 7, 8, 33} {
				p := newProduct(9, n, k, 2, false, false)
				var m Matrix
				p.pack(&m)
				product, y := make([]float32, p.rows*p.ystride), random(4, p.rows*p.ystride)
				m.Mul(product, p.ystride, p.x, p.xstride, p.rows, nil)
				before := slices.Clone(y)
				m.MulAdd(y, p.ystride, p.x, p.xstride, p.rows)
				for i := range y {
					inside := i%p.ystride < n
					want := before[i]
					if inside {
						want += product[i]
					}
					if d := math.Abs(float64(y[i] - want)); d > 1e-5 || !inside && d > 0 {
						t.Fatalf("%v: MulAdd leaves %v at %d, want %v", p, y[i], i, want)
					}
				}
			}
		}
	})
}

// TestSetParts: a Matrix that is set part by part is the one that is set at once.
func TestSetParts(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		const k, n = 24, 43
		w := random(5, n*k)
		for _, part := range []int{1, 5, 8, 16, 17, n} {
			var whole, columns, rows Matrix
			packTransposed(&whole, w, n, k, k)
			columns.Resize(k, n)
			for first := 0; first < n; first += part {
				columns.SetColumns(first, w[first*k:], min(part, n-first), k)
			}
			back := make([]float32, k*n) // [k×n], from a product with the unit matrix
			unit := make([]float32, k*k)
			for i := range k {
				unit[i*k+i] = 1
			}
			whole.Mul(back, n, unit, k, k, nil)
			rows.Resize(k, n)
			for first := 0; first < k; first += part {
				rows.SetRows(first, back[first*n:], min(part, k-first), n)
			}
			for name, m := range map[string]*Matrix{"columns": &columns, "rows": &rows} {
				got := make([]float32, k*n)
				m.Mul(got, n, unit, k, k, nil)
				for i := range got {
					if want := w[i%n*k+i/n]; got[i] != want {
						t.Fatalf("%s set %d at a time: [%d][%d] = %v, want %v", name, part, i/n, i%n, got[i], want)
					}
				}
			}
		}
	})
}

// TestMulBlocks takes every height of block several times below each other, also those that Mul takes only once. The
// values are small integers, so that sums are exact.
func TestMulBlocks(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		most, cols := Active().tile()
		for height := 1; height <= most; height++ {
			for _, k := range []int{1, 3, 4, 5, 8, 13} {
				for _, basestride := range []int{-1, 0, cols + 3} { // no base, one row for all, y itself
					checkMulBlocks(t, height, 3, cols, k, basestride)
				}
			}
		}
	})
}

func checkMulBlocks(t *testing.T, height, blocks, cols, k, basestride int) {
	t.Helper()
	rows, xstride, ystride := height*blocks, k+2, cols+3
	integers := func(n int) []float32 {
		x := scaled(uint64(k), n, 9)
		for i, v := range x {
			x[i] = float32(int(v))
		}
		return x
	}
	x, panel, y := integers(rows*xstride), integers(k*cols), integers(rows*ystride)
	var base []float32
	switch {
	case basestride > 0:
		base = y
	case basestride == 0:
		base = integers(cols)
	}
	want := append([]float32(nil), y...)
	for r := range rows {
		for c := range cols {
			sum := float32(0)
			if base != nil {
				sum = base[r*basestride+c]
			}
			for i := range k {
				sum += x[r*xstride+i] * panel[i*cols+c]
			}
			want[r*ystride+c] = sum
		}
	}
	mulBlocks(Active(), y, ystride, x, xstride, height, blocks, panel, k, base, basestride, unsafe.Pointer(&panel[0]))
	for i, got := range y {
		if got != want[i] {
			t.Fatalf("%d blocks of %d rows, k=%d, base every %d: row %d, column %d = %v, want %v", blocks, height, k, basestride, i/ystride, i%ystride, got, want[i])
		}
	}
}
