package verify

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"smart-connections-mcp/simd"
	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
)

const (
	// Refused is the agreement below which an embedder cannot be the plugin's,
	// whatever its precision: answers would be confident nonsense.
	Refused = 0.8

	probed     = 3  // items that Probe compares
	probeTries = 12 // items it looks at to find the cheapest of them
)

// Agreement is the outcome of a Probe.
type Agreement struct {
	Compared int     // fresh items that were re-embedded, 3 at most; 0 when there was none
	Cosine   float64 // the middle one of their cosines with the stored vectors
}

// Probe re-embeds three fresh items, so that weights or a profile that are not
// the plugin's are noticed without being asked for. Blocks come first, and of
// some drawn at random the shortest: how long texts were cut has changed from
// version to version of the plugin, and short ones are quickly embedded. It is
// the middle cosine that counts, because a single vector may be bad through no
// fault of the embedder's (format section 9.4). The choice is the same each
// time. The error says why nothing can be said.
func Probe(ctx context.Context, v *note.Vault, s *smartenv.Snapshot, embed EmbedFunc) (Agreement, error) {
	var cosines []float64
	for _, c := range []*smartenv.Collection{&s.Blocks, &s.Notes} {
		samples, err := fresh(v, c, Rules(s))
		if err != nil {
			return Agreement{}, err
		}
		for _, sample := range samples[:min(len(samples), probed-len(cosines))] {
			vector, err := embed(ctx, sample.text)
			if err != nil {
				return Agreement{}, err
			}
			if len(vector) != c.Dims {
				return Agreement{}, fmt.Errorf("the model gives %d dimensions and the index holds %d", len(vector), c.Dims)
			}
			cosines = append(cosines, float64(simd.Dot(vector, c.Row(sample.row))))
		}
	}
	if len(cosines) == 0 {
		return Agreement{}, nil
	}
	slices.Sort(cosines)
	return Agreement{Compared: len(cosines), Cosine: cosines[len(cosines)/2]}, nil
}

// sample is an item whose text is still the embedded one.
type sample struct {
	row  int
	text string
}

// fresh returns some fresh items of a collection, shortest text first. Items
// whose hash cannot be compared are none.
func fresh(v *note.Vault, c *smartenv.Collection, rules note.Rules) ([]sample, error) {
	var samples []sample
	var failed error
	rng := rand.New(rand.NewPCG(1, 1))
	tries := probeTries
	for _, row := range rng.Perm(len(c.Items)) {
		item := c.Items[row]
		if item.Stale || !item.Comparable() {
			continue
		}
		if tries--; tries < 0 {
			break
		}
		text, ok, err := Input(v, item, rules)
		switch {
		case err != nil:
			failed = err
		case ok:
			samples = append(samples, sample{row, text})
		}
	}
	if len(samples) == 0 && failed != nil {
		return nil, fmt.Errorf("reading a note: %w", failed)
	}
	slices.SortStableFunc(samples, func(a, b sample) int { return cmp.Compare(len(a.text), len(b.text)) })
	return samples, nil
}
