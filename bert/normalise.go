package bert

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normaliser brings text into the form that is split into words, in the order
// of transformers.js's BertNormalizer: clean, isolate CJK, lower-case, strip
// accents.
type normaliser struct {
	clean, isolate, lower, strip bool
	ascii                        [utf8.RuneSelf]byte // what each ASCII character becomes, or gone
}

const gone = 0xFF // no ASCII character

func newNormaliser(s WordPiece) *normaliser {
	n := &normaliser{clean: s.CleanText, isolate: s.ChineseChars, lower: s.Lowercase, strip: s.StripAccents}
	for b := range n.ascii {
		r := rune(b)
		switch {
		case n.clean && isDropped(r):
			r = gone
		case n.clean && isSpace(r):
			r = ' '
		case n.lower:
			r = unicode.ToLower(r)
		}
		n.ascii[b] = byte(r)
	}
	return n
}

// normalise appends the normalised text to out. Invalid UTF-8 counts as U+FFFD.
func (n *normaliser) normalise(out []byte, text string) []byte {
	out = slices.Grow(out, len(text)+len(text)/8)
	beyond := -1 // where in out the characters beyond ASCII begin
	for at, size := 0, 0; at < len(text); at += size {
		if b := text[at]; b < utf8.RuneSelf {
			size = 1
			if b = n.ascii[b]; b != gone {
				out = append(out, b)
			}
			continue
		}
		if beyond < 0 {
			beyond = len(out)
		}
		var r rune
		r, size = utf8.DecodeRuneInString(text[at:])
		switch {
		case n.clean && isDropped(r):
		case n.clean && isSpace(r):
			out = append(out, ' ')
		case n.isolate && isIdeograph(r):
			out = append(n.appendRune(append(out, ' '), r), ' ')
		case n.lower && r == 'Σ':
			out = n.appendRune(out, n.smallSigma(text[:at], text[at+size:]))
		case n.lower && r == 'İ': // alone has a lower case of two characters
			out = n.appendRune(append(out, 'i'), '\u0307')
		case n.lower:
			out = n.appendRune(out, unicode.ToLower(r))
		default:
			out = n.appendRune(out, r)
		}
	}
	if n.strip && beyond >= 0 {
		out = dropMarks(out, beyond)
	}
	return out
}

// appendRune appends a character, decomposed (NFD) if it is to be stripped of its
// accents. It is not composed again: Hangul stays in single letters.
func (n *normaliser) appendRune(out []byte, r rune) []byte {
	at := len(out)
	out = utf8.AppendRune(out, r)
	if !n.strip || r < utf8.RuneSelf {
		return out
	}
	if '가' <= r && r <= '힣' {
		return appendJamo(out[:at], r)
	}
	if parts := norm.NFD.Properties(out[at:]).Decomposition(); parts != nil {
		out = append(out[:at], parts...)
	}
	return out
}

// dropMarks removes the nonspacing marks from a text, in place, and brings the
// other marks that stand in a row into their canonical order.
func dropMarks(text []byte, from int) []byte {
	kept, row := text[:from], from // in kept[row:] are marks only
	for size := 0; from < len(text); from += size {
		var r rune
		var class uint8 // 0: no mark, or one that others do not pass
		if r, size = utf8.DecodeRune(text[from:]); r >= utf8.RuneSelf {
			class = norm.NFD.Properties(text[from:]).CCC()
		}
		if class == 0 {
			sortMarks(kept[row:])
		}
		if r < utf8.RuneSelf || !unicode.Is(unicode.Mn, r) {
			kept = append(kept, text[from:from+size]...)
		}
		if class == 0 {
			row = len(kept)
		}
	}
	sortMarks(kept[row:])
	return kept
}

func sortMarks(row []byte) {
	if len(row) == 0 {
		return
	}
	marks := []rune(string(row))
	class := func(r rune) uint8 { return norm.NFD.PropertiesString(string(r)).CCC() }
	slices.SortStableFunc(marks, func(a, b rune) int { return cmp.Compare(class(a), class(b)) })
	copy(row, string(marks))
}

// appendJamo decomposes a Hangul syllable by Unicode's formula.
func appendJamo(out []byte, r rune) []byte {
	const vowels, tails = 21, 28
	r -= '가'
	out = utf8.AppendRune(out, 0x1100+r/(vowels*tails))
	out = utf8.AppendRune(out, 0x1161+r/tails%vowels)
	if tail := r % tails; tail > 0 {
		out = utf8.AppendRune(out, 0x11A7+tail)
	}
	return out
}

// smallSigma is the small letter of a capital sigma by Unicode's Final_Sigma
// rule: ς at the end of a word, σ elsewhere. Case-ignorable characters, and
// those that cleaning drops, are looked through on both sides.
func (n *normaliser) smallSigma(before, after string) rune {
	for len(before) > 0 {
		r, size := utf8.DecodeLastRuneInString(before)
		if before = before[:len(before)-size]; n.isLookedThrough(r) {
			continue
		}
		if isCased(r) && !n.startsCased(after) {
			return 'ς'
		}
		break
	}
	return 'σ'
}

func (n *normaliser) startsCased(text string) bool {
	for _, r := range text {
		if !n.isLookedThrough(r) {
			return isCased(r)
		}
	}
	return false
}

func (n *normaliser) isLookedThrough(r rune) bool {
	return isCaseIgnorable(r) || n.clean && isDropped(r)
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
