package bert

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normaliser brings text into the form that is split into words, in the order
// of transformers.js's BertNormalizer: clean, isolate CJK, lower-case, strip
// accents. Each character goes through all four before the next is looked at.
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
	fixed := len(out)
	for at, size := 0, 0; at < len(text); at += size {
		if b := text[at]; b < utf8.RuneSelf {
			size = 1
			if b = n.ascii[b]; b != gone {
				out = append(out, b)
			}
			continue
		}
		var r rune
		r, size = utf8.DecodeRuneInString(text[at:])
		switch {
		case n.clean && isDropped(r):
		case n.clean && isSpace(r):
			out = append(out, ' ')
		case n.isolate && isIdeograph(r):
			out, fixed = n.append(append(out, ' '), fixed, r)
			out = append(out, ' ')
		case n.lower && r == 'Σ':
			out, fixed = n.append(out, fixed, n.smallSigma(text[:at], text[at+size:]))
		case n.lower && r == 'İ': // alone has a lower case of two characters
			out, fixed = n.append(append(out, 'i'), fixed, '\u0307')
		case n.lower:
			out, fixed = n.append(out, fixed, unicode.ToLower(r))
		default:
			out, fixed = n.append(out, fixed, r)
		}
	}
	return out
}

// append appends a character, stripped of its accents if that is asked for: it
// is decomposed (NFD) and its nonspacing marks left out. It is not composed
// again: Hangul stays in single letters. What stands before out[fixed:] keeps
// its place when marks that stay come into the order of their classes.
func (n *normaliser) append(out []byte, fixed int, r rune) ([]byte, int) {
	at := len(out)
	out = utf8.AppendRune(out, r)
	if !n.strip || r < utf8.RuneSelf {
		return out, fixed
	}
	if '가' <= r && r <= '힣' {
		return appendJamo(out[:at], r), fixed
	}
	parts := norm.NFD.Properties(out[at:]).Decomposition()
	if parts == nil {
		parts = out[at:]
	}
	out = out[:at]
	for size := 0; len(parts) > 0; parts = parts[size:] {
		r, size = utf8.DecodeRune(parts)
		class := norm.NFD.Properties(parts).CCC() // 0: no mark, or one that others do not pass
		switch {
		case r < utf8.RuneSelf || !unicode.Is(unicode.Mn, r):
			out = insertMark(out, fixed, r, class)
		case class == 0:
			fixed = len(out)
		}
	}
	return out, fixed
}

// insertMark appends a character, a mark before those of higher classes.
func insertMark(out []byte, fixed int, r rune, class uint8) []byte {
	at := len(out)
	for class > 0 && at > fixed {
		_, size := utf8.DecodeLastRune(out[:at])
		if norm.NFD.Properties(out[at-size:]).CCC() <= class {
			break
		}
		at -= size
	}
	if at == len(out) {
		return utf8.AppendRune(out, r)
	}
	return slices.Insert(out, at, []byte(string(r))...)
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
