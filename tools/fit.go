package tools

import (
	"fmt"
	"slices"
	"sort"

	"smart-connections-mcp/smartenv/note"
)

// fit makes the answer at most maxAnswer bytes: first all excerpts are cut to
// the longest length that fits, then rows are left out from the end.
func (o *SearchOutput) fit() {
	if size(o) <= maxAnswer {
		return
	}
	whole := o.Results
	o.Truncated = true
	// The longest excerpt is excerptChars - n for the smallest n that fits.
	n := sort.Search(excerptChars+1, func(n int) bool {
		o.Results = withExcerpts(whole, excerptChars-n)
		o.NextStep = shortened(excerptChars - n)
		return size(o) <= maxAnswer
	})
	if n <= excerptChars {
		o.Results, o.NextStep = withExcerpts(whole, excerptChars-n), shortened(excerptChars-n)
		return
	}
	bare := withExcerpts(whole, 0)
	kept := rowsThatFit(len(bare), func(k int) int {
		o.Results, o.NextStep = bare[:k], leftOut(k, len(bare))
		return size(o)
	})
	o.Results, o.NextStep = bare[:kept], leftOut(kept, len(bare))
}

// fit leaves out rows from the end until the answer is at most maxAnswer bytes.
func (o *RelatedOutput) fit() {
	if size(o) <= maxAnswer {
		return
	}
	whole := o.Related
	o.Truncated = true
	kept := rowsThatFit(len(whole), func(k int) int {
		o.Related, o.NextStep = whole[:k], leftOut(k, len(whole))
		return size(o)
	})
	o.Related, o.NextStep = whole[:kept], leftOut(kept, len(whole))
}

// rowsThatFit returns the greatest k up to n for which size(k) is at most
// maxAnswer, or 0.
func rowsThatFit(n int, size func(k int) int) int {
	return sort.Search(n, func(k int) bool { return size(k+1) > maxAnswer })
}

// withExcerpts copies rows with excerpts of at most limit UTF-16 units.
func withExcerpts(rows []Row, limit int) []Row {
	rows = slices.Clone(rows)
	for i := range rows {
		row := &rows[i]
		if row.Excerpt == "" || note.Len16(row.Excerpt) <= limit {
			continue
		}
		row.Excerpt, _ = note.Excerpt(row.Excerpt, 1, 0, limit) // its lines are all there
		if row.Excerpt == "" {
			row.ExcerptMissing = "left out to keep the answer short"
		}
	}
	return rows
}

func shortened(limit int) string {
	if limit == 0 {
		return fmt.Sprintf("excerpts were left out to keep the answer under %d bytes: pass a lower limit or a folder, or read the notes with get_note", maxAnswer)
	}
	return fmt.Sprintf("excerpts were cut to %d characters to keep the answer under %d bytes: pass a lower limit or a folder, or read the notes with get_note", limit, maxAnswer)
}

func leftOut(kept, of int) string {
	return fmt.Sprintf("rows %d to %d were left out to keep the answer under %d bytes: pass a folder or a higher min_score to see others", kept+1, of, maxAnswer)
}
