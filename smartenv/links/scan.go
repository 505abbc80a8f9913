package links

import (
	"slices"
	"strings"

	"smart-connections-mcp/smartenv/property"
)

// Scan reads what a note says from its text, which is valid UTF-8. The targets of
// its links are not set. Nothing it returns keeps the text alive.
//
// What it takes for what follows Obsidian, and CommonMark below that. Links, tags
// and block ids in "%% comments %%" count, as Obsidian lists them too; those in HTML
// comments and in formulas do not. Headings in quotes are none. Links by reference
// ("[text][name]") are not read. The time it takes grows with the length of the
// text and with nothing else.
func Scan(path, text string) Note {
	n := Note{Path: path}
	const usual = 64 // links in a note; room for more is made as they come
	if may := strings.Count(text, "[[") + strings.Count(text, "]("); may > 0 {
		n.Links = make([]Link, 0, min(may, usual))
	}
	s := scanner{text: text, note: &n}
	yaml, line := property.Split(text)
	var err error
	if n.Properties, err = property.Parse(yaml); err != nil {
		n.BadYAML = err.Error()
	} else {
		s.properties(yaml)
	}
	n.Aliases, s.tags = n.Properties.Aliases(), n.Properties.Tags()
	s.at = len(text) - len(strings.TrimPrefix(text, "\uFEFF"))
	for range line - 1 {
		_, rest, _ := strings.Cut(text[s.at:], "\n")
		s.at = len(text) - len(rest)
	}
	s.blocks(line)
	n.Tags = distinct(s.tags)
	return n
}

// scanner reads one note. Of the text it takes one block after the other; a run of
// text in which links and code spans may go over lines is a span.
type scanner struct {
	text string
	note *Note
	tags []string // as written, some of them twice

	at, line int // where the next line of text begins, and its number

	// The span that is open: from where and which line; spanAt is -1 when none is.
	spanAt, spanLine int
	plain            bool // it is a paragraph outside of lists, quotes and tables

	quote int   // how many ">" stand before the open block
	items []int // columns at which the text of the open list items begins, within the quote
	outer []int // those around the quote
	fence fence
}

// fence is an open block of code; it is none when mark is 0.
type fence struct {
	mark   byte // '`' or '~'
	length int
	quote  int // ">"s before it
	column int // text of its list item begins here: a line that begins before ends it
}

// distinct returns the tags, each as it was first written.
func distinct(tags []string) []string {
	if len(tags) == 0 {
		return nil
	}
	seen := make(map[string]bool, len(tags))
	kept := tags[:0]
	for _, tag := range tags {
		folded := strings.ToLower(tag)
		if !seen[folded] {
			seen[folded] = true
			kept = append(kept, strings.Clone(tag))
		}
	}
	return slices.Clip(kept)
}

// properties reads the wikilinks of a frontmatter whose first line is line 2.
func (s *scanner) properties(yaml string) {
	line, name := 1, ""
	for written := range strings.SplitSeq(yaml, "\n") {
		line++
		if key := fieldName(written); key != "" {
			name = strings.Clone(key)
		}
		if strings.HasPrefix(strings.TrimLeft(written, " \t"), "#") {
			continue // a comment
		}
		for at := 0; ; {
			next := strings.Index(written[at:], "[[")
			if next < 0 {
				break
			}
			at += next
			end := wikiEnd(written, at, len(written))
			if end < 0 {
				at++
				continue
			}
			if l, ok := wikilink(written[at:end]); ok {
				quote := strings.LastIndexAny(written[:at], `"'`)
				if quote >= 0 {
					l.Target = unquote(l.Target, written[quote])
				}
				l.Line, l.Property = line, name
				s.note.Links = append(s.note.Links, l)
			}
			at = end
		}
	}
}

// fieldName is the name of the property that begins on this line of YAML, if one does.
func fieldName(line string) string {
	if line == "" || strings.IndexByte(" \t#-", line[0]) >= 0 {
		return ""
	}
	line = strings.TrimRight(line, "\r")
	name, _, ok := strings.Cut(line, ": ")
	if !ok {
		if name, ok = strings.CutSuffix(line, ":"); !ok {
			return ""
		}
	}
	return strings.Trim(strings.TrimSpace(name), `"'`)
}

// unquote undoes what a text of YAML between such quotes needs for its quotes.
func unquote(s string, quote byte) string {
	if quote == '\'' {
		return strings.ReplaceAll(s, "''", "'")
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(s)
}
