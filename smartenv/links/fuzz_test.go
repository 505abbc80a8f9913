package links

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// What Scan finds stands where it says, and says what stands there.
func FuzzScan(f *testing.F) {
	for path := range expectedNotes(f) {
		text, err := os.ReadFile(filepath.Join(fixture, filepath.FromSlash(path)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, pattern := range hostile {
		f.Add(strings.Repeat(pattern, 5))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		n := Scan("a.md", text)
		lines := strings.Split(text, "\n")
		last := 0
		for _, l := range n.Links {
			if l.Line < 1 || l.Line > len(lines) {
				t.Fatalf("%+v stands outside of %d lines", l, len(lines))
			}
			if first, _, _ := strings.Cut(l.Raw, "\n"); !strings.Contains(lines[l.Line-1], first) || !strings.Contains(text, l.Raw) {
				t.Fatalf("%+v does not stand on its line %q", l, lines[l.Line-1])
			}
			if l.Line < last || l.Target == "" && l.Subpath == "" || strings.HasPrefix(l.Raw, "!") != l.Embed {
				t.Fatalf("%+v is wrong", l)
			}
			if !utf8.ValidString(l.Target+l.Subpath) || !l.Markdown && !strings.HasSuffix(l.Raw, "]]") || l.Markdown && !strings.HasSuffix(l.Raw, ")") {
				t.Fatalf("%+v is wrong", l)
			}
			last = l.Line
		}
		last = 0
		for _, h := range n.Headings {
			if h.Line <= last || h.Line > len(lines) || h.Level < 1 || h.Level > 6 {
				t.Fatalf("%+v stands outside of %d lines, or before line %d", h, len(lines), last)
			}
			if word := strings.Fields(h.Text)[0]; !strings.Contains(lines[h.Line-1], word) {
				t.Fatalf("%+v does not stand on its line %q", h, lines[h.Line-1])
			}
			last = h.Line
		}
		for i, tag := range n.Tags {
			folded := strings.ToLower(tag)
			same := func(other string) bool { return strings.ToLower(other) == folded }
			if tag == "" || slices.ContainsFunc(n.Tags[i+1:], same) || n.Properties == nil && !strings.Contains(text, "#"+tag) {
				t.Fatalf("tag %q of %q", tag, n.Tags)
			}
		}
		for _, id := range n.BlockIDs {
			if id == "" || !strings.Contains(text, "^"+id) {
				t.Fatalf("block id %q", id)
			}
		}
	})
}
