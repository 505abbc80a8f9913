package bert

import (
	"context"
	"math"

	"smart-connections-mcp/simd"
)

// group is how many rows go together through the steps that treat each token by
// itself: few enough that what they leave for each other stays in the second
// level of cache, and a multiple of the rows that a kernel takes at once.
const group = 48

// stride is where a row of so many values ends and the next begins: after an odd
// number of cache lines, so that rows do not compete for the same few places in
// the cache.
func stride(width int) int {
	const line = 16 // values in a cache line
	return ((width+line-1)/line | 1) * line
}

// scratch is the memory of one pass. It is reused, so its contents before a
// pass are those of another text. Rows of qkv, scores and inner are stride(width)
// apart, all others lie one after the other.
type scratch struct {
	x       []float32   // [T×H] hidden states, from layer to layer
	qkv     []float32   // [T×3H] queries, keys, values; within each, head beside head
	keys    simd.Matrix // [D×T] of one head
	values  simd.Matrix // [T×D] of one head
	scores  []float32   // [T×T] of one head: how much each token looks at each
	context []float32   // [T×H] what the heads read, head beside head
	inner   []float32   // [group×I] inside the feed-forward step
	step    []float32   // [group×H] what a step adds to x
}

// fit gives each buffer its size for T tokens, taking memory only if no
// earlier text was as long.
func (s *scratch) fit(c Config, T int) {
	rows := min(T, group)
	for _, b := range []struct {
		buffer *[]float32
		size   int
	}{
		{&s.x, T * c.Hidden},
		{&s.qkv, T * stride(3*c.Hidden)},
		{&s.scores, T * stride(T)},
		{&s.context, T * c.Hidden},
		{&s.inner, rows * stride(c.Intermediate)},
		{&s.step, rows * c.Hidden},
	} {
		if cap(*b.buffer) < b.size {
			*b.buffer = make([]float32, b.size)
		}
		*b.buffer = (*b.buffer)[:b.size]
	}
}

// forward leaves in s.x [T×H] the hidden states of the last layer. There are
// 1 to P ids, each below V. It stops between two layers when ctx ends.
func (p *parameters) forward(ctx context.Context, c Config, ids []int, s *scratch) error {
	T, H := len(ids), c.Hidden
	s.fit(c, T)

	// embeddings: word + position + type 0, normalised
	for t, id := range ids {
		row := s.x[t*H : (t+1)*H]
		copy(row, p.words[id*H:(id+1)*H])
		simd.Add(row, p.types[:H])
		simd.Add(row, p.positions[t*H:(t+1)*H])
	}
	p.norm.apply(s.x, H, c.Eps)

	for i := range p.layers {
		if err := ctx.Err(); err != nil {
			return err
		}
		l := &p.layers[i]
		l.attend(c, T, s)
		for first := 0; first < T; first += group {
			end := min(first+group, T)
			l.feedForward(c, end-first, s.x[first*H:end*H], s.context[first*H:end*H], s)
		}
	}
	return nil
}

// attend leaves in s.context what each head reads at each token, from s.x.
func (l *layer) attend(c Config, T int, s *scratch) {
	H, D := c.Hidden, c.head()

	// queries, keys and values of all heads
	wide := stride(3 * H)
	l.qkv.apply(s.qkv, wide, s.x, H, T)

	// self-attention, head by head: softmax(Q·Kᵀ/√D)·V
	scale, apart := float32(1/math.Sqrt(float64(D))), stride(T)
	for at := 0; at < H; at += D {
		query, key, value := s.qkv[at:], s.qkv[H+at:], s.qkv[2*H+at:] // rows of D
		s.keys.PackTransposed(key, T, D, wide)
		s.keys.Mul(s.scores, apart, query, wide, T, nil)
		for t := range T {
			simd.Softmax(s.scores[t*apart:t*apart+T], scale)
		}
		s.values.Pack(value, T, D, wide)
		s.values.Mul(s.context[at:], H, s.scores, apart, T, nil)
	}
}

// feedForward is the rest of the layer, which treats each row by itself, on a
// group of rows: x [rows×H] is replaced, read [rows×H] is what the heads read.
func (l *layer) feedForward(c Config, rows int, x, read []float32, s *scratch) {
	H, I := c.Hidden, c.Intermediate
	step := s.step[:rows*H]

	// attention output, residual connection, norm
	l.attentionOut.apply(step, H, read, H, rows)
	simd.Add(x, step)
	l.attentionNorm.apply(x, H, c.Eps)

	// feed-forward, residual connection, norm
	act, wide := activation(c.Activation), stride(I)
	l.inner.apply(s.inner, wide, x, H, rows)
	for r := range rows {
		act(s.inner[r*wide : r*wide+I])
	}
	l.outer.apply(step, H, s.inner, wide, rows)
	simd.Add(x, step)
	l.outerNorm.apply(x, H, c.Eps)
}

// pool writes to dst [H] the pooled hidden states x [T×H], not normalised.
func pool(dst, x []float32, by Pooling) {
	H := len(dst)
	copy(dst, x)
	if by == CLS {
		return
	}
	for row := H; row < len(x); row += H {
		simd.Add(dst, x[row:row+H])
	}
	for i := range dst {
		dst[i] /= float32(len(x) / H)
	}
}

// activation returns the function a config.json names, nil when there is none.
func activation(name string) func(x []float32) {
	switch name {
	case "gelu":
		return simd.GELU
	case "gelu_new", "gelu_pytorch_tanh":
		return simd.GELUTanh
	case "relu":
		return simd.ReLU
	}
	return nil
}
