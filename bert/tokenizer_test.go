package bert

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"
)

// Every text that carries ids, for every vocabulary. The count before the cut
// must be right too: the truncation loop lives on it.
func TestTokensGolden(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			m := f.load(t)
			cut := 0
			for _, g := range f.goldens(t) {
				if got := m.Tokens(g.Text); !slices.Equal(got, g.IDs) {
					t.Errorf("%s: Tokens(%q) = %v, want %v", g.ID, g.Text, got, g.IDs)
				}
				if got := len(m.tokenizer.ids(g.Text)); got != g.N {
					t.Errorf("%s: %d tokens before the cut, want %d", g.ID, got, g.N)
				}
				if g.N > len(g.IDs) {
					cut++
				}
			}
			if cut == 0 {
				t.Error("no golden text is longer than the positions")
			}
		})
	}
}

var uncased = newWordPiece(Vocabulary{WordPiece: &WordPiece{CleanText: true, ChineseChars: true, Lowercase: true, StripAccents: true}}, newPieces(0))

// split is the words of a text, joined by "|".
func split(w *wordPiece, text string) string {
	var words []string
	for rest := w.normalise(nil, text); len(rest) > 0; {
		var word []byte
		if word, rest = w.cut(rest); len(word) > 0 {
			words = append(words, string(word))
		}
	}
	return strings.Join(words, "|")
}

func TestNormaliseAndSplit(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"Hello,  World!", "hello|,|world|!"},
		{"\ttab\nline\r\nnbsp\u00a0thin\u2009ideographic\u3000ogham\u1680end", "tab|line|nbsp|thin|ideographic|ogham|end"},
		{"zero\u200bwidth\ufeffjoined\u00adsoft", "zerowidthjoinedsoft"},
		{"nul\x00 bell\x07 del\x7f nel\u0085 pua\ue000 bad\ufffd", "nul|bell|del|nel|pua|bad"},
		{"invalid\xffutf\xed\xa0\x80eight", "invalidutfeight"},
		{"Café CAFE\u0301", "cafe|cafe"},
		{"한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8"},
		{"中文test㐀", "中|文|test|㐀"},
		{"a\U00020000b", "a\U00020000b"},
		{"\uf900", "\u8c48"}, // a compatibility ideograph: isolated, then decomposed
		{"$5+~`^<=>", "$|5|+|~|`|^|<|=|>"},
		{"“quoted”—dash…", "“|quoted|”|—|dash|…"},
		{"€5 ×2 ©", "€5|×2|©"}, // symbols beyond ASCII are no punctuation
		{"İstanbul", "istanbul"},
		{"ΣΊΣΥΦΟΣ ΟΔΟΣ.", "σισυφος|οδος|."},
		{"Σ", "σ"},
		{"ΑΣ' ΑΣ'Α ΑΣ.Β Α.Σ 'Σ", "ας|'|ασ|'|α|ασ|.|β|α|.|ς|'|σ"},
		{"ΑΣ\u00adΑ ΑΣ\x07", "ασα|ας"}, // what cleaning drops is not there any more
		{"ΑΣ1 ΑΣ中Α", "ας1|ας|中|α"},
		{"σας ΣΑΣ", "σας|σας"},
	}
	for _, tt := range tests {
		if got := split(uncased, tt.in); got != tt.want {
			t.Errorf("words of %q = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestNormaliseSettings(t *testing.T) {
	tests := []struct {
		settings WordPiece
		in, want string
	}{
		{WordPiece{}, "É\x00Ω中\u00a0", "É\x00Ω中\u00a0"},
		{WordPiece{CleanText: true}, "É\x00Ω中\u00a0", "ÉΩ中 "},
		{WordPiece{ChineseChars: true}, "É中x", "É 中 x"},
		{WordPiece{Lowercase: true}, "ÉİΑΣ", "éi\u0307ας"},
		{WordPiece{StripAccents: true}, "Éİ", "EI"},
	}
	for _, tt := range tests {
		if got := string(newNormaliser(tt.settings).normalise(nil, tt.in)); got != tt.want {
			t.Errorf("%+v.normalise(%q) = %q, want %q", tt.settings, tt.in, got, tt.want)
		}
	}
}

func TestLiteralTokens(t *testing.T) {
	m := fixtures[0].load(t) // [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4
	id := m.tokenizer.ids
	inner := func(text string) []int { ids := id(text); return ids[1 : len(ids)-1] }
	tests := []struct {
		in   string
		want []int
	}{
		{"[MASK]", []int{4}},
		{"[CLS][SEP][PAD]", []int{2, 3, 0}},
		{"a[MASK]b", slices.Concat(inner("a"), []int{4}, inner("b"))},
		{"[[MASK]]", slices.Concat(inner("["), []int{4}, inner("]"))},
		{"[mask]", slices.Concat(inner("["), inner("mask"), inner("]"))}, // case matters
		{"[MASK", slices.Concat(inner("["), inner("mask"))},
		{"ΑΣ[SEP]Α", slices.Concat(inner("ας"), []int{3}, inner("α"))}, // each section is normalised by itself
	}
	for _, tt := range tests {
		if got := inner(tt.in); !slices.Equal(got, tt.want) {
			t.Errorf("ids of %q = %v, want %v", tt.in, got, tt.want)
		}
	}
}

func TestLiteralsLongestFirst(t *testing.T) {
	l := newLiterals([]Literal{{Text: "<a>"}, {Text: "<a>b"}, {Text: "éx"}, {Text: "none"}}, map[string]int{"<a>": 1, "<a>b": 2, "éx": 3})
	tests := []struct {
		in   string
		at   int
		want string
	}{
		{"..<a>b", 2, "<a>b"},
		{"..<a>c", 2, "<a>"},
		{"<é<éx<a>", 4, "éx"},
		{"none", 4, ""},
		{"", 0, ""},
	}
	for _, tt := range tests {
		if at, found := l.next(tt.in); at != tt.at || found.Text != tt.want {
			t.Errorf("next(%q) = %d, %q, want %d, %q", tt.in, at, found.Text, tt.at, tt.want)
		}
	}
}

func TestLongWords(t *testing.T) {
	m := fixtures[0].load(t)
	if got := m.Tokens(strings.Repeat("a", 101)); !slices.Equal(got, []int{2, 1, 3}) {
		t.Errorf("a word of 101 characters gives %v, want the unknown token alone", got)
	}
	if got := m.Tokens(strings.Repeat("a", 100)); slices.Contains(got, 1) {
		t.Errorf("a word of 100 characters gives %v, want no unknown token", got)
	}
	if got := m.Tokens(strings.Repeat("я", 101)); !slices.Equal(got, []int{2, 1, 3}) {
		t.Errorf("a word of 101 two-byte characters gives %v, want the unknown token alone", got)
	}
}

// newerThanGo lists the code points that the reference, with Unicode 17, knows
// better than the tables of Go 1.26 and x/text, which are those of Unicode 15:
// letters, marks and punctuation assigned since (here they stay as they are),
// and U+1171E, a mark that is no longer nonspacing (here it is dropped).
var newerThanGo = [][2]rune{
	{0x0897, 0x0897}, {0x1171E, 0x1171E}, {0x1ACF, 0x1ADD}, {0x1AE0, 0x1AEB}, {0x1B4E, 0x1B4F}, {0x1B7F, 0x1B7F},
	{0x1C89, 0x1C89}, {0xA7CB, 0xA7CC}, {0xA7CE, 0xA7CE}, {0xA7D2, 0xA7D2}, {0xA7D4, 0xA7D4}, {0xA7DA, 0xA7DA},
	{0xA7DC, 0xA7DC}, {0x105C9, 0x105C9}, {0x105E4, 0x105E4}, {0x10D50, 0x10D65}, {0x10D69, 0x10D6E},
	{0x10ED0, 0x10ED0}, {0x10EFA, 0x10EFC}, {0x11383, 0x11383}, {0x11385, 0x11385}, {0x1138E, 0x1138E},
	{0x11391, 0x11391}, {0x113BB, 0x113C0}, {0x113C5, 0x113C5}, {0x113C7, 0x113C8}, {0x113CE, 0x113CE},
	{0x113D0, 0x113D0}, {0x113D2, 0x113D2}, {0x113D4, 0x113D5}, {0x113D7, 0x113D8}, {0x113E1, 0x113E2},
	{0x11B60, 0x11B60}, {0x11B62, 0x11B64}, {0x11B66, 0x11B66}, {0x11BE1, 0x11BE1}, {0x11F5A, 0x11F5A},
	{0x1611E, 0x16129}, {0x1612D, 0x1612F}, {0x16D68, 0x16D6A}, {0x16D6D, 0x16D6F}, {0x16EA0, 0x16EB8},
	{0x1E5EE, 0x1E5EF}, {0x1E5FF, 0x1E5FF}, {0x1E6E3, 0x1E6E3}, {0x1E6E6, 0x1E6E6}, {0x1E6EE, 0x1E6EF},
	{0x1E6F5, 0x1E6F5},
}

// What the tokenizer does with every code point, against a table made by
// transformers.js: into which words "a?b" is split, where ? is the code point.
func TestCodePoints(t *testing.T) {
	excused := make(map[rune]bool)
	for _, span := range newerThanGo {
		for r := span[0]; r <= span[1]; r++ {
			excused[r] = true
		}
	}
	if len(excused) != 157 {
		t.Errorf("%d code points are excused, want 157", len(excused))
	}
	table := codePointTable(t)
	differ := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if 0xD800 <= r && r <= 0xDFFF {
			continue // no such characters in UTF-8
		}
		got := split(uncased, "a"+string(r)+"b")
		want, listed := table[r]
		if !listed {
			want = "a" + string(r) + "b"
		}
		if got == want {
			continue
		}
		differ++
		if !excused[r] {
			t.Errorf("words of a, U+%04X, b = %q, want %q", r, got, want)
		}
	}
	t.Logf("%d code points differ, all newer than Unicode %s", differ, unicode.Version)
	if unicode.Version == "15.0.0" && differ != len(excused) {
		t.Errorf("%d code points differ, but %d are excused: shorten the list", differ, len(excused))
	}
	if differ == len(excused) && unicode.Version >= "17" {
		t.Error("no code point is newer than Go's tables any more: drop the list")
	}
}

// codePointTable reads codepoints.tsv: for each code point that does not stay
// as it is, the words that "a?b" becomes, joined by "|".
func codePointTable(t *testing.T) map[rune]string {
	t.Helper()
	data, err := os.ReadFile("../testdata/golden/embedding/codepoints.tsv")
	if err != nil {
		t.Fatal(err)
	}
	table := make(map[rune]string)
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		field := strings.Split(strings.TrimSpace(line), "\t")
		var lo, hi rune
		if _, err := fmt.Sscanf(field[0], "%x-%x", &lo, &hi); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for r := lo; r <= hi; r++ {
			switch field[1] {
			case "drop":
				table[r] = "ab"
			case "space":
				table[r] = "a|b"
			case "split":
				table[r] = "a|" + string(r) + "|b"
			case "map":
				table[r] = "a" + codePoints(t, field[2]) + "b"
			case "splitmap":
				table[r] = codePoints(t, field[2])
			case "hangul":
				table[r] = "a" + jamo(r) + "b"
			default:
				t.Fatalf("%q: unknown class", line)
			}
		}
	}
	if len(table) < 100_000 {
		t.Fatalf("only %d code points in the table", len(table))
	}
	return table
}

// codePoints reads hexadecimal code points, joined by " " or, between words, "|".
func codePoints(t *testing.T, list string) string {
	t.Helper()
	var out strings.Builder
	for i, word := range strings.Split(list, "|") {
		if i > 0 {
			out.WriteByte('|')
		}
		for _, hex := range strings.Fields(word) {
			r, err := strconv.ParseUint(hex, 16, 21)
			if err != nil {
				t.Fatalf("%q: %v", list, err)
			}
			out.WriteRune(rune(r))
		}
	}
	return out.String()
}

// jamo decomposes a Hangul syllable by Unicode's formula.
func jamo(r rune) string {
	s := r - 0xAC00
	out := []rune{0x1100 + s/588, 0x1161 + s%588/28}
	if s%28 != 0 {
		out = append(out, 0x11A7+s%28)
	}
	return string(out)
}

func TestTokensConcurrently(t *testing.T) {
	f := fixtures[0]
	m := f.load(t)
	list := f.goldens(t)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for _, g := range list {
				if got := m.Tokens(g.Text); !slices.Equal(got, g.IDs) {
					t.Errorf("%s: Tokens differ when called from several goroutines", g.ID)
				}
			}
		})
	}
	wait.Wait()
}
