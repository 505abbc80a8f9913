package bert

import (
	"context"
	"math"

	"smart-connections-mcp/simd"
)

// group is how many rows go together through the steps that treat each token by
// itself: few enough that what they leave for each other stays in the second
// level of cache, and a multiple of the rows that a kernel takes at once.
const group = 128

// stride is where a row of so many values ends and the next begins: after an odd
// number of cache lines, so that rows do not compete for the same few places in
// the cache.
func stride(width int) int {
	const line = 16 // values in a cache line
	return ((width+line-1)/line | 1) * line
}

// scratch is the memory of one pass. It is reused, so its contents before a
// pass are those of another text. Rows of queries are stride(H) apart, all
// others lie one after the other.
type scratch struct {
	x       []float32     // [T×H] hidden states, from layer to layer
	queries []float32     // [T×H] of all heads, head beside head
	keys    []simd.Matrix // [D×T] of each head
	values  []simd.Matrix // [T×D] of each head
	desks   []desk        // one for each goroutine
}

// desk is the memory that a goroutine needs for a group of rows. Rows of
// keyValue, scores and inner are as far apart as stride says.
type desk struct {
	keyValue []float32 // [group×2H] keys, values; within each, head beside head
	scores   []float32 // [few×T] of one head: how much each token looks at each
	context  []float32 // [group×H] what the heads read, head beside head
	inner    []float32 // [group×part] inside the feed-forward step
	step     []float32 // [group×H] what a step adds to x
}

// few is how many rows of a head go through attention together: their scores
// stay in the first level of cache.
const few = 12

// fit gives each buffer its size for T tokens, taking memory only if no
// earlier text was as long.
func (s *scratch) fit(c Config, T, desks int) {
	grow(&s.x, T*c.Hidden)
	grow(&s.queries, T*stride(c.Hidden))
	grow(&s.keys, c.Heads)
	grow(&s.values, c.Heads)
	for head := range c.Heads {
		s.keys[head].Resize(c.head(), T)
		s.values[head].Resize(T, c.head())
	}
	grow(&s.desks, desks)
	rows := min(T, group)
	for i := range s.desks {
		d := &s.desks[i]
		grow(&d.keyValue, rows*stride(2*c.Hidden))
		grow(&d.scores, few*stride(T))
		grow(&d.context, rows*c.Hidden)
		grow(&d.inner, rows*stride(min(part, c.Intermediate)))
		grow(&d.step, rows*c.Hidden)
	}
}

// grow gives a buffer so many values, keeping those it has.
func grow[T any](buffer *[]T, size int) {
	if size > cap(*buffer) {
		*buffer = append(make([]T, 0, size), (*buffer)[:cap(*buffer)]...)
	}
	*buffer = (*buffer)[:size]
}

// forward leaves in s.x [T×H] the hidden states of the last layer. There are
// 1 to P ids, each below V. It stops between two layers when ctx ends.
func (p *parameters) forward(ctx context.Context, c Config, ids []int, s *scratch) error {
	T, H := len(ids), c.Hidden
	s.fit(c, T, 1)

	// embeddings: word + position + type 0, normalised
	for t, id := range ids {
		row := s.x[t*H : (t+1)*H]
		copy(row, p.words[id*H:(id+1)*H])
		simd.Add(row, p.types[:H])
		simd.Add(row, p.positions[t*H:(t+1)*H])
	}
	p.norm.apply(s.x, H, c.Eps)

	groups := (T + group - 1) / group
	for i := range p.layers {
		if err := ctx.Err(); err != nil {
			return err
		}
		l := &p.layers[i]
		for g := range groups {
			l.project(c, s, &s.desks[0], g*T/groups, (g+1)*T/groups)
		}
		for g := range groups {
			l.attend(c, s, &s.desks[0], g*T/groups, (g+1)*T/groups)
			l.feedForward(c, s, &s.desks[0], g*T/groups, (g+1)*T/groups)
		}
	}
	return nil
}

// project computes the queries, keys and values of all heads for the rows of x
// from first up to end.
func (l *layer) project(c Config, s *scratch, d *desk, first, end int) {
	H, D, rows, x := c.Hidden, c.head(), end-first, s.x[first*c.Hidden:]
	l.query.apply(s.queries[first*stride(H):], stride(H), x, H, rows)
	wide := stride(2 * H)
	l.keyValue.apply(d.keyValue, wide, x, H, rows)
	for head := range c.Heads {
		s.keys[head].SetColumns(first, d.keyValue[head*D:], rows, wide)
		s.values[head].SetRows(first, d.keyValue[H+head*D:], rows, wide)
	}
}

// attend leaves in d.context what each head reads at the rows from first up to
// end: softmax(Q·Kᵀ/√D)·V.
func (l *layer) attend(c Config, s *scratch, d *desk, first, end int) {
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

// feedForward is the rest of the layer, which treats each row by itself: it
// replaces the rows of x from first up to end.
func (l *layer) feedForward(c Config, s *scratch, d *desk, first, end int) {
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
