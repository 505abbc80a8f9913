package bert

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normaliser brings text into the form that is split into words, in the order
// of transformers.js's BertNormalizer: clean, isolate CJK, lower-case, strip
// accents.
type normaliser struct {
	clean, isolate, lower, strip bool
}

// normalise returns the normalised text. Invalid UTF-8 counts as U+FFFD.
func (n normaliser) normalise(text string) string {
	out := make([]byte, 0, len(text)+len(text)/8)
	sigma := false
	for _, r := range text {
		if n.clean {
			if isDropped(r) {
				continue
			}
			if isSpace(r) {
				r = ' '
			}
		}
		switch {
		case n.isolate && isIdeograph(r):
			out = append(out, ' ')
			out = utf8.AppendRune(out, r)
			out = append(out, ' ')
			continue
		case n.lower && r == 'Σ':
			sigma = true // which of the two small letters depends on what follows
		case n.lower && r == 'İ':
			out = append(out, 'i') // U+0130 alone has a lower case of two characters
			r = '\u0307'
		case n.lower:
			r = toLower(r)
		}
		out = utf8.AppendRune(out, r)
	}
	if sigma {
		lowerSigmas(out)
	}
	if n.strip {
		out = stripAccents(out)
	}
	return string(out)
}

// stripAccents decomposes the text (NFD) and removes its nonspacing marks. It
// is not composed again: Hangul stays in single letters.
func stripAccents(text []byte) []byte {
	if isASCII(text) {
		return text
	}
	text = norm.NFD.Bytes(text)
	kept := text[:0]
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r < utf8.RuneSelf || !unicode.Is(unicode.Mn, r) {
			kept = append(kept, text[:size]...)
		}
		text = text[size:]
	}
	return kept
}

// lowerSigmas replaces each capital sigma in place (all three are two bytes
// long) by Unicode's Final_Sigma rule: ς at the end of a word, σ elsewhere.
// Case-ignorable characters are looked through on both sides.
func lowerSigmas(text []byte) {
	for at := 0; ; at += len("Σ") {
		i := bytes.Index(text[at:], []byte("Σ"))
		if i < 0 {
			return
		}
		at += i
		small := "σ"
		if endsCased(text[:at]) && !startsCased(text[at+len("Σ"):]) {
			small = "ς"
		}
		copy(text[at:], small)
	}
}

func endsCased(text []byte) bool {
	for len(text) > 0 {
		r, size := utf8.DecodeLastRune(text)
		if !isCaseIgnorable(r) {
			return isCased(r)
		}
		text = text[:len(text)-size]
	}
	return false
}

func startsCased(text []byte) bool {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if !isCaseIgnorable(r) {
			return isCased(r)
		}
		text = text[size:]
	}
	return false
}

// toLower is Unicode's simple lower case, with a short way for ASCII.
func toLower(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}
	return unicode.ToLower(r)
}

// isDropped reports whether cleaning removes r: U+0000, U+FFFD and the
// categories Cc, Cf, Co, but for tab, newline and carriage return. (Cs, lone
// surrogates, cannot occur in UTF-8; they arrive here as U+FFFD.)
func isDropped(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7F
	}
	return r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
}

// isSpace is JavaScript's \s.
func isSpace(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\v', '\f', '\r', 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return 0x2000 <= r && r <= 0x200A
}

// isIdeograph reports whether r becomes a word of its own. transformers.js
// looks at UTF-16 units, so ideographs beyond U+FFFF are not among them.
func isIdeograph(r rune) bool {
	return 0x3400 <= r && r <= 0x4DBF || 0x4E00 <= r && r <= 0x9FFF || 0xF900 <= r && r <= 0xFAFF
}

// isPunctuation is \p{P} and every ASCII symbol.
func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return '!' <= r && r <= '/' || ':' <= r && r <= '@' || '[' <= r && r <= '`' || '{' <= r && r <= '~'
	}
	return unicode.IsPunct(r)
}

// isCased is Unicode's derived property Cased.
func isCased(r rune) bool {
	return unicode.In(r, unicode.Ll, unicode.Lu, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// isCaseIgnorable is Unicode's derived property Case_Ignorable: the
// categories, and the characters that stand within words (Word_Break MidLetter,
// MidNumLet and Single_Quote).
func isCaseIgnorable(r rune) bool {
	switch r {
	case '\'', '.', ':', 0xB7, 0x387, 0x55F, 0x5F4, 0x2018, 0x2019, 0x2024, 0x2027,
		0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A:
		return true
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

func isASCII(text []byte) bool {
	for _, b := range text {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
