package search

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv"
)

// named keeps the notes whose path contains a text.
func named(name, part string) Filter {
	return Filter{name, func(source *smartenv.Source) bool { return strings.Contains(source.Path, part) }}
}

// A note is hidden by the first filter that it does not pass, and each filter tells the
// best that it hid.
func TestFiltersReport(t *testing.T) {
	s := fixture("a/x.md = 0.9", "a/y.md = 0.5", "b/x.md = 0.8", "b/y.md = 0.7", "none/z.md")
	got := Rank(s, Query{Vector: query, Scope: Auto, Limit: 9, Filters: []Filter{named("first", "a/"), named("second", "y")}})
	want := []Hidden{
		{"first", 2, &Scored{"b/x.md", got.Hidden[0].Best.Score}, true},
		{"second", 1, &Scored{"a/x.md", got.Hidden[1].Best.Score}, true},
	}
	if !slices.Equal(rows(got), []string{"a/y.md 0.5 note"}) || !reflect.DeepEqual(got.Hidden, want) || got.SearchedNotes != 1 {
		t.Errorf("Rank = %q, %+v, %d searched, want a/y.md, %+v, 1", rows(got), got.Hidden, got.SearchedNotes, want)
	}
	got = Rank(s, Query{Vector: query, Scope: Auto, Limit: 9, Filters: []Filter{named("all", ""), named("second", "a/x")}})
	if got.Hidden[0].Notes != 0 || got.Hidden[0].Better || got.Hidden[1].Notes != 3 || got.Hidden[1].Better {
		t.Errorf("Hidden = %+v, want 0 and 3 notes, none better", got.Hidden)
	}
}

// Filters leave out what they leave out, whatever they are and in whatever order they
// come: the answer is that of a vault without the other notes, and no note gets lost.
func TestFiltersAreFewerNotes(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for range 300 {
		var lines, left []string
		for i := range 12 {
			line := string(rune('a'+i)) + ".md = 0." + string(rune('1'+rng.IntN(9)))
			lines = append(lines, line)
			if i%2 == 0 && i%3 == 0 {
				left = append(left, line)
			}
		}
		even := Filter{"even", func(source *smartenv.Source) bool { return (source.Path[0]-'a')%2 == 0 }}
		third := Filter{"third", func(source *smartenv.Source) bool { return (source.Path[0]-'a')%3 == 0 }}
		filters := []Filter{even, third}
		if rng.IntN(2) == 0 {
			slices.Reverse(filters)
		}
		q := Query{Vector: query, Scope: Auto, Limit: 1 + rng.IntN(4), MinScore: 0.3}
		want := rows(Rank(fixture(left...), q))
		q.Filters = filters
		got := Rank(fixture(lines...), q)
		if !slices.Equal(rows(got), want) || got.SearchedNotes+got.Hidden[0].Notes+got.Hidden[1].Notes != 12 {
			t.Fatalf("Rank of %q = %q, %+v, want %q", lines, rows(got), got.Hidden, want)
		}
	}
}

// "" is the root without its folders.
func TestWithinRoot(t *testing.T) {
	for path, want := range map[string]bool{"a.md": true, "a/b.md": false} {
		if got := Within(path, []string{"b", ""}); got != want {
			t.Errorf("Within(%q, root) = %v, want %v", path, got, want)
		}
	}
	if got, err := ResolveFolders(fixture("a.md = 0.5", "b/c.md = 0.5"), []string{"", "B"}); err != nil || !slices.Equal(got, []string{"", "b"}) {
		t.Errorf("ResolveFolders(root, B) = %q, %v", got, err)
	}
}

// more renders the further passages of the only hit.
func more(a Answer) (keys []string) {
	for _, h := range a.Hits[0].More {
		keys = append(keys, h.Section())
	}
	return keys
}

// Further passages are blocks of the note, best first, each with text of its own.
func TestSections(t *testing.T) {
	s := fixture("n.md = 0.2", "n.md#A = 0.7", "n.md#A#{1} = 0.9", "n.md#B = 0.8", "n.md#B#{1} = 0.6", "n.md#C = 0.4",
		"n.md#---frontmatter--- = 0.95", "m.md#A = 0.1")
	lines := map[string][2]int{"#A": {10, 19}, "#A#{1}": {11, 19}, "#B": {20, 29}, "#B#{1}": {25, 29}, "#C": {30, 31}}
	place := func(known bool) {
		for i := range s.Blocks.Items {
			item := &s.Blocks.Items[i]
			item.Start, item.End = lines[item.Key][0], lines[item.Key][1]
			if !known {
				item.Start, item.End = 0, 0
			}
		}
	}
	for _, known := range []bool{true, false} { // without lines the keys tell
		place(known)
		for _, test := range []struct {
			sections int
			scope    Scope
			minScore float32
			want     []string
		}{
			{0, Auto, 0, nil},
			{1, Auto, 0, nil},
			{2, Auto, 0, []string{"#B"}}, // not #A, of which {1} is the better part, and never frontmatter
			{3, Auto, 0, []string{"#B", "#C"}},
			{5, Auto, 0, []string{"#B", "#C"}},
			{5, Auto, 0.5, []string{"#B"}},
			{3, Notes, 0, []string{"#B", "#C"}},
		} {
			a := Rank(s, Query{Vector: query, Scope: test.scope, Limit: 1, MinScore: test.minScore, Sections: test.sections, Filters: []Filter{named("n", "n.md")}})
			if got := more(a); a.Hits[0].Section() != "#A#{1}" && test.scope != Notes || !slices.Equal(got, test.want) {
				t.Errorf("lines known %v: Rank(%d sections, %s, %v) = %q, %q, want %q", known, test.sections, test.scope, test.minScore, a.Hits[0].Section(), got, test.want)
			}
		}
	}
}

// All passages of a note come from one reading of it, each in its place.
func TestPassages(t *testing.T) {
	one, two := blockItem(t, indexed, "#One"), blockItem(t, indexed, "#Two")
	hit := Hit{Path: "n.md", item: two, passage: two, More: []Hit{{Path: "n.md", item: one, passage: one}}}
	got := hit.Passages(vaultWith(t, indexed), 1200)
	if len(got) != 2 || got[0].Section != "#Two" || !strings.HasPrefix(got[0].Text, "# Two") || got[1].Section != "#One" || !strings.HasPrefix(got[1].Text, "# One") {
		t.Errorf("Passages = %+v, want those of #Two and #One", got)
	}
	hit.Path = "gone.md"
	for _, p := range hit.Passages(vaultWith(t, indexed), 1200) {
		if p.Text != "" || p.Missing == "" {
			t.Errorf("Passages of a deleted note = %+v, want no text and the reason", p)
		}
	}
}
