package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"smart-connections-mcp/smartenv/note"
)

const sectioned = `---
tags: [x]
---
before

# Garden
intro

## Roses: old
- cut in March ^cut
  deep
- feed

## C# tips
text of one
and two ^two-lines

# Workshop
## Roses: old
other

## Kiln
| a | b |

^table

` + "```\n# no heading ^no\n\ncode\n```\n\n^code" + `

## Kiln
![[a.png]]^glued
### Deep   down
end`

func lineRange(text string, first, last int) string {
	return strings.Join(strings.Split(text, "\n")[first-1:last], "\n")
}

// Sections by every way of naming them.
func TestSection(t *testing.T) {
	s := serverOf(t, nil)
	crlf := strings.ReplaceAll(sectioned, "\n", "\r\n")
	write(t, filepath.Join(s.vault.Root(), "lf.md"), []byte(sectioned))
	write(t, filepath.Join(s.vault.Root(), "crlf.md"), []byte(crlf))
	write(t, filepath.Join(s.vault.Root(), "ids.md"), []byte("a\n- one\n- two ^two\n  more\n- three\n\n# H ^h\nline\nend ^para"))
	write(t, filepath.Join(s.vault.Root(), "open.md"), []byte("---\na: b\ntext"))
	write(t, filepath.Join(s.vault.Root(), "bom.md"), []byte("\ufeff"+sectioned[len("---\ntags: [x]\n---\nbefore\n\n"):]))
	for _, tt := range []struct {
		path, asked string
		first, last int
		key         string
	}{
		{"lf.md", "#Garden", 6, 17, "#Garden"},
		{"lf.md", "Garden", 6, 17, "#Garden"},
		{"lf.md", "  ##  gArDeN ", 6, 17, "#Garden"},
		{"lf.md", "#Garden#Roses: old", 9, 13, "#Garden#Roses: old"},
		{"lf.md", "#garden#roses:  OLD", 9, 13, "#Garden#Roses: old"},
		{"lf.md", "Garden#Roses old", 9, 13, "#Garden#Roses: old"},
		{"lf.md", "Workshop#Roses: old", 19, 21, "#Workshop#Roses: old"},
		{"lf.md", "C# tips", 14, 17, "#Garden#C# tips"},
		{"lf.md", "c tips", 14, 17, "#Garden#C# tips"},
		{"lf.md", "Garden#C# tips", 14, 17, "#Garden#C# tips"},
		{"lf.md", "Deep down", 37, 38, "#Workshop#Kiln#{2}#Deep   down"},
		{"lf.md", "Workshop#Deep down", 37, 38, "#Workshop#Kiln#{2}#Deep   down"},
		{"lf.md", "#Workshop#Kiln", 22, 34, "#Workshop#Kiln"}, // of two the exact key
		{"lf.md", "#Workshop#Kiln#{2}", 35, 38, "#Workshop#Kiln#{2}"},
		{"lf.md", "#Garden#Roses: old#{3}", 12, 13, "#Garden#Roses: old#{3}"},
		{"lf.md", "#GARDEN#roses: old#{3}", 12, 13, "#Garden#Roses: old#{3}"},
		{"lf.md", "#", 4, 5, "#"},
		{"lf.md", "#---frontmatter---", 1, 3, "#---frontmatter---"},
		{"lf.md", "^cut", 10, 11, "^cut"},
		{"lf.md", "#^CUT", 10, 11, "^cut"},
		{"lf.md", "^two-lines", 15, 16, "^two-lines"},
		{"lf.md", "^table", 23, 25, "^table"},
		{"lf.md", "^glued", 36, 36, "^glued"},
		{"lf.md", "^code", 27, 33, "^code"},
		{"crlf.md", "Garden", 6, 17, "#Garden"},
		{"crlf.md", "^table", 23, 25, "^table"},
		{"crlf.md", "^cut", 10, 11, "^cut"},
		{"crlf.md", "#Garden#Roses: old#{3}", 12, 13, "#Garden#Roses: old#{3}"}, // which the plugin has of the note with LF
		{"bom.md", "garden", 1, 12, "#Garden"},
		{"ids.md", "^two", 3, 4, "^two"},
		{"ids.md", "^h", 7, 7, "^h"},
		{"ids.md", "^para", 8, 9, "^para"},
		{"lf.md", "#workshop#KILN", 22, 34, "#Workshop#Kiln"},
		{"open.md", "#---frontmatter---", 1, 3, "#---frontmatter---"}, // never closed: to the end
	} {
		in := DefaultNote(tt.path)
		in.Section = tt.asked
		got, err := s.Note(t.Context(), in)
		raw, _ := s.vault.Read(tt.path)
		want := lineRange(raw, tt.first, tt.last)
		if err != nil || got.Text != want || got.Section != tt.key || !slices.Equal(got.Lines, []int{tt.first, tt.last}) || got.TotalChars != len([]rune(want)) {
			t.Errorf("section %q of %s = lines %v, key %q, %.60q, %v; want lines %d-%d, %q, %.60q", tt.asked, tt.path, got.Lines, got.Section, got.Text, err, tt.first, tt.last, tt.key, want)
		}
		if got.Section != tt.key || strings.HasPrefix(tt.key, "^") {
			continue
		}
		if in.Section = got.Section; in.Section != "" { // the key that is returned is taken
			if again, err := s.Note(t.Context(), in); err != nil || again.Text != got.Text {
				t.Errorf("section %q of %s again = %.60q, %v", in.Section, tt.path, again.Text, err)
			}
		}
	}
}

// Bug 34: what is not there is an error that names what is.
func TestSectionMissed(t *testing.T) {
	s := serverOf(t, []testNote{{path: "n.md", text: sectioned}, {path: "one.md", text: "a single line"}, {path: "bad.md", text: "caf\xe9\n# H\xe9\nx"},
		{path: "huge.md", text: "# Here\n" + strings.Repeat("word ", 70_000)}, {path: "ids.md", text: "# H\na ^one\n\nb ^two"}})
	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, "# Same\n## Part %d\n", i)
	}
	write(t, filepath.Join(s.vault.Root(), "many.md"), []byte(many.String()))
	for _, tt := range []struct{ path, asked, want string }{
		{"n.md", "Gardne", `"n.md": no section "Gardne": did you mean "#Garden" (lines 6-17)?`},
		{"n.md", "Nowhere", `no section "Nowhere": the note has "#Garden" (lines 6-17), "#Garden#Roses: old" (lines 9-13), `},
		{"n.md", "Kiln", `section "Kiln" could be any of "#Workshop#Kiln" (lines 22-34), "#Workshop#Kiln#{2}" (lines 35-38): pass one of these keys`},
		{"n.md", "Roses: old", `could be any of "#Garden#Roses: old" (lines 9-13), "#Workshop#Roses: old" (lines 19-21): pass`},
		{"n.md", "Workshop#C# tips", `did you mean`},
		{"n.md", "no heading", `no section "no heading": `},
		{"n.md", "^no", `no block "^no": the note has "^cut", "^two-lines", "^table", "^code", "^glued"`},
		{"n.md", strings.Repeat("x", 1_000_000), `section has 1000000 bytes: pass a heading`},
		{"n.md", strings.Repeat("x", 4000), `no section "xxx`},
		{"n.md", strings.Repeat("#", 4000), `no section "###`},
		{"n.md", "\u202e", `no section "`},
		{"one.md", "Any", `no section "Any": the note has no headings; leave section out, or pass lines`},
		{"one.md", "^any", `no block "^any": the note has no block ids`},
		{"bad.md", "H", `no section "H": the note has "#H�" (lines 2-3)`},
		{"huge.md", "Here", `does not cut notes over 300000 bytes into sections; leave section out, or pass lines`},
		{"many.md", "Same", `"#Same[10]" (lines 19-20), 20 more: pass one of these keys`},
		{"ids.md", "^ones", `no block "^ones": the note has "^one", "^two"`},
	} {
		in := DefaultNote(tt.path)
		in.Section = tt.asked
		if got, err := s.Note(t.Context(), in); err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 2000 {
			t.Errorf("section %.40q of %s = %.60q, %.300v; want the error %q", tt.asked, tt.path, got.Text, err, tt.want)
		}
	}
}

func TestLines(t *testing.T) {
	s := serverOf(t, []testNote{{path: "n.md", text: sectioned}, {path: "crlf.md", text: "a\r\nb\r\nc\r\n"}, {path: "one.md", text: "single"}, {path: "empty.md"}, {path: "bom.md", text: "\ufeffa\nb"}, {path: "bad.md", text: "a\xff\nb\xe9\n"},
		{path: "Sketch.excalidraw.md", text: "---\nx: y\n---\n# Text Elements\nfirst element ^a1b2\n\n%%x\nsecond ^c3d4\n\n# Drawing\n```json\n{}\n```\n"}})
	for _, tt := range []struct {
		path, lines string
		want        string // text, or what the error has
		found       []int  // nil: an error
		section     string
		warning     string
	}{
		{"n.md", `[6,17]`, lineRange(sectioned, 6, 17), []int{6, 17}, "#Garden", ""},
		{"n.md", `[9,13]`, lineRange(sectioned, 9, 13), []int{9, 13}, "#Garden#Roses: old", ""},
		{"n.md", `[12,12]`, "- feed", []int{12, 12}, "#Garden#Roses: old#{3}", ""},
		{"n.md", `["12","12"]`, "- feed", []int{12, 12}, "#Garden#Roses: old#{3}", ""},
		{"n.md", `[12.0,"12 "]`, "- feed", []int{12, 12}, "#Garden#Roses: old#{3}", ""},
		{"n.md", `[5,6]`, "\n# Garden", []int{5, 6}, "", ""}, // in no block
		{"n.md", `[37,99]`, "### Deep   down\nend", []int{37, 38}, "#Workshop#Kiln#{2}#Deep   down", "The note ends with line 38."},
		{"n.md", `[38,2147483648]`, "end", []int{38, 38}, "#Workshop#Kiln#{2}#Deep   down#{1}", "ends with line 38"},
		{"n.md", `[]`, sectioned, nil, "", ""},
		{"n.md", `null`, sectioned, nil, "", ""},
		{"n.md", `[39,39]`, "lines begins at 39, and there are 38 lines", nil, "error", ""},
		{"n.md", `[0,0]`, "lines is [0, 0]: pass the first line, from 1", nil, "error", ""},
		{"n.md", `[-3,4]`, "lines is [-3, 4]: pass", nil, "error", ""},
		{"n.md", `[5,1]`, "lines is [5, 1]: pass", nil, "error", ""},
		{"n.md", `[1]`, "lines has 1 numbers: pass the first and the last line", nil, "error", ""},
		{"n.md", `[1,2,3]`, "lines has 3 numbers", nil, "error", ""},
		{"n.md", `[1,2.5]`, "lines is [1,2.5]: pass an array of whole numbers, such as [10, 20]", nil, "error", ""},
		{"n.md", `[1,null]`, "pass an array of whole numbers", nil, "error", ""},
		{"n.md", `[[1],2]`, "pass an array of whole numbers", nil, "error", ""},
		{"n.md", `"1-2"`, "pass an array of whole numbers", nil, "error", ""},
		{"n.md", `{"first":1}`, "pass an array of whole numbers", nil, "error", ""},
		{"n.md", `[1,2],"section":"Garden"`, "lines and section are both given: leave lines out to get the whole section", nil, "error", ""},
		{"crlf.md", `[1,2]`, "a\r\nb\r", []int{1, 2}, "#", ""},
		{"crlf.md", `[1,4]`, "a\r\nb\r\nc\r\n", []int{1, 4}, "#", ""},
		{"one.md", `[1,1]`, "single", []int{1, 1}, "#", ""},
		{"one.md", `[1,2]`, "single", []int{1, 1}, "#", "ends with line 1"},
		{"empty.md", `[1,1]`, "", []int{1, 1}, "", ""},
		{"bom.md", `[1,1]`, "\ufeffa", []int{1, 1}, "#", ""},
		{"bad.md", `[2,2]`, "b\ufffd", []int{2, 2}, "#", "not valid UTF-8"},
		{"Sketch.excalidraw.md", `[1,2]`, "first element\nsecond", []int{1, 2}, "#", ""},
		{"Sketch.excalidraw.md", `[2,3]`, "second", []int{2, 2}, "#", "The note ends with line 2 of text in the drawing."},
		{"Sketch.excalidraw.md", `[5,5]`, "there are 2 lines of text in the drawing: pass lines up to 2", nil, "error", ""},
	} {
		text, isError := callTool(t, s, "get_note", fmt.Sprintf(`{"path":%q,"lines":%s}`, tt.path, tt.lines))
		if isError || tt.section == "error" {
			if !isError || tt.section != "error" || !strings.Contains(text, tt.want) {
				t.Errorf("lines %s of %s = %s, want %q", tt.lines, tt.path, text, tt.want)
			}
			continue
		}
		var got NoteOutput
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if got.Text != tt.want || !slices.Equal(got.Lines, tt.found) || got.Section != tt.section ||
			(tt.warning == "") != (got.Warning == "") || !strings.Contains(got.Warning, tt.warning) {
			t.Errorf("lines %s of %s = %s, want %q, %v, section %q, warning %q", tt.lines, tt.path, text, tt.want, tt.found, tt.section, tt.warning)
		}
	}
}

// What search_notes returns of a row leads to the passage that it quotes.
func TestLinesOfHits(t *testing.T) {
	s := serverOf(t, vaultNotes())
	in := DefaultSearch("rose compost soup kiln")
	in.MinScore, in.Scope = -1, "blocks"
	answer, err := s.Search(t.Context(), in)
	if err != nil || len(answer.Results) < 4 {
		t.Fatal(err, answer.Results)
	}
	for _, row := range answer.Results {
		byLines, bySection := DefaultNote(row.Path), DefaultNote(row.Path)
		byLines.Lines, bySection.Section = row.Lines, row.Section
		got, err := s.Note(t.Context(), byLines)
		if err != nil || strings.TrimRight(got.Text, "\n") != row.Excerpt || got.Section != row.Section {
			t.Errorf("lines %v of %s = %.60q, %q, %v; want %.60q, %q", row.Lines, row.Path, got.Text, got.Section, err, row.Excerpt, row.Section)
		}
		if same, err := s.Note(t.Context(), bySection); err != nil || same.Text != got.Text {
			t.Errorf("section %q of %s = %.60q, %v; want %.60q", row.Section, row.Path, same.Text, err, got.Text)
		}
	}
}

// readVault reads the notes of a vault, by their paths.
func readVault(t *testing.T, dir string) map[string]string {
	t.Helper()
	v, err := note.OpenVault(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	paths, _, err := v.List()
	if err != nil {
		t.Fatal(err)
	}
	notes := map[string]string{}
	for _, path := range paths {
		if notes[path], err = v.Read(path); err != nil {
			t.Fatal(err)
		}
	}
	return notes
}

// The key of every block in real vaults leads to its lines, and the path of every
// heading to it or to an error that lists it.
func TestSectionsOfVaults(t *testing.T) {
	dirs := []string{filepath.Join("..", "testdata", "demo", "vault")}
	if shared := filepath.Join("..", "..", "shared", "vaults"); !missing(t, shared) && !testing.Short() {
		for _, name := range []string{"control-pt-crlf", "datasci-es", "edge-mini", "obsidian-help-en", "spec-pt-emoji"} {
			dirs = append(dirs, filepath.Join(shared, name))
		}
	}
	for _, dir := range dirs {
		checked := 0
		for path, raw := range readVault(t, dir) {
			o := newOutline(path, raw)
			for i, b := range o.blocks {
				if i%5 != 0 {
					continue
				}
				checked++
				if got, err := o.section(b.Key); err != nil || got != o.spanOf(b) {
					t.Errorf("section %q of %s = %v, %v; want lines %d-%d", b.Key, path, got, err, b.Start, b.End)
				}
			}
			for i, h := range o.headings() {
				if i%5 != 0 {
					continue
				}
				got, err := o.section(strings.Join(append(h.above, h.title), "#"))
				if err == nil && got != h.span && got.key != h.key || err != nil && !strings.Contains(err.Error(), "could be any of") {
					t.Errorf("path of %q in %s = %v, %v; want %v", h.key, path, got, err, h.span)
				}
			}
		}
		if checked == 0 {
			t.Errorf("no blocks in %s", dir)
		}
	}
}

// missing says whether shared data is not there, which is a fault where it must be.
func missing(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	return err != nil
}

// The headings and blocks that the links of Obsidian's own manual name are found in
// the notes they link to.
func TestSectionsOfLinks(t *testing.T) {
	dir := filepath.Join("..", "..", "shared", "vaults", "obsidian-help-en")
	if missing(t, dir) {
		t.Skip("no ../shared")
	}
	notes := readVault(t, dir)
	byName := map[string]string{}
	for path := range notes {
		byName[strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".md")] = path
	}
	link := regexp.MustCompile(`\[\[([^\]|#\n]*)#([^\]|\n]+?)\\?(?:\||\]\])`)
	found, lost := 0, map[string]bool{}
	for from, raw := range notes {
		for _, m := range link.FindAllStringSubmatch(raw, -1) {
			to := byName[strings.ToLower(filepath.Base(m[1]))]
			if _, exact := notes[m[1]+".md"]; exact {
				to = m[1] + ".md"
			}
			if m[1] == "" {
				to = from
			}
			if to == "" {
				continue // an example
			}
			if _, err := newOutline(to, notes[to]).section(m[2]); err != nil {
				if lost[m[2]] = true; !slices.Contains(notInManual, m[2]) {
					t.Errorf("%s: %s: %v", from, m[0], err)
				}
				continue
			}
			found++
		}
	}
	if found < 100 || len(lost) != len(notInManual) {
		t.Errorf("%d links lead to sections and %d to none, want many and %d", found, len(lost), len(notInManual))
	}
}

// notInManual are what leads nowhere in Obsidian either, or to the first of two
// headings, of which an error names both here.
var notInManual = []string{
	"Connect to a remote vault",                                                             // twice in that note
	"# header", "#`\u00a0will search generically across the vault, whereas\u00a0`[[## team", // examples
}

// What is asked of a large note costs no more than reading it a few times.
func TestSectionIsQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes time")
	}
	var b strings.Builder
	for i := range 12_000 {
		fmt.Fprintf(&b, "## Heading %d\ntext\n", i)
	}
	s := serverOf(t, nil)
	write(t, filepath.Join(s.vault.Root(), "n.md"), []byte(b.String()))
	for _, asked := range []string{"Heading 11999", "Haeding 12", strings.Repeat("Heading ", 500), "^x"} {
		start := time.Now()
		in := DefaultNote("n.md")
		in.Section = asked
		s.Note(t.Context(), in)
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("section %.20q took %v", asked, took)
		}
	}
}
