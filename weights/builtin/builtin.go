// Package builtin holds the miniature model that is embedded in the program:
// two layers, 128 dimensions, 4 MB in F16. README.md beside it tells where it
// comes from and what it can do.
//
// It is a model like any other, with a name of its own. It serves indexes that
// name it (the demo's) and never stands in for another model: vectors of two
// models cannot be compared.
package builtin

import (
	"embed"
	"io/fs"
)

// Name is the model's name as an index records it.
const Name = "builtin/mini-2l-128"

//go:embed config.json tokenizer.json model.safetensors
var files embed.FS

// FS is the model as a folder: config.json, tokenizer.json, model.safetensors.
// Files opened from it read from the program's own pages; only fs.ReadFile
// copies.
func FS() fs.FS { return files }
