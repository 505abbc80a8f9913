package note

import (
	"fmt"
	"strings"
	"testing"
)

// TestLinePatterns covers what the goldens do not: white space and line
// terminators as JavaScript sees them.
func TestLinePatterns(t *testing.T) {
	headings := []struct {
		line  string
		level int
		title string
	}{
		{"# A", 1, "A"}, {"###### six", 6, "six"}, {"#\u00A0nbsp", 1, "nbsp"}, {"#\uFEFFbom", 1, "bom"},
		{"# # hash", 1, "# hash"}, {"#\t\ttabs", 1, "tabs"}, {"# \u2028A", 1, "A"},
		{"####### seven", 0, ""}, {"#tag", 0, ""}, {"#", 0, ""}, {"#\u0085nel", 0, ""},
		{"# a\u2028b", 0, ""}, {"# a\rb", 0, ""}, {"text", 0, ""}, {"", 0, ""},
	}
	for _, c := range headings {
		level, title, ok := parseHeading(c.line)
		if level != c.level || title != c.title || ok != (c.level > 0) {
			t.Errorf("parseHeading(%q) = %d, %q, %v, want %d, %q", c.line, level, title, ok, c.level, c.title)
		}
	}
	items := []struct {
		line         string
		indented, ok bool
	}{
		{"- a", false, true}, {"* a", false, true}, {"12. a", false, true}, {"-  ", false, true},
		{"\u00A0- a", true, true}, {"\t1. a", true, true}, {"\uFEFF- bom", true, true},
		{"+ a", false, false}, {"1) a", false, false}, {". a", false, false}, {"-a", false, false},
		{"- ", false, false}, {"-\ta", false, false}, {"- a\r", false, false}, {"- a\u2029", false, false},
		{"١. arabic", false, false}, {"", false, false},
	}
	for _, c := range items {
		indented, ok := parseItem(c.line)
		if ok != c.ok || ok && indented != c.indented {
			t.Errorf("parseItem(%q) = %v, %v, want %v, %v", c.line, indented, ok, c.indented, c.ok)
		}
	}
	tasks := []struct {
		line string
		mark byte
	}{
		{"- [ ] a", ' '}, {"* [x]", 'x'}, {"+ [X]a", 'X'}, {"-\u00A0\t[ ]", ' '},
		{"-[ ] a", 0}, {"- [-] a", 0}, {"- [  ] a", 0}, {"1. [ ] a", 0}, {"- [", 0}, {"-", 0}, {"", 0},
	}
	for _, c := range tasks {
		mark, ok := taskMark(c.line)
		if ok != (c.mark != 0) || ok && mark != c.mark {
			t.Errorf("taskMark(%q) = %q, %v, want %q", c.line, mark, ok, c.mark)
		}
	}
}

func TestParseLargeNote(t *testing.T) {
	body := strings.Repeat("word ", 60_000)
	if n := len(Parse("a.md", body[:maxImportBytes], Rules{}).Blocks); n != 1 {
		t.Errorf("a note of 300,000 bytes has %d blocks, want 1", n)
	}
	if n := len(Parse("a.md", body+"x", Rules{}).Blocks); n != 0 {
		t.Errorf("a note of 300,001 bytes has %d blocks, want none", n)
	}
	rules := Rules{MaxTokens: 512, ExcludedHeadings: []string{"Skip"}}
	text := "# Skip\n\n" + body
	if got := NoteInput("a.md", text, rules); !strings.HasPrefix(got, "a:\n# Skip\n\nword") || Len16(got) != 1894 {
		t.Errorf("NoteInput of a note too large to parse = %.40q…, %d units", got, Len16(got))
	}
}

// TestParseRanges covers what neither goldens nor indexed vaults hold. The
// ranges are derived by hand from the rules.
func TestParseRanges(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"a heading ends a root list", "- a\n# H\nb", "# 1-1, ##{1} 1-1, #H 2-3, #H#{1} 3-3"},
		{"a heading ends a root text with its list", "a\n- b\n# H", "# 1-2, ##{1} 2-2, #H 3-3"},
		{"a counted title takes a written one's key", "# A[2]\na\n# A\n# A\nb",
			"#A[2] 4-5, #A[2]#{1} 5-5, #A 3-3"},
		{"a fence keeps the list item open", "# H\n- a\n```\n- b\n```\n- c",
			"#H 1-6, #H#{1} 2-5, #H#{2} 3-5, #H#{3} 6-6"},
		{"a fence begins the note", "```\n# a\n```", "# 1-3"},
		{"a nested item alone is text", "  - a\n- b", "# 1-2, ##{1} 2-2"},
		{"frontmatter is no text", "---\n# a\n- b\n---\n---", "#---frontmatter--- 1-4, # 5-5"},
		{"frontmatter is never closed", "---\n# a", "#---frontmatter--- 1-0"},
		{"a level comes back up", "### C\n## B\n### C\n# A",
			"###C 1-1, ##B 2-3, ##B#C 3-3, #A 4-4"},
	}
	for _, c := range cases {
		var got []string
		for _, b := range Parse("a.md", c.text, Rules{}).Blocks {
			got = append(got, fmt.Sprintf("%s %d-%d", b.Key, b.Start, b.End))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: Parse(%q) = %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

func TestPlanSortsBlocks(t *testing.T) {
	blocks := []Block{
		{Key: "#B", Start: 3, End: 5, Size: 300}, {Key: "#A", Start: 1, End: 2, Size: 300},
		{Key: "#Both", Start: 1, End: 5, Size: 601},
	}
	reimport := selectBlocks("a.md", blocks, Rules{MinChars: 200, MaxTokens: 512})
	if reimport || !blocks[0].ShouldEmbed || !blocks[1].ShouldEmbed || blocks[2].ShouldEmbed {
		t.Errorf("selectBlocks = %v, %+v, want both parts picked", reimport, blocks)
	}
}

func TestOverlapPicksNothing(t *testing.T) {
	blocks := []Block{
		{Key: "#A", Start: 1, End: 5, Size: 500}, {Key: "#B", Start: 4, End: 9, Size: 500},
		{Key: "#C", Start: 10, End: 12, Size: 500},
	}
	if !selectBlocks("a.md", blocks, Rules{MinChars: 200}) {
		t.Error("selectBlocks does not see that two blocks overlap")
	}
	for _, b := range blocks {
		if b.ShouldEmbed {
			t.Errorf("%q is picked although blocks overlap", b.Key)
		}
	}
}

func TestBody(t *testing.T) {
	const drawing = "---\nexcalidraw-plugin: parsed\n---\n==warning==\n\n# Excalidraw Data\n\n" +
		"## Text Elements\nFirst line ^abcd1234\n\nsecond of two\nlines 2^10 ^efgh5678\n\n%%\n## Drawing\n```json\n{}\n```\n"
	const want = "First line\nsecond of two\nlines 2^10"
	for _, path := range []string{"a.excalidraw.md", "Folder/A.Excalidraw.MD"} {
		if got := Body(path, drawing); got != want {
			t.Errorf("Body(%q) = %q, want %q", path, got, want)
		}
	}
	if got := Body("excalidraw.md", drawing); got != drawing {
		t.Errorf("Body of a note changes it: %q", got)
	}
	if got := Body("a.excalidraw.md", "no elements"); got != "" {
		t.Errorf("Body of a drawing without text = %q", got)
	}
	blocks := Parse("a.excalidraw.md", drawing, Rules{}).Blocks
	if len(blocks) != 1 || blocks[0].End != 3 || blocks[0].Hash != Hash(want) {
		t.Errorf("Parse of a drawing = %+v, want its three lines of text", blocks)
	}
	if got := NoteInput("a.excalidraw.md", drawing, Rules{}); got != "a.excalidraw:\n"+want {
		t.Errorf("NoteInput of a drawing = %q", got)
	}
}

// TestParseManyBlocks would take minutes if the work grew with the square of a
// note.
func TestParseManyBlocks(t *testing.T) {
	var b strings.Builder
	for i := 0; b.Len() < maxImportBytes-100; i++ {
		fmt.Fprintf(&b, "# %d\n## s\n- i\n", i)
	}
	if n := len(Parse("a.md", b.String(), Rules{}).Blocks); n < 10_000 {
		t.Errorf("%d blocks, want many", n)
	}
}
