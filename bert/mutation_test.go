package bert

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"smart-connections-mcp/simd"
)

// defect is one thing done wrong, mostly by giving the model other settings or
// parameters than the files have.
type defect struct {
	name    string
	change  func(c *Checkpoint, p *Profile)
	finish  func(x []float32, H int) []float32 // instead of mean and length 1, of the hidden states [T×H]
	recount func(ids []int) []int              // instead of the ids
}

var defects = []defect{
	// arithmetic
	{name: "tanh GELU", change: func(c *Checkpoint, _ *Profile) { c.Config.Activation = "gelu_new" }},
	{name: "ReLU", change: func(c *Checkpoint, _ *Profile) { c.Config.Activation = "relu" }},
	{name: "epsilon 1e-5", change: func(c *Checkpoint, _ *Profile) { c.Config.Eps = 1e-5 }},
	{name: "attention not scaled", change: scale("attention.self.query.", func(c Config) float64 { return math.Sqrt(float64(c.head())) })},
	{name: "attention scaled by 1/D", change: scale("attention.self.query.", func(c Config) float64 { return 1 / math.Sqrt(float64(c.head())) })},
	{name: "attention scaled by 1/√H", change: scale("attention.self.query.", func(c Config) float64 { return 1 / math.Sqrt(float64(c.Heads)) })},
	{name: "half the heads", change: func(c *Checkpoint, _ *Profile) { c.Config.Heads /= 2 }},
	{name: "last layer missing", change: func(c *Checkpoint, _ *Profile) { c.Config.Layers-- }},

	// parameters
	{name: "no position embedding", change: set("position_embeddings", 0)},
	{name: "positions from 1", change: rotate("position_embeddings", 1)},
	{name: "no token type embedding", change: set("token_type_embeddings", 0)},
	{name: "token type 1", change: rotate("token_type_embeddings", 1)},
	{name: "words from 1", change: rotate("word_embeddings", 1)},
	{name: "embeddings norm without gain", change: set("embeddings.LayerNorm.weight", 1)},
	{name: "embeddings norm without shift", change: set("embeddings.LayerNorm.bias", 0)},
	// (the key bias is not here: it adds the same to all scores of a row, which softmax takes away)
	{name: "no query bias", change: set("self.query.bias", 0)},
	{name: "no value bias", change: set("self.value.bias", 0)},
	{name: "no attention output bias", change: set("attention.output.dense.bias", 0)},
	{name: "no intermediate bias", change: set("intermediate.dense.bias", 0)},
	{name: "no output bias", change: set(".output.dense.bias", 0)},
	{name: "no layer norm gain", change: set("output.LayerNorm.weight", 1)},
	{name: "no layer norm shift", change: set("output.LayerNorm.bias", 0)},
	{name: "layer norms swapped", change: swap("attention.output.LayerNorm", "output.LayerNorm")},
	{name: "query and key swapped", change: swap("attention.self.query", "attention.self.key")},
	{name: "key and value swapped", change: swap("attention.self.key", "attention.self.value")},
	{name: "query weight not transposed", change: flip("self.query.weight")},
	{name: "attention output weight not transposed", change: flip("attention.output.dense.weight")},

	// pooling
	{name: "CLS pooling", change: func(_ *Checkpoint, p *Profile) { p.Pooling = CLS }},
	{name: "mean without CLS and SEP", finish: func(x []float32, H int) []float32 { return mean(x[H:len(x)-H], H, true) }},
	{name: "no L2 norm", finish: func(x []float32, H int) []float32 { return mean(x, H, false) }},
	{name: "query prefix", change: func(_ *Checkpoint, p *Profile) { p.QueryPrefix = "query: " }},

	// tokens
	{name: "cut text closed with SEP", recount: func(ids []int) []int {
		if len(ids) == 512 {
			ids[511] = 3
		}
		return ids
	}},
	{name: "no SEP", recount: func(ids []int) []int { return ids[:len(ids)-1] }},
	{name: "no CLS", recount: func(ids []int) []int { return ids[1:] }},
	{name: "case kept", change: func(c *Checkpoint, _ *Profile) { c.Vocabulary.Lowercase = false }},
	{name: "accents kept", change: func(c *Checkpoint, _ *Profile) { c.Vocabulary.StripAccents = false }},
	{name: "CJK not isolated", change: func(c *Checkpoint, _ *Profile) { c.Vocabulary.ChineseChars = false }},
	{name: "text not cleaned", change: func(c *Checkpoint, _ *Profile) { c.Vocabulary.CleanText = false }},
	{name: "literal tokens not recognised", change: func(c *Checkpoint, _ *Profile) { c.Vocabulary.Special = nil }},
	{name: "words up to 200 characters", change: func(c *Checkpoint, _ *Profile) { c.Vocabulary.MaxWordChars = 200 }},
}

// Each defect must move some golden vector further than the tolerance allows,
// or the goldens would not notice it in the code either.
func TestDefectsShow(t *testing.T) {
	skipShort(t)
	f := fixtures[0]
	var list []golden
	for i, g := range f.goldens(t) {
		if i%3 == 0 && len(g.IDs) < 200 || g.ID == "long-1" {
			list = append(list, g)
		}
	}
	furthest := func(t *testing.T, d defect) (most float64) {
		c, p := f.checkpoint(t), Profile{}
		if d.change != nil {
			d.change(&c, &p)
		}
		m := build(t, c, p)
		for _, g := range list {
			most = max(most, worst(embedWrongly(t, m, d, g.Text), g.Vec))
		}
		return most
	}
	if most := furthest(t, defect{}); most > vectorTolerance {
		t.Fatalf("without a defect the worst vector is %.2g off", most)
	}
	for _, d := range defects {
		t.Run(d.name, func(t *testing.T) {
			if most := furthest(t, d); most <= vectorTolerance || math.IsInf(most, 0) {
				t.Errorf("the worst vector is %.2g off: want a visible difference, above %g", most, vectorTolerance)
			} else {
				t.Logf("%.2g", most)
			}
		})
	}
}

func embedWrongly(t *testing.T, m *Model, d defect, text string) []float32 {
	t.Helper()
	ids := m.Tokens(m.profile.QueryPrefix + text)
	if d.recount != nil {
		ids = d.recount(ids)
	}
	H := m.Dims()
	x := runLayers(t, m, m.config.Layers, ids).x
	if d.finish != nil {
		return d.finish(x, H)
	}
	vec := make([]float32, H)
	pool(vec, x, m.profile.Pooling)
	simd.Normalize(vec)
	return vec
}

// mean pools x [T×H]; of no token at all it is zero.
func mean(x []float32, H int, unit bool) []float32 {
	vec := make([]float32, H)
	if len(x) > 0 {
		pool(vec, x, Mean)
	}
	if unit {
		simd.Normalize(vec)
	}
	return vec
}

// edit replaces the values of every parameter whose name contains part.
func edit(c *Checkpoint, part string, change func(values []float32, shape []int) []float32) {
	found := false
	for name, p := range c.Params {
		if strings.Contains(name, part) {
			found = true
			values := change(wide(p), p.Shape())
			c.Params[name] = tensor.New(tensor.WithShape(p.Shape()...), tensor.WithBacking(values))
		}
	}
	if !found {
		panic("no parameter is named like " + part)
	}
}

func set(part string, to float32) func(*Checkpoint, *Profile) {
	return func(c *Checkpoint, _ *Profile) {
		edit(c, part, func(v []float32, _ []int) []float32 {
			for i := range v {
				v[i] = to
			}
			return v
		})
	}
}

func scale(part string, by func(Config) float64) func(*Checkpoint, *Profile) {
	return func(c *Checkpoint, _ *Profile) {
		factor := float32(by(c.Config))
		edit(c, part, func(v []float32, _ []int) []float32 {
			for i := range v {
				v[i] *= factor
			}
			return v
		})
	}
}

// rotate moves the rows of a table up.
func rotate(part string, rows int) func(*Checkpoint, *Profile) {
	return func(c *Checkpoint, _ *Profile) {
		edit(c, part, func(v []float32, shape []int) []float32 {
			return slices.Concat(v[rows*shape[1]:], v[:rows*shape[1]])
		})
	}
}

// flip transposes a square weight.
func flip(part string) func(*Checkpoint, *Profile) {
	return func(c *Checkpoint, _ *Profile) {
		edit(c, part, func(v []float32, shape []int) []float32 {
			n := shape[0]
			for r := range n {
				for c := range r {
					v[r*n+c], v[c*n+r] = v[c*n+r], v[r*n+c]
				}
			}
			return v
		})
	}
}

// swap exchanges two parameters of every layer.
func swap(a, b string) func(*Checkpoint, *Profile) {
	return func(c *Checkpoint, _ *Profile) {
		for i := range c.Config.Layers {
			layer := "encoder.layer." + string(rune('0'+i)) + "."
			for _, kind := range []string{".weight", ".bias"} {
				one, other := layer+a+kind, layer+b+kind
				c.Params[one], c.Params[other] = c.Params[other], c.Params[one]
			}
		}
	}
}
