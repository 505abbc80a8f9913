package bert

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"gorgonia.org/tensor"

	"smart-connections-mcp/simd"
)

// Checkpoint is a model as it comes from its files, checked but not yet ready
// to compute.
type Checkpoint struct {
	Name       string // as a user knows it, such as TaylorAI/bge-micro-v2
	Config     Config
	Vocabulary Vocabulary
	// Params are named and shaped as Config.Shapes says. Their values are float32,
	// or IEEE 754 halves as uint16.
	Params map[string]*tensor.Dense
}

// Model embeds texts. It is immutable and safe for concurrent use. A long text
// is computed by as many goroutines as there are processors for each call.
type Model struct {
	name      string
	config    Config
	profile   Profile
	tokenizer *tokenizer
	params    *parameters
	scratches sync.Pool    // of *scratch
	calls     atomic.Int32 // in progress
}

// New makes a model of a checkpoint that embeds under the given profile. It
// keeps the checkpoint's embedding tables, norms and biases, so these must not
// change any more, and packs all other weights once for the simd kernels in
// force.
func New(c Checkpoint, p Profile) (*Model, error) {
	if err := c.Config.check(); err != nil {
		return nil, fmt.Errorf("model %q: config: %w", c.Name, err)
	}
	if known, rows := len(c.Vocabulary.Tokens), c.Config.Vocab; known > rows {
		return nil, fmt.Errorf("model %q: the tokenizer knows %d word pieces, the embedding table %d: these files belong to different models", c.Name, known, rows)
	}
	t, err := newTokenizer(c.Vocabulary)
	if err != nil {
		return nil, fmt.Errorf("model %q: tokenizer: %w", c.Name, err)
	}
	params, err := newParameters(c.Config, c.Params)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", c.Name, err)
	}
	if p.MaxTokens <= 0 {
		p.MaxTokens = c.Config.Positions
	}
	return &Model{
		name: c.Name, config: c.Config, profile: p, tokenizer: t, params: params,
		scratches: sync.Pool{New: func() any { return newScratch() }},
	}, nil
}

// Name returns the checkpoint's name.
func (m *Model) Name() string { return m.name }

// Dims returns H, the length of every vector of this model.
func (m *Model) Dims() int { return m.config.Hidden }

// Embed returns the unit vector [H] of a query. The query prefix of the
// profile is put before it, and it is shortened as the plugin shortens texts.
// The error is that of ctx, which is looked at once per layer, or says that
// the model has no finite vector for this text.
func (m *Model) Embed(ctx context.Context, text string) ([]float32, error) {
	return m.embed(ctx, m.profile.QueryPrefix+text)
}

// EmbedDocument is Embed for the text of a note or block, with the document
// prefix of the profile.
func (m *Model) EmbedDocument(ctx context.Context, text string) ([]float32, error) {
	return m.embed(ctx, m.profile.DocumentPrefix+text)
}

func (m *Model) embed(ctx context.Context, text string) ([]float32, error) {
	calls := m.calls.Add(1)
	defer m.calls.Add(-1)
	s := m.scratches.Get().(*scratch)
	defer m.scratches.Put(s)
	_, ids := m.tokenizer.fit(&s.words, text, m.profile.MaxTokens)
	ids = m.cut(ids)
	if err := m.params.forward(ctx, m.config, ids, s, members(len(ids), runtime.GOMAXPROCS(0), int(calls))); err != nil {
		return nil, err
	}
	vec := make([]float32, m.config.Hidden) // [H]
	pool(vec, s.x, m.profile.Pooling)
	if !simd.Normalize(vec) {
		return nil, errors.New("the model gives this text no finite vector: its weights may be damaged; fetch the model again")
	}
	return vec, nil
}

// members is how many goroutines compute a text of T tokens while so many calls
// are in progress: each call its share of the processors, but none so many that
// waking one costs more than it does.
func members(T, processors, calls int) int {
	const least = 4 // rows for each
	return max(1, min(processors/calls, T/least))
}

// Fit returns the beginning of the text that the plugin would embed if it put
// nothing before it: at most the profile's MaxTokens tokens, [CLS] and [SEP]
// included. A cut inside a character leaves that character out. A prefix counts:
// Embed and EmbedDocument shorten it and the text as one, which keeps less.
func (m *Model) Fit(text string) string {
	fitting, _ := m.tokenizer.fit(new(buffers), text, m.profile.MaxTokens)
	return fitting
}

// Tokens returns the ids the model sees for a text, [CLS] first and [SEP]
// last. A text of more tokens than the model has positions is cut there and
// so has no [SEP], as in transformers.js; Fit comes before this limit is met.
func (m *Model) Tokens(text string) []int {
	return m.cut(m.tokenizer.ids(text))
}

func (m *Model) cut(ids []int) []int {
	return ids[:min(len(ids), m.config.Positions)]
}
