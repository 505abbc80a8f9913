package links

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

const fixture = "../../testdata/vaults/links"

// expectedNote is what a note of the fixture says, as links.expected.json has it.
type expectedNote struct {
	BadYAML  bool `json:"bad_yaml"`
	Aliases  []string
	Tags     []string
	Headings []Heading
	BlockIDs []string `json:"block_ids"`
	Links    []Link
}

func expectedNotes(t testing.TB) map[string]expectedNote {
	t.Helper()
	data, err := os.ReadFile(fixture + ".expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var expected struct{ Notes map[string]expectedNote }
	if err := json.Unmarshal(data, &expected); err != nil {
		t.Fatal(err)
	}
	if len(expected.Notes) < 15 {
		t.Fatalf("%d notes are expected, want at least 15", len(expected.Notes))
	}
	return expected.Notes
}

// What the notes say was written down by hand.
func TestScanFixture(t *testing.T) {
	for path, want := range expectedNotes(t) {
		text, err := os.ReadFile(filepath.Join(fixture, filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		got := Scan(path, string(text))
		if got.Path != path || (got.BadYAML != "") != want.BadYAML {
			t.Errorf("%s: Path, BadYAML = %q, %q, want bad: %v", path, got.Path, got.BadYAML, want.BadYAML)
		}
		same(t, path+": tags", got.Tags, want.Tags)
		same(t, path+": aliases", got.Aliases, want.Aliases)
		same(t, path+": headings", got.Headings, want.Headings)
		same(t, path+": block ids", got.BlockIDs, want.BlockIDs)
		same(t, path+": links", got.Links, want.Links)
	}
}

func same[T any](t *testing.T, what string, got, want []T) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("%s lack %+v", what, want[i])
			return
		case i >= len(want):
			t.Errorf("%s have %+v, want no more", what, got[i])
			return
		case !reflect.DeepEqual(got[i], want[i]):
			t.Errorf("%s[%d] = %+v, want %+v", what, i, got[i], want[i])
			return
		}
	}
}

// brief writes a note's links, tags, headings and block ids as one line.
func brief(n Note) string {
	var b strings.Builder
	for _, l := range n.Links {
		fmt.Fprintf(&b, "%d:%s", l.Line, l.Target)
		if l.Subpath != "" {
			b.WriteString("#" + l.Subpath)
		}
		if l.Text != "" {
			b.WriteString("|" + l.Text)
		}
		if l.Embed {
			b.WriteString("!")
		}
		if l.Code {
			b.WriteString("`")
		}
		b.WriteString(" ")
	}
	for _, h := range n.Headings {
		fmt.Fprintf(&b, "h%d:%d:%s ", h.Level, h.Line, h.Text)
	}
	for _, tag := range n.Tags {
		b.WriteString("#" + tag + " ")
	}
	for _, id := range n.BlockIDs {
		b.WriteString("^" + id + " ")
	}
	return strings.TrimSpace(b.String())
}

func TestScan(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		// Wikilinks.
		{"[[[A]]] [[B] ]] [[C\n]] [[D]", "1:A 1:B] "},
		{"[[A|]] [[A|A]] [[#]] [[ # ]] [[A# ]] [[A#B#C]] [[|x]]", "1:A 1:A 1:A 1:A#B#C"},
		{"[[https://x.org/a]] [[note: a title]]", "1:note: a title"},
		{"![[a.png|alt|100x20]] ![[a.png|100]] ![[a.png|x100]] [[a|100]]", "1:a.png|alt! 1:a.png! 1:a.png|x100! 1:a|100"},
		{"[[A\\|b]] [[A\\#b]] [[A%20B]]", "1:A|b 1:A\\#b 1:A%20B"},
		{"\\![[A]] \\\\[[B]] !\\[[C]] \\[[D]]", "1:A 1:B"},
		// Markdown links.
		{"[a](b) [a]( b ) [a](<b c>) [a](b c) [a] (b) [a]() [a](<>) [](b)", "1:b|a 1:b|a 1:b c|a 1:b"},
		{"[a](b 't') [a](b \"t\\\"\") [a](b (t)) [a](b t) [a](b \"t) [a](b 't'x)", "1:b|a 1:b|a 1:b|a"},
		{"[a](b(c)d) [a](b(c) [a](b\\(c) [a](b\\a)", "1:b(c)d|a 1:b(c|a 1:b\\a|a"},
		{"[a](b%20c%2) [a](%FF) [a](a%23b#c%20d) [a](#x)", "1:b c%2|a 1:%FF|a 1:a#b#c d|a 1:#x|a"},
		{"[a](http:x) [a](HTTPS://x) [a](mailto:x) [a](//x) [a](c:x) [a](a/b:c) [a](1:2)", "1:c:x|a 1:a/b:c|a 1:1:2|a"},
		{"[a [b](c) d](e) ![a [b](c) d](e)", "1:c|b 1:e|a [b](c) d! 1:c|b"},
		{"[a [[b]] d](e) ![a [[b]]](e)", "1:b 1:e|a [[b]]! 1:b"},
		{"[a](b.md\n\"title\") [c\nd](e)\n[[F]]", "1:b.md|a 2:e|c d 4:F"},
		{"[a](b\n\nc)", ""},
		// Code.
		{"`[[A]]` ``[[B]] ` [[C]]`` `[[D]] ``", "1:A` 1:B` 1:C` 1:D"},
		{"`[[A]]\n[[B]]` [[C]]\n\n` [[D]]\n\n`", "1:A` 2:B` 2:C 4:D"},
		{"\\`[[A]]` [[B]]`", "1:A 1:B`"},
		{"| ` | [[A]]\n| ` | [[B]]", "1:A 2:B"},
		{"[a `](b)` c](d)", "1:d|a `](b)` c"},
		{"```\n[[A]]\n``\n [b](c)\n   ````  \n[[D]]", "2:A` 4:c|b` 6:D"},
		{"~~~ x ` y\n[[A]]\n```\n~~~\n[[B]]\n``` a`b\n[[C]]", "2:A` 5:B 7:C"},
		{"    [[A]]\ntext\n    [[B]]\n\n\t[[C]]\n  \t[[D]]\n   [[E]]", "1:A` 3:B 5:C` 6:D` 7:E"},
		{"# x\n    [[A]]\n---\n    [[B]]\n> q\n    [[C]]\n\n    [[D]]", "2:A` 4:B` 6:C 8:D` h1:1:x"},
		{"- a\n    - [[A]]\n\n      [[B]]\n\n          [[C]]\n\n    [[D]]\n\nx\n\n    [[E]]", "2:A 4:B 6:C` 8:D 12:E`"},
		{"```\n[[A]]\n    ```\n[[B]]", "2:A` 4:B`"},
		{"a\n>     [[A]]\n\n-      b\n\n     [[B]]\n\n* *\n\n      [[C]]", "2:A` 6:B 10:C"},
		{"10) a\n\n      [[A]]\n\n        [[B]]", "3:A 5:B`"},
		{"- ```\n  [[A]]\n  ```\n  [[B]]\n- ```\n  [[C]]\n[[D]]", "2:A` 4:B 6:C` 7:D"},
		{"> ```\n> [[A]]\n> > [[B]]\n> ```\n> [[C]]\n> ```\n[[D]]", "2:A` 3:B` 5:C 7:D"},
		{">     [[A]]\n> - a\n>\n>     [[B]]\n\n1. b\n\n    > [[C]]\n\n    [[D]]", "1:A` 4:B 8:C 10:D"},
		{"- - [[A]]\n\n      [[B]]\n\n        [[C]]\n* * *\n    [[D]]", "1:A 3:B 5:C` 7:D`"},
		// Comments and mathematics.
		{"%%\n[[A]] #b\n%%", "2:A #b"},
		{"<!-- [[A]]\n\n[[B]] --> [[C]]\n[[D]] <!-- [[E]]\n--> [[F]] <!-- [[G]]", "3:C 4:D 5:F 5:G"},
		{"a\n<!-- x\n\n[[A]]", ""},
		{"```\n<!--\n```\n[[A]] `<!--` [[B]]", "4:A 4:B"},
		{"$[[1],[2]]$ $5 [[A]] $6 $$[[x]]$$ \\$[[B]] $", "1:A 1:B"},
		{"$a $$[[A]]$$ b$ [[B]] $x [[C]]$9 \\$\n\n$d", "1:B 1:C"},
		{"$$\n[[A]]\n\n$$ [[B]]\n$$ [[C]]", "4:B 5:C"},
		{"$$ [[A]]\n\n[[B]]", "1:A 3:B"},
		{"<https://x/[[A]]> <b>[[B]]</b> <x [[C]]>", "1:B 1:C"},
		// Headings.
		{"# A\n## B ##\n### C#\n#D\n####### e\n   # F  \n# \n#\tG", "h1:1:A h2:2:B h3:3:C# h1:6:F h1:8:G #D"},
		{"A\n=\n\nB [[x]]\nC\n-----\n\n-\n- D\n---\n> E\n===\n| F |\n---", "4:x h1:1:A h2:4:B [[x]] C"},
		{"```\n# A\n```\n> # B\n\n    # C\n\n- # D\n\n  # E", "h1:10:E"},
		{"a\n# [[B]] #c ^d\nb", "2:B h1:2:[[B]] #c ^d #c ^d"},
		// Tags.
		{"#a #A #ä/ö #a-b_c #1a #1 #1/2 # #! ##b x#c (#d) #e, #f.", "#a #ä/ö #a-b_c #1a #1/2 #e #f"},
		{"#👩\u200D🚀 #日本、 #b\u2014c\n- #d\n> #e\n#f\t#g\u00A0#h", "#👩\u200D🚀 #日本、 #b #d #e #f #g #h"},
		{"[x #a](b) [x #c] #d/ https://x/#e `#f` <!-- #g -->", "1:b|x #a #c #d"},
		// Block ids.
		{"a ^b\n^c \nd ^e f\ng^h\n- i ^J-1\n^\n^^k\n[^l]\n`m ^n`\no ^p_q", "^b ^c ^J-1"},
		// Frontmatter.
		{"---\na: \"[[A|\\\"b\\\"]]\"\nb: '[[It''s]]'\n'c d': [\"[[C]]\", \"[[D#e]]\"]\n# [[X]]\n---\n[[E]]", "2:A|\\\"b\\\" 3:It's 4:C 4:D#e 7:E"},
		{"---\na: 1\n[[A]]", "3:A"},
		{"---\na: [[A]]\n---", "2:A"},
		{"---\ntags: [a, B]\n---\n#b #c", "#a #B #c"},
		{"---\n- a\n---\n[[A]]", "4:A"},
		{"\uFEFF# A", "h1:1:A"},
		{"# A\r\n[[B]]\r\n\r\n    [[C]]\r\nD ^e\r\n```\r\n[[F]]\r\n```\r\n#g\r\n", "2:B 4:C` 7:F` h1:1:A #g ^e"},
	} {
		if got := brief(Scan("a.md", c.text)); got != strings.TrimSpace(c.want) {
			t.Errorf("Scan(%q) =\n %q, want\n %q", c.text, got, c.want)
		}
	}
}

// A vault's texts would not fit beside its graph.
func TestScanKeepsNoText(t *testing.T) {
	for path := range expectedNotes(t) {
		data, err := os.ReadFile(filepath.Join(fixture, filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		n := Scan(path, text)
		kept := append(append(append([]string{n.BadYAML}, n.Aliases...), n.Tags...), n.BlockIDs...)
		for _, h := range n.Headings {
			kept = append(kept, h.Text)
		}
		for _, l := range n.Links {
			kept = append(kept, l.Raw, l.Target, l.Subpath, l.Text, l.Property)
		}
		for name, value := range n.Properties {
			s, _ := value.(string)
			kept = append(kept, name, s)
		}
		from := uintptr(unsafe.Pointer(unsafe.StringData(text)))
		for _, s := range kept {
			if at := uintptr(unsafe.Pointer(unsafe.StringData(s))); s != "" && at >= from && at < from+uintptr(len(text)) {
				t.Errorf("%s: %q is a part of the text", path, s)
			}
		}
	}
}
