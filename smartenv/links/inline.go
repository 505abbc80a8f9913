package links

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxOpen  = 32   // brackets that are open at a time; beyond, the oldest are forgotten
	maxLabel = 2000 // bytes in the brackets of a Markdown link
	maxTicks = 32   // backticks that may open a code span
)

// stops are the letters at which inline looks closer: bit 0 in text, bit 1 in code.
var stops = [256]byte{'\n': 3, '[': 3, ']': 3, '\\': 1, '`': 1, '#': 1, '<': 1, '$': 1, '^': 1}

// inline reads a run of text that is no block any more.
type inline struct {
	*scanner
	from, to, line int
	code           bool
	open           []bracket // "[" without "]" so far
	dead           int       // so many of open begin no link, as there is one in them
	escaped        int       // end of the last escaped letter
	ticks          *[maxTicks + 1]int
	noFormula      bool // no "$" that may close one is to come
	noComment      bool // nor "-->"
}

type bracket struct {
	at, line int
	image    bool
	tags     int // found before it
	links    int // found before it
}

// inline reads links, tags and block ids from the text between from and to.
func (s *scanner) inline(from, to, line int) {
	n := inline{scanner: s, from: from, to: to, line: line}
	n.read()
}

// code reads the links in code.
func (s *scanner) code(from, to int) { s.codeAt(from, to, s.line) }

func (s *scanner) codeAt(from, to, line int) {
	if strings.IndexByte(s.text[from:to], '[') >= 0 {
		n := inline{scanner: s, from: from, to: to, line: line, code: true}
		n.read()
	}
}

func (n *inline) read() {
	stop := byte(1)
	if n.code {
		stop = 2
	}
	text := n.text[:n.to]
	for i := n.from; ; {
		for i < len(text) && stops[text[i]]&stop == 0 {
			i++
		}
		if i >= len(text) {
			return
		}
		switch text[i] {
		case '\n':
			n.line++
			i++
		case '\\':
			if i++; i < len(text) && text[i] < utf8.RuneSelf && text[i] != '\n' {
				i++
			}
			n.escaped = i
		case '[':
			i = n.opening(i)
		case ']':
			i = n.closing(i)
		case '`':
			i = n.span(i)
		case '#':
			i = n.tag(i)
		case '<':
			i = n.angle(i)
		case '$':
			i = n.formula(i)
		case '^':
			i = n.blockID(i)
		}
	}
}

// skip counts the lines between at and end, and returns end.
func (n *inline) skip(at, end int) int {
	n.line += strings.Count(n.text[at:end], "\n")
	return end
}

// bang reports whether a "!" that is one stands before the bracket at i.
func (n *inline) bang(i int) bool { return i > n.from && n.text[i-1] == '!' && n.escaped != i }

func (n *inline) opening(i int) (next int) {
	if end := wikiEnd(n.text, i, n.to); end > 0 {
		start := i
		if n.bang(i) {
			start--
		}
		if l, ok := wikilink(n.text[start:end]); ok {
			n.add(len(n.note.Links), n.line, l)
			n.dead = len(n.open)
			return end
		}
	}
	if len(n.open) == maxOpen {
		const half = maxOpen / 2
		n.open = n.open[:copy(n.open, n.open[half:])]
		n.dead = max(0, n.dead-half)
	}
	n.open = append(n.open, bracket{i, n.line, n.bang(i), len(n.tags), len(n.note.Links)})
	return i + 1
}

func (n *inline) closing(i int) (next int) {
	if len(n.open) == 0 {
		return i + 1
	}
	last := len(n.open) - 1
	b, dead := n.open[last], n.dead > last
	n.open = n.open[:last]
	n.dead = min(n.dead, last)
	if dead && !b.image || i-b.at > maxLabel || i+1 >= n.to || n.text[i+1] != '(' {
		return i + 1
	}
	dest, end, ok := destination(n.text[:n.to], i+2)
	if !ok {
		return i + 1
	}
	start := b.at
	if b.image {
		start--
	} else {
		n.dead = last
	}
	n.tags = n.tags[:b.tags] // those in the label are none
	if l, ok := markdownLink(n.text[start:end], n.text[b.at+1:i], dest, b.image); ok {
		n.add(b.links, b.line, l) // before those in its label
	}
	return n.skip(i, end)
}

// add inserts a link as number i of the note's.
func (n *inline) add(i, line int, l Link) {
	l.Line, l.Code = line, n.code
	n.note.Links = slices.Insert(n.note.Links, i, l)
}

// span reads the code span whose backticks begin at i.
func (n *inline) span(i int) (next int) {
	size := run(n.text[i:n.to], '`')
	if size > maxTicks || n.lastTicks()[size] <= i {
		return i + size
	}
	for at := i + size; ; {
		found := strings.IndexByte(n.text[at:n.to], '`')
		if found < 0 {
			return i + size
		}
		at += found
		length := run(n.text[at:n.to], '`')
		if length == size {
			n.codeAt(i+size, at, n.line)
			return n.skip(i, at+length)
		}
		at += length
	}
}

// lastTicks returns for each length where the last run of so many backticks begins, so
// that none is looked for in vain.
func (n *inline) lastTicks() *[maxTicks + 1]int {
	if n.ticks != nil {
		return n.ticks
	}
	n.ticks = new([maxTicks + 1]int)
	for at := n.from; ; {
		found := strings.IndexByte(n.text[at:n.to], '`')
		if found < 0 {
			return n.ticks
		}
		at += found
		size := run(n.text[at:n.to], '`')
		if size <= maxTicks {
			n.ticks[size] = at
		}
		at += size
	}
}

// tag reads the tag whose "#" is at i, if it is one.
func (n *inline) tag(i int) (next int) {
	if i > n.from && !blankBefore(n.text, i) {
		return i + 1
	}
	end, number := i+1, true
	for end < n.to {
		r, size := utf8.DecodeRuneInString(n.text[end:n.to])
		if !tagLetter(r) {
			break
		}
		number = number && '0' <= r && r <= '9'
		end += size
	}
	if tag := strings.TrimRight(n.text[i+1:end], "/"); tag != "" && !number {
		n.tags = append(n.tags, tag)
	}
	return end
}

// tagLetter reports whether Obsidian takes r for a part of a tag.
func tagLetter(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r > ' ' && !strings.ContainsRune("'!\"#$%&()*+,.:;<=>?@^`{|}~[]\\\x7F", r)
	case r >= 0x2000 && r <= 0x206F, r >= 0x2E00 && r <= 0x2E7F: // punctuation
		return r == 0x200D // joins the parts of an emoji
	}
	return !unicode.IsSpace(r) && r != 0xFEFF
}

// angle skips an HTML comment or "<https://…>".
func (n *inline) angle(i int) (next int) {
	rest := n.text[i:n.to]
	if strings.HasPrefix(rest, "<!--") {
		if n.noComment {
			return i + 1
		}
		end := strings.Index(rest[len("<!--"):], "-->")
		if n.noComment = end < 0; n.noComment {
			return i + 1
		}
		return n.skip(i, i+len("<!--")+end+len("-->"))
	}
	end := strings.IndexAny(rest[1:], "<> \t\n")
	if end > 0 && rest[1+end] == '>' && hasScheme(rest[1:1+end]) {
		return i + 1 + end + 1
	}
	return i + 1
}

// formula skips mathematics that begins with the "$" at i. As Obsidian has it, no blank
// follows the first "$" or precedes the last, and no digit follows that.
func (n *inline) formula(i int) (next int) {
	rest := n.text[i:n.to]
	if strings.HasPrefix(rest, "$$") {
		end := strings.Index(rest[2:], "$$")
		if end < 0 {
			return i + 2
		}
		return n.skip(i, i+2+end+2)
	}
	if n.noFormula || len(rest) < 2 || blankBefore(rest, 2) {
		return i + 1
	}
	for at := 2; ; {
		found := strings.IndexByte(rest[at:], '$')
		if found < 0 {
			break
		}
		at += found
		size := run(rest[at:], '$')
		digit := at+1 < len(rest) && '0' <= rest[at+1] && rest[at+1] <= '9'
		if size == 1 && !digit && rest[at-1] != '\\' && !blankBefore(rest, at) {
			return n.skip(i, i+at+1)
		}
		at += size
	}
	n.noFormula = true
	return i + 1
}

// blockID reads the id whose "^" is at i, if it is one: at the end of a line, after a
// blank or alone.
func (n *inline) blockID(i int) (next int) {
	if i > n.from && !blankBefore(n.text, i) {
		return i + 1
	}
	end := i + 1
	for end < n.to && idLetter(n.text[end]) {
		end++
	}
	rest := strings.TrimLeft(n.text[end:n.to], " \t\r")
	if end > i+1 && (rest == "" || rest[0] == '\n') {
		n.note.BlockIDs = append(n.note.BlockIDs, strings.Clone(n.text[i+1:end]))
	}
	return end
}

func idLetter(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-'
}

// blankBefore reports whether white space stands before i, which is not 0.
func blankBefore(s string, i int) bool {
	r, _ := utf8.DecodeLastRuneInString(s[:i])
	return unicode.IsSpace(r)
}
