package property

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Get returns the value of a property. Of several whose names differ in case alone
// it is the one spelled like name, or else the first in the order of the alphabet.
func (p Properties) Get(name string) (value any, ok bool) {
	if v, ok := p[name]; ok {
		return v, true
	}
	found := ""
	for spelled := range p {
		if strings.EqualFold(spelled, name) && (!ok || spelled < found) {
			found, ok = spelled, true
		}
	}
	return p[found], ok
}

// Matches says whether the property holds the value want, a text, number or
// boolean: a list does when one of its elements does. Texts are compared without
// regard to case, and "[[Note]]" equals "Note". A number or boolean equals the text
// that writes it, as callers and notes disagree about quotes.
func (p Properties) Matches(name string, want any) bool {
	value, ok := p.Get(name)
	return ok && matches(value, bare(text(want)))
}

func matches(value any, want string) bool {
	switch v := value.(type) {
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return matches(item, want) })
	case map[string]any:
		return false
	}
	return strings.EqualFold(bare(text(value)), want)
}

// bare is s without blanks around it, and without the brackets and label of a wikilink.
func bare(s string) string {
	s = strings.TrimSpace(s)
	inner, opened := strings.CutPrefix(s, "[[")
	inner, closed := strings.CutSuffix(inner, "]]")
	if !opened || !closed {
		return s
	}
	target, _, _ := strings.Cut(inner, "|")
	return strings.TrimSpace(target)
}

// text writes a value that is no list or map; nothing is "".
func text(value any) string {
	switch v := value.(type) {
	case nil, []any, map[string]any:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// Tags are the tags that the properties give the note (tags, tag), without "#":
// a list, or one text with commas or blanks between them. Each is there once.
func (p Properties) Tags() []string {
	var tags []string
	seen := map[string]bool{}
	for _, written := range p.texts("tags", "tag") {
		for _, tag := range strings.FieldsFunc(written, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
			tag = strings.TrimLeft(tag, "#")
			folded := strings.ToLower(tag)
			if strings.Trim(tag, "0123456789") != "" && !seen[folded] { // a number is no tag
				seen[folded] = true
				tags = append(tags, tag)
			}
		}
	}
	return tags
}

// Aliases are the further names of the note (aliases, alias): a list, or one text.
func (p Properties) Aliases() []string {
	var aliases []string
	for _, alias := range p.texts("aliases", "alias") {
		if alias = strings.TrimSpace(alias); alias != "" {
			aliases = append(aliases, alias)
		}
	}
	return aliases
}

// texts gathers the texts of the properties with these names, whatever their case.
func (p Properties) texts(names ...string) []string {
	var texts []string
	for _, name := range names {
		value, _ := p.Get(name)
		list, ok := value.([]any)
		if !ok {
			list = []any{value}
		}
		for _, item := range list {
			texts = append(texts, text(item))
		}
	}
	return texts
}
