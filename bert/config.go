package bert

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Config is the shape of a BERT encoder, as its config.json gives it.
type Config struct {
	Layers       int     // encoder layers
	Heads        int     // A, attention heads; divides Hidden
	Hidden       int     // H, width of the hidden state and of the vector
	Intermediate int     // I, width inside the feed-forward step
	Positions    int     // P, the most tokens the model can see
	Types        int     // Y, token types; only type 0 is used
	Vocab        int     // V, rows of the word embedding table
	Eps          float32 // added to the variance in every layer norm
	Activation   string  // of the feed-forward step: "gelu" (erf form), "gelu_new" or "gelu_pytorch_tanh" (tanh form), "relu"
}

// The largest sizes that are believed. They are far above any published BERT
// and keep every product of two of them within an int.
const (
	maxLayers = 1 << 10
	maxWidth  = 1 << 16
	maxRows   = 1 << 24
)

// ParseConfig reads a config.json. It refuses what this package does not
// compute: another model_type, relative positions, an unknown activation, or
// sizes that contradict each other.
func ParseConfig(data []byte) (Config, error) {
	// Absent fields mean what they mean to the transformers library.
	file := struct {
		ModelType     string   `json:"model_type"`
		Architectures []string `json:"architectures"`
		Layers        int      `json:"num_hidden_layers"`
		Heads         int      `json:"num_attention_heads"`
		Hidden        int      `json:"hidden_size"`
		Intermediate  int      `json:"intermediate_size"`
		Positions     int      `json:"max_position_embeddings"`
		Types         int      `json:"type_vocab_size"`
		Vocab         int      `json:"vocab_size"`
		Eps           float32  `json:"layer_norm_eps"`
		Activation    string   `json:"hidden_act"`
		PositionType  string   `json:"position_embedding_type"`
		Decoder       bool     `json:"is_decoder"`
	}{Positions: 512, Types: 2, Eps: 1e-12, Activation: "gelu", PositionType: "absolute"}
	if err := json.Unmarshal(data, &file); err != nil {
		return Config{}, fmt.Errorf("config.json: %w", err)
	}
	kind := file.ModelType
	if kind == "" && len(file.Architectures) > 0 && strings.HasPrefix(file.Architectures[0], "Bert") {
		kind = "bert" // config files from before model_type existed
	}
	switch {
	case kind != "bert":
		return Config{}, fmt.Errorf("config.json: model_type is %q: only models of type \"bert\" are computed here; choose one of them, such as TaylorAI/bge-micro-v2", kind)
	case file.PositionType != "absolute":
		return Config{}, fmt.Errorf("config.json: position_embedding_type is %q: only \"absolute\" is computed here; choose another model, such as TaylorAI/bge-micro-v2", file.PositionType)
	case file.Decoder:
		return Config{}, errors.New("config.json: is_decoder is true: only encoders are computed here; choose another model, such as TaylorAI/bge-micro-v2")
	}
	c := Config{
		Layers: file.Layers, Heads: file.Heads, Hidden: file.Hidden, Intermediate: file.Intermediate,
		Positions: file.Positions, Types: file.Types, Vocab: file.Vocab,
		Eps: file.Eps, Activation: file.Activation,
	}
	if err := c.check(); err != nil {
		return Config{}, fmt.Errorf("config.json: %w", err)
	}
	return c, nil
}

// check says what makes the shape impossible to compute.
func (c Config) check() error {
	sizes := []struct {
		name      string
		size, max int
	}{
		{"num_hidden_layers", c.Layers, maxLayers},
		{"num_attention_heads", c.Heads, maxWidth},
		{"hidden_size", c.Hidden, maxWidth},
		{"intermediate_size", c.Intermediate, maxWidth},
		{"max_position_embeddings", c.Positions, maxRows},
		{"type_vocab_size", c.Types, maxRows},
		{"vocab_size", c.Vocab, maxRows},
	}
	for _, s := range sizes {
		if s.size < 1 || s.size > s.max {
			return fmt.Errorf("%s is %d: want 1 to %d", s.name, s.size, s.max)
		}
	}
	if c.Hidden%c.Heads != 0 {
		return fmt.Errorf("hidden_size %d is not a multiple of num_attention_heads %d", c.Hidden, c.Heads)
	}
	if !(c.Eps > 0 && c.Eps < 1) { // written so that NaN fails
		return fmt.Errorf("layer_norm_eps is %g: want a small positive number", c.Eps)
	}
	if activation(c.Activation) == nil {
		return fmt.Errorf("hidden_act is %q: want gelu, gelu_new, gelu_pytorch_tanh or relu", c.Activation)
	}
	return nil
}

// head is D, the width of one attention head.
func (c Config) head() int { return c.Hidden / c.Heads }

// Shapes lists every parameter of the model with its shape, under the names
// of the original checkpoint without a prefix. Linear weights are [out×in].
func (c Config) Shapes() map[string][]int {
	H, I := c.Hidden, c.Intermediate
	shapes := map[string][]int{
		"embeddings.word_embeddings.weight":       {c.Vocab, H},
		"embeddings.position_embeddings.weight":   {c.Positions, H},
		"embeddings.token_type_embeddings.weight": {c.Types, H},
		"embeddings.LayerNorm.weight":             {H},
		"embeddings.LayerNorm.bias":               {H},
	}
	linear := func(name string, out, in int) {
		shapes[name+".weight"] = []int{out, in}
		shapes[name+".bias"] = []int{out}
	}
	for i := range c.Layers {
		layer := fmt.Sprintf("encoder.layer.%d.", i)
		linear(layer+"attention.self.query", H, H)
		linear(layer+"attention.self.key", H, H)
		linear(layer+"attention.self.value", H, H)
		linear(layer+"attention.output.dense", H, H)
		linear(layer+"intermediate.dense", I, H)
		linear(layer+"output.dense", H, I)
		for _, norm := range []string{"attention.output.LayerNorm", "output.LayerNorm"} {
			shapes[layer+norm+".weight"] = []int{H}
			shapes[layer+norm+".bias"] = []int{H}
		}
	}
	return shapes
}
