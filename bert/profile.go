package bert

// Pooling is the way from the hidden states of all tokens to one vector.
type Pooling int

const (
	Mean Pooling = iota // the mean over all tokens, [CLS] and [SEP] included
	CLS                 // the hidden state of the first token
)

// String returns "mean" or "cls".
func (p Pooling) String() string {
	if p == CLS {
		return "cls"
	}
	return "mean"
}

// Profile is how a vector space was made from its model: pooling, the words
// put before a text, and the length in tokens to which a text is shortened.
// Vectors made under different profiles cannot be compared, even if the
// weights are the same. The zero value is mean pooling without prefixes, up to
// the model's last position.
type Profile struct {
	Pooling        Pooling
	QueryPrefix    string // put before a query
	DocumentPrefix string // put before a note or block
	MaxTokens      int    // [CLS] and [SEP] included; 0: as many as the model has positions
}

// ProfileFor returns the profile of a vector space, named as the plugin names
// it in its model records (embedding_space_id). The empty name is the plain
// profile, mean pooling without prefixes: that of bge-micro-v2, of the models
// outside the plugin's catalogue of today, arctic-embed-m among them, and of
// every model before spaces had names. A name that is not in the catalogue
// returns false: its vectors cannot be imitated.
func ProfileFor(space string) (profile Profile, known bool) {
	// Both Snowflake models were trained with this sentence before a query.
	const search = "Represent this sentence for searching relevant passages: "
	switch space {
	case "":
		return Profile{MaxTokens: 512}, true
	case "Snowflake/snowflake-arctic-embed-xs/retrieval-v1",
		"Snowflake/snowflake-arctic-embed-s/e596f507467533e48a2e17c007f0e1dacc837b33/cls-normalized-query-instruction-v1":
		return Profile{Pooling: CLS, QueryPrefix: search, MaxTokens: 512}, true
	case "Xenova/multilingual-e5-small/retrieval-v1":
		return Profile{QueryPrefix: "query: ", DocumentPrefix: "passage: ", MaxTokens: 512}, true
	case "onnx-community/granite-embedding-97m-multilingual-r2-ONNX/536a9f241cb3f02a9c5995a1e708c784bd274859/cls-normalized-v1":
		return Profile{Pooling: CLS, MaxTokens: 512}, true
	case "onnx-community/DenseOn-ONNX/8606070c911ab26c582ce23db387abd3885541f2/cls-normalized-query-document-v1":
		return Profile{Pooling: CLS, QueryPrefix: "query: ", DocumentPrefix: "document: ", MaxTokens: 512}, true
	}
	return Profile{}, false
}
