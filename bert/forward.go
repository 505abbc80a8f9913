package bert

import (
	"context"
	"math"

	"smart-connections-mcp/simd"
)

// forward leaves in s.x [T×H] the hidden states of the last layer. There are
// 1 to P ids, each below V. So many goroutines share the work. It stops between
// two layers when ctx ends.
func (p *parameters) forward(ctx context.Context, c Config, ids []int, s *scratch, members int) error {
	T, H := len(ids), c.Hidden
	s.fit(c, T, members)

	// embeddings: word + position + type 0, normalised
	for t, id := range ids {
		row := s.x[t*H : (t+1)*H]
		p.words.read(row, id*H)
		simd.Add(row, p.types[:H])
		simd.Add(row, p.positions[t*H:(t+1)*H])
	}
	p.norm.apply(s.x, H, c.Eps)

	s.ctx, s.layers = ctx, p.layers
	s.crew.work(members)
	s.ctx, s.layers = nil, nil
	return ctx.Err()
}

// pass takes x through the layers. Each member of the crew calls it.
func (s *scratch) pass(member int) {
	for i := range s.layers {
		if s.ctx.Err() != nil {
			s.crew.stop()
		}
		s.share(member, &s.layers[i], (*layer).project)
		if !s.crew.meet() {
			return
		}
		s.share(member, &s.layers[i], (*layer).finish)
		if !s.crew.meet() {
			return
		}
	}
}

// share does a member's share of a step of a layer.
func (s *scratch) share(member int, l *layer, step func(l *layer, s *scratch, d *desk, first, end int)) {
	T, groups := len(s.x)/s.config.Hidden, s.crew.groups
	for group, ok := s.crew.take(); ok; group, ok = s.crew.take() {
		step(l, s, &s.desks[member], group*T/groups, (group+1)*T/groups)
	}
}

// project computes the queries, keys and values of all heads for the rows of x
// from first up to end.
func (l *layer) project(s *scratch, d *desk, first, end int) {
	c := s.config
	H, D, rows, x := c.Hidden, c.head(), end-first, s.x[first*c.Hidden:]
	l.query.apply(s.queries[first*stride(H):], stride(H), x, H, rows)
	wide := stride(2 * H)
	l.keyValue.apply(d.keyValue, wide, x, H, rows)
	for head := range c.Heads {
		s.keys[head].SetColumns(first, d.keyValue[head*D:], rows, wide)
		s.values[head].SetRows(first, d.keyValue[H+head*D:], rows, wide)
	}
}

// finish is the rest of the layer: it replaces the rows of x from first up to
// end. The keys and values of all rows must be there.
func (l *layer) finish(s *scratch, d *desk, first, end int) {
	l.attend(s, d, first, end)
	l.feedForward(s, d, first, end)
}

// attend leaves in d.context what each head reads at the rows from first up to
// end: softmax(Q·Kᵀ/√D)·V.
func (l *layer) attend(s *scratch, d *desk, first, end int) {
	c := s.config
	H, D, T := c.Hidden, c.head(), len(s.x)/c.Hidden
	scale, apart := float32(1/math.Sqrt(float64(D))), stride(T)
	for head := range c.Heads {
		for row := first; row < end; row += few {
			rows := min(few, end-row)
			s.keys[head].Mul(d.scores, apart, s.queries[row*stride(H)+head*D:], stride(H), rows, nil)
			for r := range rows {
				simd.Softmax(d.scores[r*apart:r*apart+T], scale)
			}
			s.values[head].Mul(d.context[(row-first)*H+head*D:], H, d.scores, apart, rows, nil)
		}
	}
}

// feedForward takes the rows of x from first up to end through what treats each
// row by itself.
func (l *layer) feedForward(s *scratch, d *desk, first, end int) {
	c := s.config
	H, rows := c.Hidden, end-first
	x, step := s.x[first*H:end*H], d.step[:rows*H]

	// attention output, residual connection, norm
	l.attentionOut.apply(step, H, d.context, H, rows)
	simd.Add(x, step)
	l.attentionNorm.apply(x, H, c.Eps)

	// feed-forward, residual connection, norm
	act, wide := activation(c.Activation), stride(min(part, c.Intermediate))
	for row := 0; row < len(step); row += H {
		copy(step[row:], l.outerBias)
	}
	for i := range l.inner {
		inner, outer := &l.inner[i], &l.outer[i]
		inner.apply(d.inner, wide, x, H, rows)
		for r := range rows {
			act(d.inner[r*wide:][:len(inner.bias)])
		}
		outer.MulAdd(step, H, d.inner, wide, rows)
	}
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
