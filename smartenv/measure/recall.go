package measure

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/search"
)

// Recall is whether notes are found by quotes from beyond the window of their
// own vector.
type Recall struct {
	Eligible    int           `json:"eligible"` // notes with such a quote
	Asked       int           `json:"asked"`
	Seed        uint64        `json:"seed"`
	Scopes      []ScopeRecall `json:"scopes"`     // notes, blocks, auto
	AutoWorse   int           `json:"auto_worse"` // quotes whose note has a worse rank in auto than in notes
	Worse       []Worse       `json:"worse"`      // the first of them, at most maxWorse
	NotMeasured string        `json:"not_measured,omitempty"`
}

// ScopeRecall is the outcome for one scope. A note that is not found counts in
// the median as one place behind all that are.
type ScopeRecall struct {
	Scope      string  `json:"scope"`
	First      int     `json:"rank_1"`
	Within5    int     `json:"within_5"`
	Within10   int     `json:"within_10"`
	NotFound   int     `json:"not_found"` // the note has no vector in the scope
	MedianRank float64 `json:"median_rank"`
}

// Worse is a note that the scope auto ranks behind the place it has in notes.
type Worse struct {
	Path  string `json:"path"`
	Notes int    `json:"rank_in_notes"`
	Auto  int    `json:"rank_in_auto"`
}

// maxWorse bounds the notes that are named.
const maxWorse = 5

// scopes are what is compared, in the order of Recall.Scopes.
var scopes = [...]search.Scope{search.Notes, search.Blocks, search.Auto}

// A rank is the place of the note asked for, from 1, and whether it was found;
// when it was not, the place is the one behind all that were.
type rank struct {
	place int
	found bool
}

// recall asks for a sample of the pages that have a quote.
func recall(ctx context.Context, snap *smartenv.Snapshot, m Model, o Options, pages []page) (Recall, error) {
	var deep []*page
	for i := range pages {
		if pages[i].quote != "" {
			deep = append(deep, &pages[i])
		}
	}
	r := Recall{Eligible: len(deep), Seed: o.Seed, Scopes: []ScopeRecall{}, Worse: []Worse{}}
	switch {
	case m.Embed == nil:
		r.NotMeasured = errNoModel.Error()
		return r, nil
	case len(deep) == 0:
		r.NotMeasured = "no note is long enough to be quoted from beyond its vector's window"
		return r, nil
	}
	sample := stride(len(deep), o.Sample, o.Seed)
	ranks := make([][len(scopes)]rank, len(sample))
	err := each(ctx, o, "recall", len(sample), func(ctx context.Context, i int) (err error) {
		p := deep[sample[i]]
		if ranks[i], err = ask(ctx, snap, m, p.path, p.quote); err != nil {
			return fmt.Errorf("asking for %q: %w", p.path, err)
		}
		return nil
	})
	if err != nil {
		return r, err
	}
	r.Asked = len(sample)
	for k, scope := range scopes {
		column := make([]rank, len(ranks))
		for i := range ranks {
			column[i] = ranks[i][k]
		}
		r.Scopes = append(r.Scopes, summarise(scope, column))
	}
	for i, row := range ranks {
		r.compare(deep[sample[i]].path, row[0], row[2])
	}
	return r, nil
}

// stride returns n of total indices, all when n is not positive, evenly spread
// over the whole; the seed decides where the first stands.
func stride(total, n int, seed uint64) []int {
	if n <= 0 || n > total {
		n = total
	}
	first := rand.New(rand.NewPCG(seed, 0)).Float64()
	chosen := make([]int, n)
	for i := range chosen {
		chosen[i] = min(total-1, int((float64(i)+first)*float64(total)/float64(n)))
	}
	return chosen
}

// ask ranks all notes for a quote and finds the place of the note it is from.
func ask(ctx context.Context, snap *smartenv.Snapshot, m Model, path, quote string) (ranks [len(scopes)]rank, err error) {
	vector, err := m.Embed(ctx, quote)
	if err != nil {
		return ranks, err
	}
	if len(vector) != snap.Model.Dims {
		return ranks, fmt.Errorf("the model gives %d dimensions and the index holds %d: pass the model that the vault was indexed with", len(vector), snap.Model.Dims)
	}
	for k, scope := range scopes {
		ranks[k] = place(snap, path, search.Query{
			Vector: vector, Scope: scope, Limit: len(snap.Sources), MinScore: -2, // below every cosine, rounding included
		})
	}
	return ranks, nil
}

func place(snap *smartenv.Snapshot, path string, q search.Query) rank {
	hits := search.Rank(snap, q).Hits
	at := slices.IndexFunc(hits, func(h search.Hit) bool { return h.Path == path })
	if at < 0 {
		return rank{place: len(hits) + 1}
	}
	return rank{at + 1, true}
}

func summarise(scope search.Scope, ranks []rank) ScopeRecall {
	r := ScopeRecall{Scope: string(scope)}
	for _, k := range ranks {
		switch {
		case !k.found:
			r.NotFound++
			continue
		case k.place == 1:
			r.First++
		}
		if k.place <= 5 {
			r.Within5++
		}
		if k.place <= 10 {
			r.Within10++
		}
	}
	ranks = slices.SortedFunc(slices.Values(ranks), func(a, b rank) int { return cmp.Compare(a.place, b.place) })
	n := len(ranks)
	r.MedianRank = float64(ranks[(n-1)/2].place+ranks[n/2].place) / 2
	return r
}

// compare counts a note that auto ranks worse than notes.
func (r *Recall) compare(path string, notes, auto rank) {
	if auto.place <= notes.place {
		return
	}
	r.AutoWorse++
	if len(r.Worse) < maxWorse {
		r.Worse = append(r.Worse, Worse{path, notes.place, auto.place})
	}
}
