// Package weights turns a model's name into what package bert computes with: a
// [bert.Checkpoint] of configuration, vocabulary and named, shaped parameters.
// It knows files and the network, and nothing of what the numbers mean.
//
//	cache, err := weights.DefaultCacheDir(os.Getenv)
//	source := weights.Source{CacheDir: cache}
//	checkpoint, err := source.Load(ctx, "TaylorAI/bge-micro-v2")
//
// # Where a model comes from
//
// [Source.Load] takes the first of: the folder that the user names
// ([Source].ModelPath, see [Folder]); the program itself, for the one name
// builtin.Name ([Builtin]); the cache; what the Node predecessor of this
// program left in the same cache folder; the hub, {endpoint}/{model}/resolve/
// {revision}/{file}. No other request is made, and none when the cache has the
// model. The cache holds one folder per model:
//
//	models/TaylorAI--bge-micro-v2/
//		config.json tokenizer.json model.safetensors (or onnx/model.onnx)
//		SHA256SUMS                      written last: without it, there is no model
//		model.safetensors.part, .state  a download that was interrupted
//		.lock                           held by the process that fetches
//	TaylorAI/bge-micro-v2/              the predecessor's: read, never written
//		config.json tokenizer.json onnx/model.onnx
//
// # What is promised
//
// A file gets its name only when it is complete, on disk, and hashes to what
// the hub announced (a sha256, or git's hash for small files) and to what
// pins.go knows. At each load it must still hash to what was recorded then. A
// process that is killed at any moment leaves a model that is whole or none;
// two at once wait for each other or, where files cannot be locked, work side
// by side. What the hub sends in place of a file (a login page, another
// length, a redirect from https to http) is refused; a connection that only
// drips is given up. A cache that holds the model is not written to.
//
// Without a digest from the hub, as some mirrors have it, a file is taken as it
// came; the log says so. Of the predecessor's files there never was a digest:
// they are taken when all of them parse and every parameter is finite and has
// its shape, and not for a model whose revision pins.go fixes.
//
// # Weights
//
// model.safetensors is taken where it is, else onnx/model.onnx. Either file is
// read once from front to back; what it says of itself is checked against its
// size before anything is allocated, and the shapes against config.json.
//
// The values of a safetensors file are read into the slice that backs their
// tensor (package values): F32 as float32, F16 as it is, in uint16, and BF16
// widened to float32. Of an ONNX file, package onnx finds out which values are which
// parameter. Quantised files are refused: their vectors are others.
package weights
