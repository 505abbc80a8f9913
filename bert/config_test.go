package bert

import (
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

// The config.json of each model that the plugin has offered, as far as it
// decides what is computed. A file of another family names its sizes otherwise.
func TestParseConfigOfOfferedModels(t *testing.T) {
	const (
		six     = `{"architectures":["BertModel"],"model_type":"bert","hidden_size":384,"num_hidden_layers":6,"num_attention_heads":12,"intermediate_size":1536,"hidden_act":"gelu","layer_norm_eps":1e-12,"max_position_embeddings":512,"position_embedding_type":"absolute","type_vocab_size":2,"vocab_size":30522,"use_cache":true}`
		modern  = `{"architectures":["ModernBertModel"],"model_type":"modernbert","hidden_size":384,"num_hidden_layers":12,"num_attention_heads":12,"intermediate_size":1536,"global_attn_every_n_layers":3,"max_position_embeddings":32768,"norm_eps":1e-05,"vocab_size":180000}`
		alibi   = `{"architectures":["JinaBertForMaskedLM"],"model_type":"bert","hidden_size":512,"num_hidden_layers":4,"num_attention_heads":8,"intermediate_size":2048,"feed_forward_type":"geglu","max_position_embeddings":8192,"position_embedding_type":"alibi","type_vocab_size":2,"vocab_size":30528}`
		nomic   = `{"architectures":["NomicBertModel"],"model_type":"nomic_bert","n_embd":768,"n_layer":12,"n_head":12,"n_inner":3072,"n_positions":8192,"activation_function":"swiglu","rotary_emb_fraction":1.0,"vocab_size":30528}`
		gemma   = `{"architectures":["Gemma3TextModel"],"model_type":"gemma3_text","hidden_size":768,"num_hidden_layers":24,"num_attention_heads":3,"intermediate_size":1152,"hidden_activation":"gelu_pytorch_tanh","max_position_embeddings":2048,"rms_norm_eps":1e-06,"vocab_size":262144}`
		refused = `only models of type "bert" are computed here; choose one of them, such as TaylorAI/bge-micro-v2`
	)
	with := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(six) }
	tests := []struct{ model, config, want string }{
		{"TaylorAI/bge-micro-v2", with(`layers":6`, `layers":3`), ""},
		{"TaylorAI/gte-tiny", six, ""},
		{"Mihaiii/Ivysaur", six, ""},
		{"Xenova/bge-small-en-v1.5", with(`layers":6`, `layers":12`), ""},
		{"andersonbcdefg/bge-small-4096", with(`layers":6`, `layers":12`, `embeddings":512`, `embeddings":4096`), ""},
		{"Snowflake/snowflake-arctic-embed-xs", six, ""},
		{"Snowflake/snowflake-arctic-embed-s", with(`layers":6`, `layers":12`), ""},
		{"Snowflake/snowflake-arctic-embed-m", with(`layers":6`, `layers":12`, "384", "768", "1536", "3072"), ""},
		{"Xenova/all-MiniLM-L6-v2", six, ""},
		{"Xenova/multilingual-e5-small", with(`layers":6`, `layers":12`, "30522", `250037,"tokenizer_class":"XLMRobertaTokenizer"`), ""},
		{"onnx-community/granite-embedding-97m-multilingual-r2-ONNX", modern, `model_type is "modernbert": ` + refused},
		{"onnx-community/DenseOn-ONNX", modern, `model_type is "modernbert": ` + refused},
		{"onnx-community/embeddinggemma-300m-ONNX", gemma, `model_type is "gemma3_text": ` + refused},
		{"nomic-ai/nomic-embed-text-v1.5", nomic, `model_type is "nomic_bert": ` + refused},
		{"Xenova/jina-embeddings-v2-small-en", alibi, `position_embedding_type is "alibi": only "absolute" is computed here; choose another model, such as`},
		{"intfloat/multilingual-e5-base", with(`"bert"`, `"xlm-roberta"`), `model_type is "xlm-roberta": ` + refused},
		{"sentence-transformers/all-mpnet-base-v2", with(`"bert"`, `"mpnet"`), `model_type is "mpnet": ` + refused},
		{"sentence-transformers/msmarco-distilbert-base-v4", `{"architectures":["DistilBertModel"],"model_type":"distilbert","dim":768,"n_layers":6,"n_heads":12,"vocab_size":30522}`, `model_type is "distilbert": ` + refused},
	}
	for _, tt := range tests {
		_, err := ParseConfig([]byte(tt.config))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want %q in it", tt.model, err, tt.want)
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
