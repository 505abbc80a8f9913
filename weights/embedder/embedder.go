// Package embedder turns the identity of a vault's model into an embedder in
// exactly that vector space, loaded at the first call and shared after it.
package embedder

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"smart-connections-mcp/bert"
	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/weights"
)

// Shared holds the embedder of one model at a time: when the vault changes its
// model, the old one is let go. It is safe for concurrent use.
type Shared struct {
	Source weights.Source

	once  sync.Once
	turn  chan struct{} // holds one token: whoever has it may load
	mu    sync.Mutex    // guards what follows, never held while loading
	id    smartenv.Model
	model *bert.Model // of id; nil until it is loaded
}

// Model returns the embedder of the model id. The first call loads the weights,
// which can take as long as a download; calls at the same time wait for it, each
// for as long as its ctx allows.
func (s *Shared) Model(ctx context.Context, id smartenv.Model) (*bert.Model, error) {
	s.once.Do(func() { s.turn = make(chan struct{}, 1) })
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if model := s.loaded(id); model != nil {
		return model, nil
	}
	model, err := s.load(ctx, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id, s.model = id, model
	return model, nil
}

// load fetches or reads the weights and gives them the profile of id's space.
func (s *Shared) load(ctx context.Context, id smartenv.Model) (*bert.Model, error) {
	if err := computable(id); err != nil {
		return nil, err
	}
	profile, ok := bert.ProfileFor(id.Space)
	if !ok {
		return nil, fmt.Errorf("this program does not know how the vector space %q of %s is made: update it, or choose another model in the plugin's settings", id.Space, id.Name)
	}
	profile.MaxTokens = cmp.Or(id.MaxTokens, profile.MaxTokens)
	checkpoint, err := s.Source.Load(ctx, id.Name)
	if err != nil {
		return nil, err
	}
	if checkpoint.Config.Hidden != id.Dims {
		return nil, fmt.Errorf("the weights at hand give %d dimensions, and the vault was indexed with %s of %d: check SMART_MODEL_PATH", checkpoint.Config.Hidden, id.Name, id.Dims)
	}
	return bert.New(checkpoint, profile)
}

// AtHand says whether Model needs no download, or would refuse to make one.
func (s *Shared) AtHand(id smartenv.Model) bool {
	return computable(id) != nil || s.Source.Cached(id.Name)
}

// computable refuses the models that no weights would help with, before any are
// looked for: those of a provider other than the plugin's own runtime, and those
// of other families in the plugin's lists. What a model of no list is, its
// config.json tells.
func computable(id smartenv.Model) error {
	const wayOut = "choose a BERT model in the plugin's settings, such as TaylorAI/bge-micro-v2, and let it embed the vault again"
	if id.Provider != "transformers" {
		return fmt.Errorf("the vault's vectors were made by %s of the provider %q, which this program does not call: %s", id.Name, id.Provider, wayOut)
	}
	families := map[string]string{
		"onnx-community/granite-embedding-97m-multilingual-r2-ONNX": "ModernBERT",
		"onnx-community/DenseOn-ONNX":                               "ModernBERT",
		"onnx-community/embeddinggemma-300m-ONNX":                   "Gemma",
		"Xenova/jina-embeddings-v2-base-zh":                         "JinaBERT",
		"Xenova/jina-embeddings-v2-small-en":                        "JinaBERT",
		"nomic-ai/nomic-embed-text-v1.5":                            "NomicBERT",
		"nomic-ai/nomic-embed-text-v1":                              "NomicBERT",
	}
	if family, other := families[id.Name]; other {
		return fmt.Errorf("the vault's model %s is of the family %s, and this program computes BERT only: %s", id.Name, family, wayOut)
	}
	return nil
}

func (s *Shared) loaded(id smartenv.Model) *bert.Model {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id != id {
		return nil
	}
	return s.model
}

// Name tells, without waiting, which model is loaded; false when none is yet.
func (s *Shared) Name() (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.model == nil {
		return "", false
	}
	return s.model.Name(), true
}
