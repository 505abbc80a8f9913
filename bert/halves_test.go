package bert

import (
	"context"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"smart-connections-mcp/simd"
)

// A checkpoint gives the same vectors to the bit as halves, as their float32
// values, and as any mix of the two, on every level.
func TestHalvesAndFloats(t *testing.T) {
	before := simd.Active()
	defer simd.Use(before.String())
	texts := []string{"", "a", "How do I prune roses in a cold spring?", strings.Repeat("many words ", 70)}
	for _, level := range simd.Available() {
		if err := simd.Use(level.String()); err != nil {
			t.Fatal(err)
		}
		for _, f := range fixtures[:3] {
			if f.name != "tiny-bert-48" && (testing.Short() || level != before) {
				continue // takes long, in plain Go above all
			}
			halved := f.checkpoint(t)
			smallest(halved)
			variants := map[string]func(name string) bool{ // which are widened
				"all":          func(string) bool { return true },
				"only keys":    func(name string) bool { return strings.Contains(name, "key") },
				"only weights": func(name string) bool { return strings.HasSuffix(name, "weight") },
				"only biases":  func(name string) bool { return strings.HasSuffix(name, "bias") },
			}
			want := vectors(t, halved, texts)
			for name, widened := range variants {
				c := f.checkpoint(t)
				smallest(c)
				for name, p := range c.Params {
					if _, ok := p.Data().([]uint16); !ok {
						t.Fatalf("%s: %s holds %v, want halves", f.name, name, p.Dtype())
					}
					if widened(name) {
						c.Params[name] = tensor.New(tensor.WithShape(p.Shape()...), tensor.WithBacking(wide(p)))
					}
				}
				if got := vectors(t, c, texts); !slices.EqualFunc(got, want, slices.Equal[[]float32]) {
					t.Errorf("%s on %s, %s widened: other vectors than from halves", f.name, level, name)
				}
			}
		}
	}
}

// smallest makes some values of each parameter subnormal halves.
func smallest(c Checkpoint) {
	for _, p := range c.Params {
		values := p.Data().([]uint16)
		for i := 0; i < len(values); i += 7 {
			values[i] &= 0x83FF
		}
	}
}

func vectors(t *testing.T, c Checkpoint, texts []string) [][]float32 {
	t.Helper()
	m := build(t, c, Profile{})
	var list [][]float32
	for _, text := range texts {
		vec, err := m.Embed(context.Background(), text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, vec)
	}
	return list
}

// The table of words is the only copy, and stays halves.
func TestWordsAreNotCopied(t *testing.T) {
	c := fixtures[1].checkpoint(t)
	words := c.Params["embeddings.word_embeddings.weight"].Data().([]uint16)
	m := build(t, c, Profile{})
	if kept := m.params.words.halves; len(kept) != len(words) || &kept[0] != &words[0] {
		t.Error("the table of words is not the checkpoint's")
	}
}
