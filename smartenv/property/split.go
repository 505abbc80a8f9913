package property

import "strings"

// Split finds the frontmatter of a note's text: its YAML, without the lines of
// dashes, and the line (1-based) on which the rest of the note begins. Without
// frontmatter, yaml is "" and body is 1. The first line must be "---", behind a
// byte order mark if there is one, and another such line must end it; blanks after
// the dashes do not count.
func Split(text string) (yaml string, body int) {
	text = strings.TrimPrefix(text, "\uFEFF")
	if !strings.HasPrefix(text, "---") {
		return "", 1
	}
	rest, ok := afterRule(text)
	if !ok {
		return "", 1
	}
	for at, line := 0, 2; at < len(rest); line++ {
		if strings.HasPrefix(rest[at:], "---") && isRule(rest[at:]) {
			return rest[:at], line + 1
		}
		length := strings.IndexByte(rest[at:], '\n')
		if length < 0 {
			break
		}
		at += length + 1
	}
	return "", 1
}

// afterRule returns what follows the first line of text, which must be a rule.
func afterRule(text string) (rest string, ok bool) {
	_, rest, found := strings.Cut(text, "\n")
	return rest, found && isRule(text)
}

// isRule reports whether the first line of text, which begins with "---", holds
// nothing else.
func isRule(text string) bool {
	blanks := strings.TrimLeft(text[len("---"):], " \t\r\u00A0\uFEFF")
	return blanks == "" || blanks[0] == '\n'
}
