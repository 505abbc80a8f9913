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
