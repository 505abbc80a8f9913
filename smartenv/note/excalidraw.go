package note

import "strings"

// Body returns the text in which the lines of a note's blocks count. That is
// the note's text itself, except for a drawing (*.excalidraw.md): there the
// plugin reads only the drawn text elements, one a line, without their block
// ids, and hashes the whole file nonetheless (format section 6.4). Give Body's
// result, not the file's text, to BlockText and Excerpt.
func Body(path, text string) string {
	if !strings.HasSuffix(strings.ToLower(path), ".excalidraw.md") {
		return text
	}
	_, elements, ok := strings.Cut(text, "# Text Elements")
	if !ok {
		return ""
	}
	elements, _, _ = strings.Cut(elements, "# Drawing")
	var kept []string
	for line := range strings.SplitSeq(trimSpace(elements), "\n") {
		line = dropBlockID(trimSpace(line))
		if line == "" || strings.HasPrefix(line, "%%") || strings.HasPrefix(line, "#") {
			continue
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}

// dropBlockID removes from a trimmed line a trailing " ^id", Obsidian's name for a line.
func dropBlockID(line string) string {
	at := strings.LastIndexByte(line, '^')
	if at < 0 || at == len(line)-1 || strings.ContainsFunc(line[at:], isSpace) {
		return line
	}
	text := trimSpace(line[:at])
	if len(text) == at && at > 0 {
		return line // a power, as in 2^10
	}
	return text
}
