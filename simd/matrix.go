package simd

import (
	"fmt"
	"unsafe"
)

// Matrix is the right-hand side B [K×N] of a product, packed for the level in force at its Resize: columns in
// panels as wide as the level's kernel, each panel row by row, so that a kernel reads memory once and in order. The last
// panel is as wide as the others; what lies in the columns beyond N is computed with, but no result of it is kept.
//
// The zero Matrix is empty [0×0]. Resize replaces the contents and reuses the memory, so that one Matrix can
// serve as scratch for the keys and values of attention. Any number of goroutines may Mul with the same Matrix while
// none changes it.
type Matrix struct {
	k, n  int
	level Level
	buf   []float32 // owns the memory
	data  []float32 // [panels × k × cols], from a 64-byte border within buf
	half  *halves   // instead of data, after Halve or ResizeHalves
}

// maxRows × maxCols bounds a block of every level's mulBlocks.
const (
	maxRows = 14
	maxCols = 32
)

// tile is the size of a block of mulBlocks at most: rows of x, columns of B.
func (l Level) tile() (rows, cols int) {
	switch l {
	case AVX2:
		return 6, 16
	case AVX512:
		return 14, 32
	case NEON:
		return 8, 8
	}
	return 2, 4
}

// Resize makes m a k×n Matrix for the level in force, whose values are all still to be set. It reuses the memory.
func (m *Matrix) Resize(k, n int) {
	if k < 0 || n < 0 {
		panic(fmt.Sprintf("simd: Resize to negative size %d×%d", k, n))
	}
	m.k, m.n, m.level = k, n, active
	size := m.size()
	if cap(m.buf) < size+cacheLine-1 {
		m.buf = make([]float32, size+cacheLine-1)
	}
	m.buf, m.half = m.buf[:cap(m.buf)], nil
	m.data = align(m.buf)[:size]
}

// size is how many values the panels hold.
func (m *Matrix) size() int {
	_, cols := m.level.tile()
	return (m.n + cols - 1) / cols * cols * m.k
}

// SetColumns sets count columns of B, from column first on, to rows of w: column first+i [K] is what begins at
// w[i*stride]. With all columns set, B = wᵀ: so a linear layer's weight [out×in] is packed as checkpoints store it. The
// keys of an attention head are columns, too. Different columns may be set at the same time.
func (m *Matrix) SetColumns(first int, w []float32, count, stride int) {
	checkRows("SetColumns", "w", len(w), count, m.k, stride)
	checkPart("SetColumns", first, count, m.n)
	m.checkWide("SetColumns")
	_, cols := m.level.tile()
	for i := 0; i < count && m.k > 0; {
		at := (first + i) % cols
		width := min(cols-at, count-i)
		panel := m.data[(first+i-at)*m.k:][:cols*m.k]
		transpose(m.level, panel[at:], cols, w[i*stride:], stride, width, m.k)
		i += width
	}
}

// SetRows sets count rows of B, from row first on, to rows of w: row first+i [N] is what begins at w[i*stride]. The
// values of an attention head are rows. Different rows may be set at the same time.
func (m *Matrix) SetRows(first int, w []float32, count, stride int) {
	checkRows("SetRows", "w", len(w), count, m.n, stride)
	checkPart("SetRows", first, count, m.k)
	m.checkWide("SetRows")
	_, cols := m.level.tile()
	for j := 0; j < m.n && count > 0; j += cols {
		panel := m.data[j*m.k+first*cols:][:count*cols]
		width := min(cols, m.n-j)
		for i := range count {
			copy(panel[i*cols:], w[i*stride+j:][:width])
		}
	}
}

// transposeGeneric sets dst[i*dstride+r] = src[r*sstride+i] for r < rows and i < width.
func transposeGeneric(dst []float32, dstride int, src []float32, sstride, rows, width int) {
	for i := range width {
		column := dst[i*dstride:][:rows]
		for r := range column {
			column[r] = src[r*sstride+i]
		}
	}
}

// checkPart panics unless there are all of the rows or columns to be set.
func checkPart(function string, first, count, of int) {
	if first < 0 || first+count > of {
		panic(fmt.Sprintf("simd: %s from %d to %d of %d", function, first, first+count, of))
	}
}

// checkWide panics when m keeps halves.
func (m *Matrix) checkWide(function string) {
	if m.half != nil {
		panic(fmt.Sprintf("simd: %s after Halve or ResizeHalves", function))
	}
}

// Mul computes y = x·B, plus bias when it is not nil: y[r*ystride+j] = Σ x[r*xstride+i]*B[i,j] + bias[j] for r < rows,
// i < K, j < N. Only those values of y are written. y must not overlap x or bias. It panics when a slice is too short.
//
// Each sum is taken in the order of i, so that a row's result is the same to the bit whatever other rows there are.
func (m *Matrix) Mul(y []float32, ystride int, x []float32, xstride, rows int, bias []float32) {
	if bias != nil && len(bias) < m.n {
		panic(fmt.Sprintf("simd: Mul with %d biases for %d columns", len(bias), m.n))
	}
	m.mul("Mul", y, ystride, x, xstride, rows, bias, 0)
}

// MulAdd computes y += x·B and is else as Mul.
func (m *Matrix) MulAdd(y []float32, ystride int, x []float32, xstride, rows int) {
	m.mul("MulAdd", y, ystride, x, xstride, rows, y, ystride)
}

// mul computes y = base + x·B, where row r of base begins at base[r*basestride]; base may be nil.
func (m *Matrix) mul(function string, y []float32, ystride int, x []float32, xstride, rows int, base []float32, basestride int) {
	checkRows(function, "x", len(x), rows, m.k, xstride)
	checkRows(function, "y", len(y), rows, m.n, ystride)
	if rows > 1 && ystride < m.n {
		panic(fmt.Sprintf("simd: %s into rows of %d values every %d", function, m.n, ystride))
	}
	if rows == 0 || m.n == 0 {
		return
	}
	if m.k == 0 {
		m.mulNothing(y, ystride, rows, base, basestride)
		return
	}
	var spare []float32
	if m.half != nil {
		_, cols := m.level.tile()
		spare = m.half.spare(cols * min(m.k, halvesDeep))
		defer m.half.giveBack(spare)
	}
	for first := 0; first < rows; first += rowsAtOnce {
		count := min(rowsAtOnce, rows-first)
		m.mulRows(y[first*ystride:], ystride, x[first*xstride:], xstride, count, from(base, first*basestride), basestride, spare)
	}
}

// from is base from place at on, or nil.
func from(base []float32, at int) []float32 {
	if base == nil {
		return nil
	}
	return base[at:]
}

// piece is some rows of a panel: what the kernels multiply with.
type piece struct {
	values []float32 // [k × cols]
	k      int
	next   unsafe.Pointer // where the next piece is in memory, nil behind the last
	size   int            // of the next piece, in bytes
}

// piece returns the rows of panel p from first up to end. spare is for those that have to be widened.
func (m *Matrix) piece(p, first, end int, spare []float32) piece {
	_, cols := m.level.tile()
	at, size := (p*m.k+first)*cols, (end-first)*cols
	if m.half != nil {
		out := piece{values: m.half.widen(m.level, spare[:size], at), k: end - first, size: 2 * size}
		if at+size < len(m.half.data) {
			out.next = unsafe.Pointer(&m.half.data[at+size])
		}
		return out
	}
	out := piece{values: m.data[at:][:size], k: end - first, size: 4 * size}
	if at+size < len(m.data) {
		out.next = unsafe.Pointer(&m.data[at+size])
	}
	return out
}

// rowsAtOnce is how many rows go through all panels before the next ones: few enough that their values of x stay in the
// second-level cache and their rows of y in the address cache, enough to pay for reading B again.
const rowsAtOnce = 128

// mulRows multiplies some rows with one panel after the other. spare is for panels that have to be widened.
func (m *Matrix) mulRows(y []float32, ystride int, x []float32, xstride, rows int, base []float32, basestride int, spare []float32) {
	_, cols := m.level.tile()
	deep := m.k // how much of a panel is taken at once
	if m.half != nil {
		deep = min(deep, halvesDeep)
	}
	for j := 0; j < m.n; j += cols {
		base, basestride := from(base, j), basestride
		for k := 0; k < m.k; k += deep {
			b := m.piece(j/cols, k, min(k+deep, m.k), spare)
			if width := m.n - j; width < cols {
				m.mulNarrow(y[j:], ystride, x[k:], xstride, rows, b, base, basestride, width)
			} else {
				m.mulPanel(y[j:], ystride, x[k:], xstride, rows, b, base, basestride)
			}
			base, basestride = y[j:], ystride
		}
	}
}

// mulPanel multiplies the rows with a piece as wide as a panel, in blocks of nearly even height: 8 rows are 4+4, not 6+2, because
// a low block keeps fewer multipliers busy. The first blocks have the next piece, when there is one, brought into the
// second-level cache meanwhile: with weights that are nowhere nearer than the third, short texts waited for them for
// 40 % of the time.
func (m *Matrix) mulPanel(y []float32, ystride int, x []float32, xstride, rows int, b piece, base []float32, basestride int) {
	most, _ := m.level.tile()
	blocks := (rows + most - 1) / most
	low, taller := rows/blocks, rows%blocks
	near := 0 // bytes of the next piece that have been brought
	for row := 0; row < rows; {
		height, count, ahead := low, (rows-row)/low, unsafe.Pointer(&b.values[0])
		if taller > 0 {
			height, count = low+1, taller
		}
		if b.next != nil && near < b.size {
			each := len(b.values)                 // bytes that a block brings
			if height <= 4 || m.level == AVX512 { // see avx2Ahead, avx512Ahead and neonBlockSum in gen
				each *= 2
			}
			ahead, count = unsafe.Add(b.next, near), min(count, (b.size-near+each-1)/each)
			near += count * each
		}
		mulBlocks(m.level, y[row*ystride:], ystride, x[row*xstride:], xstride, height, count, b.values, b.k, from(base, row*basestride), basestride, ahead)
		row += count * height
		taller -= count
	}
}

// mulNarrow is mulPanel for the last panel, of which only width columns exist: each block is computed whole, beside y.
func (m *Matrix) mulNarrow(y []float32, ystride int, x []float32, xstride, rows int, b piece, base []float32, basestride, width int) {
	most, cols := m.level.tile()
	var block [maxRows * maxCols]float32
	for first := 0; first < rows; first += most {
		height := min(most, rows-first)
		clear(block[:])
		for r := 0; r < height && base != nil; r++ {
			copy(block[r*cols:], base[(first+r)*basestride:][:width])
		}
		mulBlocks(m.level, block[:], cols, x[first*xstride:], xstride, height, 1, b.values, b.k, block[:], cols, unsafe.Pointer(&b.values[0]))
		for r := range height {
			copy(y[(first+r)*ystride:][:width], block[r*cols:])
		}
	}
}

// mulNothing is mul for K = 0.
func (m *Matrix) mulNothing(y []float32, ystride, rows int, base []float32, basestride int) {
	for r := range rows {
		row := y[r*ystride:][:m.n]
		if base == nil {
			clear(row)
		} else {
			copy(row, base[r*basestride:])
		}
	}
}

// checkRows panics unless a slice of that length holds rows of width values, one every stride.
func checkRows(function, name string, length, rows, width, stride int) {
	if rows < 0 || width < 0 || stride < 0 {
		panic(fmt.Sprintf("simd: %s with negative size: %d rows of %d values every %d", function, rows, width, stride))
	}
	if rows > 0 && width > 0 && (rows-1)*stride+width > length {
		panic(fmt.Sprintf("simd: %s needs %d rows of %d values every %d, but %s has %d values", function, rows, width, stride, name, length))
	}
}

// mulBlocksGeneric computes blocks of height × cols results, below each other: y[r*ystride+c] = base[r*basestride+c] +
// Σ x[r*xstride+i]*panel[i*cols+c] for r < height*blocks, where height and cols are at most (height) and exactly (cols)
// those of the level's tile, k and blocks are positive, panel holds k*cols values, and base is nil or holds the first
// terms; it may be y. The other levels' kernels do the same for their tile.
func mulBlocksGeneric(y []float32, ystride int, x []float32, xstride, height, blocks int, panel []float32, k int, base []float32, basestride int) {
	for b := range blocks {
		row := b * height
		mulBlockGeneric(y[row*ystride:], ystride, x[row*xstride:], xstride, height, panel, k, from(base, row*basestride), basestride)
	}
}

// mulBlockGeneric is one block of one or two rows and four columns.
func mulBlockGeneric(y []float32, ystride int, x []float32, xstride, rows int, panel []float32, k int, base []float32, basestride int) {
	upper := x[:k]
	lower := upper
	if rows == 2 {
		lower = x[xstride:][:k]
	}
	var s0, s1, s2, s3, t0, t1, t2, t3 float32
	if base != nil {
		s0, s1, s2, s3 = base[0], base[1], base[2], base[3]
		if rows == 2 {
			base = base[basestride:][:4]
		}
		t0, t1, t2, t3 = base[0], base[1], base[2], base[3]
	}
	for i, u := range upper {
		p := panel[i*4:][:4]
		v := lower[i]
		s0 += float32(u * p[0])
		s1 += float32(u * p[1])
		s2 += float32(u * p[2])
		s3 += float32(u * p[3])
		t0 += float32(v * p[0])
		t1 += float32(v * p[1])
		t2 += float32(v * p[2])
		t3 += float32(v * p[3])
	}
	y[0], y[1], y[2], y[3] = s0, s1, s2, s3
	if rows == 2 {
		y = y[ystride:][:4]
		y[0], y[1], y[2], y[3] = t0, t1, t2, t3
	}
}
