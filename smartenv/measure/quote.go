package measure

import (
	"slices"
	"strings"
	"unicode"

	"smart-connections-mcp/smartenv/note"
)

// A quote begins as near as may be to quoteAt of its note, at most quoteReach
// of the note away, and is of whole words.
const (
	quoteUnits = 300 // UTF-16 units, at most
	leastUnits = 100 // at the end of a note, or without spaces
	quoteAt    = 0.8
	quoteReach = 0.2
	prose      = 0.9 // share of letters and spaces that makes a passage prose
	maxWord    = 40  // bytes; what is longer is cut
)

// maxParsed is how much of a note is parsed to find its frontmatter.
const maxParsed = 250_000

// quote returns a passage of body: the prose nearest to four fifths of the note,
// else what comes nearest to prose. It is "" when that place is not beyond the
// note vector's window, which ends at window, or when nothing there is long
// enough.
func quote(path, body string, window int) string {
	units := note.Len16(body)
	at := func(share float64) int { return len(note.Prefix16(body, int(float64(units)*share))) }
	target := at(quoteAt)
	earliest := max(window, frontmatterEnd(path, body), at(quoteAt-quoteReach))
	if target < earliest {
		return ""
	}
	starts := []int{wordStart(body, target)}
	for i := earliest; i < len(body); i++ {
		if i == 0 || body[i-1] == '\n' {
			starts = append(starts, i)
		}
	}
	distance := func(i int) int { return max(i-target, target-i) }
	slices.SortStableFunc(starts, func(a, b int) int { return distance(a) - distance(b) })
	passage, best := "", 0.0
	for _, i := range starts {
		text := wholeWords(body[i:])
		share := proseShare(text)
		if note.Len16(text) < leastUnits || share <= best {
			continue
		}
		passage, best = text, share
		if share >= prose {
			break
		}
	}
	return passage
}

// frontmatterEnd returns where the text after the frontmatter begins.
func frontmatterEnd(path, body string) int {
	head := body[:min(len(body), maxParsed)]
	blocks := note.Parse(path, head, note.Rules{}).Blocks
	if len(blocks) == 0 || blocks[0].Key != note.FrontmatterKey {
		return 0
	}
	if blocks[0].End == 0 {
		return len(body) // it is never closed
	}
	return min(len(body), lineStarts(head)[blocks[0].End])
}

// wordStart returns the beginning of the first word at or after i, or i itself
// inside a word too long to be one.
func wordStart(text string, i int) int {
	if i == 0 {
		return 0
	}
	space := strings.IndexFunc(text[i:], unicode.IsSpace)
	if space < 0 || space > maxWord {
		return i
	}
	if before := strings.TrimRightFunc(text[:i], unicode.IsSpace); len(before) < i {
		space = 0 // it is the beginning of one
	}
	rest := text[i+space:]
	return len(text) - len(strings.TrimLeftFunc(rest, unicode.IsSpace))
}

// wholeWords returns the beginning of text, without a word that is cut off.
func wholeWords(text string) string {
	passage := note.Prefix16(text, quoteUnits)
	if len(passage) < len(text) && !startsWithSpace(text[len(passage):]) {
		if space := strings.LastIndexFunc(passage, unicode.IsSpace); space > len(passage)-maxWord {
			passage = passage[:space]
		}
	}
	return strings.TrimSpace(passage)
}

func startsWithSpace(text string) bool {
	return len(strings.TrimLeftFunc(text, unicode.IsSpace)) < len(text)
}

// proseShare is the share of letters and single spaces in a passage.
func proseShare(text string) float64 {
	good, all, spaced := 0, 0, false
	for _, r := range text {
		all++
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsSpace(r) && !spaced {
			good++
		}
		spaced = unicode.IsSpace(r)
	}
	return float64(good) / float64(max(all, 1))
}
