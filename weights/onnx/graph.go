package onnx

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"smart-connections-mcp/weights/values"
)

// The fields that matter here, by the message they are in.
const (
	modelGraph = 7<<3 | bytes

	graphNode        = 1<<3 | bytes
	graphInitialiser = 5<<3 | bytes

	nodeInput     = 1<<3 | bytes
	nodeOutput    = 2<<3 | bytes
	nodeName      = 3<<3 | bytes
	nodeOp        = 4<<3 | bytes
	nodeAttribute = 5<<3 | bytes
	nodeDomain    = 7<<3 | bytes

	attributeName   = 1<<3 | bytes
	attributeFloat  = 2<<3 | fixed32
	attributeInt    = 3<<3 | varint
	attributeTensor = 5<<3 | bytes
	attributeOne    = 8<<3 | varint // of the list of numbers
	attributeInts   = 8<<3 | bytes  // packed
)

// The most that is believed. A 24-layer encoder has 5,000 nodes and 800 tensors
// with names, a node seldom more than 5 inputs.
const (
	maxNodes   = 1 << 16
	maxTensors = 1 << 16
	maxValues  = 1 << 10 // inputs and outputs of one node
)

// node is one operation. Of the attributes, those are kept that decide what a
// weight is.
type node struct {
	name, op, domain string
	in, out          []string // names of values; "" = left out

	perm           []int64 // of Transpose
	to             int64   // of Cast
	transA, transB int64   // of Gemm
	alpha, beta    float32 // of Gemm
	value          *tensor // of Constant
}

// graph is what can be asked about a file.
type graph struct {
	nodes   []*node            // of the kinds that followed lists
	made    map[string]*node   // a value's name -> who makes it
	tensors map[string]*tensor // initialisers and constants, by the name of their value
	order   []string           // their names as they came
	foreign string             // an operation that is not ONNX's own; "" = none
}

// followed are the operations between a weight and its use. Others are
// forgotten: nothing is decided by them.
var followed = map[string]bool{
	"MatMul": true, "Gemm": true, "Add": true, "Transpose": true, "Identity": true,
	"Cast": true, "Reshape": true, "Constant": true,
}

// readGraph reads a file of size bytes.
func readGraph(r io.Reader, size int64) (*graph, error) {
	p := parser{
		wire:  &wire{r: bufio.NewReaderSize(r, 64<<10)},
		graph: &graph{made: map[string]*node{}, tensors: map[string]*tensor{}},
		buf:   make([]byte, values.Chunk),
	}
	graphs := 0
	err := p.message(size, func(f field) error {
		if f.key != modelGraph {
			return nil
		}
		if graphs++; graphs > 1 {
			return errors.New("the file has two graphs")
		}
		return p.message(f.end, p.graphField)
	})
	switch {
	case graphs == 0 && err == nil:
		return nil, errors.New("not an ONNX file: it holds no graph")
	case graphs == 0 && !errors.Is(err, errCut):
		return nil, fmt.Errorf("not an ONNX file, or a damaged one: %w", err)
	}
	return p.graph, err
}

type parser struct {
	*wire
	graph *graph
	nodes int    // seen, also those that were forgotten
	buf   []byte // scratch of values.Chunk
}

func (p *parser) graphField(f field) error {
	switch f.key {
	case graphNode:
		if p.nodes++; p.nodes > maxNodes {
			return fmt.Errorf("more than %d nodes", maxNodes)
		}
		n, err := p.node(f.end)
		if err != nil {
			return fmt.Errorf("node %q: %w", n.name, err)
		}
		return p.addNode(n)
	case graphInitialiser:
		t, err := p.tensor(f.end, p.buf)
		if err != nil {
			return err
		}
		return p.addTensor(t.name, t)
	}
	return nil
}

func (p *parser) addTensor(name string, t *tensor) error {
	g := p.graph
	if g.tensors[name] != nil || g.made[name] != nil {
		return fmt.Errorf("tensor %q comes twice", name)
	}
	if len(g.tensors) == maxTensors {
		return fmt.Errorf("more than %d tensors", maxTensors)
	}
	g.tensors[name] = t
	g.order = append(g.order, name)
	return nil
}

func (p *parser) addNode(n *node) error {
	g := p.graph
	if isQuantised(n.op) {
		return quantised("by " + n.op)
	}
	if n.domain != "" && n.domain != "ai.onnx" {
		g.foreign = n.domain + "." + n.op
		return nil
	}
	if !followed[n.op] {
		return nil
	}
	for _, out := range n.out {
		if g.made[out] != nil || g.tensors[out] != nil {
			return fmt.Errorf("value %q comes twice", out)
		}
	}
	if n.op == "Constant" {
		if n.value == nil || len(n.out) != 1 {
			return nil // a list of numbers, say
		}
		return p.addTensor(n.out[0], n.value)
	}
	for _, out := range n.out {
		g.made[out] = n
	}
	g.nodes = append(g.nodes, n)
	return nil
}

// isQuantised tells the operations of quantised models: DequantizeLinear,
// DynamicQuantizeMatMul, MatMulInteger, QLinearMatMul, MatMulNBits, QAttention …
func isQuantised(op string) bool {
	return strings.Contains(strings.ToLower(op), "quantize") || strings.Contains(op, "Integer") || strings.HasSuffix(op, "NBits") ||
		strings.HasSuffix(op, "Bnb4") || len(op) > 1 && op[0] == 'Q' && op[1] >= 'A' && op[1] <= 'Z'
}

// node reads the NodeProto that ends at end. Also with an error, the node has
// what was read of it.
func (p *parser) node(end int64) (*node, error) {
	n := &node{alpha: 1, beta: 1}
	err := p.message(end, func(f field) (err error) {
		switch f.key {
		case nodeInput:
			n.in, err = p.appendText(n.in, f)
		case nodeOutput:
			n.out, err = p.appendText(n.out, f)
		case nodeName:
			n.name, err = p.text(f, maxName)
		case nodeOp:
			n.op, err = p.text(f, maxName)
		case nodeDomain:
			n.domain, err = p.text(f, maxName)
		case nodeAttribute:
			err = p.attribute(n, f.end)
		}
		return err
	})
	return n, err
}

func (p *parser) appendText(list []string, f field) ([]string, error) {
	if len(list) == maxValues {
		return nil, fmt.Errorf("more than %d inputs or outputs", maxValues)
	}
	s, err := p.text(f, maxName)
	return append(list, s), err
}

// attribute reads an AttributeProto and keeps it if n has a place for it. The
// name may come after the value.
func (p *parser) attribute(n *node, end int64) error {
	var (
		name   string
		number int64
		float  float32
		list   []int64
		value  *tensor
	)
	add := func(v uint64) error {
		if len(list) <= maxRank { // no permutation that matters is longer
			list = append(list, int64(v))
		}
		return nil
	}
	err := p.message(end, func(f field) (err error) {
		switch f.key {
		case attributeName:
			name, err = p.text(f, maxName)
		case attributeFloat:
			float = math.Float32frombits(uint32(f.value))
		case attributeInt:
			number = int64(f.value)
		case attributeTensor:
			value, err = p.tensor(f.end, p.buf)
		case attributeOne:
			err = add(f.value)
		case attributeInts:
			err = p.packed(f.end, add)
		}
		return err
	})
	switch name {
	case "perm":
		n.perm = list
	case "to":
		n.to = number
	case "transA":
		n.transA = number
	case "transB":
		n.transB = number
	case "alpha":
		n.alpha = float
	case "beta":
		n.beta = float
	case "value":
		n.value = value
	}
	return err
}
