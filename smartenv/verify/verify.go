package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sort"

	"smart-connections-mcp/simd"
	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
	"smart-connections-mcp/smartenv/parallel"
)

// Bounds of agreement, as cosine between stored and rebuilt vector.
const (
	Floor = 0.95  // below it the embedder is not the plugin's
	Exact = 0.999 // from here on the plugin used the same weights in fp32
)

// EmbedFunc embeds a document as the plugin does: prefix, token loop, unit
// vector. It is called by several goroutines at once.
type EmbedFunc func(ctx context.Context, text string) ([]float32, error)

// Options choose the sample.
type Options struct {
	Sample int    // items per collection; 0 or less means all
	Seed   uint64 // of the sample, so that a run can be repeated
}

// Report is the outcome of one run.
type Report struct {
	Model       string `json:"model"`
	Fingerprint string `json:"fingerprint"`
	Seed        uint64 `json:"seed"`
	Notes       Group  `json:"notes"`
	Blocks      Group  `json:"blocks"`
	Passed      bool   `json:"passed"`
	Reason      string `json:"reason,omitempty"` // why it did not pass
}

// Group is the outcome for one collection. The figures are cosines.
type Group struct {
	Embedded     int     `json:"embedded"`      // items with an accepted vector
	Compared     int     `json:"compared"`      // of the sample, re-embedded
	SkippedStale int     `json:"skipped_stale"` // of the sample, text changed since
	Worst        float64 `json:"worst"`
	P1           float64 `json:"p1"` // 1st percentile
	Median       float64 `json:"median"`
	ShareExact   float64 `json:"share_at_least_0_999"`
	ShareFloor   float64 `json:"share_at_least_0_95"`
	Below        []Item  `json:"below"`  // items under Exact, worst first, at most maxBelow
	Failed       []Item  `json:"failed"` // items that could not be rebuilt though their text is unchanged
}

// Item is one compared note or block.
type Item struct {
	Key        string  `json:"key"`
	Cosine     float64 `json:"cosine"`
	Unreadable string  `json:"unreadable,omitempty"`
}

// maxBelow bounds the named items of a group.
const maxBelow = 20

// Run compares a sample of each collection of s with what embed makes of the
// rebuilt texts. An error means that the comparison could not be made at all;
// a comparison that fails is a Report with Passed false.
func Run(ctx context.Context, v *note.Vault, s *smartenv.Snapshot, embed EmbedFunc, o Options) (Report, error) {
	r := Report{Model: s.Model.Name, Fingerprint: s.Fingerprint, Seed: o.Seed}
	if s.Refusal != nil {
		return r, s.Refusal
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0))
	run := runner{vault: v, embed: embed, rules: Rules(s)}
	var err error
	if r.Notes, err = run.group(ctx, &s.Notes, pick(rng, len(s.Notes.Items), o.Sample)); err != nil {
		return r, err
	}
	if r.Blocks, err = run.group(ctx, &s.Blocks, pick(rng, len(s.Blocks.Items), o.Sample)); err != nil {
		return r, err
	}
	r.judge()
	return r, nil
}

// Rules are the plugin's cutting rules under which s was made.
func Rules(s *smartenv.Snapshot) note.Rules {
	return note.Rules{
		MinChars:         s.Settings.MinChars,
		MaxTokens:        s.Model.MaxTokens,
		ExcludedHeadings: s.Settings.ExcludedHeadings,
	}
}

// judge decides whether the run passed.
func (r *Report) judge() {
	compared := r.Notes.Compared + r.Blocks.Compared
	switch {
	case compared == 0:
		r.Reason = "nothing could be compared: the index holds no vector whose text is unchanged; open the vault in Obsidian and let Smart Connections embed it"
	case len(r.Notes.Failed)+len(r.Blocks.Failed) > 0:
		r.Reason = fmt.Sprintf("%d items could not be rebuilt", len(r.Notes.Failed)+len(r.Blocks.Failed))
	case r.Notes.under(Floor) || r.Blocks.under(Floor):
		r.Reason = fmt.Sprintf("some vectors agree below %g: the model's files or profile are not those the plugin used; check --model-path and --model", Floor)
	default:
		r.Passed = true
	}
}

// under says whether anything was compared and fell below bound.
func (g Group) under(bound float64) bool { return g.Compared > 0 && g.Worst < bound }

// pick draws n of total indices without repetition, in rising order; all when
// n is not positive.
func pick(rng *rand.Rand, total, n int) []int {
	chosen := rng.Perm(total)
	if n > 0 && n < total {
		chosen = chosen[:n]
	}
	sort.Ints(chosen)
	return chosen
}

// runner rebuilds and compares items of one vault.
type runner struct {
	vault *note.Vault
	embed EmbedFunc
	rules note.Rules
}

// group compares the chosen rows of one collection, on all processors.
func (r runner) group(ctx context.Context, c *smartenv.Collection, rows []int) (Group, error) {
	outcomes := make([]outcome, len(rows))
	parallel.Do(runtime.GOMAXPROCS(0), len(rows), 1, func(i, _ int) { outcomes[i] = r.compare(ctx, c, rows[i]) })
	g := Group{Embedded: len(c.Items), Below: []Item{}, Failed: []Item{}}
	var compared []Item
	for _, o := range outcomes {
		switch {
		case o.fatal != nil:
			return g, o.fatal
		case o.stale:
			g.SkippedStale++
		case o.item.Unreadable != "":
			g.Failed = append(g.Failed, o.item)
		default:
			compared = append(compared, o.item)
		}
	}
	g.summarise(compared)
	return g, nil
}

// outcome is what comparing one item gave.
type outcome struct {
	item  Item
	stale bool  // the note's text is no longer the embedded one
	fatal error // the comparison as a whole cannot be made
}

// compare rebuilds, embeds and compares one row.
func (r runner) compare(ctx context.Context, c *smartenv.Collection, row int) outcome {
	item := c.Items[row]
	o := outcome{item: Item{Key: item.Path + item.Key}, fatal: ctx.Err()}
	if o.fatal != nil {
		return o
	}
	input, ok, err := Input(r.vault, item, r.rules)
	if err != nil {
		o.item.Unreadable = err.Error()
		return o
	}
	if o.stale = !ok; o.stale {
		return o
	}
	vector, err := r.embed(ctx, input)
	switch {
	case err != nil:
		o.fatal = fmt.Errorf("embedding %q: %w", o.item.Key, err)
	case len(vector) != c.Dims:
		o.fatal = fmt.Errorf("the model gives %d dimensions and the index holds %d: pass the model that the vault was indexed with", len(vector), c.Dims)
	default:
		o.item.Cosine = float64(simd.Dot(vector, c.Row(row)))
	}
	return o
}

// summarise fills the figures of g from its comparisons.
func (g *Group) summarise(cosines []Item) {
	g.Compared = len(cosines)
	if g.Compared == 0 {
		return
	}
	sort.SliceStable(cosines, func(i, j int) bool { return cosines[i].Cosine < cosines[j].Cosine })
	g.Worst = cosines[0].Cosine
	g.P1 = cosines[(g.Compared-1)/100].Cosine
	g.Median = cosines[g.Compared/2].Cosine
	exact, floor := 0, 0
	for _, c := range cosines {
		if c.Cosine >= Exact {
			exact++
		} else if len(g.Below) < maxBelow {
			g.Below = append(g.Below, c)
		}
		if c.Cosine >= Floor {
			floor++
		}
	}
	g.ShareExact = float64(exact) / float64(g.Compared)
	g.ShareFloor = float64(floor) / float64(g.Compared)
}
