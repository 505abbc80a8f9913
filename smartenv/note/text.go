package note

import (
	"iter"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	bom         = "\uFEFF"
	replacement = "\uFFFD"
)

// Decode reads raw bytes as UTF-8 the way Obsidian does (WHATWG): each maximal
// run of bytes that begins a character but does not finish it becomes one
// U+FFFD. Go's own conversion would give one per byte and change lengths and
// hashes. Valid text comes back as it is.
func Decode(raw string) string {
	if utf8.ValidString(raw) {
		return raw
	}
	var b strings.Builder
	b.Grow(len(raw) + len(raw)/8)
	for raw != "" {
		if r, size := utf8.DecodeRuneInString(raw); r != utf8.RuneError || size > 1 {
			b.WriteString(raw[:size])
			raw = raw[size:]
			continue
		}
		b.WriteString(replacement)
		raw = raw[brokenPrefix(raw):]
	}
	return b.String()
}

// brokenPrefix returns how many bytes of s, which begins with a malformed
// sequence, belong to that one sequence: the lead byte and the continuation
// bytes that are still in order.
func brokenPrefix(s string) int {
	low, high, more := byte(0x80), byte(0xBF), 0
	switch lead := s[0]; {
	case lead >= 0xC2 && lead <= 0xDF:
		more = 1
	case lead >= 0xE0 && lead <= 0xEF:
		more = 2
		if lead == 0xE0 { // shorter forms exist
			low = 0xA0
		} else if lead == 0xED { // surrogates
			high = 0x9F
		}
	case lead >= 0xF0 && lead <= 0xF4:
		more = 3
		if lead == 0xF0 {
			low = 0x90
		} else if lead == 0xF4 { // beyond U+10FFFF
			high = 0x8F
		}
	}
	n := 1
	for ; n <= more && n < len(s) && s[n] >= low && s[n] <= high; n++ {
		low, high = 0x80, 0xBF
	}
	return n
}

// Variants yields the forms of a file's bytes under which the plugin may have
// hashed it, each once: the text as it is, without byte order mark, with CRLF
// or with LF line ends. Git, sync tools and editors change these without
// changing a word, so they do not make a note stale (format section 5.2).
func Variants(raw string) iter.Seq[string] {
	decoded := Decode(raw)
	bases := []string{decoded}
	if bare, found := strings.CutPrefix(decoded, bom); found {
		bases = append(bases, bare)
	}
	return func(yield func(string) bool) {
		for _, base := range bases {
			if !yield(base) {
				return
			}
		}
		for _, base := range bases {
			lf := strings.ReplaceAll(base, "\r\n", "\n")
			crlf := strings.ReplaceAll(lf, "\n", "\r\n")
			for _, variant := range []string{crlf, lf} {
				if variant != base && !yield(variant) {
					return
				}
			}
		}
	}
}

// Match looks for the variant of a file's bytes whose Hash is the stored one.
// The text returned is the one the plugin saw: rebuild embed inputs from it.
// When nothing matches, text is Decode(raw) and ok is false.
func Match(raw, hash string) (text string, ok bool) {
	for variant := range Variants(raw) {
		if Hash(variant) == hash {
			return variant, true
		}
	}
	return Decode(raw), false
}

// In looks for the block in a file's bytes: the text at its lines, in the
// variant in which that text has the block's hash. It is false when other text
// stands there now. path is the note's.
func (b Block) In(path, raw string) (text string, ok bool) {
	for variant := range Variants(raw) {
		text, ok := BlockText(Body(path, variant), b.Start, b.End)
		if ok && Hash(text) == b.Hash {
			return text, true
		}
	}
	return "", false
}

// Len16 returns the length of s in UTF-16 units, the plugin's measure of text.
func Len16(s string) int {
	n := 0
	for _, r := range s {
		n += units(r)
	}
	return n
}

// Prefix16 returns the first n UTF-16 units of s. Where the cut falls between
// the halves of a surrogate pair, the pair is dropped.
func Prefix16(s string, n int) string {
	if len(s) <= n { // no character has more units than bytes
		return s
	}
	for i, r := range s {
		if n -= units(r); n < 0 {
			return s[:i]
		}
	}
	return s
}

// units returns how many UTF-16 units r takes.
func units(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

func surrogates(r rune) (high, low rune) { return utf16.EncodeRune(r) }

// isSpace reports whether JavaScript counts r as white space. unicode.IsSpace
// differs: it has U+0085 and lacks U+FEFF.
func isSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return r >= 0x2000 && r <= 0x200A
}

func trimSpace(s string) string     { return strings.TrimFunc(s, isSpace) }
func trimSpaceLeft(s string) string { return strings.TrimLeftFunc(s, isSpace) }

// hasLineTerminator reports whether s holds a character that "." does not match
// in a JavaScript pattern.
func hasLineTerminator(s string) bool { return strings.ContainsAny(s, "\n\r\u2028\u2029") }

// lineSpan returns the byte range of lines start to end (1-based, inclusive)
// of text, without the last one's "\n"; end 0 means the last line. A final
// "\n" is followed by one more, empty line, as in the plugin's count.
func lineSpan(text string, start, end int) (from, to int, ok bool) {
	if start < 1 || end != 0 && end < start {
		return 0, 0, false
	}
	for line, at := 1, 0; ; line++ {
		if line == start {
			from = at
		}
		length := strings.IndexByte(text[at:], '\n')
		last := length < 0
		if last {
			length = len(text) - at
		}
		if line == end || last && end == 0 {
			return from, at + length, line >= start
		}
		if last {
			return 0, 0, false
		}
		at += length + 1
	}
}
