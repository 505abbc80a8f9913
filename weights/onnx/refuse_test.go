package onnx

import (
	stdbytes "bytes"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

const (
	queryBase = "encoder.layer.0.attention.self.query"
	keyBase   = "encoder.layer.0.attention.self.key"
	valueBase = "encoder.layer.0.attention.self.value"
)

// Each refusal names what is wrong. The square matrices matter most: no shape
// would ever contradict a wrong one.
func TestRefused(t *testing.T) {
	plain := exporter{paths: true}
	raw := func(data []byte) func(*file) []byte { return func(*file) []byte { return data } }
	add := func(nodes []message, tensors ...message) func(*file) []byte {
		return func(f *file) []byte {
			f.nodes, f.tensors = append(f.nodes, nodes...), append(f.tensors, tensors...)
			return f.encode()
		}
	}
	op := func(domain, op string) func(*file) []byte {
		return add([]message{writeNode(op, "/"+op, []string{"a", "b"}, "c").text(7, domain)})
	}
	square := make([]float32, 9)
	for _, c := range []struct {
		name   string
		e      exporter
		change func(f *file) []byte
		want   []string
	}{
		{"empty", plain, raw(nil), []string{"no graph"}},
		{"pointer of large-file storage", plain, raw([]byte("version https://git-lfs.github.com/spec/v1\noid sha256:x\nsize 5\n")), []string{"not an ONNX file"}},
		{"web page", plain, raw([]byte("<!DOCTYPE html><html></html>")), []string{"not an ONNX file"}},
		{"safetensors", plain, raw([]byte("\x10\x00\x00\x00\x00\x00\x00\x00{\"a\":1}")), []string{"not an ONNX file"}},
		{"endless number", plain, raw(stdbytes.Repeat([]byte{0xff}, 64)), []string{"byte 0: no number"}},
		{"longer than the file", plain, raw(message{}.varint(1, 7).bytes(7, nil)[:3:3]), []string{"not an ONNX file"}},
		{"exabytes", plain, raw([]byte("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f")), []string{"9223372036854775807 bytes should follow, 0 are left"}},
		{"a hole", plain, raw(make([]byte, 64)), []string{"byte 0: no field begins with 0x0"}},
		{"more than exabytes", plain, raw([]byte("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")), []string{"18446744073709551615 bytes should follow, 0 are left"}},
		{"a gigabyte in a small tensor", plain, add(nil, append(message{}.varint(2, 1).text(8, "t"), "\x4a\x80\x80\x80\x80\x04"...)), []string{`"t"`, "1073741824 bytes should follow, 0 are left"}},
		{"longer than the tensor, not than the file", plain, add(nil, append(message{}.varint(2, 1), "\x42\x10t"...), writeTensor("more", []int{3}, square[:3], rawF32)), []string{"16 bytes should follow, 1 are left"}},
		{"a number of 65 bits", plain, raw([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02")), []string{"byte 0: no number"}},
		{"two graphs", plain, func(f *file) []byte { return append(f.encode(), f.encode()...) }, []string{"two graphs"}},
		{"a tensor twice", plain, func(f *file) []byte { f.tensor(f.tensors[0]); return f.encode() }, []string{"embeddings.LayerNorm.bias", "twice"}},
		{"a value twice", plain, func(f *file) []byte { f.node(f.nodes[0]); return f.encode() }, []string{"twice"}},
		{"a long name", plain, add(nil, message{}.text(8, strings.Repeat("x", 5000))), []string{"name of 5000 bytes"}},

		{"dynamically quantised", plain, op("", "DynamicQuantizeLinear"), []string{"quantised", "DynamicQuantizeLinear", "onnx/model.onnx", "model.safetensors"}},
		{"integer products", plain, op("", "MatMulInteger"), []string{"quantised", "MatMulInteger"}},
		{"statically quantised", plain, op("", "DequantizeLinear"), []string{"quantised", "DequantizeLinear"}},
		{"quantised operators", plain, op("", "QLinearMatMul"), []string{"quantised", "QLinearMatMul"}},
		{"four bits", plain, op("com.microsoft", "MatMulNBits"), []string{"quantised", "MatMulNBits"}},
		{"quantised attention", plain, op("com.microsoft", "QAttention"), []string{"quantised", "QAttention"}},
		{"a matrix of bytes", plain, add(nil, message{}.varint(1, 3).varint(1, 3).varint(2, 3).text(8, "w_quantized").bytes(9, make([]byte, 9))), []string{`"w_quantized"`, "quantised", "INT8"}},
		{"external data", plain, add(nil, message{}.varint(1, 3).varint(2, 1).text(8, "far").bytes(13, message{}.text(1, "location").text(2, "model.onnx_data")).varint(14, 1)), []string{`"far"`, "external data", "model.safetensors", "one file"}},
		{"external data by place alone", plain, add(nil, message{}.varint(1, 3).varint(2, 1).text(8, "far").varint(14, 1)), []string{`"far"`, "external data"}},

		{"values missing", plain, add(nil, message{}.varint(1, 3).varint(2, 1).text(8, "t")), []string{`"t"`, "0 values for the shape [3]"}},
		{"values too few", plain, add(nil, writeTensor("t", []int{3}, square[:2], rawF32)), []string{`"t"`, "2 values for the shape [3]"}},
		{"floats too few", plain, add(nil, writeTensor("t", []int{3}, square[:2], packedFloats)), []string{"2 values for the shape [3]"}},
		{"half a value", plain, add(nil, message{}.varint(2, 1).text(8, "t").bytes(9, make([]byte, 6))), []string{"6 bytes are no whole number"}},
		{"half a value, kind last", plain, add(nil, message{}.bytes(9, make([]byte, 6)).varint(2, 1).text(8, "t")), []string{"6 bytes are no whole number"}},
		{"values twice", plain, add(nil, writeTensor("t", []int{3}, square[:3], rawF32).bytes(9, make([]byte, 12))), []string{"come twice"}},
		{"values in two ways", plain, add(nil, writeTensor("t", []int{3}, square[:3], rawF32).float(4, 1)), []string{"two ways"}},
		{"sides that overflow", plain, add(nil, message{}.varint(1, 1<<62).varint(1, 4).varint(2, 1).text(8, "t")), []string{"0 values for the shape [4611686018427387904 4]"}},
		{"negative side", plain, add(nil, message{}.varint(1, math.MaxUint64).varint(2, 1).text(8, "t")), []string{"a side of -1"}},

		{"no bias at a product", plain, func(f *file) []byte { drop(f, keyBase+biasEnd); return f.encode() }, []string{keyBase, "adds 0 biases"}},
		{"no bias, and nothing else that tells the layer", exporter{}, func(f *file) []byte { drop(f, keyBase+biasEnd); return f.encode() }, []string{keyBase, "no product in the graph"}},
		{"no norm", plain, func(f *file) []byte { drop(f, "embeddings.LayerNorm.bias"); return f.encode() }, []string{"embeddings.LayerNorm.bias [3]", "missing"}},
		{"norm of integers", plain, func(f *file) []byte {
			drop(f, "embeddings.LayerNorm.bias")
			f.tensor(message{}.varint(1, 3).varint(2, 6).text(8, "embeddings.LayerNorm.bias").bytes(9, make([]byte, 12)))
			return f.encode()
		}, []string{"embeddings.LayerNorm.bias", "type 6"}},
		{"not finite", plain, func(f *file) []byte {
			drop(f, "embeddings.LayerNorm.bias")
			f.tensor(writeTensor("embeddings.LayerNorm.bias", []int{3}, []float32{1, float32(math.Inf(1)), 2}, rawF32))
			return f.encode()
		}, []string{"embeddings.LayerNorm.bias", "value 1 is +Inf"}},
		{"a half that is not finite", plain, func(f *file) []byte {
			drop(f, "embeddings.LayerNorm.bias")
			f.tensor(message{}.varint(1, 3).varint(2, 10).text(8, "embeddings.LayerNorm.bias").bytes(9, []byte("\x00\x3c\x00\x3c\x01\x7c")))
			return f.encode()
		}, []string{"embeddings.LayerNorm.bias", "value 2 is NaN or infinite"}},
		{"another shape", plain, func(f *file) []byte {
			drop(f, "embeddings.LayerNorm.bias")
			f.tensor(writeTensor("embeddings.LayerNorm.bias", []int{4}, square[:4], rawF32))
			return f.encode()
		}, []string{"want shape [3]", "found [4]"}},
		{"a layer too many", plain, add(nil, writeTensor("encoder.layer.2.output.dense.bias", []int{3}, square[:3], rawF32)), []string{"encoder.layer.2.output.dense.bias", "no place", "config.json"}},
		{"two encoders", plain, add(nil, writeTensor("teacher.embeddings.LayerNorm.bias", []int{3}, square[:3], rawF32)), []string{"more than one encoder", `"teacher."`}},

		{"a weight of the name that is not multiplied with", plain, add(nil, writeTensor(queryBase+weightEnd, []int{3, 3}, square, rawF32)), []string{queryBase + weightEnd, "could both be it"}},
		{"a bias of the name that is not added", exporter{paths: true, addend: unnamed}, add(nil, writeTensor(queryBase+biasEnd, []int{3}, square[:3], rawF32)), []string{queryBase + biasEnd, "could both be it"}},
		{"two biases at one product", plain, add([]message{writeNode("Add", "", []string{queryBase + "_y", "more"}, "z")}, writeTensor("more", []int{3}, square[:3], rawF32)), []string{queryBase, "adds 2 biases"}},
		{"one bias at two products", exporter{}, add([]message{writeNode("Add", "", []string{keyBase + "_y", queryBase + biasEnd}, "z")}), []string{queryBase, "could both be its"}},
		{"names of nodes that contradict the biases", plain, func(f *file) []byte {
			swap(f, "/attention/self/query/MatMul", "/attention/self/other/MatMul")
			swap(f, "/attention/self/value/MatMul", "/attention/self/query/MatMul")
			return f.encode()
		}, []string{queryBase, "different products"}},
		{"names of weights that contradict the biases", exporter{factor: named}, func(f *file) []byte {
			for i, m := range f.nodes { // both names are the weight's in its MatMul
				m = stdbytes.ReplaceAll(m, []byte(queryBase+weightEnd), []byte("encoder.layer.0.attention.self.quarz"+weightEnd))
				m = stdbytes.ReplaceAll(m, []byte(valueBase+weightEnd), []byte(queryBase+weightEnd))
				f.nodes[i] = stdbytes.ReplaceAll(m, []byte("encoder.layer.0.attention.self.quarz"+weightEnd), []byte(valueBase+weightEnd))
			}
			return f.encode()
		}, []string{"encoder.layer.0.attention.self.", "different products"}},
		{"two layers at one product", exporter{factor: named}, func(f *file) []byte {
			f.nodes = slices.DeleteFunc(f.nodes, func(m message) bool {
				return stdbytes.Contains(m, []byte(keyBase)) || stdbytes.Contains(m, []byte(queryBase+biasEnd))
			})
			drop(f, keyBase+weightEnd)
			drop(f, queryBase+biasEnd)
			f.node(writeNode("Add", "", []string{keyBase + biasEnd, queryBase + "_y"}, "z"))
			return f.encode()
		}, []string{keyBase, queryBase, "would both be of the product"}},
		{"a weight that the graph rounds", plain, func(f *file) []byte {
			f.nodes = slices.DeleteFunc(f.nodes, func(m message) bool { return stdbytes.Contains(m, []byte("self/query/MatMul")) })
			f.node(writeNode("Cast", "", []string{"onnx::MatMul_105"}, "rounded", intAttribute("to", 10)))
			f.node(writeNode("MatMul", "/encoder/layer.0/attention/self/query/MatMul", []string{"x", "rounded"}, queryBase+"_y"))
			return f.encode()
		}, []string{queryBase, "no product in the graph"}},
		{"a product that scales", plain, func(f *file) []byte {
			f.nodes = slices.DeleteFunc(f.nodes, func(m message) bool { return stdbytes.Contains(m, []byte("self/query/MatMul")) })
			f.node(writeNode("Gemm", "/encoder/layer.0/attention/self/query/Gemm", []string{"x", "onnx::MatMul_105", queryBase + biasEnd}, "q", floatAttribute("alpha", 0.5)))
			return f.encode()
		}, []string{queryBase, "no product in the graph"}},
		{"fused attention", plain, func(f *file) []byte {
			f.nodes = slices.DeleteFunc(f.nodes, func(m message) bool { return stdbytes.Contains(m, []byte("self/query/MatMul")) })
			f.node(writeNode("Attention", "a", []string{"x"}, "q").text(7, "com.microsoft"))
			return f.encode()
		}, []string{queryBase, "com.microsoft.Attention", "plain export"}},
		{"a circle of nodes", plain, func(f *file) []byte {
			drop(f, "embeddings.LayerNorm.bias")
			f.node(writeNode("Identity", "", []string{"round"}, "embeddings.LayerNorm.bias"))
			f.node(writeNode("Identity", "", []string{"embeddings.LayerNorm.bias"}, "round"))
			return f.encode()
		}, []string{"embeddings.LayerNorm.bias", "missing"}},
	} {
		want := shapes()
		params, err := read(c.change(c.e.export(want)), want)
		if err == nil {
			t.Errorf("%s: Read gives %d parameters, want an error with %q", c.name, len(params), c.want)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: Read = %v, want an error with %q", c.name, err, part)
			}
		}
	}
}

// swap changes a name in the nodes of layer 0 that have it.
func swap(f *file, from, to string) {
	found := false
	for i, m := range f.nodes {
		if stdbytes.Contains(m, []byte("/encoder/layer.0"+from)) {
			f.nodes[i], found = stdbytes.ReplaceAll(m, []byte(from), []byte(to)), true
		}
	}
	if !found {
		panic("no node is called " + from)
	}
}

// What nobody wants may be there in any form.
func TestUnwanted(t *testing.T) {
	want := shapes()
	f := exporter{paths: true}.export(want)
	f.tensor(message{}.varint(1, 1).varint(1, 512).varint(2, 7).text(8, "embeddings.position_ids").bytes(9, make([]byte, 8*512)))
	f.tensor(writeTensor("pooler.dense.weight", []int{3, 3}, make([]float32, 9), rawF32))
	f.tensor(writeTensor("mask", nil, []float32{float32(math.Inf(-1))}, rawF32))
	f.node(writeNode("Gemm", "/pooler/dense/Gemm", []string{"first", "pooler.dense.weight", "pooler.dense.bias"}, "pooled", intAttribute("transB", 1)))
	f.node(writeNode("Constant", "", nil, "sizes", message{}.text(1, "value_ints").varint(8, 3).varint(20, 7)))
	f.node(writeNode("Gelu", "fast", []string{"a"}, "b").text(7, "com.microsoft"))
	f.node(writeNode("MatMul", "scores", []string{"q", "k"}, "qk"))
	f.node(writeNode("Add", "", []string{"qk", "mask"}, "masked"))
	got, err := read(f.encode(), want)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(a, b) {
		t.Errorf("Read gives %q, want %q", a, b)
	}
}
