package bert

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"smart-connections-mcp/simd"
)

// vectorTolerance is the greatest difference of one component of a unit
// vector from onnxruntime's, which itself is within 8.4e-7 of exact arithmetic.
const vectorTolerance = 2e-6

// Every golden text's vector. The large models of shared/ take minutes without
// vector instructions; there a sample has to do.
func TestEmbedGolden(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			list, m := f.goldens(t), f.load(t)
			step := 1
			if !f.inRepo && (simd.Active() == simd.Generic || testing.Short() || runtime.GOARCH != "amd64") {
				step = 23
			}
			var most float64
			at, compared := "", 0
			for i := 0; i < len(list); i += step {
				d := worst(embedIDs(t, m, list[i].Text), list[i].Vec)
				if d > vectorTolerance {
					t.Errorf("%s: the vector is %.2g off, want at most %g", list[i].ID, d, vectorTolerance)
				}
				if d >= most {
					most, at = d, list[i].ID
				}
				compared++
			}
			t.Logf("%s: %d of %d vectors on %s, worst %.3g (%s)", f.name, compared, len(list), simd.Active(), most, at)
		})
	}
}

// embedIDs embeds as the goldens were made: without the plugin's loop, cut at
// the last position.
func embedIDs(t testing.TB, m *Model, text string) []float32 {
	t.Helper()
	s := m.scratches.Get().(*scratch)
	defer m.scratches.Put(s)
	if err := m.params.forward(context.Background(), m.config, m.Tokens(text), s, 1); err != nil {
		t.Fatal(err)
	}
	vec := make([]float32, m.Dims())
	pool(vec, s.x, m.profile.Pooling)
	if !simd.Normalize(vec) {
		t.Fatalf("%q has no finite vector", text)
	}
	return vec
}

// activations are the inside of one pass, as onnxruntime computed it.
type activations struct {
	Text   string
	IDs    []int
	States []struct { // hidden states after the embeddings and after each layer
		Name string
		F32  base64Floats // [T×H]
	}
	Layer0 map[string]struct { // the steps of the first layer
		F32 base64Floats
	}
}

// The hidden states after each layer are those of a model that ends there;
// what is left in the scratch of a model of one layer are that layer's steps.
func TestActivations(t *testing.T) {
	const tolerance = 1e-4
	for _, f := range fixtures[:3] {
		t.Run(f.name, func(t *testing.T) {
			list := readLines[activations](t, filepath.Join(f.golden, f.name+".activations.jsonl"))
			m := f.load(t)
			var most float64
			steps := 0
			check := func(text, name string, got, want []float32) {
				t.Helper()
				d := worst(got, want)
				if d > tolerance {
					t.Errorf("%q: %s is %.2g off, want at most %g", text, name, d, tolerance)
				}
				most = max(most, d)
				steps++
			}
			for _, a := range list {
				if got := m.Tokens(a.Text); !slices.Equal(got, a.IDs) {
					t.Fatalf("Tokens(%q) = %v, want %v", a.Text, got, a.IDs)
				}
				if len(a.States) != m.config.Layers+1 {
					t.Fatalf("%q: %d states for %d layers", a.Text, len(a.States), m.config.Layers)
				}
				for layers, want := range a.States {
					s := runLayers(t, m, layers, a.IDs)
					check(a.Text, want.Name, s.x, want.F32)
					if layers != 1 || a.Layer0 == nil {
						continue
					}
					T, H, I := len(a.IDs), m.config.Hidden, m.config.Intermediate
					if T > group {
						t.Fatalf("%d tokens: the steps of more than one group are not left", T)
					}
					step := func(name string) []float32 { return a.Layer0[name].F32 }
					d := s.desks[0]
					check(a.Text, "q", columns(s.queries, T, stride(H), 0, H), step("q"))
					check(a.Text, "k", columns(d.keyValue, T, stride(2*H), 0, H), step("k"))
					check(a.Text, "v", columns(d.keyValue, T, stride(2*H), H, H), step("v"))
					probs, left := step("probs"), (T-1)%few+1 // [A×T×T], of which the last head's last rows are left
					check(a.Text, "probs", columns(d.scores, left, stride(T), 0, T), probs[len(probs)-left*T:])
					check(a.Text, "ctx", d.context, step("ctx"))
					width := (I-1)%part + 1 // of the last part, which is left
					check(a.Text, "ffn_act", columns(d.inner, T, stride(min(part, I)), 0, width), columns(step("ffn_act"), T, I, I-width, width))
					check(a.Text, "ffn_out", d.step, step("ffn_out"))
				}
			}
			if want := 3*(m.config.Layers+1) + 7; steps != want {
				t.Errorf("%d activations compared, want %d", steps, want)
			}
			t.Logf("%d activations, worst %.3g", steps, most)
		})
	}
}

// runLayers runs the model's first layers and returns what they leave.
func runLayers(t *testing.T, m *Model, layers int, ids []int) *scratch {
	t.Helper()
	p, s := *m.params, newScratch()
	p.layers = p.layers[:layers]
	if err := p.forward(context.Background(), m.config, ids, s, 1); err != nil {
		t.Fatal(err)
	}
	return s
}

// columns copies width columns of x [rows×stride], from column at.
func columns(x []float32, rows, stride, at, width int) []float32 {
	var out []float32
	for r := range rows {
		out = append(out, x[r*stride+at:][:width]...)
	}
	return out
}

// The goldens on every level of this machine, for the small model.
func TestEmbedGoldenOnEveryLevel(t *testing.T) {
	skipShort(t)
	f := fixtures[0]
	list := f.goldens(t)
	before := simd.Active()
	defer func() {
		if err := simd.Use(before.String()); err != nil {
			t.Error(err)
		}
	}()
	for _, level := range simd.Available() {
		t.Run(fmt.Sprint(level), func(t *testing.T) {
			if err := simd.Use(level.String()); err != nil {
				t.Fatal(err)
			}
			m := f.load(t) // packs for this level
			var most float64
			for i := 0; i < len(list); i += 3 { // some of every class
				most = max(most, worst(embedIDs(t, m, list[i].Text), list[i].Vec))
			}
			if most > vectorTolerance {
				t.Errorf("the worst vector is %.2g off, want at most %g", most, vectorTolerance)
			}
			t.Logf("worst %.3g", most)
		})
	}
}
