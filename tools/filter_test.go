package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// paths are the notes of a search, best first.
func paths(rows []Row) (all []string) {
	for _, r := range rows {
		all = append(all, r.Path)
	}
	return all
}

// crowd is a vault of 5,000 notes, of which one, which matches worse than the others,
// lies in a folder, has a tag and a property, is older than the others, and is the only
// one that they do not link to.
func crowd(t *testing.T) *Server {
	notes := []testNote{{path: "Small/One.md", text: "---\nstatus: open\n---\n# One\n#small\n" + para("A rose by the kiln", 240) + "\n"}}
	for i := range 4999 {
		notes = append(notes, testNote{path: fmt.Sprintf("Large/%d.md", i), text: "---\nstatus: done\n---\n# N\n#large [[Hub]]\n" + para("A rose", 240) + "\n"})
	}
	notes = append(notes, testNote{path: "Hub.md", text: "# Hub\n" + para("A rose", 240) + "\n"})
	dir := writeVault(t, notes)
	age(t, dir, "Small/One.md", "2020-05-06T12:00:00Z")
	return newTestServer(t, dir)
}

// age sets the time of a note.
func age(t *testing.T, dir, path, when string) {
	t.Helper()
	at, err := time.Parse(time.RFC3339, when)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, filepath.FromSlash(path)), at, at); err != nil {
		t.Fatal(err)
	}
}

// Bug 29: each filter comes before the ranking, so one note of five thousand is found
// with a limit of 1.
func TestBug29Filters(t *testing.T) {
	s := crowd(t)
	for name, filter := range map[string]Filters{
		byFolder:        {Folder: []string{"small"}},
		byExcludeFolder: {ExcludeFolder: []string{"large", ""}},
		byTags:          {Tags: []string{"#Small"}},
		byProperties:    {Properties: map[string]any{"Status": "Open"}},
		byModified:      {ModifiedBefore: "2020-05-07"},
		byLinks:         {},
	} {
		if name != byLinks {
			in := DefaultSearch("rose")
			in.Limit, in.Filters = 1, filter
			out := mustSearch(t, s, in)
			if !slices.Equal(paths(out.Results), []string{"Small/One.md"}) || out.ScopedOut == nil || out.ScopedOut.HiddenBy[name] != 5000 || !out.ScopedOut.BetterHidden {
				t.Errorf("search with %s = %q, %+v, want the one note, and 5000 hidden", name, paths(out.Results), out.ScopedOut)
			}
		}
		in := DefaultRelated("Hub.md")
		in.Limit, in.Filters, in.UnlinkedOnly = 1, filter, name == byLinks
		for _, in.Level = range []string{"auto", "notes", "blocks"} {
			out, err := s.Related(t.Context(), in)
			if err != nil || len(out.Related) != 1 || out.Related[0].Path != "Small/One.md" || out.ScopedOut == nil || out.ScopedOut.HiddenBy[name] != 4999 {
				t.Errorf("related, level %s, with %s = %+v, %+v, %v, want the one note, and 4999 hidden", in.Level, name, out.Related, out.ScopedOut, err)
			}
		}
	}
}

// shelf is a vault for filters that need no more than the index.
func shelf(t *testing.T) *Server {
	rose := "# N\n" + para("A rose", 240) + "\n"
	dir := writeVault(t, []testNote{
		{path: "Root.md", text: rose}, {path: "A/One.md", text: rose}, {path: "A/Sub/Two.md", text: rose},
		{path: "B/Three.md", text: "# N\n" + para("A rose by the kiln", 240) + "\n"},
	})
	for path, when := range map[string]string{"Root.md": "2024-01-01T12:00:00Z", "A/One.md": "2025-01-01T12:00:00Z", "A/Sub/Two.md": "2026-01-01T12:00:00Z", "B/Three.md": "2026-01-02T12:00:00Z"} {
		age(t, dir, path, when)
	}
	return newTestServer(t, dir)
}

func TestFilters(t *testing.T) {
	s := shelf(t)
	for _, tt := range []struct {
		name   string
		in     Filters
		want   []string
		hidden *ScopedOut
	}{
		{"none", Filters{}, []string{"A/One.md", "A/Sub/Two.md", "Root.md", "B/Three.md"}, nil},
		{"root alone", Filters{Folder: []string{""}}, []string{"Root.md"},
			&ScopedOut{NotesHidden: 3, BestHidden: &Best{"A/One.md", 1}, HiddenBy: map[string]int{"folder": 3}}},
		{"root and a folder", Filters{Folder: []string{"", "b"}}, []string{"Root.md", "B/Three.md"},
			&ScopedOut{NotesHidden: 2, BestHidden: &Best{"A/One.md", 1}, HiddenBy: map[string]int{"folder": 2}}},
		{"the whole vault", Filters{Folder: []string{"/"}}, []string{"A/One.md", "A/Sub/Two.md", "Root.md", "B/Three.md"}, nil},
		{"not a folder", Filters{ExcludeFolder: []string{"a"}}, []string{"Root.md", "B/Three.md"},
			&ScopedOut{NotesHidden: 2, BestHidden: &Best{"A/One.md", 1}, HiddenBy: map[string]int{"exclude_folder": 2}}},
		{"not the root", Filters{ExcludeFolder: []string{"", "B"}}, []string{"A/One.md", "A/Sub/Two.md"},
			&ScopedOut{NotesHidden: 2, BestHidden: &Best{"Root.md", 1}, HiddenBy: map[string]int{"exclude_folder": 2}}},
		{"a folder without one below it", Filters{Folder: []string{"A"}, ExcludeFolder: []string{"A/Sub"}}, []string{"A/One.md"},
			&ScopedOut{NotesHidden: 3, BestHidden: &Best{"Root.md", 1}, HiddenBy: map[string]int{"folder": 2, "exclude_folder": 1}}},
		{"from a moment", Filters{ModifiedAfter: "2026-01-01T12:00:00Z"}, []string{"A/Sub/Two.md", "B/Three.md"},
			&ScopedOut{BestHidden: &Best{"A/One.md", 1}, HiddenBy: map[string]int{"modified": 2}}},
		{"before a moment", Filters{ModifiedBefore: "2026-01-01T13:00:00+01:00"}, []string{"A/One.md", "Root.md"},
			&ScopedOut{BestHidden: &Best{"A/Sub/Two.md", 1}, HiddenBy: map[string]int{"modified": 2}}},
		{"between days", Filters{ModifiedAfter: "2024-06-01", ModifiedBefore: "2025-06-01"}, []string{"A/One.md"},
			&ScopedOut{BestHidden: &Best{"A/Sub/Two.md", 1}, HiddenBy: map[string]int{"modified": 3}}},
		{"better hidden by one", Filters{ModifiedAfter: "2026-01-02"}, []string{"B/Three.md"},
			&ScopedOut{BestHidden: &Best{"A/One.md", 1}, BetterHidden: true, HiddenBy: map[string]int{"modified": 3},
				Hint: "a note that was left out matches better than every note shown: leave out modified_after and modified_before to see it"}},
		{"better hidden by two", Filters{Folder: []string{"B"}, ModifiedAfter: "2026-01-02"}, []string{"B/Three.md"},
			&ScopedOut{NotesHidden: 3, BestHidden: &Best{"A/One.md", 1}, BetterMatch: true, BetterHidden: true, HiddenBy: map[string]int{"folder": 3},
				Hint: "a note that was left out matches better than every note shown: leave out folder and modified_after and modified_before to see it"}},
		{"the best that any hid", Filters{Folder: []string{"A", ""}, ModifiedAfter: "2025-01-01T13:00:00Z"}, []string{"A/Sub/Two.md"},
			&ScopedOut{NotesHidden: 1, BestHidden: &Best{"A/One.md", 1}, HiddenBy: map[string]int{"folder": 1, "modified": 2}}},
		{"a folder that hides nothing", Filters{Folder: []string{"", "A", "B"}}, []string{"A/One.md", "A/Sub/Two.md", "Root.md", "B/Three.md"}, &ScopedOut{HiddenBy: map[string]int{}}},
		{"times that hide nothing", Filters{ModifiedAfter: "1999-12-31"}, []string{"A/One.md", "A/Sub/Two.md", "Root.md", "B/Three.md"}, nil},
	} {
		in := DefaultSearch("rose")
		in.Filters = tt.in
		out := mustSearch(t, s, in)
		if !slices.Equal(paths(out.Results), tt.want) || !reflect.DeepEqual(out.ScopedOut, tt.hidden) {
			t.Errorf("%s: %q, %+v; want %q, %+v", tt.name, paths(out.Results), out.ScopedOut, tt.want, tt.hidden)
		}
	}
}

// A day begins at midnight where the server is.
func TestMomentIsLocal(t *testing.T) {
	was := time.Local
	defer func() { time.Local = was }()
	time.Local = time.FixedZone("", 5*3600)
	for text, want := range map[string]string{"2026-01-31": "2026-01-30T19:00:00Z", " 2026-01-31T00:00:00Z ": "2026-01-31T00:00:00Z", "": "0001-01-01T00:00:00Z"} {
		if got, err := moment("modified_after", text); err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("moment(%q) = %v, %v, want %s", text, got, err, want)
		}
	}
}

// An answer whose filters left nothing names them.
func TestFiltersReason(t *testing.T) {
	s := shelf(t)
	in := DefaultSearch("rose")
	in.Filters = Filters{Folder: []string{"A", ""}, ExcludeFolder: []string{"A"}, ModifiedAfter: "2030-01-01"}
	const want = "every note with a vector is left out by filters: folder (1), exclude_folder (2), modified (1); change them or leave some out"
	if out := mustSearch(t, s, in); out.Reason != want || len(out.Results) != 0 {
		t.Errorf("reason %q, want %q", out.Reason, want)
	}
	near := DefaultRelated("Root.md")
	near.ModifiedAfter = "2030-01-01"
	out, err := s.Related(t.Context(), near)
	if want := "every note with a vector is left out by filters: modified (3); change them or leave some out"; err != nil || out.Reason != want {
		t.Errorf("reason %q, %v, want %q", out.Reason, err, want)
	}
}

func TestFiltersRefused(t *testing.T) {
	s := shelf(t)
	for _, tt := range []struct {
		in   Filters
		want string
	}{
		{Filters{Folder: []string{"C"}}, `folder "C" is not in this vault: pass one of "A", "A/Sub", "B"`},
		{Filters{ExcludeFolder: []string{"C"}}, `exclude_folder: folder "C" is not in this vault: pass one of "A", "A/Sub", "B"`},
		{Filters{ExcludeFolder: []string{"/"}}, `exclude_folder names the whole vault: pass a folder`},
		{Filters{ModifiedAfter: "yesterday"}, `modified_after is "yesterday": pass a date such as 2026-01-31`},
		{Filters{ModifiedBefore: "2026-02-30"}, `modified_before is "2026-02-30": pass a date`},
		{Filters{ModifiedBefore: "2026-01-31T18:00"}, `or a time such as 2026-01-31T18:00:00Z`},
		{Filters{ModifiedAfter: "2026-01-31", ModifiedBefore: "2026-01-31"}, `modified_after is not before modified_before`},
		{Filters{Properties: map[string]any{"a": nil}}, `filters has no value to compare for "a": pass a text, number or boolean`},
		{Filters{Properties: map[string]any{"a": []any{}}}, `filters has no value to compare for "a"`},
		{Filters{Properties: map[string]any{"a": []any{"x", nil}}}, `filters has no value to compare for "a"`},
		{Filters{Properties: map[string]any{"a": map[string]any{"b": "c"}}}, `filters has no value to compare for "a"`},
	} {
		in, near := DefaultSearch("rose"), DefaultRelated("Root.md")
		in.Filters, near.Filters = tt.in, tt.in
		_, err := s.Search(t.Context(), in)
		_, err2 := s.Related(t.Context(), near)
		if err == nil || !strings.Contains(err.Error(), tt.want) || fmt.Sprint(err2) != err.Error() {
			t.Errorf("%+v: Search = %v, Related = %v, want %q", tt.in, err, err2, tt.want)
		}
	}
	near := DefaultRelated("Root.md")
	near.Level = "all"
	if _, err := s.Related(t.Context(), near); err == nil || !strings.Contains(err.Error(), `level is "all": pass auto, notes, blocks`) {
		t.Errorf("level all: %v", err)
	}
}

// A filter by what the index knows does not have the notes read.
func TestFiltersReadNoNotes(t *testing.T) {
	s := shelf(t)
	in := DefaultSearch("rose")
	in.Filters = Filters{Folder: []string{"A"}, ExcludeFolder: []string{"B"}, ModifiedAfter: "2020-01-01"}
	if mustSearch(t, s, in); s.links.Peek() != nil {
		t.Error("the notes were read for their links")
	}
}

// chapters is a note of three sections, one of them with a paragraph that is a passage
// of its own.
func chapters() testNote {
	return testNote{path: "Book.md", text: "# Book\n\n## Rose\n" + para("A rose", 230) + "\n\n## Mixed\n" + para("A rose by the kiln", 230) + "\n\n## Soup\n" + para("The soup", 230) + "\n"}
}

// sections_per_note gives further passages of a note in its row, with text and lines of
// their own, down to min_score.
func TestSectionsPerNote(t *testing.T) {
	s := serverOf(t, append(vaultNotes(), chapters()))
	word := map[string]string{"#Book#Mixed#{1}": "A rose by the kiln. ", "#Book#Soup#{1}": "The soup. "}
	for sections, want := range map[int][]string{
		1: nil,
		2: {`"#Book#Mixed#{1}" [7 8] 0.7071`},
		5: {`"#Book#Mixed#{1}" [7 8] 0.7071`, `"#Book#Soup#{1}" [10 11] 0`},
	} {
		for _, withText := range []bool{true, false} {
			in := DefaultSearch("rose")
			in.SectionsPerNote, in.Limit, in.MinScore, in.IncludeText = sections, 1, 0, withText
			rows := mustSearch(t, s, in).Results
			var got []string
			for _, m := range rows[0].MoreSections {
				got = append(got, fmt.Sprintf("%q %v %v", m.Section, m.Lines, m.Score))
				if withText != strings.HasPrefix(m.Excerpt, word[m.Section]) {
					t.Errorf("%s has the excerpt %q", m.Section, m.Excerpt)
				}
			}
			if rows[0].Path != "Book.md" || rows[0].Section != "#Book#Rose#{1}" || !slices.Equal(got, want) {
				t.Errorf("%d sections: %s %s and %q, want Book.md, #Book#Rose#{1} and %q", sections, rows[0].Path, rows[0].Section, got, want)
			}
		}
	}
	in := DefaultSearch("rose")
	in.SectionsPerNote, in.Limit = 5, 1 // min_score 0.5
	if got := mustSearch(t, s, in).Results[0].MoreSections; len(got) != 1 {
		t.Errorf("sections %+v, want the one of at least min_score", got)
	}
	in.SectionsPerNote = 6
	if _, err := s.Search(t.Context(), in); err == nil || !strings.Contains(err.Error(), "sections_per_note is 6: pass 1 to 5") {
		t.Errorf("6 sections: %v", err)
	}
}

// Bug 79: five passages of each of a hundred notes: all excerpts get shorter together,
// and sections are given up before rows.
func TestSectionsFit(t *testing.T) {
	for _, folder := range []string{"F", strings.Repeat("long name ", 24) + "x"} {
		var notes []testNote
		for i := range 100 {
			var text strings.Builder
			for k := range 5 {
				fmt.Fprintf(&text, "# %s %d\n%s\n", folder[:min(len(folder), 60)], k, para("A rose is a rose", 1500))
			}
			notes = append(notes, testNote{path: fmt.Sprintf("%s/%d.md", folder, i), text: text.String()})
		}
		text, isError := callTool(t, serverOf(t, notes), "search_notes", `{"query":"rose","limit":100,"sections_per_note":5}`)
		var out SearchOutput
		if err := json.Unmarshal([]byte(text), &out); err != nil || isError {
			t.Fatal(err, text)
		}
		if len(text) > maxAnswer || !out.Truncated || out.NextStep == "" || len(out.Results) != 100 {
			t.Errorf("%d bytes, truncated %v, next step %q, %d rows", len(text), out.Truncated, out.NextStep, len(out.Results))
		}
		short := folder == "F"
		for _, row := range out.Results {
			if (len(row.MoreSections) == 4) != short || short && row.MoreSections[0].Excerpt == "" && row.MoreSections[0].ExcerptMissing == "" {
				t.Fatalf("%s has %d further sections", row.Path, len(row.MoreSections))
			}
		}
		if !short && !strings.HasPrefix(out.NextStep, "further sections were left out; ") {
			t.Errorf("next step %q", out.NextStep)
		}
	}
}

// Each level compares what it says, and a block's row has the pair of passages that
// justifies it.
func TestRelatedLevels(t *testing.T) {
	s := serverOf(t, append(vaultNotes(), chapters()))
	for level, want := range map[string][]string{
		"auto": {
			`Garden/Roses.md 0.8345 block "#Roses#Pruning#{1}" [4 5] <- "#Book#Rose#{1}" [4 5] 1`,
			`Workshop/Kiln.md 0.5114 note "#Kiln#{1}" [5 6] <- "" [] <nil>`,
		},
		"notes": {
			`Garden/Roses.md 0.767 note "#Roses#Pruning#{1}" [4 5] <- "" [] <nil>`,
			`Workshop/Kiln.md 0.5114 note "#Kiln#{1}" [5 6] <- "" [] <nil>`,
		},
		"blocks": {
			`Garden/Roses.md 1 block "#Roses#Pruning#{1}" [4 5] <- "#Book#Rose#{1}" [4 5] 1`,
			`Workshop/Kiln.md 0.7071 block "#Kiln#{1}" [5 6] <- "#Book#Mixed#{1}" [7 8] 0.7071`,
			`Workshop/Glaze.md 0.5 block "#Glaze#{1}" [2 3] <- "#Book#Mixed#{1}" [7 8] 0.5`,
		},
	} {
		in := DefaultRelated("Book.md")
		in.Level, in.MinScore = level, 0.3
		out, err := s.Related(t.Context(), in)
		var got []string
		for _, r := range out.Related {
			pair := "<nil>"
			if r.PairScore != nil {
				pair = fmt.Sprint(*r.PairScore)
			}
			got = append(got, fmt.Sprintf("%s %v %s %q %v <- %q %v %s", r.Path, r.Score, r.Matched, r.Section, r.Lines, r.OwnSection, r.OwnLines, pair))
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("level %s: %v\n got %s\nwant %s", level, err, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
}

// Bug 7: the same section in many notes is called boilerplate.
func TestRelatedBoilerplate(t *testing.T) {
	var notes []testNote
	for i := range 5 {
		notes = append(notes, testNote{path: fmt.Sprintf("%d.md", i), text: "# Tasks\n" + para("List the invoice", 240) + "\n# Own\n" + para(strings.Repeat("rose ", i+1)+"kiln", 240) + "\n"})
	}
	s := serverOf(t, notes)
	in := DefaultRelated("0.md")
	in.Level = "blocks"
	out, err := s.Related(t.Context(), in)
	if err != nil || len(out.Related) != 4 {
		t.Fatal(out, err)
	}
	for _, r := range out.Related {
		if want := strings.HasPrefix(r.Section, "#Tasks"); r.Boilerplate != want {
			t.Errorf("%s %s: boilerplate %v, want %v", r.Path, r.Section, r.Boilerplate, want)
		}
	}
}

// A note of more sections than are compared says so.
func TestRelatedManySectionsWarns(t *testing.T) {
	var text strings.Builder
	for i := range 70 {
		fmt.Fprintf(&text, "# H%d\n%s\n", i, para("A rose", 210))
	}
	s := serverOf(t, append(vaultNotes(), testNote{path: "Long.md", text: text.String()}))
	in := DefaultRelated("Long.md")
	in.Level = "blocks"
	out, err := s.Related(t.Context(), in)
	if err != nil || !strings.Contains(out.Warning, "the longest were compared, 6 others were not") || len(out.Related) == 0 {
		t.Errorf("Related = %+v, %v, want a warning of 6", out, err)
	}
}
