package onnx

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	weightEnd = ".weight"
	biasEnd   = ".bias"
)

// maxChain is how many nodes may lie between a tensor and its use; it ends the
// walk around a circle.
const maxChain = 8

// product is a multiplication of a hidden state with a matrix that the file
// holds, and what is added to it.
type product struct {
	node    *node
	factor  string    // the matrix, as the node names it
	weight  *tensor   // what the matrix is made of
	flipped bool      // the weight lies as [out×in]
	biases  []*tensor // different ones that are added to it; one in a model that is right
	addends []string  // these, as the sums name them
}

// origin follows a value back to the tensor that it is. flipped says that it is
// the tensor's transpose.
func (g *graph) origin(value string) (t *tensor, flipped bool) {
	for range maxChain {
		if t := g.tensors[value]; t != nil {
			return t, flipped
		}
		n := g.made[value]
		switch {
		case n == nil || len(n.in) < 1:
			return nil, false
		case n.op == "Identity", n.op == "Cast" && n.to == 1: // to F32, which loses nothing
		case n.op == "Transpose" && (len(n.perm) == 0 || slices.Equal(n.perm, []int64{1, 0})):
			flipped = !flipped
		default:
			return nil, false
		}
		value = n.in[0]
	}
	return nil, false
}

// nearest is the first wanted name on the way from a value back to its tensor;
// "" when none is. A tensor that two parameters share has both names, one of
// them on an Identity node.
func (s *search) nearest(value string) string {
	for range maxChain {
		if name := s.name(value); s.wanted(name) {
			return name
		}
		n := s.made[value]
		if n == nil || len(n.in) < 1 || n.op != "Identity" && n.op != "Cast" && n.op != "Transpose" {
			return ""
		}
		value = n.in[0]
	}
	return ""
}

// linearName splits the name of a linear weight or bias into the name of the
// layer and the end. A matrix without a bias is a table, a vector without a
// matrix a norm's.
func (s *search) linearName(name string) (base, end string, ok bool) {
	for _, end := range []string{weightEnd, biasEnd} {
		if base, found := strings.CutSuffix(name, end); found {
			return base, end, len(s.want[base+weightEnd]) == 2 && len(s.want[base+biasEnd]) == 1
		}
	}
	return "", "", false
}

// links finds all products and gives each linear layer its own. Bias, weight
// and node may each name the layer; those that do must agree on one product.
func (s *search) links() error {
	s.findProducts()
	evidence := map[string][3][]*product{}
	note := func(name string, kind int, p *product) {
		if base, _, ok := s.linearName(name); ok {
			e := evidence[base]
			if !slices.Contains(e[kind], p) {
				e[kind] = append(e[kind], p)
			}
			evidence[base] = e
		}
	}
	for _, p := range s.products {
		note(s.nearest(p.factor), 0, p)
		for _, value := range p.addends {
			note(s.nearest(value), 1, p)
		}
		note(s.pathName(p.node), 2, p)
	}
	owner := map[*product]string{}
	for _, base := range slices.Sorted(maps.Keys(evidence)) {
		p, err := agreed(evidence[base])
		if err != nil {
			return fmt.Errorf("parameter %s: %w", base+weightEnd, err)
		}
		if other, taken := owner[p]; taken {
			return fmt.Errorf("parameters %s and %s would both be of the product %q", other+weightEnd, base+weightEnd, p.node.name)
		}
		owner[p], s.linear[base] = base, p
	}
	return nil
}

// agreed is the one product that all kinds of evidence which say anything name.
func agreed(kinds [3][]*product) (*product, error) {
	var all []*product
	for _, some := range kinds {
		switch {
		case len(some) == 0:
		case all == nil:
			all = some
		default:
			all = slices.DeleteFunc(slices.Clone(all), func(p *product) bool { return !slices.Contains(some, p) })
			if len(all) == 0 {
				return nil, fmt.Errorf("its name, its bias and the name of its node are at different products in the graph, such as %q", some[0].node.name)
			}
		}
	}
	if len(all) > 1 {
		return nil, fmt.Errorf("the products %q and %q could both be its", all[0].node.name, all[1].node.name)
	}
	return all[0], nil
}

// findProducts lists the products in the order of the file.
func (s *search) findProducts() {
	of := map[*node]*product{}
	for _, n := range s.nodes {
		if p := s.productOf(n); p != nil {
			s.products = append(s.products, p)
			of[n] = p
		}
	}
	for _, n := range s.nodes {
		if n.op != "Add" || len(n.in) != 2 {
			continue
		}
		for i, value := range n.in {
			if p := of[s.behind(value)]; p != nil {
				s.addBias(p, n.in[1-i])
			}
		}
	}
}

// productOf is a node as a product, nil when it is none with a matrix of the
// file or computes something else besides.
func (s *search) productOf(n *node) *product {
	if len(n.in) < 2 || len(n.out) != 1 || n.op != "MatMul" && n.op != "Gemm" {
		return nil
	}
	t, flipped := s.origin(n.in[1])
	if t == nil || len(t.dims) != 2 {
		return nil
	}
	p := &product{node: n, factor: n.in[1], weight: t, flipped: flipped}
	if n.op == "Gemm" {
		if n.transA != 0 || n.alpha != 1 || n.beta != 1 {
			return nil
		}
		p.flipped = flipped != (n.transB != 0)
		if len(n.in) > 2 {
			s.addBias(p, n.in[2])
		}
	}
	return p
}

// addBias notes what is added to a product, if it is a vector of the file.
func (s *search) addBias(p *product, value string) {
	t, _ := s.origin(value)
	if t == nil || len(t.dims) != 1 {
		return
	}
	p.addends = append(p.addends, value)
	if !slices.Contains(p.biases, t) {
		p.biases = append(p.biases, t)
	}
}

// behind is the node that computes a value, past those that only hand it on.
func (g *graph) behind(value string) *node {
	n := g.made[value]
	for range maxChain {
		if n == nil || len(n.in) < 1 || n.op != "Identity" && n.op != "Cast" && n.op != "Reshape" {
			break
		}
		n = g.made[n.in[0]]
	}
	return n
}

// pathName reads the name of a layer's weight from a node such as
// /encoder/layer.0/attention/self/query/MatMul. Nodes without such a name give "".
func (s *search) pathName(n *node) string {
	path, op, found := cutLast(n.name, "/")
	if !found || op != n.op && !strings.HasPrefix(op, n.op+"_") {
		return ""
	}
	dotted := strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", ".") + weightEnd
	prefix, found := s.before(dotted)
	if !found {
		return ""
	}
	return s.canonical(dotted[len(prefix):])
}

func cutLast(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}
