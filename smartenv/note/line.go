package note

import (
	"strconv"
	"strings"
)

// The plugin recognises a line by patterns over JavaScript white space, in
// which "." matches no line terminator. In a note with CRLF line ends the "\r"
// therefore keeps list items, matched untrimmed, from being recognised at all.

// parseHeading matches a trimmed line against #{1,6}, space, title.
func parseHeading(trimmed string) (level int, title string, ok bool) {
	rest := strings.TrimLeft(trimmed, "#")
	level = len(trimmed) - len(rest)
	title = trimSpaceLeft(rest)
	if level < 1 || level > 6 || title == "" || len(title) == len(rest) || hasLineTerminator(title) {
		return 0, "", false
	}
	return level, title, true
}

// parseItem matches an untrimmed line against a list item: "- ", "* " or "1. "
// and at least one more character. "+" and "1)" are none to the plugin.
func parseItem(raw string) (indented, ok bool) {
	rest := trimSpaceLeft(raw)
	indented = len(rest) < len(raw)
	marker := strings.TrimLeft(rest, "0123456789")
	switch {
	case strings.HasPrefix(rest, "- "), strings.HasPrefix(rest, "* "):
		rest = rest[2:]
	case len(marker) < len(rest) && strings.HasPrefix(marker, ". "):
		rest = marker[2:]
	default:
		return false, false
	}
	return indented, rest != "" && !hasLineTerminator(rest)
}

// taskMark matches the beginning of a line against a task, "- [x]", and returns
// what stands between the brackets. Unlike in a list item, "+" is a bullet.
func taskMark(s string) (mark byte, ok bool) {
	if s == "" || !strings.ContainsRune("-*+", rune(s[0])) {
		return 0, false
	}
	box := trimSpaceLeft(s[1:])
	if len(box) == len(s)-1 || len(box) < 3 || box[0] != '[' || box[2] != ']' {
		return 0, false
	}
	mark = box[1]
	return mark, mark == ' ' || mark == 'x' || mark == 'X'
}

func itoa(n int) string { return strconv.Itoa(n) }
