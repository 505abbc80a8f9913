package note

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// seeds returns the texts of the goldens and of a hostile vault.
func seeds(f *testing.F) []string {
	var notes []goldenNote
	readJSON(f, projectRoot+"/testdata/golden/plugin/notes.json", &notes)
	var texts []string
	for _, n := range notes {
		texts = append(texts, n.MD)
	}
	v := openVault(f, projectRoot+"/testdata/vaults/edge-mini")
	paths, _, err := v.List()
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		if text, err := v.Read(path); err == nil && len(text) < 10_000 {
			texts = append(texts, text)
		}
	}
	if len(texts) < 40 {
		f.Fatalf("%d seeds, want at least 40", len(texts))
	}
	return texts
}

func FuzzParse(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		text := Decode(raw)
		lines := strings.Count(text, "\n") + 1
		rules := Rules{MinChars: 20, MaxTokens: 64, ExcludedHeadings: []string{"A"}}
		parsed := Parse("Folder/a.md", text, rules)
		seen := map[string]bool{}
		for _, b := range parsed.Blocks {
			if b.Start < 1 || b.End > lines || b.End < b.Start && b.End != 0 {
				t.Errorf("%+v lies outside of %d lines", b, lines)
			}
			if b.End == 0 && (b.Key != FrontmatterKey || !parsed.Reimport) {
				t.Errorf("%+v is open", b)
			}
			if b.Key[0] != '#' || seen[b.Key] {
				t.Errorf("key %q is wrong or there twice", b.Key)
			}
			seen[b.Key] = true
			body, ok := BlockText(text, b.Start, b.End)
			if !ok || Len16(body) != b.Size || Hash(body) != b.Hash {
				t.Errorf("%+v is not the text %q", b, body)
			}
			if b.ShouldEmbed && b.Size < rules.MinChars {
				t.Errorf("%+v is picked although it is short", b)
			}
		}
		checkLayout(t, text, parsed.Blocks)
		for _, ln := range parsed.TaskLines {
			if ln < 1 || ln > lines {
				t.Errorf("task on line %d of %d", ln, lines)
			}
		}
		if in := NoteInput("Folder/a.md", text, rules); Len16(in) > rules.MaxUnits() || (in == "") != (text == "") {
			t.Errorf("NoteInput = %q", in)
		}
		Parse("a.excalidraw.md", text, rules)
	})
}

// checkLayout checks what holds for the plugin's own blocks: two of them nest or
// stand apart, and every line that is not blank lies in one.
func checkLayout(t *testing.T, text string, blocks []Block) {
	t.Helper()
	lines := strings.Split(text, "\n")
	if len(text) > maxImportBytes {
		return
	}
	within := make([]bool, len(lines))
	for i, a := range blocks {
		if a.End == 0 {
			a.End = len(lines)
		}
		for line := a.Start; line <= a.End; line++ {
			within[line-1] = true
		}
		for _, b := range blocks[i+1:] {
			apart := a.End < b.Start || b.End < a.Start
			nested := a.Start <= b.Start && b.End <= a.End || b.Start <= a.Start && a.End <= b.End
			if !apart && !nested {
				t.Errorf("%+v and %+v of %q overlap", a, b, text)
			}
		}
	}
	for i, line := range lines {
		if trimSpace(line) != "" && !within[i] {
			t.Errorf("line %d of %q lies in no block: %+v", i+1, text, blocks)
		}
	}
}

func FuzzExcerpt(f *testing.F) {
	for i, text := range seeds(f) {
		f.Add(text, 1+i%3, i%7, 10*i)
	}
	f.Fuzz(func(t *testing.T, raw string, start, end, limit int) {
		got, err := Excerpt(raw, start, end, limit)
		if err != nil && (err != errShrunk || got != "") {
			t.Errorf("Excerpt = %q, %v", got, err)
		}
		if !utf8.ValidString(got) || Len16(got) > max(0, limit) || strings.Contains(got, "\r") {
			t.Errorf("Excerpt = %q: not valid, too long or with \\r (limit %d)", got, limit)
		}
		if block, ok := lineText(raw, start, end); ok != (err == nil) || !strings.HasPrefix(block, got) {
			t.Errorf("Excerpt = %q is not the beginning of %q", got, block)
		}
	})
}

// lineText is the plain meaning of an excerpt without its cuts.
func lineText(raw string, start, end int) (string, bool) {
	lines := strings.Split(raw, "\n")
	if end == 0 {
		end = len(lines)
	}
	if start < 1 || start > end || end > len(lines) {
		return "", false
	}
	return strings.ReplaceAll(Decode(strings.Join(lines[start-1:end], "\n")), "\r", ""), true
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"a\xE2\x82", "\xF0\x9F\x98", "\xED\xA0\x80", "\xF4\x91\x92\x93\xFF", "ü😀"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got := Decode(raw)
		want, err := unicode.UTF8.NewDecoder().String(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("Decode(%q) = %q, want %q", raw, got, want)
		}
		if hash := Hash(got); len(hash) < 1 || len(hash) > 7 || strings.Trim(hash, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
			t.Errorf("Hash(%q) = %q", got, hash)
		}
		if text, ok := Match(raw, Hash(got)); text != got || !ok {
			t.Errorf("Match does not find the text itself: %q", text)
		}
		if n := Len16(got); Prefix16(got, n) != got || Len16(Prefix16(got, n/2)) > n/2 {
			t.Errorf("Prefix16 of %q does not fit", got)
		}
	})
}
