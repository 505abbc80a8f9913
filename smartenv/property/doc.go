// Package property reads the properties of notes, which Obsidian keeps as YAML
// between two lines of "---" at the beginning of a note, its frontmatter.
//
// It is pure and knows no files. What it makes of YAML is plain data as JSON
// knows it: string, float64, bool, nil, []any and map[string]any; a date stays the
// text that was written.
package property

// Properties are the properties of one note by name, as the note spells them.
// Names are compared without regard to case.
type Properties map[string]any
