package hostile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// pathCorpus reads testdata/paths.tsv: paths, and what becomes of each.
func pathCorpus(t testing.TB) map[string]string {
	t.Helper()
	data, err := os.ReadFile("../paths.tsv")
	if err != nil {
		t.Fatal(err)
	}
	corpus := map[string]string{strings.Repeat("a", 256) + ".md": "long", strings.Repeat("a/", 3000) + "x.md": "long"}
	for line := range strings.Lines(string(data)) {
		quoted, verdict, ok := strings.Cut(strings.TrimSpace(line), "\t")
		path, err := strconv.Unquote(quoted)
		if ok && err == nil && utf8.ValidString(path) { // no client can send what is not
			corpus[path] = verdict
		}
	}
	if len(corpus) < 130 {
		t.Fatalf("%d paths, want at least 130", len(corpus))
	}
	return corpus
}

// V4: every path of the corpus through every argument that takes a path or folder:
// it is refused, or it stays within the vault.
func TestV4Paths(t *testing.T) {
	t.Parallel()
	notes := map[string]string{}
	for _, path := range []string{"Note.md", "Folder/Sub/Deep.md", "100% sure – ü 😀.md", "non\u00A0breaking.md",
		"Caf\u00e9.md", "Proj/x.md", "Project/x.md", "etc..md", "console.md", "com10.md"} {
		notes[path] = prose("zeros")
	}
	dir := indexed(t, notes)
	base := filepath.Dir(dir)
	for _, name := range []string{"vault/.obsidian/app.json", "vault/.git/config", "vault/Folder/.hidden/x.md", "vault/.trash/x.md", "Note.md", "x.md"} {
		put(t, filepath.Join(base, filepath.FromSlash(name)), outside)
	}
	g := guarded{Client: serve(t, dir), secrets: []string{outside, base}}
	corpus := pathCorpus(t)
	for _, path := range []string{dir, filepath.Join(dir, "Note.md"), filepath.Join(base, "Note.md"), filepath.ToSlash(dir) + "/Folder"} {
		corpus[path] = "absolute" // or, on Windows, a colon: refused all the same
	}
	for path, verdict := range corpus {
		want, err := strconv.Unquote(verdict)
		for _, tool := range []string{"get_note", "related_notes"} {
			answer := g.ask(t, tool, map[string]any{"path": path})
			var got listing
			if !answer.IsError {
				_ = json.Unmarshal([]byte(answer.Text()), &got)
			}
			if got.Path != want || answer.IsError != (err != nil) {
				t.Errorf("%s of %.60q: %q, %.200q, want %s", tool, path, got.Path, answer.Text(), verdict)
			}
		}
		for tool, arguments := range map[string]map[string]any{"search_notes": everything("zeros"), "related_notes": {"path": "Note.md"}} {
			arguments["folder"] = []string{path}
			if answer := g.ask(t, tool, arguments); !answer.IsError {
				checkScope(t, path, answer.Text(), notes)
			}
		}
	}
	g.end(t)
}

// checkScope checks what a path gave that was passed for a folder: all, for the
// vault's root, or what lies in a folder of the vault.
func checkScope(t *testing.T, asked, text string, notes map[string]string) {
	t.Helper()
	var got listing
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if asked == "" { // the notes at the top
		for _, r := range append(got.Results, got.Related...) {
			if notes[r.Path] == "" || strings.Contains(r.Path, "/") {
				t.Errorf("folder %q finds %q", asked, r.Path)
			}
		}
		return
	}
	root := strings.Trim(asked, `./\ `) == ""
	if len(got.Folder) == 0 && !root || len(got.Folder) > 0 && !slices.Contains([]string{"Folder", "Folder/Sub", "Proj", "Project"}, got.Folder[0]) {
		t.Errorf("folder %.60q is taken for %q", asked, got.Folder)
	}
	for _, r := range append(got.Results, got.Related...) {
		if notes[r.Path] == "" || len(got.Folder) > 0 && !strings.HasPrefix(r.Path, got.Folder[0]+"/") {
			t.Errorf("folder %.60q finds %q", asked, r.Path)
		}
	}
}

// V5 (bugs 33, 55, 61, 63): names that differ in form, case or a sign only are
// notes of their own, and any form of a name that is unmistakable finds its note.
func TestV5Names(t *testing.T) {
	t.Parallel()
	const composed, decomposed = "\u00c9.md", "E\u0301.md"
	notes := map[string]string{
		composed: "", "Zoe\u0308.md": "", "a b.md": "", "a_b.md": "", "A b.md": "", "100% sure – ü 😀.md": "",
		"Twin/" + composed: "", "Twin/" + decomposed: "", "Proj/x.md": "", "Project/x.md": "", "proj/y.md": "",
	}
	for path := range notes {
		notes[path] = "I am " + path + "\n" + prose("zeros")
	}
	dir := indexed(t, notes)
	g := guarded{Client: serve(t, dir)}
	_, ranked := rows(t, g.ask(t, "search_notes", everything("zeros")))
	for path, text := range notes {
		if data, _ := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path))); string(data) != text {
			t.Skip("this disk does not keep such names apart")
		}
		if _, ok := ranked[path]; !ok {
			t.Errorf("%q is not found", path)
		}
	}
	for asked, want := range map[string]string{decomposed: composed, "\u00e9": composed, "ZO\u00cb.md": "Zoe\u0308.md"} {
		notes[asked] = notes[want]
	}
	for asked, text := range notes {
		var got struct{ Text string }
		answer := g.ask(t, "get_note", map[string]any{"path": asked})
		if err := json.Unmarshal([]byte(answer.Text()), &got); err != nil || got.Text != text {
			t.Errorf("get_note of %+q: %.200q, want %.40q", asked, answer.Text(), text)
		}
	}
	arguments := everything("zeros")
	for folder, want := range map[string][]string{"Proj": {"Proj/x.md", "proj/y.md"}, "Project/": {"Project/x.md"}, "tw\u0131n": nil, "TWIN": {"Twin/" + composed, "Twin/" + decomposed}} {
		arguments["folder"] = folder
		answer := g.ask(t, "search_notes", arguments)
		if answer.IsError != (want == nil) {
			t.Errorf("folder %q: %.200s", folder, answer.Text())
		}
		if want == nil {
			continue
		}
		if _, inside := rows(t, answer); len(inside) != len(want) || slices.ContainsFunc(want, func(path string) bool { return inside[path].Path == "" }) {
			t.Errorf("folder %q finds %v, want %q", folder, inside, want)
		}
	}
	g.end(t)
}
