package weights

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"smart-connections-mcp/weights/values"
)

// readParams reads the parameters that want names, with their shapes, from a
// safetensors file of size bytes. It goes over r once, from first byte to last,
// and nothing is allocated for values before header and shapes are right.
// Values of a tensor are its backing slice, of uint16 for F16 and else of
// float32: no copy is made.
func readParams(r io.Reader, size int64, want map[string][]int) (map[string]*tensor.Dense, error) {
	entries, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	names, err := assign(entries, want)
	if err != nil {
		return nil, err
	}
	params := make(map[string]*tensor.Dense, len(want))
	buf := make([]byte, values.Chunk)
	for i, e := range entries {
		if names[i] == "" {
			if _, err := io.CopyN(io.Discard, r, e.end-e.begin); err != nil {
				return nil, fmt.Errorf("skipping tensor %q: %w", e.name, err)
			}
			continue
		}
		shape := want[names[i]]
		dtype := values.Type(e.dtype)
		v := dtype.Make(tensor.Shape(shape).TotalSize())
		err := dtype.Read(r, v, buf)
		if err == nil {
			err = v.Finite()
		}
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", e.name, err)
		}
		params[names[i]] = tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v.Backing()))
	}
	return params, nil
}

// assign gives each entry the canonical name it is wanted under, "" for those
// that nobody wants (pooler, position ids, the head of another task). It
// refuses a parameter that is missing, comes twice, or has another shape or
// another dtype, and layers that the config does not know.
func assign(entries []entry, want map[string][]int) ([]string, error) {
	names := make([]string, len(entries))
	from := map[string]string{} // canonical name -> name in the file
	for i, e := range entries {
		name := canonical(e.name)
		shape, wanted := want[name]
		if !wanted {
			if strings.HasPrefix(name, "encoder.layer.") {
				return nil, fmt.Errorf("tensor %q has no place in the model that config.json describes", e.name)
			}
			continue
		}
		if other, twice := from[name]; twice {
			return nil, fmt.Errorf("tensors %q and %q are the same parameter", other, e.name)
		}
		if values.Type(e.dtype).Width() == 0 {
			return nil, fmt.Errorf("tensor %q: values are %s, want F32, F16 or BF16: use an unquantised export of the model", e.name, e.dtype)
		}
		if !sameShape(e.shape, shape) {
			return nil, fmt.Errorf("tensor %q: want shape %v (config.json), found %v", e.name, shape, e.shape)
		}
		names[i], from[name] = name, e.name
	}
	return names, missing(entries, from, want)
}

// missing is the error for wanted parameters that no entry holds.
func missing(entries []entry, from map[string]string, want map[string][]int) error {
	var absent []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if from[name] == "" {
			absent = append(absent, name)
		}
	}
	switch {
	case len(absent) == 0:
		return nil
	case len(entries) == 0:
		return errors.New("the file holds no tensor")
	}
	first := slices.MinFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return fmt.Errorf("tensor %q %v is missing (%d of %d are); the file holds %d tensors, such as %q",
		absent[0], want[absent[0]], len(absent), len(want), len(entries), first.name)
}

// wrappers are the prefixes that libraries put before an encoder's parameter
// names: transformers' task models, sentence-transformers, data-parallel runs.
var wrappers = []string{"bert.", "model.", "0.auto_model.", "auto_model.", "module."}

// canonical is a parameter's name without wrappers, in any combination, and
// with the layer-norm names of today (old checkpoints say gamma and beta).
func canonical(name string) string {
	for again := true; again; {
		again = false
		for _, w := range wrappers {
			if rest, found := strings.CutPrefix(name, w); found {
				name, again = rest, true
			}
		}
	}
	if base, found := strings.CutSuffix(name, "LayerNorm.gamma"); found {
		return base + "LayerNorm.weight"
	}
	if base, found := strings.CutSuffix(name, "LayerNorm.beta"); found {
		return base + "LayerNorm.bias"
	}
	return name
}

func sameShape(got []int64, want []int) bool {
	return slices.EqualFunc(got, want, func(a int64, b int) bool { return a == int64(b) })
}
