package weights

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"gorgonia.org/tensor"

	"smart-connections-mcp/weights/onnx"
)

// The files that may hold the weights, under the names that hubs give them. In
// this order they are looked for, and the first that is there is the one.
const (
	weightsFile  = "model.safetensors"
	onnxFile     = "onnx/model.onnx"
	flatONNXFile = "model.onnx" // in folders that people filled by hand
)

// quantisedFile is what a repository for browsers holds beside or instead of
// onnxFile.
const quantisedFile = "onnx/model_quantized.onnx"

// maxONNX is the most that protobuf can hold.
const maxONNX = 2 << 30

// weightsName is the file that holds the folder's weights. When none is there,
// it is weightsFile, which open then misses.
func (f folder) weightsName() string {
	for _, name := range []string{weightsFile, onnxFile, flatONNXFile} {
		_, recorded := f.sums[name]
		if _, err := fs.Stat(f.files, name); !errors.Is(err, fs.ErrNotExist) && (f.sums == nil || recorded) {
			return name
		}
	}
	return weightsFile
}

// sizeLimit is the largest file of that name that is believed.
func sizeLimit(name string) int64 {
	switch {
	case name == weightsFile:
		return maxWeights
	case isONNX(name):
		return maxONNX
	}
	return maxText
}

func isONNX(name string) bool { return strings.HasSuffix(name, ".onnx") }

// readWeights reads the wanted parameters from a file of either format.
func readWeights(name string, r io.Reader, size int64, shapes map[string][]int) (map[string]*tensor.Dense, error) {
	if !isONNX(name) {
		return readParams(r, size, shapes)
	}
	found, err := onnx.Read(r, size, shapes, canonical)
	if err != nil {
		return nil, err
	}
	params := make(map[string]*tensor.Dense, len(found))
	for name, v := range found {
		params[name] = tensor.New(tensor.WithShape(shapes[name]...), tensor.WithBacking(v.Backing()))
	}
	return params, nil
}

// noWeights adds to the error about a folder without weights what is there in
// their place.
func (f folder) noWeights(err error) error {
	others, _ := fs.Glob(f.files, "onnx/*.onnx")
	if len(others) == 0 {
		return err
	}
	return fmt.Errorf("%w; of onnx/ only model.onnx is read, and there is %s: other files there are quantised, "+
		"which gives other vectors, or optimised for one runtime", err, strings.Join(others[:min(4, len(others))], ", "))
}
