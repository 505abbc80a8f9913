package links

import "strings"

type blockKind int

const (
	blockText blockKind = iota
	blockHeading
	blockUnderline // of a heading, or a rule when no paragraph stands above
	blockRule
	blockFence
	blockItem
	blockRow // of a table
	blockComment
	blockMath
)

// blockStart says what a line begins that starts with no blank and ends with none. size is
// the length of what marks it: "#"s, a fence, the bullet or number of an item.
func blockStart(line string) (kind blockKind, size int) {
	switch c := line[0]; c {
	case '#':
		size = run(line, '#')
		if size <= 6 && (len(line) == size || line[size] == ' ' || line[size] == '\t') {
			return blockHeading, size
		}
	case '`', '~':
		size = run(line, c)
		if size >= 3 && (c == '~' || strings.IndexByte(line[size:], '`') < 0) {
			return blockFence, size
		}
	case '=':
		if run(line, c) == len(line) {
			return blockUnderline, len(line)
		}
	case '-', '*', '_', '+':
		return bullet(line)
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		size = len(line) - len(strings.TrimLeft(line, "0123456789"))
		if size <= 9 && size < len(line) && (line[size] == '.' || line[size] == ')') && blankAt(line, size+1) {
			return blockItem, size + 1
		}
	case '|':
		return blockRow, 1
	case '<':
		if strings.HasPrefix(line, "<!--") {
			return blockComment, len("<!--")
		}
	case '$':
		if strings.HasPrefix(line, "$$") {
			return blockMath, len("$$")
		}
	}
	return blockText, 0
}

// bullet tells apart what begins with one of -*_+.
func bullet(line string) (kind blockKind, size int) {
	c := line[0]
	if c == '-' && run(line, c) == len(line) {
		return blockUnderline, len(line)
	}
	if c != '+' && len(line) >= 3 && strings.Trim(line, string(rune(c))+" \t") == "" && strings.Count(line, string(rune(c))) >= 3 {
		return blockRule, len(line)
	}
	if c != '_' && blankAt(line, 1) {
		return blockItem, 1
	}
	return blockText, 0
}

// run is how often c stands at the beginning of s.
func run(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

// blankAt reports whether a blank or the end of the line is at i.
func blankAt(line string, i int) bool {
	return i == len(line) || line[i] == ' ' || line[i] == '\t'
}
