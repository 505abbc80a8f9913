package bert

import (
	"fmt"

	"gorgonia.org/tensor"

	"smart-connections-mcp/simd"
)

// parameters is what the model has learnt. The embedding tables stay where
// the checkpoint has them; the weights of products are packed for the kernels.
type parameters struct {
	words     []float32 // [V×H]
	positions []float32 // [P×H]
	types     []float32 // [Y×H]
	norm      layerNorm
	layers    []layer
}

// layer is one encoder layer.
type layer struct {
	query         linear // [H → H]
	keyValue      linear // [H → 2H] keys and values side by side
	attentionOut  linear // [H → H]
	attentionNorm layerNorm
	inner         []linear      // [H → part] each, together I
	outer         []simd.Matrix // [part×H] each, together I×H
	outerBias     []float32     // [H]
	outerNorm     layerNorm
}

// part is how many of the I values inside a feed-forward step are computed, and
// used up, together: what belongs to a group of rows stays in the second level
// of cache then, with the weights passing through.
const part = 384

// linear is the step y = x·weight + bias.
type linear struct {
	weight simd.Matrix // [in×out]
	bias   []float32   // [out]
}

// apply sets y [rows×out] from x [rows×in], whose rows begin as far apart as
// given.
func (l *linear) apply(y []float32, ystride int, x []float32, xstride, rows int) {
	l.weight.Mul(y, ystride, x, xstride, rows, l.bias)
}

// layerNorm is a layer norm over the hidden state.
type layerNorm struct {
	gamma, beta []float32 // [H]
}

// apply normalises each row of x [T×H] in place.
func (n *layerNorm) apply(x []float32, H int, eps float32) {
	for row := 0; row < len(x); row += H {
		simd.LayerNorm(x[row:row+H], n.gamma, n.beta, eps)
	}
}

// newParameters checks every parameter against the shape the config gives it
// and packs the weights for the kernels in force.
func newParameters(c Config, params map[string]*tensor.Dense) (*parameters, error) {
	named := make(map[string][]float32)
	for name, shape := range c.Shapes() {
		values, err := valuesOf(params[name], shape)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
		named[name] = values
	}
	H := c.Hidden
	p := &parameters{
		words:     named["embeddings.word_embeddings.weight"],
		positions: named["embeddings.position_embeddings.weight"],
		types:     named["embeddings.token_type_embeddings.weight"],
		norm:      layerNorm{named["embeddings.LayerNorm.weight"], named["embeddings.LayerNorm.bias"]},
		layers:    make([]layer, c.Layers),
	}
	for i := range p.layers {
		l, prefix := &p.layers[i], fmt.Sprintf("encoder.layer.%d.", i)
		get := func(name string) []float32 { return named[prefix+name] }
		l.query.pack(get, H, H, "attention.self.query")
		l.keyValue.pack(get, 2*H, H, "attention.self.key", "attention.self.value")
		l.attentionOut.pack(get, H, H, "attention.output.dense")
		l.packFeedForward(c, get)
		l.attentionNorm = layerNorm{get("attention.output.LayerNorm.weight"), get("attention.output.LayerNorm.bias")}
		l.outerNorm = layerNorm{get("output.LayerNorm.weight"), get("output.LayerNorm.bias")}
	}
	return p, nil
}

// pack makes l of the weights and biases with these names, side by side.
func (l *linear) pack(get func(name string) []float32, out, in int, names ...string) {
	l.weight.Resize(in, out)
	for i, name := range names {
		each := out / len(names)
		l.weight.SetColumns(i*each, get(name+".weight"), each, in)
		l.bias = append(l.bias, get(name+".bias")...)
	}
	l.weight.Halve()
}

// packFeedForward cuts the weights of the feed-forward step into parts.
func (l *layer) packFeedForward(c Config, get func(name string) []float32) {
	H, I := c.Hidden, c.Intermediate
	in, bias := get("intermediate.dense.weight"), get("intermediate.dense.bias") // [I×H], [I]
	out := get("output.dense.weight")                                            // [H×I]
	l.outerBias = get("output.dense.bias")
	for first := 0; first < I; first += part {
		width := min(part, I-first)
		inner := linear{bias: bias[first:][:width]}
		inner.weight.PackTransposed(in[first*H:], width, H, H)
		inner.weight.Halve()
		var outer simd.Matrix
		outer.PackTransposed(out[first:], H, width, I)
		outer.Halve()
		l.inner, l.outer = append(l.inner, inner), append(l.outer, outer)
	}
}

// valuesOf returns the values of a tensor, row by row and without a copy,
// when it has the shape wanted.
func valuesOf(t *tensor.Dense, shape []int) ([]float32, error) {
	if t == nil {
		return nil, fmt.Errorf("missing: want shape %v", shape)
	}
	if !t.Shape().Eq(tensor.Shape(shape)) {
		return nil, fmt.Errorf("has shape %v: the config wants %v", []int(t.Shape()), shape)
	}
	values, ok := t.Data().([]float32)
	if !ok || len(values) != tensor.Shape(shape).TotalSize() || t.RequiresIterator() {
		return nil, fmt.Errorf("holds %v, not contiguous float32", t.Dtype())
	}
	return values, nil
}
