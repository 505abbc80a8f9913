package property

import "errors"

// Split finds the frontmatter of a note's text: its YAML, without the lines of
// dashes, and the line (1-based) on which the rest of the note begins. Without
// frontmatter, yaml is "" and body is 1.
func Split(text string) (yaml string, body int) { return "", 1 }

// Parse reads the YAML of a frontmatter. Its error says in a sentence, with the
// line in the note, what is wrong; a document whose aliases would blow it up is
// refused.
func Parse(yaml string) (Properties, error) { return nil, errors.New("not built") }

// Get returns the value of a property.
func (p Properties) Get(name string) (value any, ok bool) { return nil, false }

// Matches says whether the property holds the value want, a text, number or
// boolean: a list does when one of its elements does. Texts are compared without
// regard to case, and "[[Note]]" equals "Note".
func (p Properties) Matches(name string, want any) bool { return false }

// Tags are the tags that the properties give the note (tags, tag), without "#".
func (p Properties) Tags() []string { return nil }

// Aliases are the further names of the note (aliases, alias).
func (p Properties) Aliases() []string { return nil }
