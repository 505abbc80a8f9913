package onnx

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"smart-connections-mcp/weights/values"
)

// Read reads the parameters that want names, with their shapes, from an ONNX
// file of size bytes. canonical maps the names of the file to those of want,
// where a common prefix alone does not. A matrix whose name ends in .weight and
// that has a .bias beside it is a linear weight and comes as [out×in]. Values
// of two parameters may share memory.
func Read(r io.Reader, size int64, want map[string][]int, canonical func(string) string) (map[string]values.Slice, error) {
	g, err := readGraph(r, size)
	if err != nil {
		return nil, err
	}
	s, err := newSearch(g, want, canonical)
	if err != nil {
		return nil, err
	}
	if err := s.strangers(); err != nil {
		return nil, err
	}
	if err := s.links(); err != nil {
		return nil, err
	}
	params := make(map[string]values.Slice, len(want))
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if params[name], err = s.parameter(name); err != nil {
			return nil, fmt.Errorf("parameter %s %v: %w", name, want[name], err)
		}
	}
	return params, nil
}

// search finds parameters in a graph.
type search struct {
	*graph
	want      map[string][]int
	canonical func(string) string
	prefix    string               // of all names in the file, beyond what canonical knows
	named     map[string][]*tensor // wanted name -> tensors that are called so
	products  []*product
	linear    map[string]*product // by its name, a parameter's without .weight
}

func newSearch(g *graph, want map[string][]int, canonical func(string) string) (*search, error) {
	s := &search{graph: g, want: want, canonical: canonical, named: map[string][]*tensor{}, linear: map[string]*product{}}
	var err error
	if s.prefix, err = s.commonPrefix(); err != nil {
		return nil, err
	}
	call := func(value string) {
		t, _ := s.origin(value)
		if name := s.name(value); t != nil && s.wanted(name) && !slices.Contains(s.named[name], t) {
			s.named[name] = append(s.named[name], t)
		}
	}
	for _, value := range g.order {
		call(value)
	}
	for _, n := range g.nodes {
		if len(n.out) == 1 && n.op != "Transpose" {
			call(n.out[0])
		}
	}
	return s, nil
}

func (s *search) wanted(name string) bool { return s.want[name] != nil }

// commonPrefix is what stands before every wanted name that a tensor has: a
// wrapper's name for the encoder, whatever the wrapper.
func (s *search) commonPrefix() (string, error) {
	found := map[string]bool{}
	for _, value := range s.order {
		if prefix, ok := s.before(value); ok {
			found[prefix] = true
		}
	}
	all := slices.Sorted(maps.Keys(found))
	switch len(all) {
	case 0:
		return "", nil
	case 1:
		return all[0], nil
	}
	return "", fmt.Errorf("the file holds parameters of more than one encoder, called %q and %q", all[0], all[1])
}

// before splits a name at the first dot behind which a wanted name stands.
func (s *search) before(name string) (prefix string, ok bool) {
	for at := 0; ; {
		if s.wanted(s.canonical(name[at:])) {
			return name[:at], true
		}
		dot := strings.IndexByte(name[at:], '.')
		if dot < 0 {
			return "", false
		}
		at += dot + 1
	}
}

// name is a value's name as want would have it.
func (s *search) name(value string) string {
	return s.canonical(strings.TrimPrefix(value, s.prefix))
}

// strangers refuses tensors of layers that nobody wants: the file and the
// configuration belong to different models.
func (s *search) strangers() error {
	const layer = "encoder.layer."
	layers := map[string]bool{}
	of := func(name string) string {
		number, _, _ := strings.Cut(name[len(layer):], ".")
		return number
	}
	for name := range s.want {
		if strings.HasPrefix(name, layer) {
			layers[of(name)] = true
		}
	}
	for _, value := range s.order {
		if name := s.name(value); strings.HasPrefix(name, layer) && !layers[of(name)] {
			return fmt.Errorf("tensor %q has no place in the model that config.json describes", value)
		}
	}
	return nil
}

// parameter returns the values of a wanted parameter.
func (s *search) parameter(name string) (values.Slice, error) {
	candidates := slices.Clone(s.named[name])
	flip := false
	if base, end, ok := s.linearName(name); ok {
		p := s.linear[base]
		if p == nil {
			return values.Slice{}, fmt.Errorf("no product in the graph is known as its by name or bias%s", s.lacks())
		}
		t := p.weight
		if end == biasEnd {
			if len(p.biases) != 1 {
				return values.Slice{}, fmt.Errorf("the product %q adds %d biases, want 1", p.node.name, len(p.biases))
			}
			t = p.biases[0]
		} else {
			flip = !p.flipped
		}
		if !slices.Contains(candidates, t) {
			candidates = append(candidates, t)
		}
	}
	switch len(candidates) {
	case 0:
		return values.Slice{}, fmt.Errorf("missing%s", s.lacks())
	case 1:
	default:
		return values.Slice{}, fmt.Errorf("tensors %q and %q could both be it", candidates[0].name, candidates[1].name)
	}
	return take(candidates[0], s.want[name], flip)
}

// lacks says what the file is like, for an error about what it does not hold.
func (s *search) lacks() string {
	text := fmt.Sprintf("; the file holds %d tensors", len(s.order))
	if len(s.order) > 0 {
		text += fmt.Sprintf(", such as %q", slices.Min(s.order))
	}
	if s.foreign != "" {
		text += fmt.Sprintf(", and operations that are not ONNX's own (%s): use the plain export, not one optimised for a runtime", s.foreign)
	}
	return text
}

// take is a tensor's values in the wanted shape, turned from [in×out] to
// [out×in] with flip.
func take(t *tensor, shape []int, flip bool) (values.Slice, error) {
	dims := slices.Clone(t.dims)
	if flip {
		slices.Reverse(dims)
	}
	if !slices.EqualFunc(dims, shape, func(a int64, b int) bool { return a == int64(b) }) {
		return values.Slice{}, fmt.Errorf("tensor %q: want shape %v (config.json), found %v", t.name, shape, dims)
	}
	if _, keep := types[t.kind]; !keep {
		return values.Slice{}, fmt.Errorf("tensor %q: values are of type %d, want F32, F16 or BF16", t.name, t.kind)
	}
	if err := t.values.Finite(); err != nil {
		return values.Slice{}, fmt.Errorf("tensor %q: %w", t.name, err)
	}
	if !flip {
		return t.values, nil
	}
	return values.Slice{
		Floats: transposed(t.values.Floats, shape[0], shape[1]),
		Halves: transposed(t.values.Halves, shape[0], shape[1]),
	}, nil
}

// transposed turns x [in×out] to [out×in], tile by tile: both sides then stay
// in the cache. No values stay none.
func transposed[T float32 | uint16](x []T, out, in int) []T {
	if x == nil {
		return nil
	}
	const tile = 32
	y := make([]T, len(x))
	for top := 0; top < in; top += tile {
		for left := 0; left < out; left += tile {
			for i := top; i < min(top+tile, in); i++ {
				for o := left; o < min(left+tile, out); o++ {
					y[o*in+i] = x[i*out+o]
				}
			}
		}
	}
	return y
}
