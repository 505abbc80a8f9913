package bert

import (
	"context"
	"math"

	"smart-connections-mcp/simd"
)

// scratch is the memory of one pass. It is reused, so its contents before a
// pass are those of another text.
type scratch struct {
	x       []float32   // [T×H] hidden states, from layer to layer
	qkv     []float32   // [T×3H] queries, keys, values; within each, head beside head
	keys    simd.Matrix // [D×T] of one head
	values  simd.Matrix // [T×D] of one head
	scores  []float32   // [T×T] of one head: how much each token looks at each
	context []float32   // [T×H] what the heads read, head beside head
	inner   []float32   // [T×I] inside the feed-forward step
	step    []float32   // [T×H] what a step adds to x
}

// fit gives each buffer its size for T tokens, taking memory only if no
// earlier text was as long.
func (s *scratch) fit(c Config, T int) {
	for _, b := range []struct {
		buffer *[]float32
		size   int
	}{
		{&s.x, T * c.Hidden},
		{&s.qkv, T * 3 * c.Hidden},
		{&s.scores, T * T},
		{&s.context, T * c.Hidden},
		{&s.inner, T * c.Intermediate},
		{&s.step, T * c.Hidden},
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
	T, H, I, D := len(ids), c.Hidden, c.Intermediate, c.head()
	s.fit(c, T)
	act := activation(c.Activation)

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

		// queries, keys and values of all heads
		l.qkv.apply(s.qkv, s.x, T, 3*H, H)

		// self-attention, head by head: softmax(Q·Kᵀ/√D)·V
		scale := float32(1 / math.Sqrt(float64(D)))
		for at := 0; at < H; at += D {
			query, key, value := s.qkv[at:], s.qkv[H+at:], s.qkv[2*H+at:] // rows of D every 3H
			s.keys.PackTransposed(key, T, D, 3*H)
			s.keys.Mul(s.scores, T, query, 3*H, T, nil)
			for t := range T {
				simd.Softmax(s.scores[t*T:(t+1)*T], scale)
			}
			s.values.Pack(value, T, D, 3*H)
			s.values.Mul(s.context[at:], H, s.scores, T, T, nil)
		}

		// attention output, residual connection, norm
		l.attentionOut.apply(s.step, s.context, T, H, H)
		simd.Add(s.x, s.step)
		l.attentionNorm.apply(s.x, H, c.Eps)

		// feed-forward, residual connection, norm
		l.inner.apply(s.inner, s.x, T, I, H)
		act(s.inner)
		l.outer.apply(s.step, s.inner, T, H, I)
		simd.Add(s.x, s.step)
		l.outerNorm.apply(s.x, H, c.Eps)
	}
	return nil
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
