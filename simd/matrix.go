package simd

import (
	"fmt"
	"unsafe"
)

// Matrix is the right-hand side B [K×N] of a product, packed for the level in force when it was packed: columns in
// panels as wide as the level's kernel, each panel row by row, so that a kernel reads memory once and in order. The last
// panel is as wide as the others; what lies in the columns beyond N is computed with, but no result of it is kept.
//
// The zero Matrix is empty [0×0]. Packing again replaces the contents and reuses the memory, so that one Matrix can
// serve as scratch for the keys and values of attention. Any number of goroutines may Mul with the same Matrix while
// none packs it.
type Matrix struct {
	k, n  int
	level Level
	buf   []float32 // owns the memory
	data  []float32 // [panels × k × cols], from a 64-byte border within buf
	half  *halves   // instead of data, after Halve
}

// maxRows × maxCols bounds the block of every level's mulTile.
const (
	maxRows = 14
	maxCols = 32
)

// tile is the size of the block of results that mulTile computes at most: rows of x, columns of B.
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

// PackTransposed makes the Matrix B [k×n] = wᵀ, where w has n rows of k values and row i begins at w[i*stride]: the
// weight [out×in] of a linear layer as checkpoints store it, or the keys of one attention head.
func (m *Matrix) PackTransposed(w []float32, n, k, stride int) {
	checkRows("PackTransposed", "w", len(w), n, k, stride)
	m.reset(k, n)
	_, cols := m.level.tile()
	for j := 0; j < n && k > 0; j++ {
		panel := m.data[j/cols*cols*k:][:cols*k]
		at := j % cols
		for _, v := range w[j*stride:][:k] {
			panel[at] = v
			at += cols
		}
	}
}

// Pack makes the Matrix B [k×n] = w, where w has k rows of n values and row i begins at w[i*stride]: the values of one
// attention head.
func (m *Matrix) Pack(w []float32, k, n, stride int) {
	checkRows("Pack", "w", len(w), k, n, stride)
	m.reset(k, n)
	_, cols := m.level.tile()
	for j := 0; j < n && k > 0; j += cols {
		panel := m.data[j*k:][:cols*k]
		width := min(cols, n-j)
		for i := range k {
			copy(panel[i*cols:], w[i*stride+j:][:width])
		}
	}
}

// reset makes m a k×n Matrix of the level in force, all of which is still to be written.
func (m *Matrix) reset(k, n int) {
	m.k, m.n, m.level = k, n, active
	_, cols := m.level.tile()
	panels := (n + cols - 1) / cols
	size := panels * cols * k
	if cap(m.buf) < size+cacheLine-1 {
		m.buf = make([]float32, size+cacheLine-1)
	}
	m.buf, m.half = m.buf[:cap(m.buf)], nil
	m.data = align(m.buf)[:size]
}

// Mul computes y = x·B, plus bias when it is not nil: y[r*ystride+j] = Σ x[r*xstride+i]*B[i,j] + bias[j] for r < rows,
// i < K, j < N. Only those values of y are written. y must not overlap x or bias. It panics when a slice is too short.
//
// The order in which a sum is taken, and so its last bits, may depend on rows.
func (m *Matrix) Mul(y []float32, ystride int, x []float32, xstride, rows int, bias []float32) {
	checkRows("Mul", "x", len(x), rows, m.k, xstride)
	checkRows("Mul", "y", len(y), rows, m.n, ystride)
	if bias != nil && len(bias) < m.n {
		panic(fmt.Sprintf("simd: Mul with %d biases for %d columns", len(bias), m.n))
	}
	if rows > 1 && ystride < m.n {
		panic(fmt.Sprintf("simd: Mul into rows of %d values every %d", m.n, ystride))
	}
	if rows == 0 || m.n == 0 {
		return
	}
	if m.k == 0 {
		m.mulNothing(y, ystride, rows, bias)
		return
	}
	var spare []float32
	if m.half != nil {
		_, cols := m.level.tile()
		spare = m.half.spare(cols * m.k)
		defer m.half.giveBack(spare)
	}
	most, _ := m.level.tile()
	blocks := (rows + most - 1) / most
	for b := 0; b < blocks; b += blocksAtOnce {
		first, end := b*rows/blocks, min(b+blocksAtOnce, blocks)*rows/blocks
		m.mulRows(y[first*ystride:], ystride, x[first*xstride:], xstride, end-first, bias, spare)
	}
}

// panel returns panel p and where the next one begins, which is nil behind the last. spare is for one that has to be
// widened.
func (m *Matrix) panel(p int, spare []float32) (panel []float32, next unsafe.Pointer) {
	_, cols := m.level.tile()
	size := cols * m.k
	last := (p+1)*cols >= m.n
	if m.half != nil {
		if !last {
			next = unsafe.Pointer(&m.half.data[(p+1)*size])
		}
		return m.half.panel(m.level, spare, p), next
	}
	if !last {
		next = unsafe.Pointer(&m.data[(p+1)*size])
	}
	return m.data[p*size:][:size], next
}

// blocksAtOnce is how many blocks of rows go through all panels before the next ones: few enough that their values of
// x stay in the second-level cache and their rows of y in the address cache, enough to pay for reading B again.
const blocksAtOnce = 8

// mulRows multiplies a few blocks of rows with one panel after the other. spare is for panels that have to be widened.
func (m *Matrix) mulRows(y []float32, ystride int, x []float32, xstride, rows int, bias, spare []float32) {
	_, cols := m.level.tile()
	for j := 0; j < m.n; j += cols {
		panel, next := m.panel(j/cols, spare)
		width := min(cols, m.n-j)
		var part []float32
		if bias != nil {
			part = bias[j:][:width]
		}
		if width < cols {
			m.mulNarrow(y[j:], ystride, x, xstride, rows, panel, part, width)
		} else {
			m.mulPanel(y[j:], ystride, x, xstride, rows, panel, next, part)
		}
	}
}

// mulPanel multiplies the rows with one whole panel, in blocks of nearly even height: 8 rows are 4+4, not 6+2, because
// a low block keeps fewer multipliers busy. Each block has a part of the next panel, when there is one, brought
// into the second-level cache meanwhile: with weights that are nowhere nearer than the third, short texts waited for them
// for 40 % of the time.
func (m *Matrix) mulPanel(y []float32, ystride int, x []float32, xstride, rows int, panel []float32, next unsafe.Pointer, bias []float32) {
	most, _ := m.level.tile()
	blocks := (rows + most - 1) / most
	size := 4 * len(panel) // bytes of the next panel
	if m.half != nil {
		size /= 2
	}
	near := 0 // bytes of it that earlier blocks have brought
	for b := range blocks {
		first, end := b*rows/blocks, (b+1)*rows/blocks
		ahead := unsafe.Pointer(&panel[0])
		if next != nil && near < size {
			ahead = unsafe.Add(next, near)
			near += len(panel)                       // a quarter of a panel that is not halved
			if end-first <= 4 || m.level == AVX512 { // see avx2Ahead and avx512Ahead in gen
				near += len(panel)
			}
		}
		mulTile(m.level, y[first*ystride:], ystride, x[first*xstride:], xstride, end-first, panel, m.k, bias, ahead)
	}
}

// mulNarrow is mulPanel for the last panel when only width of its columns exist: each block is computed whole, beside y.
func (m *Matrix) mulNarrow(y []float32, ystride int, x []float32, xstride, rows int, panel, bias []float32, width int) {
	most, cols := m.level.tile()
	var wideBias [maxCols]float32
	if bias != nil {
		copy(wideBias[:], bias)
		bias = wideBias[:cols]
	}
	var block [maxRows * maxCols]float32
	blocks := (rows + most - 1) / most
	for b := range blocks {
		first, end := b*rows/blocks, (b+1)*rows/blocks
		mulTile(m.level, block[:], cols, x[first*xstride:], xstride, end-first, panel, m.k, bias, unsafe.Pointer(&panel[0]))
		for r := first; r < end; r++ {
			copy(y[r*ystride:][:width], block[(r-first)*cols:])
		}
	}
}

// mulNothing is Mul for K = 0.
func (m *Matrix) mulNothing(y []float32, ystride, rows int, bias []float32) {
	for r := range rows {
		row := y[r*ystride:][:m.n]
		clear(row)
		copy(row, bias)
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

// mulTileGeneric computes rows × cols results: y[r*ystride+c] = Σ x[r*xstride+i]*panel[i*cols+c] + bias[c], where rows
// and cols are at most (rows) and exactly (cols) those of the level's tile, k is positive, panel holds k*cols values,
// and bias is nil or holds cols values. The kernels of mulTile do the same for their tile.
func mulTileGeneric(y []float32, ystride int, x []float32, xstride, rows int, panel []float32, k int, bias []float32) {
	var b0, b1, b2, b3 float32
	if bias != nil {
		b0, b1, b2, b3 = bias[0], bias[1], bias[2], bias[3]
	}
	upper := x[:k]
	lower := upper
	if rows == 2 {
		lower = x[xstride:][:k]
	}
	s0, s1, s2, s3 := b0, b1, b2, b3
	t0, t1, t2, t3 := b0, b1, b2, b3
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
