package search

import (
	"cmp"
	"fmt"
	"slices"

	"smart-connections-mcp/simd"
	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
)

// NoVectorError says why a note cannot be compared with others.
type NoVectorError struct {
	Path   string
	Reason string // a sentence with the way out
}

func (e *NoVectorError) Error() string {
	return fmt.Sprintf("%q has no vector to compare: %s", e.Path, e.Reason)
}

// Pair is the section of the asking note that is nearest to a hit's passage.
type Pair struct {
	Section    string // block key
	Start, End int    // lines as indexed; 0, 0 when they are unknown
	Score      float32
}

// Related ranks the pools against the note's own vector, with Scope Auto as the
// plugin's sidebar does: the note, its blocks and all frontmatter blocks are left
// out. path is exact. The error is a *NoVectorError when the note has no accepted
// vector.
func Related(s *smartenv.Snapshot, path string, q Query) (Answer, error) {
	source, err := recorded(s, path)
	if err != nil {
		return Answer{}, err
	}
	own := sections(s, source)
	if source.Row < 0 {
		reason := source.Reason.Explain()
		if len(own) > 0 {
			reason += "; its sections have vectors, so pass level blocks"
		}
		return Answer{}, &NoVectorError{path, reason}
	}
	q.Vector = s.Notes.Row(source.Row)
	q.Without = path
	q.SkipFrontmatter = true
	answer := Rank(s, q)
	if !q.Pairs {
		return answer, nil
	}
	for i := range answer.Hits {
		if h := &answer.Hits[i]; h.Matched == blockMatch {
			h.Pair = nearestSection(s, own, s.Blocks.Row(int(h.row)))
		}
	}
	answer.findRepeated(s)
	return answer, nil
}

// maxOwn is how many sections of the asking note RelatedBlocks compares.
const maxOwn = 64

// RelatedBlocks ranks the blocks of other notes against each block of the note at
// path, and every other note counts with its best pair. Frontmatter has no part in
// it. Of a note with many sections only the 64 that have most lines are compared. The
// error is a *NoVectorError when no section of the note has an accepted vector.
func RelatedBlocks(s *smartenv.Snapshot, path string, q Query) (Answer, error) {
	source, err := recorded(s, path)
	if err != nil {
		return Answer{}, err
	}
	all := sections(s, source)
	if len(all) == 0 {
		reason := "no section of it has a vector: pass level auto or notes"
		if source.Row < 0 {
			reason = source.Reason.Explain()
		}
		return Answer{}, &NoVectorError{path, reason}
	}
	own := longest(s, all, maxOwn)
	vectors := make([]float32, 0, len(own)*s.Blocks.Dims) // [own×Dims]
	for _, row := range own {
		vectors = append(vectors, s.Blocks.Row(row)...)
	}
	q.Scope, q.Without, q.SkipFrontmatter = Blocks, path, true
	scores, which := s.Blocks.Closest(vectors)
	candidates := nothing(s)
	collectBlocks(candidates, s, scores, q.SkipFrontmatter)
	answer := ranked(s, q, candidates)
	for i := range answer.Hits {
		h := &answer.Hits[i]
		h.Pair = newPair(s.Blocks.Items[own[which[h.row]]], h.Score)
	}
	answer.OwnLeftOut = len(all) - len(own)
	answer.findRepeated(s)
	return answer, nil
}

// recorded returns the source at path, or why there is none.
func recorded(s *smartenv.Snapshot, path string) (*smartenv.Source, error) {
	source, ok := s.Source(path)
	if !ok {
		return nil, &NoVectorError{path, "it is not in the index: open the vault in Obsidian so that Smart Connections reads it, or use search_notes"}
	}
	return source, nil
}

// sections are the rows of the note's blocks other than frontmatter.
func sections(s *smartenv.Snapshot, source *smartenv.Source) (rows []int) {
	for row := source.BlockRows[0]; row < source.BlockRows[1]; row++ {
		if s.Blocks.Items[row].Key != note.FrontmatterKey {
			rows = append(rows, row)
		}
	}
	return rows
}

// longest returns the n rows that have most lines, the first of equals.
func longest(s *smartenv.Snapshot, rows []int, n int) []int {
	if len(rows) <= n {
		return rows
	}
	length := func(row int) int { return s.Blocks.Items[row].End - s.Blocks.Items[row].Start }
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(length(b), length(a)) })
	return rows[:n]
}

// nearestSection returns the pair of vector with the nearest of own; nil when there
// is none.
func nearestSection(s *smartenv.Snapshot, own []int, vector []float32) (pair *Pair) {
	for _, row := range own {
		if score := simd.Dot(s.Blocks.Row(row), vector); pair == nil || score > pair.Score {
			pair = newPair(s.Blocks.Items[row], score)
		}
	}
	return pair
}

func newPair(own smartenv.Item, score float32) *Pair {
	return &Pair{Section: own.Key, Start: own.Start, End: own.End, Score: score}
}

// repeated is in how many notes a text stands that says little of any of them.
const repeated = 3

// findRepeated marks the hits whose block stands word for word in many notes: a
// template, a query, a footer.
func (a *Answer) findRepeated(s *smartenv.Snapshot) {
	notes := map[string]int{} // by hash of a text
	for i := range a.Hits {
		if h := &a.Hits[i]; h.Matched == blockMatch && h.item.Hash != "" {
			notes[h.item.Hash] = 0
		}
	}
	if len(notes) == 0 {
		return
	}
	last := map[string]int{} // the note in which a hash was seen last
	for i := range s.Blocks.Items {
		item := &s.Blocks.Items[i]
		if _, wanted := notes[item.Hash]; !wanted {
			continue
		}
		if source, seen := last[item.Hash]; !seen || source != item.Source {
			notes[item.Hash]++
			last[item.Hash] = item.Source
		}
	}
	for i := range a.Hits {
		h := &a.Hits[i]
		h.Repeated = h.Matched == blockMatch && notes[h.item.Hash] >= repeated
	}
}

// bestBlock returns the row of the source's block nearest to q other than
// frontmatter, or -1.
func bestBlock(s *smartenv.Snapshot, source int, q []float32) int32 {
	row, score := int32(-1), float32(0)
	rows := s.Sources[source].BlockRows
	for i := rows[0]; i < rows[1]; i++ {
		if s.Blocks.Items[i].Key == note.FrontmatterKey {
			continue
		}
		if dot := simd.Dot(s.Blocks.Row(i), q); row < 0 || dot > score {
			row, score = int32(i), dot
		}
	}
	return row
}

// Cosine compares two notes by their own vectors; ok is false when one has none.
func Cosine(s *smartenv.Snapshot, a, b string) (cosine float32, ok bool) {
	x, ok := s.Source(a)
	y, ok2 := s.Source(b)
	if !ok || !ok2 || x.Row < 0 || y.Row < 0 {
		return 0, false
	}
	return simd.Dot(s.Notes.Row(x.Row), s.Notes.Row(y.Row)), true
}
