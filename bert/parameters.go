package bert

import (
	"fmt"
	"slices"

	"gorgonia.org/tensor"

	"smart-connections-mcp/simd"
)

// parameters is what the model has learnt. The table of words stays as the
// checkpoint has it; the weights of products are packed for the kernels.
type parameters struct {
	words     values    // [V×H]
	positions []float32 // [P×H]
	types     []float32 // [Y×H]
	norm      layerNorm
	layers    []layer
}

// values are a parameter's, row by row, as the checkpoint has them: one of the
// two. Halves are half the memory, and widening them loses nothing.
type values struct {
	floats []float32
	halves []uint16 // IEEE 754
}

// read sets dst to the values from place at on.
func (v values) read(dst []float32, at int) {
	if v.halves != nil {
		simd.Widen(dst, v.halves[at:at+len(dst)])
		return
	}
	copy(dst, v.floats[at:at+len(dst)])
}

// wide returns all values as float32.
func (v values) wide() []float32 {
	if v.halves == nil {
		return v.floats
	}
	all := make([]float32, len(v.halves))
	v.read(all, 0)
	return all
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
	named := make(map[string]values)
	for name, shape := range c.Shapes() {
		v, err := valuesOf(params[name], shape)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
		named[name] = v
	}
	H := c.Hidden
	p := &parameters{
		words:     named["embeddings.word_embeddings.weight"],
		positions: named["embeddings.position_embeddings.weight"].wide(),
		types:     named["embeddings.token_type_embeddings.weight"].wide(),
		norm:      newLayerNorm(named, "embeddings.LayerNorm"),
		layers:    make([]layer, c.Layers),
	}
	for i := range p.layers {
		l, prefix := &p.layers[i], fmt.Sprintf("encoder.layer.%d.", i)
		l.query = newLinear(named, H, H, prefix+"attention.self.query")
		l.keyValue = newLinear(named, 2*H, H, prefix+"attention.self.key", prefix+"attention.self.value")
		l.attentionOut = newLinear(named, H, H, prefix+"attention.output.dense")
		l.packFeedForward(c, named, prefix)
		l.attentionNorm = newLayerNorm(named, prefix+"attention.output.LayerNorm")
		l.outerNorm = newLayerNorm(named, prefix+"output.LayerNorm")
	}
	return p, nil
}

func newLayerNorm(named map[string]values, name string) layerNorm {
	return layerNorm{named[name+".weight"].wide(), named[name+".bias"].wide()}
}

// newLinear makes one step of those with these names, their results side by
// side.
func newLinear(named map[string]values, out, in int, names ...string) linear {
	var l linear
	var weights []values
	for _, name := range names {
		weights = append(weights, named[name+".weight"])
		l.bias = append(l.bias, named[name+".bias"].wide()...)
	}
	l.weight = packed(out, in, 0, in, weights...)
	return l
}

// packFeedForward cuts the weights of the feed-forward step into parts.
func (l *layer) packFeedForward(c Config, named map[string]values, prefix string) {
	H, I := c.Hidden, c.Intermediate
	in, bias := named[prefix+"intermediate.dense.weight"], named[prefix+"intermediate.dense.bias"].wide() // [I×H], [I]
	out := named[prefix+"output.dense.weight"]                                                            // [H×I]
	l.outerBias = named[prefix+"output.dense.bias"].wide()
	for first := 0; first < I; first += part {
		width := min(part, I-first)
		l.inner = append(l.inner, linear{packed(width, H, first*H, H, in), bias[first:][:width]})
		l.outer = append(l.outer, packed(H, width, first, I, out))
	}
}

// packed returns the Matrix [in×out] of weights [out×in] whose rows begin at
// place at and every stride values from there. Several are put side by side. It
// keeps halves where the checkpoint has them, or could.
func packed(out, in, at, stride int, weights ...values) simd.Matrix {
	var m simd.Matrix
	each := out / len(weights)
	if !slices.ContainsFunc(weights, func(v values) bool { return v.halves == nil }) {
		m.ResizeHalves(in, out)
		for i, v := range weights {
			m.SetColumnsHalves(i*each, v.halves[at:], each, stride)
		}
		return m
	}
	m.Resize(in, out)
	for i, v := range weights {
		m.SetColumns(i*each, v.wide()[at:], each, stride)
	}
	m.Halve()
	return m
}

// valuesOf returns the values of a tensor without a copy, when it has the shape
// wanted.
func valuesOf(t *tensor.Dense, shape []int) (values, error) {
	if t == nil {
		return values{}, fmt.Errorf("missing: want shape %v", shape)
	}
	if !t.Shape().Eq(tensor.Shape(shape)) {
		return values{}, fmt.Errorf("has shape %v: the config wants %v", []int(t.Shape()), shape)
	}
	var v values
	switch data := t.Data().(type) {
	case []float32:
		v.floats = data
	case []uint16:
		v.halves = data
	}
	if len(v.floats)+len(v.halves) != tensor.Shape(shape).TotalSize() || t.RequiresIterator() {
		return values{}, fmt.Errorf("holds %v, not contiguous float32 or halves as uint16", t.Dtype())
	}
	return v, nil
}
