package weights

import (
	"bytes"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	const query = "encoder.layer.0.attention.self.query.weight"
	// Every combination of the prefixes that libraries write, up to three.
	prefixes := []string{""}
	for depth := 0; depth < 3; depth++ {
		for _, p := range slices.Clone(prefixes) {
			for _, w := range []string{"bert.", "model.", "0.auto_model."} {
				prefixes = append(prefixes, w+p)
			}
		}
	}
	for _, p := range prefixes {
		for _, name := range []string{query, "embeddings.word_embeddings.weight", "embeddings.LayerNorm.bias"} {
			if got := canonical(p + name); got != name {
				t.Fatalf("canonical(%q) = %q, want %q", p+name, got, name)
			}
		}
	}
	for _, c := range []struct{ in, want string }{
		{"bert.embeddings.LayerNorm.gamma", "embeddings.LayerNorm.weight"},
		{"encoder.layer.3.output.LayerNorm.beta", "encoder.layer.3.output.LayerNorm.bias"},
		{"auto_model." + query, query},
		{"module.bert." + query, query},
		{"roberta." + query, "roberta." + query},
		{"bert", "bert"},
		{"", ""},
	} {
		if got := canonical(c.in); got != c.want {
			t.Errorf("canonical(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestReadParams(t *testing.T) {
	want := map[string][]int{"a.LayerNorm.weight": {3}, "encoder.layer.0.w": {2, 3}}
	for _, c := range []struct {
		name  string
		file  []byte
		error []string // parts of the error; none = it is read
	}{
		{"plain", tensors(want), nil},
		{"prefixed", tensors(map[string][]int{"bert.a.LayerNorm.weight": {3}, "bert.encoder.layer.0.w": {2, 3}}), nil},
		{"two prefixes", tensors(map[string][]int{"0.auto_model.bert.a.LayerNorm.weight": {3}, "model.encoder.layer.0.w": {2, 3}}), nil},
		{"old layer-norm name", tensors(map[string][]int{"a.LayerNorm.gamma": {3}, "encoder.layer.0.w": {2, 3}}), nil},
		{"extra tensors", tensors(map[string][]int{"a.LayerNorm.weight": {3}, "encoder.layer.0.w": {2, 3}, "pooler.dense.weight": {9, 9}, "embeddings.position_ids": {1, 512}, "cls.predictions.bias": {5}}), nil},
		{"shape", tensors(map[string][]int{"bert.a.LayerNorm.weight": {3}, "bert.encoder.layer.0.w": {3, 2}}),
			[]string{`"bert.encoder.layer.0.w"`, "want shape [2 3]", "found [3 2]"}},
		{"rank", tensors(map[string][]int{"a.LayerNorm.weight": {3}, "encoder.layer.0.w": {6}}),
			[]string{`"encoder.layer.0.w"`, "want shape [2 3]", "found [6]"}},
		{"missing", tensors(map[string][]int{"a.LayerNorm.weight": {3}}),
			[]string{`"encoder.layer.0.w" [2 3] is missing`, "1 of 2"}},
		{"nothing known", tensors(map[string][]int{"onnx::MatMul_1": {3}}),
			[]string{"2 of 2", `"onnx::MatMul_1"`}},
		{"no tensors", file("{}", 0), []string{"no tensor"}},
		{"more layers than the config", tensors(map[string][]int{"a.LayerNorm.weight": {3}, "encoder.layer.0.w": {2, 3}, "encoder.layer.1.w": {2, 3}}),
			[]string{`"encoder.layer.1.w"`, "no place"}},
		{"one parameter twice", tensors(map[string][]int{"a.LayerNorm.weight": {3}, "a.LayerNorm.gamma": {3}, "encoder.layer.0.w": {2, 3}}),
			[]string{`"a.LayerNorm.gamma" and "a.LayerNorm.weight"`, "same parameter"}},
		{"quantised", file(`{"a.LayerNorm.weight":{"dtype":"I8","shape":[3],"data_offsets":[0,3]}}`, 3),
			[]string{`"a.LayerNorm.weight"`, "I8", "F16", "unquantised"}},
	} {
		params, err := readParams(bytes.NewReader(c.file), int64(len(c.file)), want)
		if (err == nil) != (c.error == nil) {
			t.Errorf("%s: readParams = %v, want error with %q", c.name, err, c.error)
			continue
		}
		for _, part := range c.error {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: readParams = %v, want error with %q", c.name, err, part)
			}
		}
		if err == nil && fmt.Sprint(slices.Sorted(maps.Keys(params))) != "[a.LayerNorm.weight encoder.layer.0.w]" {
			t.Errorf("%s: readParams gives %v", c.name, slices.Sorted(maps.Keys(params)))
		}
	}
}

// A parameter with a value that is none is refused by name, wherever it lies.
func TestReadParamsFinite(t *testing.T) {
	for dtype, infinity := range map[string]string{"F32": "\x00\x00\x80\x7f", "F16": "\x00\xfc", "BF16": "\xc0\x7f"} {
		const n = 50
		width := len(infinity)
		header := fmt.Sprintf(`{"w":{"dtype":%q,"shape":[%d],"data_offsets":[0,%d]}}`, dtype, n, n*width)
		for _, at := range []int{-1, 0, 17, n - 1} {
			data := file(header, n*width)
			if at >= 0 {
				copy(data[len(data)-(n-at)*width:], infinity)
			}
			_, err := readParams(bytes.NewReader(data), int64(len(data)), map[string][]int{"w": {n}})
			if (err == nil) != (at < 0) || err != nil && !strings.Contains(err.Error(), fmt.Sprintf(`tensor "w": value %d is`, at)) {
				t.Errorf("%s with a value at %d that is none: readParams = %v", dtype, at, err)
			}
		}
	}
}

// Values land in the tensor of their own name, though other tensors lie between.
func TestValuesOfEachTensor(t *testing.T) {
	all := map[string][]int{"a": {2}, "b": {3}, "c": {2, 2}, "d": {1}, "e": {2}}
	data := tensors(all)
	params, err := readParams(bytes.NewReader(data), int64(len(data)), map[string][]int{"c": {2, 2}, "e": {2}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]float32{"c": {5, 6, 7, 8}, "e": {10, 11}} {
		if got := params[name].Data().([]float32); !slices.Equal(got, want) {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
}

// The tensors own the only copy of the values.
func TestValuesAreNotCopied(t *testing.T) {
	want := map[string][]int{"w": {1024, 1024}, "v": {512, 1024}}
	data := tensors(want)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := readParams(bytes.NewReader(data), int64(len(data)), want); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := int(after.TotalAlloc - before.TotalAlloc); got > len(data)+len(data)/10 {
		t.Errorf("reading %d bytes of F32 allocated %d", len(data), got)
	}
}
