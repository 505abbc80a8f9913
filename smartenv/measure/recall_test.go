package measure

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv/search"
)

// words embeds a text by which of three words it holds, so that ranks can be
// worked out by hand.
func words(_ context.Context, text string) ([]float32, error) {
	v := axis()
	for i, word := range []string{"rose", "kiln", "ferry"} {
		if strings.Contains(text, word) {
			v[i] = 1
		}
	}
	return v, nil
}

// about is a text whose beginning is about one thing and whose end is about
// another.
func about(first, second string) string {
	return strings.Repeat("this speaks of the "+first+" ", 20) + "\n" + strings.Repeat("this speaks of the "+second+" ", 40)
}

// Windows hold 236 units, so the second half of each text is deep.
func TestRecall(t *testing.T) {
	notes := []fakeNote{
		// Asked for by "rose". Notes: e, b and d are nearer: rank 4. Blocks: its own
		// alone is 1. Auto: e is as near and comes later: rank 1.
		{path: "a.md", text: about("kiln", "rose"), vector: axis(0, 1), blocks: []fakeBlock{{"##{2}", 2, 2, axis(1)}}},
		// Asked for by "ferry". Notes: rank 1. Blocks: it has none. Auto: the block
		// of c is nearer: rank 2.
		{path: "b.md", text: about("rose", "ferry"), vector: axis(0.6, 0, 0.8)},
		{path: "c.md", text: "short", vector: axis(0, 0.8, 0.6), blocks: []fakeBlock{{"#", 1, 1, axis(0, 0, 1)}}},
		{path: "d.md", text: "short", vector: axis(0.28, 0.96)},
		{path: "e.md", text: "short", vector: axis(1)},
	}
	fit := func(text string) string { return text[:min(len(text), 236)] }
	r := run(t, subject(t, fakeVault(t, "", notes...), Model{fit, words}), Options{Seed: 3})
	want := Recall{
		Eligible: 2, Asked: 2, Seed: 3,
		Scopes: []ScopeRecall{
			{Scope: "notes", First: 1, Within5: 2, Within10: 2, MedianRank: 2.5},
			// Two notes have blocks: what is not found counts as rank 3.
			{Scope: "blocks", First: 1, Within5: 1, Within10: 1, NotFound: 1, MedianRank: 2},
			{Scope: "auto", First: 1, Within5: 2, Within10: 2, MedianRank: 1.5},
		},
		AutoWorse: 1,
		Worse:     []Worse{{"b.md", 1, 2}},
	}
	if !reflect.DeepEqual(r.Recall, want) {
		t.Errorf("Recall =\n%+v, want\n%+v", r.Recall, want)
	}
}

// Notes that their vector covers are not asked for, and no note is asked for by
// the model of another vault.
func TestRecallNot(t *testing.T) {
	fit := func(text string) string { return text[:min(len(text), 236)] }
	r := run(t, subject(t, fakeVault(t, "", fakeNote{path: "a.md", text: "short", vector: some}), Model{fit, words}), Options{})
	if r.Recall.Asked != 0 || !strings.Contains(r.Recall.NotMeasured, "no note is long enough") {
		t.Errorf("Recall of short notes = %+v, want it not measured", r.Recall)
	}
	// Of 280 characters 231 are in the window, and four fifths are 224.
	covered := fakeNote{path: "a.md", text: strings.Repeat("some words ", 15) + "line\n" + strings.Repeat("more words", 11), vector: some}
	r = run(t, subject(t, fakeVault(t, "", covered), Model{fit, words}), Options{})
	if r.Recall.Asked != 0 || !strings.Contains(r.Recall.NotMeasured, "no note is long enough") {
		t.Errorf("Recall of a note that its vector covers = %+v, want it not measured", r.Recall)
	}
	dir := fakeVault(t, "", fakeNote{path: "a.md", text: about("kiln", "rose"), vector: some})
	wide := func(context.Context, string) ([]float32, error) { return make([]float32, 7), nil }
	if _, err := Run(t.Context(), subject(t, dir, Model{fit, wide}), Options{}); err == nil || !strings.Contains(err.Error(), "7 dimensions and the index holds 4") {
		t.Errorf("Run with vectors of 7 = %v, want an error with both", err)
	}
	broken := errors.New("broken")
	fails := func(context.Context, string) ([]float32, error) { return nil, broken }
	if _, err := Run(t.Context(), subject(t, dir, Model{fit, fails}), Options{}); !errors.Is(err, broken) || !strings.Contains(err.Error(), "a.md") {
		t.Errorf("Run with a broken model = %v, want its error and the note", err)
	}
}

// Every note has a rank, also the last of many, and one behind the query.
func TestAskMany(t *testing.T) {
	var notes []fakeNote
	for i := range 14 {
		notes = append(notes, fakeNote{path: string(rune('a'+i)) + ".md", text: "x", vector: axis(1)})
	}
	notes = append(notes, fakeNote{path: "last.md", text: "x", vector: axis(-1)})
	snap, err := subject(t, fakeVault(t, "", notes...), Model{}).Index.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ranks, err := ask(t.Context(), snap, Model{Embed: words}, "last.md", "rose")
	if err != nil || ranks != [...]rank{{15, true}, {1, false}, {15, true}} {
		t.Errorf("ask = %v, %v, want 15 in notes and auto and none in blocks", ranks, err)
	}
}

// Only the first of the notes that auto ranks worse are named.
func TestCompare(t *testing.T) {
	r := Recall{}
	for range maxWorse + 2 {
		r.compare("a.md", rank{1, true}, rank{2, true})
		r.compare("a.md", rank{2, true}, rank{2, true})
		r.compare("a.md", rank{3, true}, rank{2, true})
	}
	if r.AutoWorse != maxWorse+2 || len(r.Worse) != maxWorse {
		t.Errorf("compare counted %d and named %d, want %d and %d", r.AutoWorse, len(r.Worse), maxWorse+2, maxWorse)
	}
}

func TestSummarise(t *testing.T) {
	found := func(places ...int) (ranks []rank) {
		for _, p := range places {
			ranks = append(ranks, rank{p, true})
		}
		return ranks
	}
	tests := []struct {
		name  string
		ranks []rank
		want  ScopeRecall
	}{
		{"odd", found(11, 1, 5), ScopeRecall{First: 1, Within5: 2, Within10: 2, MedianRank: 5}},
		{"even", found(10, 6), ScopeRecall{Within10: 2, MedianRank: 8}},
		{"the median may be of those not found", append(found(1), rank{place: 9}, rank{place: 9}), ScopeRecall{First: 1, Within5: 1, Within10: 1, NotFound: 2, MedianRank: 9}},
	}
	for _, test := range tests {
		test.want.Scope = string(search.Notes)
		if got := summarise(search.Notes, test.ranks); got != test.want {
			t.Errorf("%s: summarise(%v) = %+v, want %+v", test.name, test.ranks, got, test.want)
		}
	}
}

func TestStride(t *testing.T) {
	for _, test := range []struct{ total, n, want int }{{10, 0, 10}, {10, 99, 10}, {10, 10, 10}, {1, 1, 1}, {1000, 30, 30}, {7, 3, 3}} {
		for seed := range uint64(20) {
			got := stride(test.total, test.n, seed)
			distinct := slices.Compact(slices.Clone(got))
			if len(got) != test.want || len(distinct) != test.want || !slices.IsSorted(got) || got[0] < 0 || got[len(got)-1] >= test.total {
				t.Fatalf("stride(%d, %d, %d) = %v, want %d different indices in order", test.total, test.n, seed, got, test.want)
			}
			step := float64(test.total) / float64(test.want)
			for i := 1; i < len(got); i++ {
				if math.Abs(float64(got[i]-got[i-1])-step) > 1 {
					t.Errorf("stride(%d, %d, %d) = %v, want steps of about %g", test.total, test.n, seed, got, step)
				}
			}
		}
	}
	if slices.Equal(stride(1000, 30, 1), stride(1000, 30, 2)) || !slices.Equal(stride(1000, 30, 1), stride(1000, 30, 1)) {
		t.Error("stride is not decided by its seed")
	}
}
