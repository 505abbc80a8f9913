package bert

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// step is one step of the normaliser before a Unigram model.
type step struct {
	kind        string // "Precompiled", "Strip" or "Replace"
	left, right bool   // sides of Strip
	by          string // what Replace puts for two and more spaces
}

func (s step) apply(text string) string {
	switch s.kind {
	case "Precompiled":
		return precompiled(text)
	case "Replace":
		return replaceRuns(text, s.by)
	}
	if s.left {
		text = strings.TrimLeftFunc(text, isSpace)
	}
	if s.right {
		text = strings.TrimRightFunc(text, isSpace)
	}
	return text
}

// precompiled is what transformers.js takes SentencePiece's table of
// characters for, without a look at the table: some control characters go,
// white space and some of no width become spaces, and the rest is composed
// (NFKC), the full-width tilde parting what is composed. Invalid UTF-8 counts
// as U+FFFD.
func precompiled(text string) string {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		switch {
		case isRemoved(r):
			continue
		case isBlank(r):
			r = ' '
		}
		out = utf8.AppendRune(out, r)
	}
	if !slices.ContainsFunc(out, func(b byte) bool { return b >= utf8.RuneSelf }) {
		return string(out)
	}
	const tilde = "\uFF5E"
	parts := strings.Split(string(out), tilde)
	for i, part := range parts {
		parts[i] = nfkc(part)
	}
	return strings.Join(parts, tilde)
}

// isRemoved: U+0000, most of U+0080 to U+009F and the other controls stay.
func isRemoved(r rune) bool {
	return 0x01 <= r && r <= 0x08 || r == 0x0B || 0x0E <= r && r <= 0x1F || r == 0x7F || r == 0x8F || r == 0x9F
}

// isBlank: JavaScript's white space, what marks the direction or joins at no
// width, the mark of spaces itself, and U+FFFD.
func isBlank(r rune) bool {
	return isSpace(r) || 0x200B <= r && r <= 0x200F || r == '▁' || r == utf8.RuneError
}

// replaceRuns replaces each run of two and more spaces.
func replaceRuns(text, by string) string {
	var out strings.Builder
	for {
		at := strings.Index(text, "  ")
		if at < 0 {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:at])
		out.WriteString(by)
		text = strings.TrimLeft(text[at:], " ")
	}
}

// nfkc composes text by Unicode's form KC. The norm package breaks up more
// than 30 combining marks in a row by putting U+034F between them (stream-safe
// text), which no other library does; there the form is computed anew.
func nfkc(text string) string {
	const joiner = "\u034F"
	out := norm.NFKC.String(text)
	if strings.Count(out, joiner) != strings.Count(text, joiner) {
		return nfkcLong(text)
	}
	return out
}

// nfkcLong is nfkc by the letter of the standard (UAX 15): decompose, order
// the marks after each starter by class, compose what is not blocked.
func nfkcLong(text string) string {
	type char struct {
		r     rune
		class uint8 // canonical combining class; 0: a starter
	}
	var chars []char
	for _, r := range text {
		for _, part := range norm.NFKD.String(string(r)) {
			chars = append(chars, char{part, norm.NFKD.PropertiesString(string(part)).CCC()})
		}
	}
	for at := 0; at < len(chars); at++ {
		end := at
		for end < len(chars) && chars[end].class != 0 {
			end++
		}
		slices.SortStableFunc(chars[at:end], func(a, b char) int { return cmp.Compare(a.class, b.class) })
		at = end
	}
	out := chars[:0]
	starter := -1 // in out
	for _, c := range chars {
		if starter >= 0 {
			last := out[len(out)-1]
			if starter == len(out)-1 || last.class < c.class {
				if pair, ok := composed(out[starter].r, c.r); ok {
					out[starter].r = pair
					continue
				}
			}
		}
		if c.class == 0 {
			starter = len(out)
		}
		out = append(out, c)
	}
	var b strings.Builder
	for _, c := range out {
		b.WriteRune(c.r)
	}
	return b.String()
}

// composed is the one character that a starter and what follows make up.
func composed(starter, next rune) (rune, bool) {
	pair := norm.NFC.String(string([]rune{starter, next}))
	r, size := utf8.DecodeRuneInString(pair)
	return r, size == len(pair)
}
