// Package onnx reads the parameters of an encoder from an ONNX file, without
// the runtime that the file is meant for: the initialisers by name, and those
// that lost their names by what the graph does with them.
//
//	params, err := onnx.Read(file, size, config.Shapes(), canonical)
//
// An exporter keeps the names of embeddings, norms and biases. The weights of
// products it writes as the graph wants them, transposed to [in×out] and under
// names like onnx::MatMul_503; but the product's sum adds a bias that has kept
// its name, and its node is called after the layer. The weight that such a
// product multiplies with is the one wanted, and the product says whether it
// lies transposed: in a square matrix nothing else would.
//
// # What is promised
//
// Nothing is guessed. A parameter must be found, in one way only: when name,
// bias and node disagree, or two tensors could be it, the error names it.
// Linear weights come as [out×in], to the bit as the exporter had them. F32,
// F16 and BF16 are read, in each of the ways that the format has for them, from
// initialisers and from Constant nodes, through Identity, Transpose and Cast
// nodes. Quantised models and external data are refused by name.
//
// The file is read once from front to back. Lengths are checked against what is
// left before anything is allocated; memory stays in proportion to the file.
package onnx
