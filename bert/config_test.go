package bert

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

const sound = `{"model_type":"bert","num_hidden_layers":2,"num_attention_heads":4,"hidden_size":8,"intermediate_size":16,"vocab_size":100}`

func TestParseConfig(t *testing.T) {
	got, err := ParseConfig([]byte(sound))
	want := Config{Layers: 2, Heads: 4, Hidden: 8, Intermediate: 16, Positions: 512, Types: 2, Vocab: 100, Eps: 1e-12, Activation: "gelu"}
	if err != nil || got != want {
		t.Errorf("ParseConfig = %+v, %v, want %+v", got, err, want)
	}
	for _, f := range fixtures[:2] {
		data, err := os.ReadFile(f.model + "/config.json")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseConfig(data); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

func TestParseConfigRefuses(t *testing.T) {
	tests := []struct{ change, want string }{
		{`"model_type":"xlm-roberta"`, `model_type is "xlm-roberta"`},
		{`"model_type":"modernbert"`, `such as TaylorAI/bge-micro-v2`},
		{`"model_type":"distilbert"`, `"distilbert"`},
		{`"model_type":""`, `model_type is ""`},
		{`"position_embedding_type":"relative_key"`, `"relative_key"`},
		{`"is_decoder":true`, "is_decoder"},
		{`"hidden_act":"silu"`, `hidden_act is "silu"`},
		{`"num_attention_heads":3`, "hidden_size 8 is not a multiple"},
		{`"num_attention_heads":0`, "num_attention_heads is 0"},
		{`"num_hidden_layers":-1`, "num_hidden_layers is -1"},
		{`"hidden_size":1000000`, "hidden_size is 1000000"},
		{`"vocab_size":null,"vocab_size":0`, "vocab_size is 0"},
		{`"layer_norm_eps":0`, "layer_norm_eps is 0"},
		{`"layer_norm_eps":1e99`, "layer_norm_eps"},
		{`"hidden_size":"8"`, "config.json"},
		{`"hidden_size":8.5`, "config.json"},
	}
	for _, tt := range tests {
		config := strings.TrimSuffix(sound, "}") + "," + tt.change + "}"
		if _, err := ParseConfig([]byte(config)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseConfig with %s: error %v, want %q in it", tt.change, err, tt.want)
		}
	}
	for _, text := range []string{"", "{", "[]", "null", "{}"} {
		if c, err := ParseConfig([]byte(text)); err == nil {
			t.Errorf("ParseConfig(%q) = %+v, want an error", text, c)
		}
	}
}

func TestParseConfigBeforeModelType(t *testing.T) {
	old := strings.Replace(sound, `"model_type":"bert"`, `"architectures":["BertForMaskedLM"]`, 1)
	if _, err := ParseConfig([]byte(old)); err != nil {
		t.Error(err)
	}
}

func TestShapes(t *testing.T) {
	c, _ := ParseConfig([]byte(sound))
	shapes := c.Shapes()
	if want := 5 + 2*16; len(shapes) != want {
		t.Errorf("%d parameters, want %d", len(shapes), want)
	}
	for name, want := range map[string][]int{
		"embeddings.word_embeddings.weight":               {100, 8},
		"embeddings.position_embeddings.weight":           {512, 8},
		"embeddings.token_type_embeddings.weight":         {2, 8},
		"embeddings.LayerNorm.bias":                       {8},
		"encoder.layer.0.attention.self.query.weight":     {8, 8},
		"encoder.layer.1.intermediate.dense.weight":       {16, 8},
		"encoder.layer.1.intermediate.dense.bias":         {16},
		"encoder.layer.1.output.dense.weight":             {8, 16},
		"encoder.layer.1.attention.output.LayerNorm.bias": {8},
	} {
		if got := shapes[name]; !slices.Equal(got, want) {
			t.Errorf("shape of %s = %v, want %v", name, got, want)
		}
	}
}

func TestConfigNaN(t *testing.T) {
	c, _ := ParseConfig([]byte(sound))
	c.Eps = float32(math.NaN())
	if c.check() == nil {
		t.Error("an epsilon of NaN is accepted")
	}
}

// The profiles of the plugin's catalogue, under the names in its own
// fingerprints (a copy of the plugin's golden lies in testdata).
func TestProfileFor(t *testing.T) {
	const snowflake = "Represent this sentence for searching relevant passages: "
	want := map[string]Profile{
		"TaylorAI/bge-micro-v2":                                     {Mean, "", "", 512},
		"Snowflake/snowflake-arctic-embed-xs":                       {CLS, snowflake, "", 512},
		"Snowflake/snowflake-arctic-embed-s":                        {CLS, snowflake, "", 512},
		"Xenova/multilingual-e5-small":                              {Mean, "query: ", "passage: ", 512},
		"onnx-community/granite-embedding-97m-multilingual-r2-ONNX": {CLS, "", "", 512},
		"onnx-community/DenseOn-ONNX":                               {CLS, "query: ", "document: ", 512},
	}
	var records []struct {
		Model     string `json:"model_key"`
		MaxTokens int    `json:"max_tokens"`
		Space     string `json:"embedding_space_id"`
	}
	data, err := os.ReadFile("../testdata/golden/plugin/fingerprints.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &records); err != nil {
		t.Fatal(err)
	}
	if len(records) != len(want) {
		t.Errorf("%d models in the catalogue, want %d", len(records), len(want))
	}
	for _, r := range records {
		got, known := ProfileFor(r.Space)
		if !known || got != want[r.Model] || got.MaxTokens != r.MaxTokens {
			t.Errorf("ProfileFor(%q) = %+v, %t, want %+v", r.Space, got, known, want[r.Model])
		}
	}
	if got, known := ProfileFor("someone/else/v1"); known {
		t.Errorf("ProfileFor of an unknown space = %+v", got)
	}
}

func TestPoolingString(t *testing.T) {
	if Mean.String() != "mean" || CLS.String() != "cls" {
		t.Errorf("poolings are called %q and %q", Mean, CLS)
	}
}
