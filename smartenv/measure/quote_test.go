package measure

import (
	"fmt"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv/note"
)

// numbered is prose in which no word occurs twice.
func numbered(words int) string {
	var b strings.Builder
	for i := range words {
		fmt.Fprintf(&b, "w%c%c%s%c", 'a'+i%26, 'a'+i/26, strings.Repeat("x", i%7), "   \n"[i%4])
	}
	return b.String()
}

const proseLine = "The quick brown fox jumps over the lazy dog while the rain falls on the quiet garden and nobody is at home to see what the animals are doing there\n"

const codeLine = "count = append(lines, number(three)); return four, five\n"

const tableLine = "| 1.5 | 2.5 | 3.5 | 4.5 | 5.5 | 6.5 | 7.5 | 8.5 |\n"

func TestQuote(t *testing.T) {
	prose := strings.Repeat(proseLine, 40)
	table := strings.Repeat(tableLine, 40)
	frontmatter := "---\n" + strings.Repeat("key: value\n", 100) + "---\n"
	tests := []struct {
		name, text string
		window     int
		want       string // of which line the quote begins with a part; "" for no quote
	}{
		{"prose", prose, 0, proseLine},
		{"the window reaches beyond four fifths", prose, len(prose) * 9 / 10, ""},
		{"the window ends just before", prose, len(prose) * 79 / 100, proseLine},
		{"short", "Too short to be quoted.\n", 0, ""},
		{"short lines", strings.Repeat("Short line.\n", 8), 0, ""},
		{"prose before the table at four fifths", prose[:len(proseLine)*20] + table[:1000], 0, proseLine},
		{"prose after it", prose[:len(proseLine)*10] + table[:1500] + prose[:len(proseLine)*3], 0, proseLine},
		{"prose too far away", prose[:len(proseLine)*2] + table, 0, tableLine},
		{"a table, when there is nothing else", table, 0, tableLine},
		{"the most prosaic, when nothing is prose", table + strings.Repeat(codeLine, 8), 0, codeLine},
		{"never frontmatter", "---\n" + strings.Repeat("title: some words that look like prose do\n", 100) + "---\n" + proseLine, 0, ""},
		{"frontmatter and prose", frontmatter + prose, 0, proseLine},
		{"frontmatter that is never closed", "---\n" + prose, 0, ""},
		{"no spaces", strings.Repeat("漢", 1000), 0, strings.Repeat("漢", 20)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := quote("a.md", test.text, test.window)
			if begins := got[:min(len(got), 15)]; (got == "") != (test.want == "") || !strings.Contains(test.want+test.want, begins) {
				t.Fatalf("quote = %q, want a part of %q", got, test.want)
			}
			if n := note.Len16(got); got != "" && (n < leastUnits || n > quoteUnits) {
				t.Errorf("quote of %d units, want %d to %d", n, leastUnits, quoteUnits)
			}
			if at := strings.LastIndex(test.text, got); got != "" && at < test.window {
				t.Errorf("quote stands at %d, within the window that ends at %d", at, test.window)
			}
		})
	}
}

func TestProseShare(t *testing.T) {
	tests := []struct {
		text string
		want float64
	}{{"", 0}, {"two words", 1}, {"1.5", 0}, {"a  b", 0.75}, {"a | b", 0.8}, {"e\u0301", 1}, {"漢字", 1}, {"a\n\n\nb", 0.6}}
	for _, test := range tests {
		if got := proseShare(test.text); got != test.want {
			t.Errorf("proseShare(%q) = %v, want %v", test.text, got, test.want)
		}
	}
}

func TestWordStart(t *testing.T) {
	const text = "one two  three\n"
	for at, want := range map[int]int{0: 0, 1: 4, 3: 4, 4: 4, 5: 9, 7: 9, 9: 9, 10: 15} {
		if got := wordStart(text, at); got != want {
			t.Errorf("wordStart(%q, %d) = %d, want %d", text, at, got, want)
		}
	}
	for _, text := range []string{strings.Repeat("漢", 99), strings.Repeat("漢", 99) + " 字"} {
		if got := wordStart(text, 30); got != 30 {
			t.Errorf("wordStart(%q, 30) = %d, want 30: it is no word", text, got)
		}
	}
}

// A quote begins and ends with whole words, at four fifths of the note.
func TestQuoteWords(t *testing.T) {
	for n := 300; n < 340; n++ {
		text := numbered(n)
		got := quote("a.md", text, 0)
		at := strings.Index(text[len(text)*3/4:], got) + len(text)*3/4
		end := at + len(got)
		if got == "" || text[at-1] > ' ' || end < len(text) && text[end] > ' ' {
			t.Fatalf("quote of %d words = %q, want whole words", n, got)
		}
		if off := at - len(text)*4/5; max(off, -off) > maxWord {
			t.Errorf("quote of %d words stands %d from four fifths", n, off)
		}
	}
}
