package note

import (
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	const x = "\uFFFD"
	cases := []struct{ raw, want string }{
		{"", ""},
		{"plain ü 😀 \uFFFD \x00", "plain ü 😀 \uFFFD \x00"},
		{"\uFEFFbom stays", "\uFEFFbom stays"},
		// Tables 3-8 to 3-11 of the Unicode standard
		{"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82A", strings.Repeat(x, 8) + "A"},
		{"\xED\xA0\x80\xED\xBF\xBF\xED\xAFA", strings.Repeat(x, 8) + "A"},
		{"\xF4\x91\x92\x93\xFFA\x80\xBFB", strings.Repeat(x, 5) + "A" + x + x + "B"},
		{"\xE1\x80\xE2\xF0\x91\x92\xF1\xBFA", strings.Repeat(x, 4) + "A"},
		// cut at the end
		{"a\xE2\x82", "a" + x},
		{"a\xF0\x9F\x98", "a" + x},
		{"a\xF0\x9F\xE2\x82\xAC", "a" + x + "€"},
		{"\x80", x},
		{"\xF5\x80", x + x},
	}
	for _, c := range cases {
		if got := Decode(c.raw); got != c.want {
			t.Errorf("Decode(%q) = %q, want %q", c.raw, got, c.want)
		}
	}
}

func TestMatch(t *testing.T) {
	const lf, crlf = "# A\n\ntext\n", "# A\r\n\r\ntext\r\n"
	cases := []struct {
		name, raw, indexed string
		ok                 bool
	}{
		{"as it is", lf, lf, true},
		{"checked out with LF", lf, crlf, true},
		{"checked out with CRLF", crlf, lf, true},
		{"mixed line ends, indexed so", "a\r\nb\n", "a\r\nb\n", true},
		{"mixed line ends, indexed with CRLF", "a\r\nb\n", "a\r\nb\r\n", true},
		{"BOM kept", bom + lf, bom + lf, true},
		{"BOM dropped", bom + lf, lf, true},
		{"BOM dropped and LF", bom + crlf, lf, true},
		{"BOM added", lf, bom + lf, false},
		{"invalid bytes", "a\xE2\x82", "a\uFFFD", true},
		{"empty", "", "", true},
		{"another word", lf, "# B\n", false},
	}
	for _, c := range cases {
		text, ok := Match(c.raw, Hash(c.indexed))
		want := c.indexed
		if !c.ok {
			want = Decode(c.raw)
		}
		if text != want || ok != c.ok {
			t.Errorf("%s: Match = %q, %v, want %q, %v", c.name, text, ok, want, c.ok)
		}
	}
	if _, ok := Match(lf, ""); ok {
		t.Error("Match takes an empty hash for a note's")
	}
}

func TestPrefix16(t *testing.T) {
	cases := []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 0, ""}, {"abc", 2, "ab"}, {"abc", 3, "abc"}, {"abc", 9, "abc"}, {"abc", -1, ""},
		{"üü", 1, "ü"}, {"日本語", 2, "日本"},
		{"a😀b", 1, "a"}, {"a😀b", 2, "a"}, {"a😀b", 3, "a😀"}, {"a😀b", 4, "a😀b"},
	}
	for _, c := range cases {
		got := Prefix16(c.s, c.n)
		if got != c.want || Len16(got) > max(0, c.n) {
			t.Errorf("Prefix16(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
	if got := Len16("a😀ü\r\n"); got != 6 {
		t.Errorf("Len16 = %d, want 6", got)
	}
}

func TestExcerpt(t *testing.T) {
	const note = "one\r\ntwo\r\n\r\n  \r\nfive 👨‍👩‍👧‍👦!\n\n"
	const family = "👨‍👩‍👧‍👦" // 11 units
	cases := []struct {
		name              string
		text              string
		start, end, limit int
		want              string
	}{
		{"one line", note, 1, 1, 1200, "one"},
		{"trailing blank lines", note, 1, 4, 1200, "one\ntwo"},
		{"inner blank lines", note, 2, 5, 1200, "two\n\n  \nfive " + family + "!"},
		{"the last, empty line", note, 5, 7, 1200, "five " + family + "!"},
		{"to the end", note, 5, 0, 1200, "five " + family + "!"},
		{"all of it", note, 1, 0, 3, "one"},
		{"blank", note, 3, 4, 1200, ""},
		{"cut after a word", note, 1, 2, 5, "one\nt"},
		{"cut leaves a blank line", note, 1, 2, 4, "one"},
		{"exactly the limit", note, 5, 5, 17, "five " + family + "!"},
		{"cut behind a family", note, 5, 5, 16, "five " + family},
		{"cut within a family", note, 5, 5, 15, "five "},
		{"a family too large", family + "x", 1, 1, 5, "👨‍👩"},
		{"combining accent", "cafe\u0301 au lait", 1, 1, 4, "caf"},
		{"flags", "🇩🇪🇫🇷", 1, 1, 6, "🇩🇪"},
		{"nothing allowed", note, 1, 1, 0, ""},
		{"invalid bytes", "a\xE2\x82\xE2\x82\xACb", 1, 1, 3, "a\uFFFD€"},
		{"empty note", "", 1, 1, 10, ""},
	}
	for _, c := range cases {
		got, err := Excerpt(c.text, c.start, c.end, c.limit)
		if got != c.want || err != nil {
			t.Errorf("%s: Excerpt = %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	for _, lines := range [][2]int{{1, 8}, {8, 8}, {8, 0}, {0, 1}, {3, 2}, {-1, 0}} {
		if got, err := Excerpt(note, lines[0], lines[1], 1200); err != errShrunk || got != "" {
			t.Errorf("Excerpt of lines %v = %q, %v, want errShrunk", lines, got, err)
		}
	}
}

func TestBlockText(t *testing.T) {
	const note = "a\r\nb\n\nd"
	cases := []struct {
		start, end int
		want       string
		ok         bool
	}{
		{1, 1, "a\r", true}, {1, 2, "a\r\nb", true}, {2, 4, "b\n\nd", true}, {4, 4, "d", true},
		{1, 0, "", true}, {1, 5, "", false}, {5, 5, "", false}, {0, 1, "", false}, {2, 1, "", false},
	}
	for _, c := range cases {
		if got, ok := BlockText(note, c.start, c.end); got != c.want || ok != c.ok {
			t.Errorf("BlockText(%d, %d) = %q, %v, want %q, %v", c.start, c.end, got, ok, c.want, c.ok)
		}
	}
}

func TestBreadcrumbs(t *testing.T) {
	cases := []struct{ path, key, want string }{
		{"a.md", "#A#B", "a > A"},
		{"a.md", "##X#{1}", "a >  > X"},
		{"a.md", "#", "a"},
		{"a.md", "##{1}", "a > "},
		{"Folder/Sub/a.md", "#x/y#{1}", "Folder > Sub > a > x > y"},
		{"notes.md/x.md", "#A", "notes > x.md"},
		{"UP.MD", "#U", "UP.MD"},
	}
	for _, c := range cases {
		if got := breadcrumbs(c.path, c.key); got != c.want {
			t.Errorf("breadcrumbs(%q, %q) = %q, want %q", c.path, c.key, got, c.want)
		}
	}
}
