// Package builtin holds the miniature model that is embedded in the program:
// two layers, 128 dimensions, 4 MB in F16, packed as model.zip. README.md beside
// it tells where it comes from and what it can do.
//
// It is a model like any other, with a name of its own. It serves indexes that
// name it (the demo's) and never stands in for another model: vectors of two
// models cannot be compared.
package builtin

import (
	"archive/zip"
	_ "embed"
	"io/fs"
	"strings"
)

// Name is the model's name as an index records it.
const Name = "builtin/mini-2l-128"

//go:embed model.zip
var packed string

// FS is the model as a folder: config.json, tokenizer.json, tokenizer_config.json and
// model.safetensors, which are unpacked as they are read.
func FS() fs.FS {
	files, err := zip.NewReader(strings.NewReader(packed), int64(len(packed)))
	if err != nil {
		panic(err) // every test that reads the model has seen that it is whole
	}
	return files
}
