package bert

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorgonia.org/tensor"
)

func TestNewRefuses(t *testing.T) {
	const name = "encoder.layer.1.output.dense.weight"
	tests := []struct {
		name   string
		change func(c *Checkpoint)
		want   string
	}{
		{"missing", func(c *Checkpoint) { delete(c.Params, name) }, name + ": missing: want shape [48 96]"},
		{"shape", func(c *Checkpoint) {
			c.Params[name] = tensor.New(tensor.WithShape(96, 48), tensor.WithBacking(make([]float32, 96*48)))
		}, name + ": has shape [96 48]: the config wants [48 96]"},
		{"type", func(c *Checkpoint) {
			c.Params[name] = tensor.New(tensor.WithShape(48, 96), tensor.WithBacking(make([]float64, 96*48)))
		}, name + ": holds float64"},
		{"transposed view", func(c *Checkpoint) {
			view := tensor.New(tensor.WithShape(96, 48), tensor.WithBacking(make([]float32, 96*48)))
			if err := view.T(); err != nil {
				t.Fatal(err)
			}
			c.Params[name] = view
		}, name + ": holds float32, not contiguous"},
		{"shape of halves", func(c *Checkpoint) {
			c.Params[name] = tensor.New(tensor.WithShape(96, 48), tensor.WithBacking(make([]uint16, 96*48)))
		}, name + ": has shape [96 48]: the config wants [48 96]"},
		{"16 bits that are a number", func(c *Checkpoint) {
			c.Params[name] = tensor.New(tensor.WithShape(48, 96), tensor.WithBacking(make([]int16, 96*48)))
		}, name + ": holds int16"},
		{"transposed view of halves", func(c *Checkpoint) {
			view := tensor.New(tensor.WithShape(96, 48), tensor.WithBacking(make([]uint16, 96*48)))
			if err := view.T(); err != nil {
				t.Fatal(err)
			}
			c.Params[name] = view
		}, name + ": holds uint16, not contiguous"},
		{"vocabulary of another model", func(c *Checkpoint) { c.Vocabulary.Tokens = make([]string, 1001) }, "knows 1001 word pieces, the embedding table 1000"},
		{"no vocabulary", func(c *Checkpoint) { c.Vocabulary = Vocabulary{} }, "not in the vocabulary"},
		{"no way to pieces", func(c *Checkpoint) { c.Vocabulary.WordPiece = nil }, "not, or twice, how a text becomes pieces"},
		{"two ways to pieces", func(c *Checkpoint) { c.Vocabulary.Unigram = &Unigram{Scores: make([]float64, 2)} }, "not, or twice, how a text becomes pieces"},
		{"no scores", func(c *Checkpoint) { c.Vocabulary.WordPiece, c.Vocabulary.Unigram = nil, &Unigram{} }, `the unknown token "[UNK]" has no score`},
		{"too many scores", func(c *Checkpoint) {
			c.Vocabulary.WordPiece, c.Vocabulary.Unigram = nil, &Unigram{Scores: make([]float64, 1001)}
		}, "1001 scores for 1000 tokens"},
		{"no config", func(c *Checkpoint) { c.Config = Config{} }, "num_hidden_layers is 0"},
	}
	for _, tt := range tests {
		c := fixtures[0].checkpoint(t)
		tt.change(&c)
		if _, err := New(c, Profile{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q in it", tt.name, err, tt.want)
		}
	}
}

// The whole way of multilingual-e5-small, against transformers.js: its kind of
// tokenizer, its prefixes, more rows in the table than pieces, and texts cut
// within a surrogate pair.
func TestUnigramModel(t *testing.T) {
	c := fixtures[0].checkpoint(t)
	data, err := os.ReadFile(unigramFile)
	if err != nil {
		t.Fatal(err)
	}
	if c.Vocabulary, err = ParseVocabulary(data); err != nil {
		t.Fatal(err)
	}
	const name = "embeddings.word_embeddings.weight"
	if _, err := New(c, Profile{}); err == nil || !strings.Contains(err.Error(), "knows 3002 word pieces, the embedding table 1000") {
		t.Errorf("with fewer rows than pieces: error %v", err)
	}
	words := wide(c.Params[name])
	c.Config.Vocab = 3037
	c.Params[name] = tensor.New(tensor.WithShape(3037, 48), tensor.WithBacking(slices.Concat(words, words, words, words[:37*48])))
	e5, _ := ProfileFor("Xenova/multilingual-e5-small/retrieval-v1")
	m, plain := build(t, c, e5), build(t, c, Profile{})
	embed := map[string]func(context.Context, string) ([]float32, error){"query": m.Embed, "document": m.EmbedDocument, "plain": plain.Embed}
	halves := 0
	for _, g := range readLines[struct {
		Purpose, Text string
		N             int
		Half          bool
		Vec           base64Floats
	}](t, unigramDir+"vectors.jsonl") {
		got, err := embed[g.Purpose](context.Background(), g.Text)
		if d := worst(got, g.Vec); err != nil || d > vectorTolerance {
			t.Errorf("the %s %.40q is %.2g off, %v, want at most %g", g.Purpose, g.Text, d, err, vectorTolerance)
		}
		prefix := map[string]string{"query": e5.QueryPrefix, "document": e5.DocumentPrefix}[g.Purpose]
		if _, ids := m.tokenizer.fit(new(buffers), prefix+g.Text, 512); len(ids) != g.N {
			t.Errorf("the %s %.40q has %d tokens, want %d", g.Purpose, g.Text, len(ids), g.N)
		}
		if g.Half {
			halves++
		}
	}
	if halves == 0 {
		t.Error("no text was cut within a surrogate pair")
	}
}

func TestModelAccessors(t *testing.T) {
	m := fixtures[0].load(t)
	if m.Dims() != 48 || m.Name() != "tiny-bert-48" {
		t.Errorf("Dims = %d, Name = %q", m.Dims(), m.Name())
	}
}

// Embed is Fit, then the golden way of embedding; prefixes come before Fit.
func TestEmbed(t *testing.T) {
	ctx := context.Background()
	c := fixtures[0].checkpoint(t)
	m := build(t, c, Profile{QueryPrefix: "query: ", DocumentPrefix: "passage: ", MaxTokens: 64})
	long := strings.Repeat("some words, ", 100)
	for _, text := range []string{"", "roses", long} {
		query, err := m.Embed(ctx, text)
		if err != nil {
			t.Fatal(err)
		}
		document, err := m.EmbedDocument(ctx, text)
		if err != nil {
			t.Fatal(err)
		}
		if want := embedIDs(t, m, m.Fit("query: "+text)); !slices.Equal(query, want) {
			t.Errorf("Embed(%q) is not the vector of the prefixed text", text)
		}
		if want := embedIDs(t, m, m.Fit("passage: "+text)); !slices.Equal(document, want) {
			t.Errorf("EmbedDocument(%q) is not the vector of the prefixed text", text)
		}
	}
	if n := len(m.Tokens(m.Fit("query: " + long))); n > 64 || n < 50 {
		t.Errorf("the long text keeps %d tokens, want 64 at most, nearly", n)
	}
}

// A zero profile asks for as many tokens as there are positions.
func TestZeroProfile(t *testing.T) {
	m := build(t, fixtures[0].checkpoint(t), Profile{})
	if n := len(m.Tokens(m.Fit(strings.Repeat("a ", 600)))); n > 512 || n < 400 {
		t.Errorf("Fit keeps %d tokens, want nearly 512", n)
	}
}

func TestEmbedStops(t *testing.T) {
	m := fixtures[0].load(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Embed(ctx, "text"); !errors.Is(err, context.Canceled) {
		t.Errorf("Embed of an ended context: %v", err)
	}
}

func TestEmbedDamagedWeights(t *testing.T) {
	c := fixtures[0].checkpoint(t)
	edit(&c, "encoder.layer.2.output.LayerNorm.bias", func(v []float32, _ []int) []float32 {
		v[0] = float32(math.NaN())
		return v
	})
	if vec, err := build(t, c, Profile{}).Embed(context.Background(), "text"); err == nil {
		t.Errorf("Embed = %v, want an error", vec)
	}
}

// Calls at once, of texts of different lengths, share nothing but weights.
func TestEmbedConcurrently(t *testing.T) {
	f := fixtures[0]
	m := f.load(t)
	list := f.goldens(t)[:120]
	var wait sync.WaitGroup
	for worker := range 4 {
		wait.Go(func() {
			for i := range list {
				g := list[(i*7+worker*31)%len(list)]
				if len(g.IDs) == 512 {
					continue // Embed would shorten it
				}
				vec, err := m.Embed(context.Background(), g.Text)
				if d := worst(vec, g.Vec); err != nil || d > vectorTolerance {
					t.Errorf("%s: %.2g off, %v", g.ID, d, err)
				}
			}
		})
	}
	wait.Wait()
}

// Embedding allocates its result and nothing else once a text as long has been
// embedded: one text of the built-in model, and one that is cut.
func TestEmbedAllocatesItsResult(t *testing.T) {
	skipShort(t) // also run with the race detector, which drops what is kept
	m := fixtures[0].load(t)
	for _, words := range []int{5, 100, 600} {
		text := strings.Repeat("some words, ", words)
		run := func() {
			if _, err := m.Embed(context.Background(), text); err != nil {
				t.Fatal(err)
			}
		}
		run()
		if n := testing.AllocsPerRun(20, run); n > 1 {
			t.Errorf("Embed of %d words allocates %v times, want once", 2*words, n)
		}
	}
}

// The forward pass allocates nothing once its scratch has met the length.
func TestForwardDoesNotAllocate(t *testing.T) {
	m := fixtures[0].load(t)
	ids, s := m.Tokens(strings.Repeat("some words, ", 20)), newScratch()
	run := func() {
		if err := m.params.forward(context.Background(), m.config, ids, s, 1); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(10, run); n > 0 {
		t.Errorf("forward allocates %v times", n)
	}
}
