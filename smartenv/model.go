package smartenv

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"smart-connections-mcp/smartenv/note"
)

// A Model is the identity of an embedding model as the plugin records it.
// Vectors of two items may be compared when all five fields agree.
type Model struct {
	Provider  string // "transformers", "openai", "ollama" …
	Name      string // the provider's key, as "TaylorAI/bge-micro-v2"
	Space     string // the plugin's embedding_space_id: pooling and prefixes; "" for most
	Dims      int    // values in a vector; 0 when unknown
	MaxTokens int
}

// DefaultModel is what the plugin uses when nothing else is configured.
func defaultModel() Model {
	return Model{Provider: "transformers", Name: "TaylorAI/bge-micro-v2", Dims: 384, MaxTokens: 512}
}

// Fingerprint returns the name the plugin gives to the model's multifiles: "mf_"
// and the hash, in base 36, of the model's identity as compact JSON
// (format section 3). It is the same in every vault.
func (m Model) Fingerprint() string {
	dims := `""`
	if m.Dims != 0 {
		dims = strconv.Itoa(m.Dims)
	}
	identity := `{"provider_key":` + jsString(m.Provider) +
		`,"model_key":` + jsString(m.Name) +
		`,"dimensions":` + dims +
		`,"max_tokens":` + strconv.Itoa(m.MaxTokens)
	if m.Space != "" {
		identity += `,"embedding_space_id":` + jsString(m.Space)
	}
	return "mf_" + note.Hash(identity+"}")
}

// String names the model for people: its key and its fingerprint.
func (m Model) String() string {
	return fmt.Sprintf("%s (%s)", m.Name, m.Fingerprint())
}

// knownModel returns the model that a fingerprint stands for, when it is one of
// those the plugin has offered over time. The older fingerprints of models that
// have a Space are known too: they are the same models embedded without prefixes
// and with mean pooling, so Space is "".
func knownModel(fingerprint string) (Model, bool) {
	for _, m := range catalogue {
		if m.Fingerprint() == fingerprint {
			return m, true
		}
	}
	for _, m := range catalogue {
		m.Space = ""
		if m.Fingerprint() == fingerprint {
			return m, true
		}
	}
	return Model{}, false
}

// builtInModels is how many entries at the head of the catalogue belong to the
// plugin's current built-in list, whose dims and max_tokens override what a
// model record says.
const builtInModels = 6

// catalogue lists the models of the plugin's current and earlier dropdowns.
var catalogue = [...]Model{
	{"transformers", "TaylorAI/bge-micro-v2", "", 384, 512},
	{"transformers", "Snowflake/snowflake-arctic-embed-xs", "Snowflake/snowflake-arctic-embed-xs/retrieval-v1", 384, 512},
	{"transformers", "Snowflake/snowflake-arctic-embed-s", "Snowflake/snowflake-arctic-embed-s/e596f507467533e48a2e17c007f0e1dacc837b33/cls-normalized-query-instruction-v1", 384, 512},
	{"transformers", "Xenova/multilingual-e5-small", "Xenova/multilingual-e5-small/retrieval-v1", 384, 512},
	{"transformers", "onnx-community/granite-embedding-97m-multilingual-r2-ONNX", "onnx-community/granite-embedding-97m-multilingual-r2-ONNX/536a9f241cb3f02a9c5995a1e708c784bd274859/cls-normalized-v1", 384, 512},
	{"transformers", "onnx-community/DenseOn-ONNX", "onnx-community/DenseOn-ONNX/8606070c911ab26c582ce23db387abd3885541f2/cls-normalized-query-document-v1", 768, 512},

	{"transformers", "Snowflake/snowflake-arctic-embed-m", "", 768, 512},
	{"transformers", "TaylorAI/gte-tiny", "", 384, 512},
	{"transformers", "onnx-community/embeddinggemma-300m-ONNX", "", 768, 2048},
	{"transformers", "Mihaiii/Ivysaur", "", 384, 512},
	{"transformers", "andersonbcdefg/bge-small-4096", "", 384, 4096},
	{"transformers", "Xenova/bge-small-en-v1.5", "", 384, 512},
	{"transformers", "Xenova/jina-embeddings-v2-base-zh", "", 768, 8192},
	{"transformers", "Xenova/jina-embeddings-v2-small-en", "", 512, 8192},
	{"transformers", "nomic-ai/nomic-embed-text-v1.5", "", 768, 2048},
	{"transformers", "nomic-ai/nomic-embed-text-v1", "", 768, 2048},
	{"openai", "text-embedding-3-small", "", 512, 8191},
	{"openai", "text-embedding-3-small", "", 1536, 8191},
	{"openai", "text-embedding-3-large", "", 256, 8191},
	{"openai", "text-embedding-3-large", "", 512, 8191},
	{"openai", "text-embedding-3-large", "", 3072, 8191},
	{"openai", "text-embedding-ada-002", "", 1536, 8191},
}

// jsString quotes s as JavaScript's JSON.stringify does. encoding/json differs:
// it also escapes <, >, & and U+2028.
func jsString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		case r == utf8.RuneError:
			b.WriteString("\uFFFD")
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
