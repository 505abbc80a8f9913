package weights

// pin fixes what a model's name stands for on the hub.
type pin struct {
	revision string            // a commit; "" = main
	sha256   map[string]string // file name -> hex digest, where it is known
}

// knownPins are the models whose revision is a fact: the plugin fetches these
// commits and writes them into the embedding_space_id of its indexes, so a
// later commit would be another vector space. For all other models the plugin
// takes main, and so do we.
func knownPins() map[string]pin {
	return map[string]pin{
		"Snowflake/snowflake-arctic-embed-s": {
			revision: "e596f507467533e48a2e17c007f0e1dacc837b33",
		},
		"onnx-community/granite-embedding-97m-multilingual-r2-ONNX": {
			revision: "536a9f241cb3f02a9c5995a1e708c784bd274859",
		},
		"onnx-community/DenseOn-ONNX": {
			revision: "8606070c911ab26c582ce23db387abd3885541f2",
		},
	}
}
