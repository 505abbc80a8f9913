package tools

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"smart-connections-mcp/smartenv/property"
)

// Pages, put together without their markers, are the text byte for byte, whatever
// their size; the marker says what next_offset does.
func TestNotePages(t *testing.T) {
	s := serverOf(t, nil)
	texts := map[string]string{
		"plain": strings.Repeat("aü😀\r\n", 100), "one line": strings.Repeat("x", 333), "bom": "\ufeff" + strings.Repeat("é\u0301 \u202e", 90),
		"empty": "", "broken": strings.Repeat("a\xff\xf0\x9f", 70), "short": "# A\nsmall\n",
	}
	for name, text := range texts {
		write(t, filepath.Join(s.vault.Root(), name+".md"), []byte(text))
		for _, selected := range []string{"", `,"lines":[1,60]`} {
			whole := ask[NoteOutput](t, s, fmt.Sprintf(`{"path":"%s.md","max_chars":400000%s}`, name, selected))
			for _, limit := range []int{3, 76, 77, 78, 79, 120, 400} {
				got, offset, pages := "", 0, 0
				for ; ; pages++ {
					page := ask[NoteOutput](t, s, fmt.Sprintf(`{"path":"%s.md","max_chars":%d,"offset":%d%s}`, name, limit, offset, selected))
					chars := utf8.RuneCountInString(page.Text)
					if chars > limit || page.TotalChars != whole.TotalChars {
						t.Fatalf("%s, %d from %d: %d characters of %d, want at most %d of %d", name, limit, offset, chars, page.TotalChars, limit, whole.TotalChars)
					}
					if page.Truncated != (page.NextOffset != nil) || page.Truncated != (page.NextStep != "") {
						t.Fatalf("%s, %d from %d: truncated %v, next_offset %v, next_step %q", name, limit, offset, page.Truncated, page.NextOffset, page.NextStep)
					}
					if !page.Truncated {
						got += page.Text
						break
					}
					shown := *page.NextOffset - offset
					text, marker := prefixRunes(page.Text, shown), ""
					marker = page.Text[len(text):]
					if shown < 1 || marker != "" && !strings.HasPrefix(marker, "\n\n[cut here: the text has ") || limit > 100 && marker == "" ||
						!strings.Contains(page.NextStep, fmt.Sprintf("offset %d ", *page.NextOffset)) {
						t.Fatalf("%s, %d from %d: %q, next_offset %d, next_step %q", name, limit, offset, page.Text, *page.NextOffset, page.NextStep)
					}
					got, offset = got+text, *page.NextOffset
				}
				if got != whole.Text || limit == 400 && pages > 2 {
					t.Errorf("%s%s in %d pages of %d = %.50q, want %.50q", name, selected, pages+1, limit, got, whole.Text)
				}
			}
			if selected == "" && name != "broken" && whole.Text != text {
				t.Errorf("%s = %.50q, want %.50q", name, whole.Text, text)
			}
		}
	}
	for _, tt := range []struct{ arguments, want string }{
		{`{"path":"short.md","offset":10}`, `"text":""`}, // 10 characters: an empty page
		{`{"path":"short.md","offset":11}`, `offset is 11: there are 10 characters, pass less`},
		{`{"path":"short.md","offset":1e300}`, `offset is 2147483647: there are 10 characters`},
		{`{"path":"short.md","offset":-1}`, `offset is -1: pass 0 or the next_offset of an answer`},
		{`{"path":"short.md","offset":"4","lines":[2,2]}`, `"text":"l"`},
		{`{"path":"short.md","offset":6,"section":"A"}`, `"text":"all\n"`},
		{`{"path":"short.md","offset":6,"lines":[2,2]}`, `there are 5 characters`},
		{`{"path":"empty.md","offset":0}`, `"text":""`},
	} {
		if text, _ := callTool(t, s, "get_note", tt.arguments); !strings.Contains(text, tt.want) {
			t.Errorf("get_note(%s) = %s, want %s", tt.arguments, text, tt.want)
		}
	}
}

// ask calls get_note and reads its answer.
func ask[T any](t *testing.T, s *Server, arguments string) (out T) {
	t.Helper()
	text, isError := callTool(t, s, "get_note", arguments)
	if err := json.Unmarshal([]byte(text), &out); err != nil || isError {
		t.Fatalf("get_note(%s) = %s", arguments, text)
	}
	return out
}

// A note of several has the same fields as alone, or its error.
func TestNotes(t *testing.T) {
	s := serverOf(t, append(vaultNotes(), testNote{path: "Private/Diary.md", text: "secret"}, testNote{path: "bad.md", text: "caf\xe9"}))
	write(t, filepath.Join(s.vault.Root(), ".smart-env", "smart_env.json"), []byte(`{"smart_sources":{"folder_exclusions":"Private"},"embedding_models":{"default_model_key":"transformers#1"}}`))
	text, isError := callTool(t, s, "get_note", `{"paths":["Short.md","garden\\roses","Nowhere.md","/etc/passwd","Private/Diary.md","","bad.md",".smart-env/x","Short.md"]}`)
	var out struct {
		Notes     []map[string]any
		Truncated bool
		NextStep  string `json:"next_step"`
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil || isError || len(out.Notes) != 8 || out.Truncated || out.NextStep != "" {
		t.Fatalf("get_note of several = %s", text)
	}
	for i, want := range []struct{ path, alone, err string }{
		{"Short.md", "Short.md", ""},
		{"Garden/Roses.md", "Garden/Roses.md", ""},
		{"Nowhere.md", "", `no note at "Nowhere.md": pass a path`},
		{"…/passwd", "", `"…/passwd" is refused: it is absolute`},
		{"Private/Diary.md", "", "exclusion settings"},
		{"bad.md", "bad.md", ""},
		{".smart-env/x", "", "begins with a dot are closed"},
		{"Short.md", "Short.md", ""},
	} {
		got := out.Notes[i]
		if want.alone == "" {
			if message, _ := got["error"].(string); got["path"] != want.path || !strings.Contains(message, want.err) || len(got) != 2 {
				t.Errorf("note %d = %v, want path %q and error %q alone", i, got, want.path, want.err)
			}
			continue
		}
		if alone := ask[map[string]any](t, s, fmt.Sprintf(`{"path":%q}`, want.alone)); fmt.Sprint(got) != fmt.Sprint(alone) {
			t.Errorf("note %d = %v, want %v", i, got, alone)
		}
	}
	if strings.Contains(text, "secret") || strings.Contains(text, s.vault.Root()) {
		t.Errorf("get_note of several shows what it must not: %s", text)
	}
}

// All notes together stay within max_chars; the answer says where to go on, and who
// does gets every text whole.
func TestNotesShareMaxChars(t *testing.T) {
	s := serverOf(t, []testNote{{path: "a.md", text: strings.Repeat("a", 100)}, {path: "b.md", text: strings.Repeat("bü", 200)}, {path: "c.md", text: strings.Repeat("c", 50)}, {path: "d.md"}, {path: "e.md", text: "e"}})
	for _, limit := range []int{1, 99, 100, 101, 300, 499, 500, 501, 549, 550, 551, 552, 1000} {
		out := ask[NotesOutput](t, s, fmt.Sprintf(`{"paths":["a.md","b.md","none.md","c.md","d.md","e.md"],"max_chars":%d}`, limit))
		chars, cut, nothing := 0, "", 0
		for _, n := range out.Notes {
			if n.NoteOutput == nil {
				continue
			}
			chars += utf8.RuneCountInString(n.Text)
			if n.Truncated && *n.NextOffset > 0 {
				cut = fmt.Sprintf("path %q and offset %d", n.Path, *n.NextOffset)
			} else if n.Truncated {
				nothing++
			}
			if n.NextStep != "" {
				t.Errorf("max_chars %d: %s has a next_step of its own", limit, n.Path)
			}
		}
		if chars > limit || limit < 551 && chars != limit || limit >= 551 && chars != 551 || len(out.Notes) != 6 || out.Notes[2].Error == "" {
			t.Errorf("max_chars %d: %d characters of %d notes: %+v", limit, chars, len(out.Notes), out.Notes)
		}
		if out.Truncated != (limit < 551) || !strings.Contains(out.NextStep, cut) || (nothing > 0) != strings.Contains(out.NextStep, fmt.Sprintf("paths of the %d notes", nothing)) {
			t.Errorf("max_chars %d: truncated %v, next_step %q; want %q and %d more", limit, out.Truncated, out.NextStep, cut, nothing)
		}
	}
}

func TestNotesRefused(t *testing.T) {
	s := serverOf(t, vaultNotes())
	many, _ := json.Marshal(strings.Split(strings.Repeat("Short.md ", 21), " ")[:21])
	for _, tt := range []struct{ arguments, want string }{
		{`{"path":"Short.md","paths":["Short.md"]}`, "path and paths are both given: pass path for one note, or paths for several"},
		{`{}`, "path is empty: pass the path of a note"},
		{`{"paths":[]}`, "path is empty"},
		{`{"paths":[""]}`, "path is empty"},
		{`{"paths":[7]}`, "pass an array of strings"},
		{`{"paths":` + string(many) + `}`, "paths has 21 notes: pass at most 20 in one call"},
		{`{"paths":["Short.md"],"lines":[1,2]}`, "lines, section and offset are of one note: pass path instead of paths"},
		{`{"paths":["Short.md"],"section":"A"}`, "lines, section and offset are of one note"},
		{`{"paths":["Short.md"],"offset":1}`, "lines, section and offset are of one note"},
		{`{"paths":["Short.md"],"max_chars":0}`, "max_chars is 0: pass 1 to 400000"},
		{`{"path":"Short.md","frontmatter":"maybe"}`, `frontmatter is "maybe": pass true or false`},
	} {
		if text, isError := callTool(t, s, "get_note", tt.arguments); !isError || !strings.Contains(text, tt.want) {
			t.Errorf("get_note(%s) = %s, want %q", tt.arguments, text, tt.want)
		}
	}
	if out := ask[NotesOutput](t, s, `{"paths":"Short.md","path":""}`); len(out.Notes) != 1 || out.Notes[0].Text != "# Short\nsoup\n" {
		t.Errorf("one of several = %+v", out)
	}
}

// Properties are given when asked for; what is wrong with them costs no text.
func TestNoteFrontmatter(t *testing.T) {
	if _, err := property.Parse("a: 1"); err != nil {
		t.Skip("smartenv/property is not built")
	}
	const good = "---\ntitle: Roses\ntags: [a, b]\nn: 7\nwhen: 2024-05-01\n---\n# Roses\n"
	s := serverOf(t, []testNote{{path: "good.md", text: good}, {path: "none.md", text: "# None\n"}, {path: "bad.md", text: "---\na: [1\nb: }\n---\ntext\n"},
		{path: "empty.md", text: "---\n---\ntext\n"}, {path: "crlf.md", text: strings.ReplaceAll(good, "\n", "\r\n")}, {path: "bom.md", text: "\ufeff" + good}, {path: "nan.md", text: "---\nx: .nan\ny: .inf\n---\n"},
		{path: "bomb.md", text: "---\na: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n---\n"}})
	const properties = `{"n":7,"tags":["a","b"],"title":"Roses","when":"2024-05-01"}`
	for _, tt := range []struct{ arguments, want, broken string }{
		{`"path":"good.md"`, properties, ""},
		{`"path":"crlf.md"`, properties, ""},
		{`"path":"bom.md"`, properties, ""},
		{`"path":"good.md","lines":[7,7]`, properties, ""},
		{`"path":"good.md","section":"roses"`, properties, ""},
		{`"path":"none.md"`, `{}`, ""},
		{`"path":"empty.md"`, `{}`, ""},
		{`"path":"bad.md"`, "", "line"},
		{`"path":"bomb.md"`, "", "alias"},
		{`"path":"good.md","max_chars":59`, "", "the properties take 60 characters, max_chars leaves 59: pass a higher max_chars"},
		{`"path":"good.md","max_chars":60`, properties, ""},
	} {
		out := ask[map[string]json.RawMessage](t, s, `{`+tt.arguments+`,"frontmatter":true}`)
		if got := string(out["frontmatter"]); got != tt.want || (tt.broken == "") != (out["frontmatter_error"] == nil) || !strings.Contains(string(out["frontmatter_error"]), tt.broken) {
			t.Errorf("frontmatter of %s = %s, %s; want %s, %q", tt.arguments, got, out["frontmatter_error"], tt.want, tt.broken)
		}
		if out["text"] == nil {
			t.Errorf("%s: no text", tt.arguments)
		}
		if without := ask[map[string]json.RawMessage](t, s, `{`+tt.arguments+`}`); without["frontmatter"] != nil || without["frontmatter_error"] != nil {
			t.Errorf("%s: frontmatter without being asked for: %s", tt.arguments, without)
		}
	}
	if out := ask[NoteOutput](t, s, `{"path":"nan.md","frontmatter":true}`); out.Text == "" {
		t.Errorf("nan.md = %+v, want the text", out)
	}
	one := utf8.RuneCountInString(good)
	out := ask[NotesOutput](t, s, fmt.Sprintf(`{"paths":["good.md","good.md"],"frontmatter":true,"max_chars":%d}`, 2*60+2*one))
	if out.Truncated || len(out.Notes[1].Frontmatter) != 4 {
		t.Errorf("two with properties = %+v", out)
	}
	out = ask[NotesOutput](t, s, fmt.Sprintf(`{"paths":["good.md","good.md"],"frontmatter":true,"max_chars":%d}`, 2*60+2*one-1))
	if !out.Truncated || out.Notes[0].Truncated {
		t.Errorf("two with properties, one character short = %+v", out)
	}
}

// Every form of answer conforms to the schema.
func TestNoteAnswersConform(t *testing.T) {
	s := serverOf(t, vaultNotes())
	for _, arguments := range []string{
		`{"path":"Garden/Roses.md","lines":[2,99],"frontmatter":true}`,
		`{"path":"Garden/Roses.md","section":"Pruning","max_chars":100}`,
		`{"path":"Workshop/Kiln.md","frontmatter":true,"offset":20,"max_chars":100}`,
		`{"paths":["Garden/Roses.md","Nowhere.md","Short.md"],"max_chars":300,"frontmatter":true}`,
	} {
		conforms(t, s, "get_note", arguments)
	}
}
