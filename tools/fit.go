package tools

import (
	"fmt"
	"slices"
	"sort"

	"smart-connections-mcp/smartenv/note"
)

// fit makes the answer at most maxAnswer bytes: first all excerpts are cut to
// one length that fits, nearly the longest, then further sections are left out, then
// rows from the end.
func (o *SearchOutput) fit() {
	if size(o) <= maxAnswer {
		return
	}
	whole := o.Results
	o.Truncated = true
	try := func(limit int, cut cutter) bool {
		o.Results, o.NextStep = withExcerpts(whole, limit, cut), shortened(limit)
		return size(o) <= maxAnswer
	}
	// Excerpts cut between characters are no longer than those cut anywhere,
	// which are cheap to make; so the search is done with the latter.
	limit := sort.Search(excerptChars, func(n int) bool { return !try(n+1, note.Prefix16) })
	for ; limit > 0; limit-- {
		if try(limit, betweenCharacters) {
			return
		}
	}
	if try(0, note.Prefix16) {
		return
	}
	bare, sections := slices.Clone(o.Results), false
	for i := range bare {
		sections = sections || bare[i].MoreSections != nil
		bare[i].MoreSections = nil
	}
	fitRows(len(bare), func(k int) int {
		o.Results, o.NextStep = bare[:k], leftOut(k, len(bare))
		if sections {
			o.NextStep = "further sections were left out; " + o.NextStep
		}
		return size(o)
	})
}

// fit leaves out rows from the end until the answer is at most maxAnswer bytes.
func (o *RelatedOutput) fit() {
	whole := o.Related
	fitRows(len(whole), func(k int) int {
		if k < len(whole) {
			o.Related, o.Truncated, o.NextStep = whole[:k], true, leftOut(k, len(whole))
		}
		return size(o)
	})
}

// fitRows calls keep, which reduces an answer to k rows and returns its size, at last
// with the greatest k up to n for which that is at most maxAnswer, or with 0.
func fitRows(n int, keep func(k int) int) {
	if keep(n) > maxAnswer {
		keep(rowsThatFit(n, keep))
	}
}

// rowsThatFit returns the greatest k up to n for which size(k) is at most
// maxAnswer, or 0.
func rowsThatFit(n int, size func(k int) int) int {
	return sort.Search(n, func(k int) bool { return size(k+1) > maxAnswer })
}

// A cutter returns the beginning of a text, at most limit UTF-16 units.
type cutter func(text string, limit int) string

// betweenCharacters cuts where no character that a reader sees is split.
func betweenCharacters(text string, limit int) string {
	head, _ := note.Excerpt(text, 1, 0, limit) // fails for lines that are not there; these are all
	return head
}

// withExcerpts copies rows with excerpts of at most limit UTF-16 units.
func withExcerpts(rows []Row, limit int, cut cutter) []Row {
	rows = slices.Clone(rows)
	for i := range rows {
		row := &rows[i]
		shortenExcerpt(&row.Excerpt, &row.ExcerptMissing, limit, cut)
		row.MoreSections = slices.Clone(row.MoreSections)
		for j := range row.MoreSections {
			more := &row.MoreSections[j]
			shortenExcerpt(&more.Excerpt, &more.ExcerptMissing, limit, cut)
		}
	}
	return rows
}

func shortenExcerpt(excerpt, missing *string, limit int, cut cutter) {
	if *excerpt == "" || note.Len16(*excerpt) <= limit {
		return
	}
	if *excerpt = cut(*excerpt, limit); *excerpt == "" {
		*missing = "left out to keep the answer short"
	}
}

func shortened(limit int) string {
	if limit == 0 {
		return fmt.Sprintf("excerpts were left out to keep the answer under %d bytes: pass a lower limit or a folder, or read the notes with get_note", maxAnswer)
	}
	return fmt.Sprintf("excerpts were cut to %d characters to keep the answer under %d bytes: pass a lower limit or a folder, or read the notes with get_note", limit, maxAnswer)
}

func leftOut(kept, of int) string {
	if kept == of {
		return fmt.Sprintf("all excerpts were left out to keep the answer under %d bytes: pass a lower limit, or read the notes with get_note", maxAnswer)
	}
	return fmt.Sprintf("rows %d to %d were left out to keep the answer under %d bytes: pass a folder or a higher min_score to see others", kept+1, of, maxAnswer)
}
