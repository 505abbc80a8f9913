package note

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// errShrunk says that a note no longer has the lines asked for, so that any
// text quoted for them would be the wrong one.
var errShrunk = errors.New("the note has fewer lines than when it was indexed: let Obsidian index it again")

// Excerpt returns lines start to end (1-based, inclusive; end 0 means the last
// line) of text for showing: valid UTF-8 of at most limit characters, counted
// in UTF-16 units, cut between characters as people see them (at least between
// code points), without "\r" and trailing blank lines. When the text does not
// have these lines, the error is errShrunk.
func Excerpt(text string, start, end, limit int) (string, error) {
	from, to, ok := lineSpan(text, start, end)
	if !ok {
		return "", errShrunk
	}
	limit = max(0, limit)
	head, whole := readable(text[from:to], limit)
	if !whole {
		head = cutGraphemes(head, limit)
	}
	return trimBlankLines(head), nil
}

// readable decodes the beginning of raw without "\r", a little further than
// limit units, and reports whether that is all of it.
func readable(raw string, limit int) (head string, whole bool) {
	var b strings.Builder
	for n := 0; raw != ""; {
		r, size := utf8.DecodeRuneInString(raw)
		if r == utf8.RuneError && size == 1 {
			size = brokenPrefix(raw)
		}
		raw = raw[size:]
		if r == '\r' {
			continue
		}
		b.WriteRune(r)
		if n += units(r); n > limit {
			return b.String(), false
		}
	}
	return b.String(), true
}

// cutGraphemes returns the longest run of whole user-perceived characters at the
// beginning of s that fits into limit units. A first character that is longer
// than that is cut between code points.
func cutGraphemes(s string, limit int) string {
	kept, left := 0, limit
	for rest, state := s, -1; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if left -= Len16(cluster); left < 0 {
			break
		}
		kept += len(cluster)
	}
	if kept == 0 {
		return Prefix16(s, limit)
	}
	return s[:kept]
}

// trimBlankLines drops lines of nothing but white space from the end of s, and
// the line break before them.
func trimBlankLines(s string) string {
	for {
		at := strings.LastIndexByte(s, '\n')
		if trimSpace(s[at+1:]) != "" {
			return s
		}
		if at < 0 {
			return ""
		}
		s = s[:at]
	}
}
