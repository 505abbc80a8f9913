package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"smart-connections-mcp/simd"
	"smart-connections-mcp/smartenv"
)

// pairs renders hits as "path section <- own section score".
func pairs(a Answer) []string {
	out := []string{}
	for _, h := range a.Hits {
		line := fmt.Sprintf("%s %.2f %s %s", h.Path, h.Score, h.Matched, h.Section())
		if h.Pair != nil {
			line += fmt.Sprintf(" <- %s %d-%d %.2f", h.Pair.Section, h.Pair.Start, h.Pair.End, h.Pair.Score)
		}
		out = append(out, line)
	}
	return out
}

// At the angles of these cosines, the nearest pairs are seen at once: 0.99 to 0.98,
// 0.1 to 0.2.
var sectioned = []string{
	"asks.md = 0.6", "asks.md#---frontmatter--- = 0.5", "asks.md#High = 0.99", "asks.md#Low = 0.1",
	"blocks only.md#One = 0.1", "blocks only.md#Two = 0.7",
	"high.md = 0.6", "high.md#---frontmatter--- = 0.1", "high.md#Far = 0.5", "high.md#Near = 0.98",
	"low.md = 0.5", "low.md#Near = 0.2",
	"whole.md = 0.6",
}

func TestRelatedBlocks(t *testing.T) {
	s := fixture(sectioned...)
	a, err := RelatedBlocks(s, "asks.md", Query{Limit: 9, MinScore: -1})
	want := []string{
		"blocks only.md 1.00 block #One <- #Low 31-35 1.00",
		"high.md 1.00 block #Near <- #High 21-25 1.00",
		"low.md 0.99 block #Near <- #Low 31-35 0.99",
	}
	if got := pairs(a); err != nil || !slices.Equal(got, want) {
		t.Errorf("RelatedBlocks =\n%s\n%v, want\n%s", strings.Join(got, "\n"), err, strings.Join(want, "\n"))
	}
	if a.SearchedNotes != 0 || a.SearchedBlocks != 6 || a.OwnLeftOut != 0 {
		t.Errorf("searched %d notes and %d blocks, %d left out, want 0, 6, 0", a.SearchedNotes, a.SearchedBlocks, a.OwnLeftOut)
	}
	a, err = RelatedBlocks(s, "asks.md", Query{Limit: 1, MinScore: -1, Filters: []Filter{named("low", "low")}})
	if err != nil || len(a.Hits) != 1 || a.Hits[0].Path != "low.md" || a.Hidden[0].Notes != 2 || !a.Hidden[0].Better {
		t.Errorf("RelatedBlocks of one note = %q, %+v, %v", pairs(a), a.Hidden, err)
	}
}

// A note without a vector of its own is compared by its sections, and is told to be.
func TestRelatedBlocksWithoutNoteVector(t *testing.T) {
	s := fixture(sectioned...)
	a, err := RelatedBlocks(s, "blocks only.md", Query{Limit: 1, MinScore: -1})
	if err != nil || !slices.Equal(pairs(a), []string{"asks.md 1.00 block #Low <- #One 41-45 1.00"}) {
		t.Errorf("RelatedBlocks = %q, %v", pairs(a), err)
	}
	for path, want := range map[string]string{"blocks only.md": "pass level blocks", "gone.md": "not in the index"} {
		if _, err := Related(s, path, Query{Limit: 1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Related(%s) = %v, want %q", path, err, want)
		}
	}
	for path, want := range map[string]string{"whole.md": "pass level auto or notes", "gone.md": "not in the index"} {
		var none *NoVectorError
		if _, err := RelatedBlocks(s, path, Query{Limit: 1}); !errors.As(err, &none) || !strings.Contains(err.Error(), want) {
			t.Errorf("RelatedBlocks(%s) = %v, want %q", path, err, want)
		}
	}
}

// With Pairs, a note that a block won its place has the nearest section of the asking
// note beside it; one that won as a whole has none.
func TestRelatedPairs(t *testing.T) {
	s := fixture(append([]string{"z.md#One = 0.1"}, sectioned...)...)
	for scope, want := range map[Scope][]string{
		Auto: {
			"high.md 1.00 note #Far", "whole.md 1.00 note ",
			"low.md 0.99 note #Near", "blocks only.md 0.99 block #Two <- #High 21-25 0.79",
			"z.md 0.86 block #One <- #Low 31-35 1.00",
		},
		Notes: {"high.md 1.00 note #Far", "whole.md 1.00 note ", "low.md 0.99 note #Near"},
	} {
		a, err := Related(s, "asks.md", Query{Scope: scope, Limit: 9, Pairs: true})
		if got := pairs(a); err != nil || !slices.Equal(got, want) {
			t.Errorf("Related(%s) =\n%s\n%v, want\n%s", scope, strings.Join(got, "\n"), err, strings.Join(want, "\n"))
		}
	}
	if a, _ := Related(s, "asks.md", Query{Scope: Auto, Limit: 9}); a.Hits[3].Pair != nil {
		t.Errorf("Related without Pairs = %q", pairs(a))
	}
}

// Of a note with very many sections those with most lines are compared.
func TestRelatedBlocksLongest(t *testing.T) {
	lines := []string{"other.md#A = 0.5"}
	for i := range 70 {
		lines = append(lines, fmt.Sprintf("asks.md#%02d = 0.9", i))
	}
	s := fixture(lines...)
	source, _ := s.Source("asks.md")
	for i := range 70 {
		s.Blocks.Items[source.BlockRows[0]+i].Start = 1
		s.Blocks.Items[source.BlockRows[0]+i].End = 1 + i%10 // 00, 10, … have one line
	}
	copy(s.Blocks.Row(source.BlockRows[0]+10), vec(0.5)) // the same as the other's, but of one line
	copy(s.Blocks.Row(source.BlockRows[0]+9), vec(0.6))
	a, err := RelatedBlocks(s, "asks.md", Query{Limit: 1})
	if got := pairs(a); err != nil || a.OwnLeftOut != 6 || !slices.Equal(got, []string{"other.md 0.99 block #A <- #09 1-10 0.99"}) {
		t.Errorf("RelatedBlocks = %q, %d left out, %v, want the pair with #09 and 6", got, a.OwnLeftOut, err)
	}
}

// Bug 7: a section that stands word for word in many notes is called what it is.
func TestBug7RepeatedSections(t *testing.T) {
	lines := []string{"asks.md = 0.5", "asks.md#Footer = 0.9", "asks.md#Own = 0.3", "twin.md#Own = 0.3", "twin.md#Own too = 0.31"}
	for i := range 5 {
		lines = append(lines, fmt.Sprintf("n%d.md#Footer = 0.9", i))
	}
	s := fixture(lines...)
	for i := range s.Blocks.Items {
		item := &s.Blocks.Items[i]
		item.Hash = "of " + strings.TrimSuffix(item.Key, " too") // the twin has it twice, which makes two notes, not three
	}
	a, err := RelatedBlocks(s, "asks.md", Query{Limit: 9})
	if err != nil || len(a.Hits) != 6 {
		t.Fatalf("RelatedBlocks = %q, %v", pairs(a), err)
	}
	for _, h := range a.Hits {
		if want := h.Section() == "#Footer"; h.Repeated != want {
			t.Errorf("%s %s: repeated %v, want %v", h.Path, h.Section(), h.Repeated, want)
		}
	}
	a, err = Related(s, "asks.md", Query{Scope: Auto, Limit: 9, Pairs: true})
	for _, h := range a.Hits {
		if want := h.Section() == "#Footer"; err != nil || h.Repeated != want {
			t.Errorf("auto, %s %s: repeated %v, want %v, %v", h.Path, h.Section(), h.Repeated, want, err)
		}
	}
}

// BenchmarkRelatedBlocks compares ten sections of a note with 115,000 of 10,000 others.
func BenchmarkRelatedBlocks(b *testing.B) {
	for _, own := range []int{1, 10, 64} {
		s := large(own)
		b.Run(fmt.Sprintf("sections=%d", own), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if a, err := RelatedBlocks(s, s.Sources[0].Path, Query{Limit: 10}); err != nil || len(a.Hits) != 10 {
					b.Fatal(len(a.Hits), err)
				}
			}
		})
	}
}

// BenchmarkRank ranks the same blocks and their notes against one vector.
func BenchmarkRank(b *testing.B) {
	s := large(11)
	b.ReportAllocs()
	for b.Loop() {
		if a := Rank(s, Query{Vector: s.Blocks.Row(0), Scope: Auto, Limit: 10}); len(a.Hits) != 10 {
			b.Fatal(len(a.Hits))
		}
	}
}

// large is a vault of 10,000 notes with 115,000 blocks, own of which are of the first.
func large(own int) *smartenv.Snapshot {
	const notes, blocks, dims = 10_000, 115_000, 384
	s := &smartenv.Snapshot{Notes: smartenv.Collection{Dims: dims}, Blocks: smartenv.Collection{Dims: dims}}
	state := uint32(1)
	row := func(dst []float32) []float32 {
		at := len(dst)
		for range dims {
			state = state*1664525 + 1013904223
			dst = append(dst, float32(int32(state))/(1<<31))
		}
		simd.Normalize(dst[at:])
		return dst
	}
	for i := range notes {
		path := fmt.Sprintf("folder %03d/note %05d.md", i/100, i)
		count := (blocks - own) / (notes - 1)
		if i == 0 {
			count = own
		} else if i <= (blocks-own)%(notes-1) {
			count++
		}
		first := len(s.Blocks.Items)
		s.Sources = append(s.Sources, smartenv.Source{Path: path, Row: i, BlockRows: [2]int{first, first + count}})
		s.Notes.Items = append(s.Notes.Items, smartenv.Item{Path: path, Source: i})
		s.Notes.Vectors = row(s.Notes.Vectors)
		for k := range count {
			s.Blocks.Items = append(s.Blocks.Items, smartenv.Item{Path: path, Key: fmt.Sprintf("#H%d", k), Start: 10*k + 1, End: 10*k + 9, Hash: fmt.Sprint(i, k), Source: i})
			s.Blocks.Vectors = row(s.Blocks.Vectors)
		}
	}
	return s
}
