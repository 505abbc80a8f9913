package search

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv"
)

// vec is a unit vector in the plane at the given cosine to the query (1, 0).
func vec(cosine float64) []float32 {
	return []float32{float32(cosine), float32(math.Sqrt(1 - cosine*cosine))}
}

var query = []float32{1, 0}

// fixture builds a snapshot from lines "path = cosine" and "path#key = cosine";
// a path without a cosine is a note without a vector. Block lines are 10·n+1 to
// 10·n+5 for the n-th block.
func fixture(lines ...string) *smartenv.Snapshot {
	s := &smartenv.Snapshot{}
	s.Notes.Dims, s.Blocks.Dims = 2, 2
	slices.Sort(lines)
	index := map[string]int{}
	for i, line := range lines {
		key, value, scored := strings.Cut(line, " = ")
		path, sub, isBlock := strings.Cut(key, "#")
		if _, ok := index[path]; !ok {
			index[path] = len(s.Sources)
			s.Sources = append(s.Sources, smartenv.Source{Path: path, Row: -1, Reason: "short"})
		}
		source := index[path]
		if !scored {
			continue
		}
		var cosine float64
		fmt.Sscan(value, &cosine)
		if isBlock {
			rows := &s.Sources[source].BlockRows
			if rows[1] == 0 {
				rows[0] = len(s.Blocks.Items)
			}
			rows[1] = len(s.Blocks.Items) + 1
			s.Blocks.Items = append(s.Blocks.Items, smartenv.Item{Path: path, Key: "#" + sub, Start: 10*i + 1, End: 10*i + 5, Source: source})
			s.Blocks.Vectors = append(s.Blocks.Vectors, vec(cosine)...)
			continue
		}
		s.Sources[source].Row, s.Sources[source].Reason = len(s.Notes.Items), ""
		s.Notes.Items = append(s.Notes.Items, smartenv.Item{Path: path, Source: source})
		s.Notes.Vectors = append(s.Notes.Vectors, vec(cosine)...)
	}
	return s
}

// rows renders hits as "path score matched section".
func rows(a Answer) []string {
	out := []string{}
	for _, h := range a.Hits {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %.1f %s %s", h.Path, h.Score, h.Matched, h.Section())))
	}
	return out
}

// below keeps what lies in one of folders.
func below(folders ...string) []Filter {
	return []Filter{{"folder", func(source *smartenv.Source) bool { return Within(source.Path, folders) }}}
}

var garden = []string{
	"a/one.md = 0.4", "a/one.md#A = 0.9", "a/one.md#B = 0.8",
	"a/two.md = 0.7", "a/two.md#A = 0.2",
	"a/sub/three.md = 0.6", "a/sub/three.md#---frontmatter--- = 0.95", "a/sub/three.md#X = 0.1",
	"ab/four.md = 0.5",
	"five.md#---frontmatter--- = 0.3",
	"six.md",
}

func TestRank(t *testing.T) {
	tests := []struct {
		name string
		q    Query
		want []string
	}{
		{"one row a note, by its best vector", Query{Scope: Auto, Limit: 10}, []string{
			"a/sub/three.md 0.9 frontmatter #X", "a/one.md 0.9 block #A", "a/two.md 0.7 note #A", "ab/four.md 0.5 note", "five.md 0.3 frontmatter"}},
		{"notes only; the passage is still the best block", Query{Scope: Notes, Limit: 10}, []string{
			"a/two.md 0.7 note #A", "a/sub/three.md 0.6 note #X", "ab/four.md 0.5 note", "a/one.md 0.4 note #A"}},
		{"blocks only", Query{Scope: Blocks, Limit: 10}, []string{
			"a/sub/three.md 0.9 frontmatter #X", "a/one.md 0.9 block #A", "five.md 0.3 frontmatter", "a/two.md 0.2 block #A"}},
		{"frontmatter does not count", Query{Scope: Blocks, Limit: 10, SkipFrontmatter: true}, []string{
			"a/one.md 0.9 block #A", "a/two.md 0.2 block #A", "a/sub/three.md 0.1 block #X"}},
		{"limit", Query{Scope: Auto, Limit: 2}, []string{"a/sub/three.md 0.9 frontmatter #X", "a/one.md 0.9 block #A"}},
		{"no limit, no rows", Query{Scope: Auto}, []string{}},
		{"least score", Query{Scope: Auto, Limit: 10, MinScore: 0.6}, []string{
			"a/sub/three.md 0.9 frontmatter #X", "a/one.md 0.9 block #A", "a/two.md 0.7 note #A"}},
		{"a score at the bar counts", Query{Scope: Notes, Limit: 10, MinScore: 0.5}, []string{
			"a/two.md 0.7 note #A", "a/sub/three.md 0.6 note #X", "ab/four.md 0.5 note"}},
		{"folder is whole segments, filtered before the limit", Query{Scope: Auto, Limit: 1, Filters: below("ab")}, []string{"ab/four.md 0.5 note"}},
		{"folder takes what lies deeper", Query{Scope: Notes, Limit: 10, Filters: below("a")}, []string{
			"a/two.md 0.7 note #A", "a/sub/three.md 0.6 note #X", "a/one.md 0.4 note #A"}},
		{"two folders", Query{Scope: Notes, Limit: 10, Filters: below("ab", "a/sub")}, []string{
			"a/sub/three.md 0.6 note #X", "ab/four.md 0.5 note"}},
		{"without a note", Query{Scope: Auto, Limit: 1, Without: "a/sub/three.md"}, []string{"a/one.md 0.9 block #A"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.q.Vector = query
			if test.q.MinScore == 0 {
				test.q.MinScore = -1
			}
			if got := rows(Rank(fixture(garden...), test.q)); !slices.Equal(got, test.want) {
				t.Errorf("Rank(%+v) =\n%s, want\n%s", test.q, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// Bug 29: the one note of a folder is found with a limit of 1, although 4,999
// others are nearer.
func TestBug29SmallFolder(t *testing.T) {
	lines := []string{"small/one.md = 0.1"}
	for i := range 4999 {
		lines = append(lines, fmt.Sprintf("large/%d.md = 0.9", i))
	}
	got := Rank(fixture(lines...), Query{Vector: query, Scope: Auto, Limit: 1, MinScore: -1, Filters: below("small")})
	if len(got.Hits) != 1 || got.Hits[0].Path != "small/one.md" || got.SearchedNotes != 1 || got.Hidden[0].Notes != 4999 {
		t.Errorf("Rank = %q, %+v, want the folder's note", rows(got), got.Hidden)
	}
}

// Equal scores come in the order of paths, whatever the pool they come from.
func TestRankTies(t *testing.T) {
	s := fixture("b.md = 0.5", "a.md#A = 0.5", "c.md = 0.5", "a.md = 0.5")
	want := []string{"a.md 0.5 block #A", "b.md 0.5 note", "c.md 0.5 note"}
	if got := rows(Rank(s, Query{Vector: query, Scope: Auto, Limit: 3})); !slices.Equal(got, want) {
		t.Errorf("Rank = %q, want %q", got, want)
	}
}

// A note counts with its best block, wherever in the note that stands, and the
// best block is the one that is quoted.
func TestBestBlock(t *testing.T) {
	s := fixture("a.md = 0.3", "a.md#A = 0.2", "a.md#B = 0.9", "a.md#C = 0.5", "b.md#A = 0.6")
	for scope, want := range map[Scope][]string{
		Auto:   {"a.md 0.9 block #B", "b.md 0.6 block #A"},
		Blocks: {"a.md 0.9 block #B", "b.md 0.6 block #A"},
		Notes:  {"a.md 0.3 note #B"},
	} {
		if got := rows(Rank(s, Query{Vector: query, Scope: scope, Limit: 3})); !slices.Equal(got, want) {
			t.Errorf("%s: Rank = %q, want %q", scope, got, want)
		}
	}
}

func TestHidden(t *testing.T) {
	tests := []struct {
		name     string
		folders  []string
		minScore float32
		notes    int
		best     string
		better   bool
	}{
		{"something better outside", []string{"ab"}, 0, 4, "a/sub/three.md", true},
		{"nothing better outside", []string{"a"}, 0, 2, "ab/four.md", false},
		{"no row, and outside is good enough", []string{"ab"}, 0.9, 4, "a/sub/three.md", true},
		{"no row, and outside is not good enough either", []string{"ab"}, 0.99, 4, "a/sub/three.md", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := Rank(fixture(garden...), Query{Vector: query, Scope: Auto, Limit: 10, MinScore: test.minScore, Filters: below(test.folders...)})
			h := a.Hidden[0]
			if h.Filter != "folder" || h.Notes != test.notes || h.Best.Path != test.best || h.Better != test.better {
				t.Errorf("Hidden = %+v, want %d notes, best %s, better %v", h, test.notes, test.best, test.better)
			}
		})
	}
	if a := Rank(fixture(garden...), Query{Vector: query, Scope: Auto, Limit: 10}); len(a.Hidden) != 0 {
		t.Errorf("Hidden without a filter = %+v, want nothing", a.Hidden)
	}
}

// An answer knows how much was searched, and the best it saw below the bar.
func TestSearched(t *testing.T) {
	a := Rank(fixture(garden...), Query{Vector: query, Scope: Auto, Limit: 10, MinScore: 0.99, Filters: below("a")})
	if len(a.Hits) != 0 || a.Best == nil || a.Best.Path != "a/sub/three.md" {
		t.Errorf("Rank above everything = %d hits, best %v, want none and a/sub/three.md", len(a.Hits), a.Best)
	}
	if a.SearchedNotes != 3 || a.SearchedBlocks != 5 {
		t.Errorf("searched %d notes and %d blocks, want 3 and 5", a.SearchedNotes, a.SearchedBlocks)
	}
	if empty := Rank(&smartenv.Snapshot{}, Query{Vector: query, Scope: Auto, Limit: 10}); len(empty.Hits) != 0 || empty.Best != nil {
		t.Errorf("Rank of an empty snapshot = %+v, want nothing", empty)
	}
}

func TestRelated(t *testing.T) {
	s := fixture(garden...)
	a, err := Related(s, "a/two.md", Query{Scope: Auto, Limit: 10, MinScore: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range a.Hits {
		if h.Path == "a/two.md" || h.Matched == frontmatterMatch {
			t.Errorf("Related has %s by %s", h.Path, h.Matched)
		}
	}
	if len(a.Hits) != 3 {
		t.Errorf("Related = %q, want three notes", rows(a))
	}
	for _, path := range []string{"six.md", "five.md", "gone.md"} {
		var none *NoVectorError
		if _, err := Related(s, path, Query{Scope: Auto, Limit: 10}); !errors.As(err, &none) || none.Reason == "" {
			t.Errorf("Related(%s) = %v, want a NoVectorError with a reason", path, err)
		}
	}
}

func TestResolveFolders(t *testing.T) {
	s := fixture("Café/Sub Folder/x.md = 0.5", "cafe/y.md = 0.5", "CAFÉ/z.md = 0.5", "🧠 CORE.md = 0.1", "🧠 CORE/02.md = 0.2")
	tests := []struct {
		names []string
		want  []string
		fails string
	}{
		{nil, nil, ""},
		{[]string{"café"}, []string{"CAFÉ", "Café"}, ""},
		{[]string{"Cafe\u0301"}, []string{"CAFÉ", "Café"}, ""},
		{[]string{"cafe"}, []string{"cafe"}, ""},
		{[]string{`/café\sub folder/`}, []string{"Café/Sub Folder"}, ""},
		{[]string{"cafe", "🧠 core"}, []string{"cafe", "🧠 CORE"}, ""},
		{[]string{"caf"}, nil, `folder "caf" is not in this vault: pass one of`},
		{[]string{"/home/x/vault/Caf"}, nil, `folder "…/Caf" is not in this vault`},
		{[]string{`C:\Users\x\vault\Caf`}, nil, `folder "…/Caf" is not in this vault`},
		{[]string{"Sub Folder"}, nil, `pass one of "Café/Sub Folder",`},
		{[]string{"🧠 CORE.md"}, nil, "is not in this vault"},
	}
	for _, test := range tests {
		got, err := ResolveFolders(s, test.names)
		if test.fails == "" && (err != nil || !slices.Equal(got, test.want)) {
			t.Errorf("ResolveFolders(%q) = %q, %v, want %q", test.names, got, err, test.want)
		}
		if test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails)) {
			t.Errorf("ResolveFolders(%q) = %v, want an error with %q", test.names, err, test.fails)
		}
	}
}

func TestFolders(t *testing.T) {
	s := fixture(append([]string{"ab/without vector.md"}, garden...)...)
	want := []Folder{{"a", 3, 5}, {"a/sub", 1, 2}, {"ab", 1, 0}}
	if got := Folders(s, 0); !slices.Equal(got, want) {
		t.Errorf("Folders(all) = %v, want %v", got, want)
	}
	if got := Folders(s, 1); !slices.Equal(got, []Folder{{"a", 3, 5}, {"ab", 1, 0}}) {
		t.Errorf("Folders(1) = %v, want a and ab", got)
	}
	s.Sources[0].State = smartenv.Excluded
	for i := range s.Sources {
		s.Sources[i].State = smartenv.Missing
	}
	s.Notes, s.Blocks = smartenv.Collection{}, smartenv.Collection{}
	if got := Folders(s, 0); len(got) != 0 {
		t.Errorf("Folders of missing notes = %v, want none", got)
	}
}
