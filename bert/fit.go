package bert

import (
	"math"
	"strings"
)

// fit shortens a text to at most limit tokens, [CLS] and [SEP] included, and
// returns it with all its ids, in memory that the buffers' next use overwrites. It is the plugin's own loop, whose steps decide
// which words a long note is embedded by: take nine tenths of the share that
// would fit, counted in UTF-16 units, go back to the last space, count again.
// A newline is no place to go back to. (format section 9.2)
func (t *tokenizer) fit(b *buffers, text string, limit int) (fitting string, ids []int) {
	ids = t.idsIn(b, text)
	for units := len16(text); len(ids) > limit && units > 0; {
		share := float64(limit) / float64(len(ids))
		units = int(math.Floor(float64(units) * share * 0.9))
		text = prefix16(text, units)
		half := ""
		if space := strings.LastIndexByte(text, ' '); space > 0 {
			text = text[:space]
			units = len16(text)
		} else if len16(text) < units {
			half = t.half // JavaScript's string keeps one unit of the pair cut in two
		}
		ids = t.idsIn(b, text+half)
	}
	return text, ids
}

// len16 is the length of s in UTF-16 units.
func len16(s string) int {
	n := 0
	for _, r := range s {
		n += units16(r)
	}
	return n
}

// prefix16 returns the characters that end within the first n UTF-16 units of s.
func prefix16(s string, n int) string {
	for i, r := range s {
		if n -= units16(r); n < 0 {
			return s[:i]
		}
	}
	return s
}

// units16 is the number of UTF-16 units of one character.
func units16(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}
