package tools

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// library is a vault whose notes have tags and properties of all kinds.
func library() (notes []testNote) {
	for path, head := range map[string]string{
		"A.md":         "---\ntags: [Project/Garden, done]\nstatus: draft\nrating: 4\nauthors: [Ann, \"[[Bob]]\"]\npublic: true\n---\n",
		"B.md":         "---\nStatus: Done\nrating: 5\nauthors: Bob\npublic: false\n---\n#project text\n",
		"C.md":         "A #projects tag, and #caf\u00e9.\n",
		"Sub/Bad.md":   "---\nstatus: [draft\n---\nIt has #done inline.\n",
		"Sub/Worse.md": "---\nstatus: [draft\n---\n",
		"Short.md":     "---\nstatus: [draft\n---\n", // without a vector it cannot be left out
	} {
		text := head
		if path != "Short.md" {
			text += "# N\n" + para("A rose", 240) + "\n"
		}
		notes = append(notes, testNote{path: path, text: text})
	}
	slices.SortFunc(notes, func(a, b testNote) int { return strings.Compare(a.path, b.path) })
	return notes
}

func TestContentFilters(t *testing.T) {
	s := serverOf(t, library())
	for _, tt := range []struct {
		name string
		in   Filters
		want []string
		lost int // notes that may fit, of which that is not known
	}{
		{"tag of the frontmatter", Filters{Tags: []string{"project/garden"}}, []string{"A.md"}, 2},
		{"a parent finds what is nested", Filters{Tags: []string{"#PROJECT"}}, []string{"A.md", "B.md"}, 2},
		{"all tags", Filters{Tags: []string{"project", "done"}}, []string{"A.md"}, 2},
		{"inline tag of a note with bad YAML", Filters{Tags: []string{"done/"}}, []string{"A.md", "Sub/Bad.md"}, 1},
		{"however it is composed", Filters{Tags: []string{"CAFE\u0301"}}, []string{"C.md"}, 2},
		{"no tag", Filters{Tags: []string{"", "#", " "}}, []string{"A.md", "B.md", "C.md", "Sub/Bad.md", "Sub/Worse.md"}, 0},
		{"property, whatever its case", Filters{Properties: map[string]any{"STATUS": "DRAFT"}}, []string{"A.md"}, 2},
		{"any of a list", Filters{Properties: map[string]any{"status": []any{"draft", "done"}}}, []string{"A.md", "B.md"}, 2},
		{"any of the note's list", Filters{Properties: map[string]any{"authors": "bob"}}, []string{"A.md", "B.md"}, 2},
		{"all properties", Filters{Properties: map[string]any{"authors": "Bob", "rating": 4.0}}, []string{"A.md"}, 2},
		{"number", Filters{Properties: map[string]any{"rating": 5.0}}, []string{"B.md"}, 2},
		{"boolean", Filters{Properties: map[string]any{"public": true}}, []string{"A.md"}, 2},
		{"tag and property", Filters{Tags: []string{"project"}, Properties: map[string]any{"status": "done"}}, []string{"B.md"}, 2},
		{"only what the folder leaves is lost", Filters{Folder: []string{""}, Tags: []string{"project"}}, []string{"A.md", "B.md"}, 0},
	} {
		in := DefaultSearch("rose")
		in.MinScore, in.Filters = 0, tt.in
		out := mustSearch(t, s, in)
		got := paths(out.Results)
		slices.Sort(got)
		warning := ""
		if tt.lost > 0 {
			warning = fmt.Sprintf("because their properties could not be read: %d;", tt.lost)
		}
		if !slices.Equal(got, tt.want) || !strings.Contains(out.Warning, warning) || warning == "" && strings.Contains(out.Warning, "properties") {
			t.Errorf("%s: %q, warning %q; want %q, %q", tt.name, got, out.Warning, tt.want, warning)
		}
	}
	in := DefaultSearch("rose")
	in.Filters = Filters{Folder: []string{""}, Tags: []string{"project"}, Properties: map[string]any{"status": "done"}}
	if got := fmt.Sprint(mustSearch(t, s, in).ScopedOut.HiddenBy); got != "map[filters:1 folder:2 tags:1]" {
		t.Errorf("hidden_by %s, want each note once", got)
	}
	in.Filters = Filters{Tags: []string{"projects"}, Properties: map[string]any{"status": "done"}}
	if got := mustSearch(t, s, in).Reason; got != "every note with a vector is left out by filters: tags (4), filters (1); change them or leave some out" {
		t.Errorf("reason %q", got)
	}
}

// A tag or property that no note has is an error with those there are.
func TestContentFiltersUnknown(t *testing.T) {
	s := serverOf(t, library())
	for _, tt := range []struct {
		in   Filters
		want string
	}{
		{Filters{Tags: []string{"garden"}}, `no note has the tag "garden": pass one of "Project/Garden", "done", `},
		{Filters{Tags: []string{"projekt"}}, `no note has the tag "projekt": pass one of "`},
		{Filters{Properties: map[string]any{"author": "Ann"}}, `no note has the property "author": pass one of "authors", `},
	} {
		in := DefaultSearch("rose")
		in.Filters = tt.in
		if _, err := s.Search(t.Context(), in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.in, err, tt.want)
		}
	}
	in := DefaultSearch("rose")
	in.Filters = Filters{Tags: []string{"x"}, Properties: map[string]any{"y": "z"}}
	if _, err := serverOf(t, vaultNotes()[:2]).Search(t.Context(), in); err == nil ||
		!strings.Contains(err.Error(), `no note has the tag "x", nor any other: leave it out`) || !strings.Contains(err.Error(), `the property "y", nor any other`) {
		t.Errorf("tags and properties in a vault without: %v", err)
	}
	var many []testNote
	for i := range 40 {
		many = append(many, testNote{path: fmt.Sprintf("%d.md", i), text: fmt.Sprintf("#t%02d #every\n", i) + para("A rose", 240)})
	}
	in.Filters = Filters{Tags: []string{"x"}}
	if _, err := serverOf(t, many).Search(t.Context(), in); err == nil || !strings.Contains(err.Error(), `pass one of "every", "t00", `) || !strings.Contains(err.Error(), `"t28" and 11 more`) {
		t.Errorf("one of many tags: %v, want the most frequent and how many more there are", err)
	}
}

func TestUnlinkedOnly(t *testing.T) {
	rose := "# N\n" + para("A rose", 240) + "\n"
	s := serverOf(t, []testNote{
		{path: "Asks.md", text: "[[To]]\n" + rose}, {path: "To.md", text: rose}, {path: "From.md", text: rose + "[x](Asks.md)\n"},
		{path: "Code.md", text: rose + "`[[Asks]]`\n"}, {path: "Free.md", text: rose},
	})
	in := DefaultRelated("Asks.md")
	in.UnlinkedOnly = true
	out, err := s.Related(t.Context(), in)
	var got []string
	for _, r := range out.Related {
		got = append(got, r.Path)
	}
	if err != nil || !slices.Equal(got, []string{"Code.md", "Free.md"}) || out.ScopedOut.HiddenBy["unlinked_only"] != 2 || out.Warning != "" {
		t.Errorf("unlinked_only = %q, %+v, warning %q, %v; want Code.md and Free.md, 2 hidden", got, out.ScopedOut, out.Warning, err)
	}
	in.Folder = []string{"/"}
	in.Tags = nil
	in.ModifiedAfter = "2030-01-01"
	out, err = s.Related(t.Context(), in)
	if want := "every note with a vector is left out by filters: modified (4); change them or leave some out"; err != nil || out.Reason != want {
		t.Errorf("reason %q, %v, want %q: unlinked_only counts last", out.Reason, err, want)
	}
}
