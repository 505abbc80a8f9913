package search

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"

	"smart-connections-mcp/simd"
	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
)

// Scope names the pools that are ranked.
type Scope string

// The scopes a caller may ask for.
const (
	Auto   Scope = "auto"   // notes and blocks; a note counts with its better vector
	Notes  Scope = "notes"  // note vectors only
	Blocks Scope = "blocks" // block vectors only
)

// Kind says which vector won a note its place.
type Kind string

// The kinds of match.
const (
	noteMatch        Kind = "note"
	blockMatch       Kind = "block"
	frontmatterMatch Kind = "frontmatter"
)

// Query is one question to the ranking.
type Query struct {
	Vector          []float32 // unit vector of the snapshot's dims
	Limit           int       // at most so many rows
	MinScore        float32   // rows below are left out
	Scope           Scope
	Filters         []Filter // a note must pass all
	Without         string   // path of a note that is left out, with its blocks
	SkipFrontmatter bool     // frontmatter blocks do not count for their note
	Sections        int      // most passages of one note; 0 is 1
	Pairs           bool     // of Related: tell the pair behind each block, and whether its text is repeated
}

// A Filter keeps some notes. Keep is called once at most for each note that has a
// vector in the pools.
type Filter struct {
	Name string // under which it reports what it hid
	Keep func(source *smartenv.Source) bool
}

// Scored is a note and its score.
type Scored struct {
	Path  string
	Score float32
}

// Hidden reports what one filter left out.
type Hidden struct {
	Filter string
	Notes  int     // notes that have a vector in the pools and pass the filters before this one, but not this
	Best   *Scored // the best of them, whatever MinScore; nil when there is none
	Better bool    // Best is at least MinScore and above every row returned
}

// Answer is a ranking and what is needed to judge it.
type Answer struct {
	Hits           []Hit
	SearchedNotes  int      // note vectors that passed the filters
	SearchedBlocks int      // block vectors that passed the filters
	Hidden         []Hidden // of each filter, in their order
	Best           *Scored  // best note that passed the filters, whatever MinScore
	OwnLeftOut     int      // sections of the asking note that RelatedBlocks did not compare
}

// Hit is one row of an answer: a note with the vector that won it the place.
type Hit struct {
	Path    string
	Score   float32
	Matched Kind
	Stale   bool  // the text of the winning vector had changed when the index was loaded
	More    []Hit // further passages of the note, best first; they do not overlap with it nor with each other
	Pair    *Pair // with Query.Pairs, for a block; nil when the asking note has no section with a vector
	// Repeated says, with Query.Pairs, that the winning block stands word for word in
	// three notes or more.
	Repeated bool

	item    smartenv.Item // the winning vector's item
	passage smartenv.Item // the item that is quoted; its Key is "" for a note's beginning
	row     int32         // of passage in the blocks; -1 for a note's beginning
}

// best is what one note has achieved so far. Rows index the collections; -1
// means none.
type best struct {
	noteRow, blockRow, frontRow int32
	note, block, front          float32
}

// Rank scores every vector of the pools once and returns the best notes.
// A snapshot that refuses semantic search has empty collections, and so an
// empty answer.
func Rank(s *smartenv.Snapshot, q Query) Answer { return ranked(s, q, collect(s, q)) }

// ranked draws the answer from what each note has achieved.
func ranked(s *smartenv.Snapshot, q Query, candidates []best) Answer {
	answer := Answer{Hits: []Hit{}}
	for _, f := range q.Filters {
		answer.Hidden = append(answer.Hidden, Hidden{Filter: f.Name})
	}
	var rows []scoredSource
	for source := range candidates {
		score, ok := candidates[source].score()
		if !ok || s.Sources[source].Path == q.Without {
			continue
		}
		seen := Scored{Path: s.Sources[source].Path, Score: score}
		if by := hiddenBy(&s.Sources[source], q.Filters); by >= 0 {
			answer.Hidden[by].Notes++
			answer.Hidden[by].Best = better(answer.Hidden[by].Best, seen)
			continue
		}
		answer.count(s, source, q)
		answer.Best = better(answer.Best, seen)
		if score >= q.MinScore {
			rows = append(rows, scoredSource{source, score})
		}
	}
	rows = top(s, rows, q.Limit)
	for _, r := range rows {
		answer.Hits = append(answer.Hits, newHit(s, candidates[r.source], r, q))
	}
	answer.compareHidden(q.MinScore)
	return answer
}

// hiddenBy is the index of the first filter that source does not pass, or -1.
func hiddenBy(source *smartenv.Source, filters []Filter) int {
	return slices.IndexFunc(filters, func(f Filter) bool { return !f.Keep(source) })
}

// scoredSource is a row of the ranking: index in Snapshot.Sources and score.
type scoredSource struct {
	source int
	score  float32
}

// collect scores the pools of q and keeps each note's best rows.
func collect(s *smartenv.Snapshot, q Query) []best {
	all := nothing(s)
	var scores []float32
	if q.Scope != Blocks && len(s.Notes.Items) > 0 {
		scores = s.Notes.Scores(scores, q.Vector)
		for row := range s.Notes.Items {
			b := &all[s.Notes.Items[row].Source]
			b.noteRow, b.note = int32(row), scores[row]
		}
	}
	if q.Scope != Notes && len(s.Blocks.Items) > 0 {
		collectBlocks(all, s, s.Blocks.Scores(scores, q.Vector), q.SkipFrontmatter)
	}
	return all
}

// nothing is what the notes have achieved before anything is scored.
func nothing(s *smartenv.Snapshot) []best {
	all := make([]best, len(s.Sources))
	for i := range all {
		all[i] = best{noteRow: -1, blockRow: -1, frontRow: -1}
	}
	return all
}

// collectBlocks keeps each note's best blocks by their scores.
func collectBlocks(all []best, s *smartenv.Snapshot, scores []float32, skipFrontmatter bool) {
	for row := range s.Blocks.Items {
		item := &s.Blocks.Items[row] // a copy of each would take longer than its score
		b := &all[item.Source]
		switch {
		case item.Key != note.FrontmatterKey:
			if b.blockRow < 0 || scores[row] > b.block {
				b.blockRow, b.block = int32(row), scores[row]
			}
		case !skipFrontmatter:
			b.frontRow, b.front = int32(row), scores[row]
		}
	}
}

// score is the note's best score; false when it has no vector in the pools.
func (b best) score() (float32, bool) {
	score, _ := b.winner()
	return score, score > float32(math.Inf(-1))
}

// winner returns the best score and its kind. Of equal scores the block wins,
// because it can be quoted; then the note.
func (b best) winner() (float32, Kind) {
	score, kind := float32(math.Inf(-1)), noteMatch
	if b.blockRow >= 0 {
		score, kind = b.block, blockMatch
	}
	if b.noteRow >= 0 && b.note > score {
		score, kind = b.note, noteMatch
	}
	if b.frontRow >= 0 && b.front > score {
		score, kind = b.front, frontmatterMatch
	}
	return score, kind
}

// top sorts rows by score, then path, and keeps limit of them. Sources are
// sorted by path, so the index stands for the path.
func top(s *smartenv.Snapshot, rows []scoredSource, limit int) []scoredSource {
	sort.Slice(rows, func(i, j int) bool {
		if rows[i].score != rows[j].score {
			return rows[i].score > rows[j].score
		}
		return rows[i].source < rows[j].source
	})
	return rows[:min(len(rows), max(limit, 0))]
}

// newHit turns a ranked row into a hit and chooses the passage to quote: the
// note's best block other than frontmatter, else its beginning.
func newHit(s *smartenv.Snapshot, b best, r scoredSource, q Query) Hit {
	score, kind := b.winner()
	h := Hit{Path: s.Sources[r.source].Path, Score: score, Matched: kind}
	switch kind {
	case noteMatch:
		h.item = s.Notes.Items[b.noteRow]
	case blockMatch:
		h.item = s.Blocks.Items[b.blockRow]
	case frontmatterMatch:
		h.item = s.Blocks.Items[b.frontRow]
	}
	h.Stale = h.item.Stale
	h.row = b.blockRow
	if q.Scope == Notes {
		h.row = bestBlock(s, r.source, q.Vector)
	}
	h.passage = smartenv.Item{Path: h.Path, Source: r.source}
	if h.row >= 0 {
		h.passage = s.Blocks.Items[h.row]
	}
	h.More = further(s, h, q)
	return h
}

// further lists what else of the note matches: blocks of at least MinScore, best
// first, without those that have text in common with one already listed, as a
// heading has with its own paragraph.
func further(s *smartenv.Snapshot, h Hit, q Query) (more []Hit) {
	if q.Sections < 2 || h.row < 0 {
		return nil
	}
	source := h.passage.Source
	for row, end := s.Sources[source].BlockRows[0], s.Sources[source].BlockRows[1]; row < end; row++ {
		item := s.Blocks.Items[row]
		score := simd.Dot(s.Blocks.Row(row), q.Vector)
		if item.Key != note.FrontmatterKey && score >= q.MinScore {
			more = append(more, Hit{Path: h.Path, Score: score, Matched: blockMatch, Stale: item.Stale, item: item, passage: item, row: int32(row)})
		}
	}
	slices.SortStableFunc(more, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	shown := []smartenv.Item{h.passage}
	more = slices.DeleteFunc(more, func(m Hit) bool {
		if len(shown) >= q.Sections || slices.ContainsFunc(shown, func(item smartenv.Item) bool { return overlap(item, m.item) }) {
			return true
		}
		shown = append(shown, m.item)
		return false
	})
	return slices.Clip(more)
}

// overlap says whether two blocks of a note have text in common. Without lines their
// keys tell.
func overlap(a, b smartenv.Item) bool {
	if a.End > 0 && b.End > 0 {
		return a.Start <= b.End && b.Start <= a.End
	}
	return a.Key == b.Key || strings.HasPrefix(a.Key, b.Key+"#") || strings.HasPrefix(b.Key, a.Key+"#")
}

// count adds the vectors of one note that was searched.
func (a *Answer) count(s *smartenv.Snapshot, source int, q Query) {
	if q.Scope != Blocks && s.Sources[source].Row >= 0 {
		a.SearchedNotes++
	}
	if q.Scope != Notes {
		rows := s.Sources[source].BlockRows
		a.SearchedBlocks += rows[1] - rows[0]
	}
}

// compareHidden decides for each filter whether it hid something better than all rows.
func (a *Answer) compareHidden(minScore float32) {
	for i := range a.Hidden {
		h := &a.Hidden[i]
		h.Better = h.Best != nil && h.Best.Score >= minScore && (len(a.Hits) == 0 || h.Best.Score > a.Hits[0].Score)
	}
}

// better returns the higher of old and seen; the earlier path wins ties.
func better(old *Scored, seen Scored) *Scored {
	if old != nil && old.Score >= seen.Score {
		return old
	}
	return &seen
}
