package note

import "strings"

// NoteInput returns the text that the plugin hands to the embedding model for a
// whole note: its path as breadcrumbs, ":\n", and the text, cut to
// floor(3.7·MaxTokens) UTF-16 units. It is "" for an empty note, which is never
// embedded. When a block of the note lies under an excluded heading, empty
// lines are dropped; that is all excluded headings ever do (format section 7.1).
// For a drawing (*.excalidraw.md) the text is the one Body gives.
func NoteInput(path, text string, r Rules) string {
	if text == "" {
		return ""
	}
	text = Body(path, text)
	if len(r.ExcludedHeadings) > 0 && anyExcluded(path, parseBlocks(text, nil), r.ExcludedHeadings) {
		text = dropEmptyLines(text)
	}
	return Prefix16(trail(path)+":\n"+text, r.MaxUnits())
}

// BlockInput returns the text that the plugin hands to the embedding model for
// a block: its breadcrumbs, "\n", and the block's text, which has no cap of its own
// (format section 7.2).
func BlockInput(path, key, blockText string) string {
	return breadcrumbs(path, key) + "\n" + blockText
}

// breadcrumbs returns where a block stands: its note's path and the pieces of
// its key but the last, joined with " > ". A piece can be empty, which leaves
// two spaces: "##X#{1}" in a.md is "a >  > X".
func breadcrumbs(path, key string) string {
	full := path + key
	if at := strings.LastIndexByte(full, '#'); at >= 0 {
		full = full[:at]
	} else {
		full = ""
	}
	return trail(strings.ReplaceAll(full, "#", " > "))
}

// trail turns a path into breadcrumbs: folders separated by " > ", the first
// ".md" removed wherever it stands.
func trail(path string) string {
	return strings.Replace(strings.ReplaceAll(path, "/", " > "), ".md", "", 1)
}

// anyExcluded reports whether a piece of any block's key is an excluded heading.
func anyExcluded(path string, blocks []Block, headings []string) bool {
	excluded := make(map[string]bool, len(headings))
	for _, h := range headings {
		if h = trimSpace(h); h != "" {
			excluded[h] = true
		}
	}
	for _, b := range blocks {
		for piece := range strings.SplitSeq(path+b.Key, "#") {
			if excluded[piece] {
				return true
			}
		}
	}
	return false
}

func dropEmptyLines(text string) string {
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
