package links

import "strings"

// maxItems bounds how deep lists nest; what is deeper belongs to the innermost.
const maxItems = 64

// blocks reads the text from s.at, which is the beginning of the given line.
func (s *scanner) blocks(line int) {
	s.line, s.spanAt = line, -1
	for s.at < len(s.text) {
		s.at = s.block(s.at, s.lineEnd(s.at))
		s.line++
	}
	s.flush(len(s.text))
}

// lineEnd is where the line ends on which at is.
func (s *scanner) lineEnd(at int) int {
	if length := strings.IndexByte(s.text[at:], '\n'); length >= 0 {
		return at + length
	}
	return len(s.text)
}

// block takes the line from at to end, with those below that belong to the same formula or
// comment, and returns where the next one begins.
func (s *scanner) block(at, end int) (next int) {
	if s.fence.mark != 0 && s.fenced(at, end) {
		return end + 1
	}
	first := s.text[at:end]
	if s.spanAt >= 0 && first != "" && first[0] > '>' && !opensBlock[first[0]] && s.quote == 0 {
		return end + 1 // the most frequent case: a paragraph goes on
	}
	open := s.spanAt >= 0
	content, quote := s.unquoted(at, end, len(s.text))
	if quote != s.quote {
		s.flush(at)
		open = open && quote < s.quote // a paragraph goes on without its ">"
		s.requote(at, end, quote)
	}
	text, indent := s.indented(content, end)
	if text == end {
		s.flush(at)
		return end + 1
	}
	return s.inside(text, end, indent, open)
}

// requote goes over to lines with another number of ">"s. A quote has its own lists, and
// may itself stand in a list.
func (s *scanner) requote(at, end, quote int) {
	switch {
	case s.quote == 0:
		_, indent := s.indented(at, end)
		for len(s.items) > 0 && s.items[len(s.items)-1] > indent {
			s.items = s.items[:len(s.items)-1]
		}
		s.items, s.outer = s.outer[:0], s.items
	case quote == 0:
		s.items, s.outer = s.outer, s.items[:0]
	default:
		s.items = s.items[:0]
	}
	s.quote = quote
}

// opensBlock are the letters beyond '>' with which a line may begin something else
// than text.
var opensBlock = [256]bool{'_': true, '`': true, '|': true, '~': true}

// inside takes a line without its ">"s: its text begins at at, indented by indent
// columns; open says that a paragraph is open.
func (s *scanner) inside(at, end, indent int, open bool) (next int) {
	for marked := false; ; marked = true {
		depth := len(s.items)
		for depth > 0 && s.items[depth-1] > indent {
			depth--
		}
		base := 0
		if depth > 0 {
			base = s.items[depth-1]
		}
		deep := indent-base >= 4
		line := strings.TrimRight(s.text[at:end], " \t\r")
		kind, size := blockStart(line)
		if deep {
			kind = blockText // a paragraph goes on, however far to the right
		}
		if kind == blockText && open {
			s.span(at, false)
			return end + 1
		}
		s.items = s.items[:depth]
		if deep && !marked {
			s.flush(at)
			s.code(at, end)
			return end + 1
		}
		if kind != blockItem {
			return s.start(kind, size, at, end, base, open, marked)
		}
		s.flush(at)
		open = false
		text, column := s.indented(at+size, end)
		if text == end || column > 4 {
			column = 1
		}
		indent += size + column
		if len(s.items) < maxItems {
			s.items = append(s.items, indent)
		}
		if at = text; at == end {
			return end + 1
		}
	}
}

// start begins a block of the given kind, which is no list item, with the line from at to
// end. base is the column of the list item it stands in.
func (s *scanner) start(kind blockKind, size, at, end, base int, open, marked bool) (next int) {
	switch kind {
	case blockHeading:
		s.flush(at)
		if s.quote == 0 && !marked {
			s.heading(headingText(s.text[at+size:end]), size, s.line)
		}
		s.inline(at+size, end, s.line)
	case blockUnderline:
		if !open || !s.plain {
			s.flush(at)
			break
		}
		text, line := s.text[s.spanAt:at], s.spanLine
		s.flush(at)
		level := 1
		if s.text[at] == '-' {
			level = 2
		}
		s.heading(strings.Join(strings.Fields(text), " "), level, line)
	case blockFence:
		s.flush(at)
		s.fence = fence{s.text[at], size, s.quote, base}
		if marked {
			s.fence.column = s.items[len(s.items)-1]
		}
	case blockRule:
		s.flush(at)
	case blockRow:
		s.flush(at)
		s.inline(at, end, s.line)
	case blockComment, blockMath:
		return s.enclosed(kind, at, end)
	default:
		s.span(at, s.quote == 0 && base == 0 && !marked)
	}
	return end + 1
}

// enclosed takes an HTML comment or formula that begins at at, whatever lines it holds,
// and opens a span with the rest of the line on which it ends. A comment that never ends
// is the rest of the note.
func (s *scanner) enclosed(kind blockKind, at, end int) (next int) {
	mark, length := "-->", len("<!--")
	if kind == blockMath {
		mark, length = "$$", len("$$")
	}
	switch close := strings.Index(s.text[at+length:], mark); {
	case close >= 0:
		s.flush(at)
		rest := at + length + close + len(mark)
		s.line += strings.Count(s.text[at:rest], "\n")
		end = s.lineEnd(rest)
		if strings.TrimSpace(s.text[rest:end]) != "" {
			s.span(rest, false)
		}
		return end + 1
	case kind == blockComment:
		s.flush(at)
		return len(s.text)
	}
	s.span(at, false)
	return end + 1
}

// fenced takes a line of an open fence; it is false when the line does not belong to it.
func (s *scanner) fenced(at, end int) bool {
	content, quote := s.unquoted(at, end, s.fence.quote)
	text, indent := s.indented(content, end)
	if quote < s.fence.quote || text < end && indent < s.fence.column {
		s.fence = fence{}
		return false
	}
	line := strings.TrimRight(s.text[text:end], " \t\r")
	if len(line) >= s.fence.length && indent < s.fence.column+4 && strings.Trim(line, string(rune(s.fence.mark))) == "" {
		s.fence = fence{}
		return true
	}
	s.code(content, end)
	return true
}

// unquoted skips at most limit ">"s at the beginning of a line.
func (s *scanner) unquoted(at, end, limit int) (content, quote int) {
	base := 0
	if len(s.items) > 0 {
		base = s.items[len(s.items)-1]
	}
	for quote < limit {
		mark, indent := s.indented(at, end)
		if mark == end || s.text[mark] != '>' || indent >= base+4 {
			break
		}
		quote++
		if at = mark + 1; at < end && s.text[at] == ' ' {
			at++
		}
		base = 0
	}
	return at, quote
}

// indented skips blanks; indent is how many columns they take.
func (s *scanner) indented(at, end int) (text, indent int) {
	for ; at < end; at++ {
		switch s.text[at] {
		case ' ':
			indent++
		case '\t':
			indent += 4 - indent%4
		case '\r':
		default:
			return at, indent
		}
	}
	return at, indent
}

// span adds the line whose text begins at at to the open span, or opens one.
func (s *scanner) span(at int, plain bool) {
	if s.spanAt < 0 {
		s.spanAt, s.spanLine, s.plain = at, s.line, plain
	}
}

// flush ends the open span before end.
func (s *scanner) flush(end int) {
	if s.spanAt >= 0 {
		s.inline(s.spanAt, end, s.spanLine)
		s.spanAt = -1
	}
}

func (s *scanner) heading(text string, level, line int) {
	if text != "" {
		s.note.Headings = append(s.note.Headings, Heading{strings.Clone(text), level, line})
	}
}

// headingText is what follows the "#"s of a heading, without those that may close it.
func headingText(s string) string {
	s = strings.TrimSpace(s)
	if bare := strings.TrimRight(s, "#"); bare == "" || strings.HasSuffix(bare, " ") || strings.HasSuffix(bare, "\t") {
		return strings.TrimSpace(bare)
	}
	return s
}
