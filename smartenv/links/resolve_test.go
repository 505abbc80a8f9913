package links

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// graphWith makes the graph of notes, given as path and text in turn, and of other
// files, whose text is "".
func graphWith(pathsAndTexts ...string) *Graph {
	var all []file
	var notes []Note
	for i := 0; i < len(pathsAndTexts); i += 2 {
		path, text := pathsAndTexts[i], pathsAndTexts[i+1]
		f := file{path: path, kind: ToAttachment}
		switch {
		case text == "excluded":
			f.kind = ToExcluded
		case extension(path) == "md":
			f.kind = ToNote
			notes = append(notes, Scan(path, text))
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b file) int { return strings.Compare(a.path, b.path) })
	slices.SortFunc(notes, func(a, b Note) int { return strings.Compare(a.Path, b.Path) })
	return newGraph(notes, make([]bool, len(notes)), newFiles(all), false)
}

// short is a Resolution as text.
func short(r Resolution) string {
	s := strings.TrimSpace(fmt.Sprintf("%s %s", kindBut(r.Target.Kind), r.Target.Path))
	if r.Target.MissingSubpath {
		s += " !"
	}
	if r.Target.Line > 0 {
		s += fmt.Sprintf(":%d", r.Target.Line)
	}
	if r.MatchedBy != "" {
		s += " by " + string(r.MatchedBy)
	}
	if len(r.Candidates) > 0 {
		s += " of " + strings.Join(r.Candidates, ", ")
	}
	return s
}

func kindBut(k Kind) string { return strings.TrimPrefix(string(k), string(ToNote)) }

func TestResolve(t *testing.T) {
	g := graphWith(
		"Note.md", "", "A/Note.md", "", "A/B/Note.md", "",
		"A/Twin.md", "", "B/Twin.md", "", "B/C/Twin.md", "",
		"A/Sub/x.md", "", "B/Sub/x.md", "",
		"a.b.md", "", "v1.0.md", "", "img.png", "", "A/img.png", "", "B/only.png", "", "board.canvas", "", "board.md", "", "Drawing.excalidraw.md", "",
		"shot.png.md", "", "data.xyz", "", "two.md.md", "",
		"C/a b.md", "", "C/a_b.md", "", "C/A b.md", "",
		"D/Caf\u00e9.md", "", "E/Cafe\u0301.md", "", "F/Stra\u00dfe.md", "", "F/\u00c4rger.md", "", "F/na\u00a0me.md", "",
		"G/Caf\u00e8.md", "", "G/Cafe\u0300.md", "",
		"Shut/Secret.md", "excluded", "Shut/Twin2.md", "excluded", "H/Twin2.md", "", "100% sure.md", "", "C#.md", "",
		"ab/c.md", "", "Deep/Only/Here.md", "")
	tests := []struct{ target, from, want string }{
		{"Note", "", "Note.md by path"},
		{"Note", "A/B/x.md", "Note.md by path"}, // the exact path comes before the folder
		{"note", "", "Note.md by path"},
		{"Note.md", "", "Note.md by path"},
		{"NOTE.MD", "", "Note.md by path"},
		{"A/Note", "", "A/Note.md by path"},
		{"B/Note", "", "A/B/Note.md by filename"},
		{"Twin", "", "A/Twin.md by filename of A/Twin.md, B/Twin.md"},
		{"Twin", "B/x.md", "B/Twin.md by filename"},
		{"Twin", "b/x.md", "B/Twin.md by filename"},
		{"Twin", "B/C/x.md", "A/Twin.md by filename of A/Twin.md, B/Twin.md"}, // fewest folders first
		{"Twin", "Bx/x.md", "A/Twin.md by filename of A/Twin.md, B/Twin.md"},
		{"Sub/x", "B/n.md", "B/Sub/x.md by filename"},
		{"x", "B/n.md", "B/Sub/x.md by filename"},
		{"Here", "", "Deep/Only/Here.md by filename"},
		{"Only/Here.md", "", "Deep/Only/Here.md by filename"},
		{"b/c", "", "missing"}, // no part of a name
		{"nly/Here", "", "missing"},
		{"Deep", "", "missing"},
		{"a.b", "", "a.b.md by path"},
		{"a", "", "missing"},
		{"v1.0", "", "v1.0.md by path"},
		{"img.png", "", "attachment img.png by path"},
		{"IMG.PNG", "A/n.md", "attachment img.png by path"},
		{"only.png", "", "attachment B/only.png by filename"},
		{"img", "", "missing"},
		{"board.canvas", "", "attachment board.canvas by path"},
		{"board", "", "board.md by path"},
		{"Drawing.excalidraw", "", "Drawing.excalidraw.md by path"},
		{"shot.png", "", "shot.png.md by path"},
		{"data.xyz", "", "attachment data.xyz by path"},
		{"two.md", "", "two.md.md by path"},
		{"a b", "", "C/a b.md by filename"},
		{"a_b", "", "C/a_b.md by filename"},
		{"A b", "", "C/A b.md by filename"},
		{"A B", "", "C/A b.md by filename of C/A b.md, C/a b.md"},
		{"C/A b.md", "", "C/A b.md by path"},
		{"c/a b", "", "C/a b.md by path"},
		{"Cafe\u0301", "", "D/Caf\u00e9.md by filename of D/Caf\u00e9.md, E/Cafe\u0301.md"}, // these differ in their folders too
		{"E/caf\u00e9", "", "E/Cafe\u0301.md by path"},
		{"Caf\u00e8", "", "G/Caf\u00e8.md by filename"},
		{"Cafe\u0300", "", "G/Cafe\u0300.md by filename"},
		{"caf\u00e8", "", "G/Cafe\u0300.md by filename of G/Cafe\u0300.md, G/Caf\u00e8.md"},
		{"\u00e4RGER", "", "F/\u00c4rger.md by filename"},
		{"na me", "", "F/na\u00a0me.md by filename"},
		{"./Note", "A/n.md", "A/Note.md by path"},
		{"../Note", "A/B/n.md", "A/Note.md by path"},
		{"../../Note", "A/B/n.md", "Note.md by path"},
		{"../../../Note", "A/B/n.md", "missing"},
		{"../B/Twin.md", "A/n.md", "B/Twin.md by path"},
		{"./x/../Note", "A/n.md", "A/Note.md by path"},
		{"./Twin", "C/n.md", "missing"}, // no other folder than that
		{"/Note", "A/n.md", "Note.md by path"},
		{"/Twin", "A/n.md", "missing"},
		{"/A/Twin.md", "B/n.md", "A/Twin.md by path"},
		{"/", "", "missing"},
		{".", "A/n.md", "missing"},
		{"..", "A/n.md", "missing"},
		{"A/", "", "missing"},
		{"", "A/Note.md", "A/Note.md by path"},
		{"", "", "missing"},
		{"", "Gone.md", "missing"},
		{"Secret", "", "excluded by filename"},
		{"Shut/Secret.md", "", "excluded by path"},
		{"Twin2", "", "H/Twin2.md by filename"}, // the closed one is not told
		{"Twin2", "Shut/n.md", "excluded by filename"},
		{"100% sure", "", "100% sure.md by path"},
	}
	for _, test := range tests {
		if got := short(g.Resolve(test.target, "", test.from)); got != test.want {
			t.Errorf("Resolve(%q, \"\", %q) = %s, want %s", test.target, test.from, got, test.want)
		}
	}
	if got := new(Graph).Resolve("Note", "", ""); got.Target.Kind != ToNothing {
		t.Errorf("Resolve in an empty graph = %+v", got)
	}
}

func TestResolveSubpath(t *testing.T) {
	g := graphWith("N.md", strings.Join([]string{
		"# Top",                          // 1
		"## What: is `this`? [x] | a#b^", // 2
		"## Same",                        // 3
		"### Below",                      // 4
		"## Other",                       // 5
		"### Same",                       // 6
		"#### Below",                     // 7
		"### Last",                       // 8
		"## \u00c4rger  mit   Blanks",    // 9
		"text ^Block-1",                  // 10
		"## 1. One / two (three)",        // 11
	}, "\n"), "p.pdf", "", "Shut.md", "excluded")
	tests := []struct{ target, subpath, want string }{
		{"N", "Top", "N.md:1 by path"},
		{"N", "top", "N.md:1 by path"},
		{"N", "What is `this` x a b", "N.md:2 by path"},
		{"N", "What: is this? x a b", "N.md:2 by path"},
		{"N", "Same", "N.md:3 by path"},
		{"N", "Same#Below", "N.md:4 by path"},
		{"N", "Other#Same", "N.md:6 by path"},
		{"N", "Other#Same#Below", "N.md:7 by path"},
		{"N", "Other#Below", "N.md:7 by path"},
		{"N", "Top#Last", "N.md:8 by path"},
		{"N", "Last#Top", "N.md ! by path"},
		{"N", "Other#Other", "N.md ! by path"}, // no deeper
		{"N", "Same#No", "N.md ! by path"},
		{"N", "No#Same", "N.md ! by path"},
		{"N", "#Top", "N.md:1 by path"},
		{"N", "a\u0308rger mit blanks", "N.md:9 by path"},
		{"N", "Wha", "N.md ! by path"},
		{"N", "1. One two three", "N.md:11 by path"},
		{"N", "^block-1", "N.md by path"},
		{"N", "^block", "N.md ! by path"},
		{"N", "^", "N.md ! by path"},
		{"N", "", "N.md by path"},
		{"p.pdf", "page=3", "attachment p.pdf by path"},
		{"Shut", "X", "excluded by path"},
		{"Gone", "X", "missing"},
	}
	for _, test := range tests {
		if got := short(g.Resolve(test.target, test.subpath, "")); got != test.want {
			t.Errorf("Resolve(%q, %q) = %s, want %s", test.target, test.subpath, got, test.want)
		}
	}
	if got := short(g.Resolve("", "Same", "N.md")); got != "N.md:3 by path" {
		t.Errorf("Resolve of a heading of the note itself = %s", got)
	}
}

func TestFind(t *testing.T) {
	g := graphWith(
		"Folder/Big Note.md", "---\naliases: [The Big, Second]\n---\n# Part\n", "Folder/Other.md", "---\naliases: [Second, Note2]\n---\n",
		"Note2.md", "", "100% sure \u2013 \u00fc \U0001F600.md", "", "C# notes.md", "", "C.md", "# notes\n",
		"L1.md", "[[Big Note#Part|Large one]] [[Big Note|large  ONE]] [[Other|large one]] `[[Note2|only code]]`", "L2.md", "[[Other|Large one]] [[Gone|nowhere]]",
		"L3.md", "[[Other#No|large one]] [x y](Note2.md) [[Shut|hidden]] ![[i.png|100]]", "i.png", "", "Shut.md", "excluded")
	const big, other, sure = "Folder/Big Note.md", "Folder/Other.md", "100% sure \u2013 \u00fc \U0001F600.md"
	tests := []struct{ text, want string }{
		{"[[Big Note]]", big + " by filename"},
		{"![[Big Note#Part|so]]", big + ":4 by filename"},
		{"  [[Folder/Big Note|so]] ", big + " by path"},
		{"[so](Folder/Big%20Note.md#Part)", big + ":4 by path"},
		{"big note", big + " by filename"},
		{"Folder/Big Note.md", big + " by path"},
		{`Folder\Big Note.md`, big + " by path"},
		{`Folder\\big note`, big + " by path"},
		{"./Folder/Big Note", big + " by path"},
		{"Big Note#Part", big + ":4 by filename"},
		{"Big Note # Part", big + ":4 by filename"},
		{"Big Note#Nothing", big + " ! by filename"},
		{"note://Folder/Big%20Note.md", big + " by path"},
		{"NOTE://Folder/Big%20Note.md#Part", big + ":4 by path"},
		{"note://100%25%20sure%20%E2%80%93%20%C3%BC%20%F0%9F%98%80.md", sure + " by path"},
		{"note://100% sure \u2013 \u00fc \U0001F600.md", sure + " by path"}, // not encoded at all
		{sure, sure + " by path"},
		{"note://C%23%20notes.md", "C# notes.md by path"},
		{"C# notes", "C# notes.md by path"},
		{"C#notes", "C.md:1 by path"},
		{"the big", big + " by alias"},
		{"[[The Big#Part]]", big + ":4 by alias"},
		{"second", big + " by alias of " + big + ", " + other},
		{"Note2", "Note2.md by path"}, // a file comes before an alias
		{"large one", other + " by link_text of " + big + ", " + other},
		{"x Y", "Note2.md by link_text"},
		{"only code", "missing"},
		{"nowhere", "missing"},
		{"hidden", "missing"},
		{"100", "missing"},
		{"Shut", "excluded by path"},
		{"", "missing"},
		{"#", "missing"},
		{"[[", "missing"},
		{"[[]]", "missing"},
		{"note://", "missing"},
		{"no such thing", "missing"},
	}
	for _, test := range tests {
		if got := short(g.Find(test.text, "")); got != test.want {
			t.Errorf("Find(%q) = %s, want %s", test.text, got, test.want)
		}
	}
	if got := short(g.Find("[[#Part]]", big)); got != big+":4 by path" {
		t.Errorf("Find of a heading of the note itself = %s", got)
	}
	if got := new(Graph).Find("a", ""); got.Target.Kind != ToNothing {
		t.Errorf("Find in an empty graph = %+v", got)
	}
}

// FuzzFind holds that whatever is asked for, what is found is a file of the vault, and
// among the candidates, which are several, different and sorted; and that a path finds
// its own file.
func FuzzFind(f *testing.F) {
	for _, s := range []string{"a b", "A B#x", "[[a_b|x]]", "![x](a%20b.md)", "note://%zz", "../x", `\`, "x/..", "\u212a", "C# n"} {
		f.Add(s, "F/n.md")
	}
	f.Fuzz(func(t *testing.T, text, from string) {
		g := graphWith("a b.md", "[[c|x]]", "F/A b.md", "", "F/a b.md", "", "G/c.md", "---\naliases: [x, z]\n---", "C# n.md", "", "p.png", "", "S.md", "excluded")
		r := g.Find(text, from)
		_, known := g.file(r.Target.Path)
		if found := r.Target.Kind == ToNote || r.Target.Kind == ToAttachment; known != found || (r.MatchedBy == "") != (r.Target.Kind == ToNothing) {
			t.Errorf("Find(%q, %q) = %+v", text, from, r)
		}
		if n := len(r.Candidates); n > 0 && (n < 2 || !slices.IsSorted(r.Candidates) || !slices.Contains(r.Candidates, r.Target.Path)) {
			t.Errorf("Find(%q, %q) = %+v", text, from, r)
		}
		for _, n := range g.Notes {
			if r := g.Find(n.Path, from); r.Target.Path != n.Path || r.MatchedBy != ByPath {
				t.Errorf("Find(%q, %q) = %+v", n.Path, from, r)
			}
		}
	})
}
