package embedder

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"smart-connections-mcp/bert"
	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/weights"
	"smart-connections-mcp/weights/builtin"
)

func mini() smartenv.Model {
	return smartenv.Model{Provider: "transformers", Name: builtin.Name, Dims: 128, MaxTokens: 512}
}

// Calls at the same time get the same embedder, loaded once.
func TestModelIsShared(t *testing.T) {
	s := &Shared{}
	if name, ready := s.Name(); ready || name != "" {
		t.Errorf("Name before loading = %q, %v, want none", name, ready)
	}
	models := make([]*bert.Model, 8)
	var calls sync.WaitGroup
	for i := range models {
		calls.Go(func() {
			var err error
			if models[i], err = s.Model(context.Background(), mini()); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	for _, m := range models {
		if m == nil || m != models[0] {
			t.Fatalf("Model gave %p and %p, want one", models[0], m)
		}
	}
	if name, ready := s.Name(); !ready || name != builtin.Name {
		t.Errorf("Name after loading = %q, %v, want %q", name, ready, builtin.Name)
	}
}

// The identity of the vault's model decides the vector space, or that there is
// none to be had.
func TestModel(t *testing.T) {
	short, wide, strange, absent, api, family := mini(), mini(), mini(), mini(), mini(), mini()
	api.Provider, api.Name = "ollama", "nomic-embed-text"
	family.Name = "nomic-ai/nomic-embed-text-v1.5"
	short.MaxTokens = 8
	wide.Dims = 384
	strange.Space = "somebody/something/retrieval-v9"
	absent.Name = "somebody/something"
	tests := []struct {
		name  string
		id    smartenv.Model
		fails string
	}{
		{"plain", mini(), ""},
		{"own token limit", short, ""},
		{"other dimensions", wide, "give 128 dimensions, and the vault was indexed with builtin/mini-2l-128 of 384"},
		{"unknown space", strange, `does not know how the vector space "somebody/something/retrieval-v9"`},
		{"no such model at hand", absent, "SMART_MODEL_PATH"},
		{"another provider", api, `nomic-embed-text of the provider "ollama", which this program does not call: choose a BERT model`},
		{"another family", family, "nomic-ai/nomic-embed-text-v1.5 is of the family NomicBERT, and this program computes BERT only: choose a BERT model"},
	}
	text := strings.Repeat("rose ", 40)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, err := (&Shared{}).Model(context.Background(), test.id)
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("Model(%+v) = %v, want an error with %q", test.id, err, test.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if cut := m.Fit(text) != text; cut != (test.id.MaxTokens == 8) {
				t.Errorf("with %d tokens a text of 40 words is cut: %v", test.id.MaxTokens, cut)
			}
		})
	}
}

// A vault that changes its model gets the new one.
func TestModelChanges(t *testing.T) {
	s := &Shared{}
	first, err := s.Model(context.Background(), mini())
	if err != nil {
		t.Fatal(err)
	}
	other := mini()
	other.MaxTokens = 64
	second, err := s.Model(context.Background(), other)
	if err != nil || second == first {
		t.Errorf("Model after a change = the same, %v, want another", err)
	}
}

func TestModelWaitsNoLongerThanItsContext(t *testing.T) {
	s := &Shared{Source: weights.Source{}}
	if _, err := s.Model(context.Background(), mini()); err != nil {
		t.Fatal(err)
	}
	s.turn <- struct{}{} // somebody is loading
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Model(ctx, mini()); !errors.Is(err, context.Canceled) {
		t.Errorf("Model while another loads, with a cancelled context = %v, want context.Canceled", err)
	}
}
