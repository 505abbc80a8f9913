package tools

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"smart-connections-mcp/smartenv/links"
	"smart-connections-mcp/smartenv/note"
)

// An outline is a note's text with the blocks that the plugin makes of it.
type outline struct {
	path   string
	raw    string
	text   string // in which lines count: of a drawing what is written in it
	lines  int
	drawn  bool // text is what is written in a drawing, and not the file
	blocks []note.Block
}

// A span is a run of lines, 1-based and inclusive.
type span struct {
	first, last int
	key         string // of the block it is, or of the smallest around it; "" when there is none
}

func newOutline(path, raw string) *outline {
	decoded := note.Decode(raw)
	text := note.Body(path, decoded)
	return &outline{
		path: path, raw: raw, text: text,
		lines:  1 + strings.Count(text, "\n"),
		drawn:  text != decoded,
		blocks: note.Parse(path, decoded, note.Rules{}).Blocks,
	}
}

// lineSpan returns the lines from first to last, or to the end of the note.
func (o *outline) lineSpan(first, last int) (span, error) {
	if first > o.lines {
		return span{}, fmt.Errorf("lines begins at %d, and there are %d lines%s: pass lines up to %[2]d", first, o.lines, o.where())
	}
	found := span{first: first, last: min(last, o.lines)}
	least := o.lines + 1
	for _, b := range o.blocks {
		if s := o.spanOf(b); s.first <= found.first && found.last <= s.last && s.last-s.first < least {
			least, found.key = s.last-s.first, b.Key
		}
	}
	return found, nil
}

// where says in what lines count, when that is not the file.
func (o *outline) where() string {
	if o.drawn {
		return " of text in the drawing"
	}
	return ""
}

// spanOf is where a block stands; one that is never closed goes to the end.
func (o *outline) spanOf(b note.Block) span {
	last := b.End
	if last == 0 {
		last = o.lines
	}
	return span{b.Start, max(b.Start, last), b.Key}
}

// section finds what asked names: the block with this key, else the heading with
// this text, or with this below others; the more exactly the better.
func (o *outline) section(asked string) (span, error) {
	if b, ok := o.block(asked); ok {
		return o.spanOf(b), nil
	}
	if asked = strings.TrimSpace(asked); len(asked) > maxSection {
		return span{}, fmt.Errorf("section has %d bytes: pass a heading", len(asked))
	}
	bare := strings.TrimLeft(asked, "# \t")
	if id, ok := strings.CutPrefix(bare, "^"); ok {
		return o.blockID(id)
	}
	headings := o.headings()
	title, parts := links.PlainHeading(bare), pathParts(bare)
	for _, fits := range []func(h heading) bool{
		func(h heading) bool { return h.title == bare },
		func(h heading) bool { return h.plain == title && title != "" },
		func(h heading) bool { return h.endsPath(parts) },
	} {
		var found []heading
		for _, h := range headings {
			if fits(h) {
				found = append(found, h)
			}
		}
		if len(found) == 1 {
			return found[0].span, nil
		}
		if len(found) > 1 {
			return span{}, fmt.Errorf("section %q could be any of %s: pass one of these keys", shorten(asked, 100), listed(found))
		}
	}
	return span{}, o.noSection(asked, headings)
}

// block looks for the block with a key: this, or failing that the only one that
// differs in case or blanks.
func (o *outline) block(key string) (found note.Block, ok bool) {
	if !strings.HasPrefix(strings.TrimSpace(key), "#") || len(key) > maxSection {
		return found, false
	}
	for variant := range note.Variants(o.raw) { // the plugin may have seen other line ends
		for _, b := range note.Parse(o.path, variant, note.Rules{}).Blocks {
			if b.Key == key {
				return b, true
			}
		}
	}
	plainly, same := folded(key), 0
	for _, b := range o.blocks {
		if folded(b.Key) == plainly {
			found, same = b, same+1
		}
	}
	return found, same == 1
}

const (
	maxSection     = 4096 // bytes of a key: six headings
	shownHeadings  = 10
	maxParsedBytes = 300_000 // the plugin cuts no larger note into blocks
)

// A heading is a heading of a note with all that stands below it.
type heading struct {
	span
	title string // as written
	plain string
	above []string // plain titles of the headings it stands below, outermost first
}

// headings returns the headings in their order.
func (o *outline) headings() []heading {
	text := strings.Split(o.text, "\n")
	blocks := slices.Clone(o.blocks)
	slices.SortStableFunc(blocks, func(a, b note.Block) int { return a.Start - b.Start })
	var all, open []heading
	for _, b := range blocks {
		title, ok := headingOf(text[b.Start-1])
		if !ok {
			continue
		}
		h := heading{span: o.spanOf(b), title: title, plain: links.PlainHeading(title)}
		for len(open) > 0 && open[len(open)-1].last < h.first {
			open = open[:len(open)-1]
		}
		for _, outer := range open {
			h.above = append(h.above, outer.plain)
		}
		all, open = append(all, h), append(open, h)
	}
	return all
}

// headingOf returns the title of a line that is a heading.
func headingOf(line string) (title string, ok bool) {
	line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
	rest := strings.TrimLeft(line, "#")
	title = strings.TrimSpace(rest)
	marks := len(line) - len(rest)
	return title, marks > 0 && marks <= 6 && title != "" && len(title) < len(rest)
}

// pathParts takes "A#B" apart.
func pathParts(asked string) (parts []string) {
	for part := range strings.SplitSeq(asked, "#") {
		if part = links.PlainHeading(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// endsPath says whether the path ends with this heading and the other parts, in
// their order, are of those above it.
func (h heading) endsPath(parts []string) bool {
	for own := 1; own < len(parts); own++ { // "A#C# tips" has three parts
		if strings.Join(parts[len(parts)-own:], " ") != h.plain {
			continue
		}
		rest := parts[:len(parts)-own]
		for _, title := range h.above {
			if len(rest) > 0 && rest[0] == title {
				rest = rest[1:]
			}
		}
		if len(rest) == 0 {
			return true
		}
	}
	return false
}

// listed names headings by their keys and lines.
func listed(headings []heading) string {
	var names []string
	for _, h := range headings[:min(shownHeadings, len(headings))] {
		names = append(names, fmt.Sprintf("%q (lines %d-%d)", shorten(h.key, 300), h.first, h.last))
	}
	if more := len(headings) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// noSection says that there is no such heading, and which are near.
func (o *outline) noSection(asked string, headings []heading) error {
	asked = shorten(asked, 100)
	switch {
	case len(o.text) > maxParsedBytes:
		return fmt.Errorf("no section %q: Smart Connections does not cut notes over %d bytes into sections; leave section out, or pass lines", asked, maxParsedBytes)
	case len(headings) == 0:
		return fmt.Errorf("no section %q: the note has no headings; leave section out, or pass lines", asked)
	}
	parts := pathParts(asked)
	want := newWanted(strings.Join(parts[max(0, len(parts)-1):], ""))
	type near struct {
		heading
		rank int
	}
	var found []near
	for _, h := range headings {
		if rank, ok := want.rank(h.plain); ok {
			found = append(found, near{h, rank})
		}
	}
	if len(found) == 0 {
		return fmt.Errorf("no section %q: the note has %s", asked, listed(headings))
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.rank - b.rank })
	var best []heading
	for _, n := range found[:min(offered, len(found))] {
		best = append(best, n.heading)
	}
	return fmt.Errorf("no section %q: did you mean %s?", asked, listed(best))
}

var (
	blockIDPattern  = regexp.MustCompile(`(?:^|[ \t]|\]\])\^([A-Za-z0-9-]+)[ \t\r]*$`)
	listItemPattern = regexp.MustCompile(`^[ \t]*(?:[-*+]|\d+[.)])[ \t]`)
)

// blockID finds the paragraph, list item, or other block that ends with "^id": on
// its last line, or on a line of its own below it.
func (o *outline) blockID(id string) (span, error) {
	text := strings.Split(o.text, "\n")
	fences := fenced(text)
	var ids []string
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		ids = nil
		for i, line := range text {
			m := blockIDPattern.FindStringSubmatch(line)
			if m == nil || fences[i] >= 0 {
				continue
			}
			if same(m[1], id) {
				first, last := blockAround(text, fences, i, strings.TrimSpace(line) == "^"+m[1])
				return span{first + 1, last + 1, "^" + m[1]}, nil
			}
			ids = append(ids, "^"+m[1])
		}
	}
	if len(ids) == 0 {
		return span{}, fmt.Errorf("no block %q: the note has no block ids; leave section out, or pass lines", "^"+shorten(id, 100))
	}
	return span{}, fmt.Errorf("no block %q: the note has %s", "^"+shorten(id, 100), strings.Join(quoted(ids[:min(shownHeadings, len(ids))]), ", "))
}

// fenced returns for each line the line at which the code block begins in which it
// stands, or -1.
func fenced(text []string) []int {
	open := -1
	var fences []int
	for i, line := range text {
		mark := strings.HasPrefix(strings.TrimSpace(line), "```")
		if mark && open < 0 {
			open = i
			fences = append(fences, open)
			continue
		}
		fences = append(fences, open)
		if mark {
			open = -1
		}
	}
	return fences
}

// blockAround returns the lines of the block whose id stands on line at; alone, if
// nothing else does.
func blockAround(text []string, fences []int, at int, alone bool) (first, last int) {
	first, last = at, at
	if alone {
		for first > 0 && blank(text[first-1]) {
			first--
		}
		if first > 0 && fences[first-1] >= 0 {
			return fences[first-1], last
		}
	}
	isHeading := func(i int) bool { _, ok := headingOf(text[i]); return ok }
	for first > 0 && !blank(text[first-1]) && !isHeading(first-1) && (alone || !listItemPattern.MatchString(text[first]) && !isHeading(first)) {
		first--
	}
	if !alone && listItemPattern.MatchString(text[first]) { // what stands below an item belongs to it
		for last+1 < len(text) && !blank(text[last+1]) && indent(text[last+1]) > indent(text[first]) {
			last++
		}
	}
	return first, last
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
