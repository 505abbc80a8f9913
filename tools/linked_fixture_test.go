package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A writtenLink is a link of the vault testdata/vaults/links as somebody has read
// it there by hand.
type writtenLink struct {
	Line           int
	Raw, Subpath   string
	Embed, Code    bool
	Kind, Path     string
	MissingSubpath bool `json:"missing_subpath"`
	TargetLine     int  `json:"target_line"`
	from           string
}

// fixtureOfLinks serves the vault that holds every form of link, and returns its
// links in the order of their notes.
func fixtureOfLinks(t *testing.T) (s *Server, written []writtenLink, notes []string) {
	t.Helper()
	fixture := filepath.Join("..", "testdata", "vaults", "links")
	data, err := os.ReadFile(fixture + ".expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var expected struct {
		Notes map[string]struct{ Links []writtenLink }
	}
	if err := json.Unmarshal(data, &expected); err != nil {
		t.Fatal(err)
	}
	for path, n := range expected.Notes {
		notes = append(notes, path)
		for _, l := range n.Links {
			l.from = path
			written = append(written, l)
		}
	}
	slices.Sort(notes)
	slices.SortStableFunc(written, func(a, b writtenLink) int { return strings.Compare(a.from, b.from) })
	if len(written) < 100 {
		t.Fatalf("%d links, want every form of them", len(written))
	}
	dir := t.TempDir()
	copyTree(t, fixture, dir)
	write(t, filepath.Join(dir, ".smart-env", "smart_env.json"), []byte(`{"smart_sources":{"folder_exclusions":"Private"}}`))
	return newTestServer(t, dir), written, notes
}

// Every link, given as it is written and with the note it stands in, is followed as
// its reader did.
func TestFixtureResolves(t *testing.T) {
	s, written, _ := fixtureOfLinks(t)
	for _, l := range written {
		out, err := s.ResolveLink(t.Context(), LinkInput{Link: l.Raw, From: l.from})
		want := fmt.Sprintf("%v %q %q %v %d", l.Path != "", l.Path, l.Kind, l.MissingSubpath, l.TargetLine)
		switch {
		case l.Path == "" && (out.MatchedBy == "alias" || out.MatchedBy == "link_text"):
			continue // Obsidian would not, but whoever asks is helped
		case l.Path == "":
			want = `false "" "" false 0`
		}
		got := fmt.Sprintf("%v %q %q %v %d", out.Resolved, out.Path, out.Kind, out.MissingSection, out.Line)
		if err != nil || got != want || out.Resolved == (out.MatchedBy == "") || !out.Resolved && out.Note == "" {
			t.Errorf("%s:%d %s: got %s (by %s, note %q), %v; want %s", l.from, l.Line, l.Raw, got, out.MatchedBy, out.Note, err, want)
		}
	}
}

// The lists of links to and from each note are those of their readers.
func TestFixtureBacklinks(t *testing.T) {
	s, written, notes := fixtureOfLinks(t)
	for _, path := range append(notes, "files/pixel.png", "files/board.canvas", "files/paper (1).pdf") {
		var to, from, lacking []string
		count := 0
		for _, l := range written {
			shown := fmt.Sprintf("%s:%d %s %v %v", l.from, l.Line, l.Raw, l.Embed, l.Code)
			switch missing := l.Kind == "missing" || l.MissingSubpath; {
			case l.from == path && missing && !l.Code:
				lacking = append(lacking, shown)
			case l.from == path && l.Path != "" && l.Path != path:
				from = append(from, shown)
			case l.from != path && l.Path == path:
				to = append(to, shown)
			}
			if l.from != path && l.Path == path && !l.Code {
				count++
			}
		}
		in := defaultBacklinks(path)
		in.IncludeOutbound, in.Limit = true, maxLinks
		out, err := s.Backlinks(t.Context(), in)
		if err != nil || out.Truncated || out.Count != count {
			t.Errorf("Backlinks(%s): truncated %v, count %d, %v; want %d", path, out.Truncated, out.Count, err, count)
		}
		var gotTo []string
		for _, l := range out.Backlinks {
			gotTo = append(gotTo, fmt.Sprintf("%s:%d %s %v %v", l.Path, l.Line, l.Link, l.Embed, l.InCode))
		}
		show := func(list []outbound) (rows []string) {
			for _, l := range list {
				rows = append(rows, fmt.Sprintf("%s:%d %s %v %v", path, l.Line, l.Link, l.Embed, l.InCode))
			}
			return rows
		}
		for _, list := range []struct {
			name      string
			got, want []string
		}{{"backlinks", gotTo, to}, {"links_to", show(out.LinksTo), from}, {"unresolved", show(out.Unresolved), lacking}} {
			if !slices.Equal(list.got, list.want) {
				t.Errorf("%s of %s:\ngot  %q\nwant %q", list.name, path, list.got, list.want)
			}
		}
	}
}

// What is missing there, counted by hand, and who is linked with nobody.
func TestFixtureBroken(t *testing.T) {
	s, written, notes := fixtureOfLinks(t)
	in := defaultBroken()
	in.MinReferences, in.Limit, in.IncludeOrphans = 1, maxLinks, true
	out, err := s.BrokenLinks(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	references, want, linked := 0, 0, map[string]bool{}
	for _, l := range written {
		missing := l.Kind == "missing" || l.MissingSubpath
		if missing && !l.Code {
			want++
		}
		if !l.Code && l.Path != l.from && (l.Kind == "note" || l.Kind == "excluded") {
			linked[l.from], linked[l.Path] = true, true
		}
	}
	for _, b := range out.Broken {
		references += b.References
		if strings.Contains(b.Target, "Secret") || strings.Contains(b.Target, "Private") {
			t.Errorf("%+v is excluded, not broken", b)
		}
	}
	if references != want || len(out.Broken) != out.Total["note"]+out.Total["attachment"]+out.Total["heading"] {
		t.Errorf("%d broken links in %d rows, total %v; want %d", references, len(out.Broken), out.Total, want)
	}
	orphans := slices.DeleteFunc(slices.Clone(notes), func(path string) bool { return linked[path] })
	if !slices.Equal(out.Orphans, orphans) || len(orphans) == 0 || len(orphans) == len(notes) {
		t.Errorf("orphans %q, want %q", out.Orphans, orphans)
	}
	t.Logf("%+v", out.Broken)
}
