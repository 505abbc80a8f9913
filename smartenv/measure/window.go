package measure

import (
	"cmp"
	"slices"
	"strings"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
)

// A span is a range of bytes of a note's text: from, but not to, is in it.
type span struct{ from, to int }

// union returns the same bytes as spans that neither overlap nor touch, in
// order. Empty spans are dropped.
func union(spans []span) []span {
	spans = slices.DeleteFunc(slices.Clone(spans), func(s span) bool { return s.to <= s.from })
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	merged := spans[:0]
	for _, s := range spans {
		if last := len(merged) - 1; last >= 0 && s.from <= merged[last].to {
			merged[last].to = max(merged[last].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// A cutter finds which part of a text the input of a vector holds.
type cutter struct {
	rules note.Rules
	fit   func(text string) string // nil: the token loop is not applied
}

// Behind returns what fit does to a text when the model sees it with prefix
// before it, as it does with the documents of some models.
func Behind(prefix string, fit func(text string) string) func(text string) string {
	return func(text string) string {
		return text[:max(0, len(fit(prefix+text))-len(prefix))]
	}
}

// cut shortens an input to what the model sees of it. Without a tokenizer it
// is the cap in characters, which the plugin applies to notes, and to blocks
// when it chooses which to embed.
func (c cutter) cut(input string) string {
	if c.fit != nil {
		return c.fit(input)
	}
	return note.Prefix16(input, c.rules.MaxUnits())
}

// note returns the parts of body that the note's own vector was made from. text
// is the file's, body what note.Body makes of it.
func (c cutter) note(path, text, body string) []span {
	input := c.cut(note.NoteInput(path, text, c.rules))
	head := len(header(path))
	if len(input) <= head {
		return nil
	}
	kept := input[head:]
	if strings.HasPrefix(body, kept) {
		return []span{{0, len(kept)}}
	}
	return withoutEmptyLines(body, len(kept))
}

// header is what precedes a note's text in its input: the breadcrumbs and ":\n".
func header(path string) string {
	const text = "x" // a drawing has no body but its elements, and this is none
	return strings.TrimSuffix(note.NoteInput(path, text, note.Rules{MaxTokens: 1 << 20}), text)
}

// withoutEmptyLines returns the parts of body that make up the first n bytes of
// what is left of it when its empty lines are dropped.
func withoutEmptyLines(body string, n int) []span {
	var spans []span
	for at := 0; at < len(body) && n > 0; {
		length := strings.IndexByte(body[at:], '\n') + 1
		if length == 0 {
			length = len(body) - at
		}
		if body[at] != '\n' {
			kept := min(length, n)
			spans = append(spans, span{at, at + kept})
			n -= kept
		}
		at += length
	}
	return spans
}

// block returns the part of body that a block's vector was made from; false
// when the block's text is no longer at its lines. The part is empty, or ends
// before it begins, when the breadcrumbs leave no room. lines are the offsets of
// body's lines, from lineStarts.
func (c cutter) block(item smartenv.Item, body string, lines []int) (span, bool) {
	if item.End == 0 {
		return span{}, note.Hash("") == item.Hash || !item.Comparable()
	}
	if item.Start < 1 || item.End < item.Start || item.End >= len(lines) {
		return span{}, false
	}
	from, to := lines[item.Start-1], lines[item.End]-1
	text := body[from:to]
	if item.Comparable() && note.Hash(text) != item.Hash {
		return span{}, false
	}
	whole := note.BlockInput(item.Path, item.Key, text)
	lost := len(whole) - len(c.cut(whole))
	return span{from, to - lost}, true
}

// lineStarts returns the offset of each line of text, and at the end that of
// the line which one more line break would begin.
func lineStarts(text string) []int {
	starts := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return append(starts, len(text)+1)
}
