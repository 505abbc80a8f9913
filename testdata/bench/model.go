package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// model is what the cost of a forward pass depends on.
type model struct {
	Layers       int `json:"num_hidden_layers"`
	Hidden       int `json:"hidden_size"`
	Intermediate int `json:"intermediate_size"`
	weights      int // bytes of the layers' parameters as stored
}

// flops are the operations of the layers on one text, counted as ref_bench.mjs
// counts them: products of matrices only.
func (m model) flops(tokens int) float64 {
	h, i, s := float64(m.Hidden), float64(m.Intermediate), float64(tokens)
	return float64(m.Layers) * (2*s*(4*h*h+2*h*i) + 4*s*s*h)
}

// limit is the least time in milliseconds that the machine allows for a text:
// the operations at the peak rate of its multiply-adds, or each weight read once
// at the rate of a working set of that size, whichever takes longer. It is 0
// when the peak is not known. Two threads read twice as fast at best.
func (m model) limit(tokens, threads int, level string, p peak) float64 {
	rate, read := p.rate(level, threads), p.read(m.weights)
	if rate == 0 || read == 0 {
		return 0
	}
	return 1e3 * max(m.flops(tokens)/rate, float64(m.weights)/(read*float64(threads)))
}

func modelFolder(name string) string { return filepath.Join(shared, "models", name) }

// readModel reads a model's shape and the size of its layers.
func readModel(name string) (model, error) {
	var m model
	data, err := os.ReadFile(filepath.Join(modelFolder(name), "config.json"))
	if err != nil {
		return m, fmt.Errorf("%w: -models takes folders of %s", err, filepath.Join(shared, "models"))
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("config.json of %s: %w", name, err)
	}
	file, err := os.Open(filepath.Join(modelFolder(name), "model.safetensors"))
	if err != nil {
		return m, err
	}
	defer file.Close()
	if m.weights, err = layerBytes(file); err != nil {
		return m, fmt.Errorf("model.safetensors of %s: %w", name, err)
	}
	return m, nil
}

// layerBytes adds up the tensors of the layers in a safetensors file: an 8-byte
// length, a JSON header, values.
func layerBytes(r io.Reader) (int, error) {
	var size uint64
	if err := binary.Read(r, binary.LittleEndian, &size); err != nil {
		return 0, err
	}
	var header map[string]struct {
		Offsets [2]int `json:"data_offsets"`
	}
	if err := json.NewDecoder(io.LimitReader(r, int64(size))).Decode(&header); err != nil {
		return 0, err
	}
	sum := 0
	for name, tensor := range header {
		if strings.Contains(name, "encoder.layer.") {
			sum += tensor.Offsets[1] - tensor.Offsets[0]
		}
	}
	return sum, nil
}
