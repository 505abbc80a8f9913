package onnx

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shapes is an encoder of two layers that is small enough to be exported in all
// the ways there are. Four of its six products per layer are square.
func shapes() map[string][]int {
	const V, H, I = 4, 3, 5
	want := map[string][]int{
		"embeddings.word_embeddings.weight": {V, H},
		"embeddings.LayerNorm.weight":       {H},
		"embeddings.LayerNorm.bias":         {H},
	}
	for i := range 2 {
		layer := fmt.Sprintf("encoder.layer.%d.", i)
		for _, c := range []struct {
			name    string
			out, in int
		}{
			{"attention.self.query", H, H}, {"attention.self.key", H, H}, {"attention.self.value", H, H},
			{"attention.output.dense", H, H}, {"intermediate.dense", I, H}, {"output.dense", H, I},
		} {
			want[layer+c.name+".weight"] = []int{c.out, c.in}
			want[layer+c.name+".bias"] = []int{c.out}
		}
		want[layer+"output.LayerNorm.weight"] = []int{H}
		want[layer+"output.LayerNorm.bias"] = []int{H}
	}
	return want
}

// content numbers all values of an encoder, so that no two are the same; all
// are exact as F16 and BF16.
func content(want map[string][]int) map[string][]float32 {
	all := map[string][]float32{}
	next := float32(1)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		n := 1
		for _, d := range want[name] {
			n *= d
		}
		for range n {
			all[name] = append(all[name], next)
			next++
		}
	}
	return all
}

// factor is how an exporter writes the matrix of a product.
type factor int

const (
	anonymous      factor = iota // transposed, under a number
	named                        // transposed, under its own name
	turned                       // as it is, with a Transpose node behind it
	turnedTwice                  // transposed, with two
	gemm                         // transposed, in a Gemm
	gemmTransposed               // as it is, in a Gemm with transB
	constant                     // transposed, in a Constant node
	cast                         // transposed, with a Cast to F32 behind it
	factors
)

// addend is how an exporter writes a bias.
type addend int

const (
	left        addend = iota
	right              // the second operand
	reshaped           // behind a Reshape
	behind             // an Identity node with the name, a tensor with none
	ownConstant        // a Constant node with the name
	unnamed            // a number; the node tells the layer
	addends
)

// exporter is one set of habits.
type exporter struct {
	factor  factor
	addend  addend
	storage storage
	paths   bool // nodes are called after their layers
	first   bool // tensors come before nodes
	prefix  string
}

// export writes an encoder as e would.
func (e exporter) export(want map[string][]int) *file {
	f := &file{tensorsFirst: e.first}
	values := content(want)
	anon := 100
	number := func(kind string) string { anon++; return fmt.Sprintf("onnx::%s_%d", kind, anon) }
	for _, name := range slices.Sorted(maps.Keys(want)) {
		base, isWeight := strings.CutSuffix(name, weightEnd)
		biasName, shape := base+biasEnd, want[name]
		if _, isBias := strings.CutSuffix(name, biasEnd); isBias && len(want[strings.TrimSuffix(name, biasEnd)+weightEnd]) == 2 {
			continue
		}
		if !isWeight || len(shape) != 2 || want[biasName] == nil {
			f.tensor(writeTensor(e.prefix+name, shape, values[name], e.storage))
			continue
		}
		e.linear(f, base, shape, values[name], values[biasName], number)
	}
	return f
}

// linear writes one product with its bias.
func (e exporter) linear(f *file, base string, shape []int, weight, bias []float32, number func(string) string) {
	out, in := shape[0], shape[1]
	across := make([]float32, len(weight)) // [in×out]
	for o := range out {
		for i := range in {
			across[i*out+o] = weight[o*in+i]
		}
	}
	scope := "/" + strings.ReplaceAll(e.prefix+base, ".", "/")
	scope = strings.ReplaceAll(scope, "layer/", "layer.")
	call := func(op string) string {
		if e.paths {
			return scope + "/" + op
		}
		return number(op)
	}
	name := e.prefix + base + weightEnd
	value := number("MatMul")
	switch e.factor {
	case anonymous, gemm:
		f.tensor(writeTensor(value, []int{in, out}, across, e.storage))
	case named:
		value = name
		f.tensor(writeTensor(value, []int{in, out}, across, e.storage))
	case turned:
		f.tensor(writeTensor(name, []int{out, in}, weight, e.storage))
		f.node(writeNode("Transpose", call("Transpose"), []string{name}, value, intsAttribute("perm", e.first, 1, 0)))
	case turnedTwice:
		f.tensor(writeTensor(name, []int{in, out}, across, e.storage))
		f.node(writeNode("Transpose", "", []string{name}, value+"_t"))
		f.node(writeNode("Transpose", "", []string{value + "_t"}, value))
	case gemmTransposed:
		value = name
		f.tensor(writeTensor(value, []int{out, in}, weight, e.storage))
	case constant:
		f.node(writeNode("Constant", call("Constant"), nil, value, tensorAttribute("value", writeTensor("", []int{in, out}, across, e.storage))))
	case cast:
		f.tensor(writeTensor(value+"_16", []int{in, out}, across, e.storage))
		f.node(writeNode("Cast", call("Cast"), []string{value + "_16"}, value, intAttribute("to", 1)))
	}

	addend := e.prefix + base + biasEnd
	switch e.addend {
	case unnamed:
		addend = number("Add")
		f.tensor(writeTensor(addend, []int{out}, bias, e.storage))
	case behind:
		f.tensor(writeTensor(number("Shared"), []int{out}, bias, e.storage))
		f.node(writeNode("Identity", "", []string{lastName(f)}, addend))
	case ownConstant:
		f.node(writeNode("Constant", "", nil, addend, tensorAttribute("value", writeTensor("", []int{out}, bias, e.storage))))
	default:
		f.tensor(writeTensor(addend, []int{out}, bias, e.storage))
	}

	y := base + "_y"
	if e.factor == gemm || e.factor == gemmTransposed {
		turn := 0
		if e.factor == gemmTransposed {
			turn = 1
		}
		f.node(writeNode("Gemm", call("Gemm"), []string{"x", value, addend}, y,
			floatAttribute("alpha", 1), floatAttribute("beta", 1), intAttribute("transB", turn)))
		return
	}
	f.node(writeNode("MatMul", call("MatMul"), []string{"x", value}, y))
	sum := []string{addend, y}
	switch e.addend {
	case right:
		slices.Reverse(sum)
	case reshaped:
		f.node(writeNode("Reshape", "", []string{y, "shape"}, y+"_r"))
		sum[1] = y + "_r"
	}
	f.node(writeNode("Add", call("Add"), sum, base+"_sum"))
	f.node(writeNode("Add", "", []string{base + "_sum", "residual"}, base+"_end"))
}

// lastName is the name of the tensor that was written last.
func lastName(f *file) string {
	w := f.tensors[len(f.tensors)-1]
	t, err := readTensor(w)
	if err != nil {
		panic(err)
	}
	return t.name
}
