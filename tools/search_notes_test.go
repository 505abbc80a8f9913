package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"smart-connections-mcp/smartenv"
)

// show writes rows as lines, for comparison.
func show(rows []Row) (lines []string) {
	for _, r := range rows {
		line := fmt.Sprintf("%s %v %s %q %v", r.Path, r.Score, r.Matched, r.Section, r.Lines)
		if r.Stale {
			line += " stale"
		}
		lines = append(lines, line)
	}
	return lines
}

func mustSearch(t *testing.T, s *Server, in SearchInput) SearchOutput {
	t.Helper()
	out, err := s.Search(t.Context(), in)
	if err != nil {
		t.Fatalf("Search(%+v) = %v", in, err)
	}
	return out
}

func TestSearchRows(t *testing.T) {
	s := serverOf(t, vaultNotes())
	for _, tt := range []struct {
		name, query string
		edit        func(*SearchInput)
		want        []string
	}{
		{"best section of each note", "compost", func(*SearchInput) {}, []string{
			`Garden/Compost.md 1 block "#Compost#{1}" [2 3]`,
			`Garden/Roses.md 0.7071 block "#Roses#Feeding#{1}" [7 8]`,
			`Workshop/Glaze.md 0.7071 block "#Glaze#{1}" [2 3] stale`,
		}},
		{"limit", "compost", func(in *SearchInput) { in.Limit = 1 }, []string{
			`Garden/Compost.md 1 block "#Compost#{1}" [2 3]`,
		}},
		{"min_score", "compost", func(in *SearchInput) { in.MinScore = 0.8 }, []string{
			`Garden/Compost.md 1 block "#Compost#{1}" [2 3]`,
		}},
		{"notes only", "compost", func(in *SearchInput) { in.Scope, in.MinScore = "notes", 0.3 }, []string{
			`Garden/Compost.md 1 note "#Compost#{1}" [2 3]`,
			`Workshop/Glaze.md 0.7071 note "#Glaze#{1}" [2 3] stale`,
			`Garden/Roses.md 0.3939 note "#Roses#Feeding#{1}" [7 8]`,
		}},
		{"frontmatter counts, another passage is quoted", "soup", func(*SearchInput) {}, []string{
			`Workshop/Kiln.md 1 frontmatter "#Kiln#{1}" [5 6]`,
		}},
		{"folder", "compost", func(in *SearchInput) { in.Folder = []string{"workshop/"} }, []string{
			`Workshop/Glaze.md 0.7071 block "#Glaze#{1}" [2 3] stale`,
		}},
		{"two folders", "compost", func(in *SearchInput) { in.Folder = []string{`Garden\`, "Workshop"} }, []string{
			`Garden/Compost.md 1 block "#Compost#{1}" [2 3]`,
			`Garden/Roses.md 0.7071 block "#Roses#Feeding#{1}" [7 8]`,
			`Workshop/Glaze.md 0.7071 block "#Glaze#{1}" [2 3] stale`,
		}},
		{"the root is no filter", "ferry", func(in *SearchInput) { in.Folder = []string{"/"} }, []string{
			`Journey/Ferry.md 1 block "#Ferry#{1}" [2 3]`, // and not the one that is gone
		}},
	} {
		in := DefaultSearch(tt.query)
		tt.edit(&in)
		for _, in.IncludeText = range []bool{true, false} {
			out := mustSearch(t, s, in)
			if got := show(out.Results); !slices.Equal(got, tt.want) {
				t.Errorf("%s, include_text %v: got\n  %s\nwant\n  %s", tt.name, in.IncludeText, strings.Join(got, "\n  "), strings.Join(tt.want, "\n  "))
			}
			for _, row := range out.Results {
				if got := row.Excerpt != ""; got != in.IncludeText {
					t.Errorf("%s, include_text %v: %s has an excerpt: %v", tt.name, in.IncludeText, row.Path, got)
				}
			}
			if out.Mode != "semantic" || out.Model != testModel.Name || out.Reason != "" || out.Truncated {
				t.Errorf("%s: mode %q, model %q, reason %q, truncated %v", tt.name, out.Mode, out.Model, out.Reason, out.Truncated)
			}
		}
	}
}

func TestSearchExcerpt(t *testing.T) {
	s := serverOf(t, vaultNotes())
	rows := mustSearch(t, s, DefaultSearch("ferry")).Results
	if len(rows) != 1 || !strings.HasPrefix(rows[0].Excerpt, "The ferry leaves at nine. The") {
		t.Fatalf("results %+v, want the ferry's passage", rows)
	}
	// The note shrinks below the indexed lines: no text, and never another's.
	path := filepath.Join(s.vault.Root(), "Journey", "Ferry.md")
	if err := os.WriteFile(path, []byte("# Boat\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	row := mustSearch(t, s, DefaultSearch("ferry")).Results[0]
	if row.Excerpt != "" || row.ExcerptMissing == "" || row.Lines != nil || !row.Stale {
		t.Errorf("row %+v, want no excerpt, a reason, no lines, stale", row)
	}
}

func TestSearchCoverage(t *testing.T) {
	s := serverOf(t, append(vaultNotes(), testNote{path: "Inbox/New.md", text: "# New\n", unindexed: true}))
	got := mustSearch(t, s, DefaultSearch("rose")).Coverage
	want := Coverage{NotesSearched: 6, BlocksSearched: 8, NotesTotal: 7, BlocksTotal: 20, Stale: 1, Missing: 1, NotIndexed: 1}
	if got != want {
		t.Errorf("coverage %+v, want %+v", got, want)
	}
	in := DefaultSearch("rose")
	in.Folder = []string{"Garden"}
	if got := mustSearch(t, s, in).Coverage; got.NotesSearched != 2 || got.BlocksSearched != 3 {
		t.Errorf("coverage in a folder %+v, want 2 notes and 3 blocks searched", got)
	}
}

func TestSearchScopedOut(t *testing.T) {
	s := serverOf(t, vaultNotes())
	for _, tt := range []struct {
		folder string
		want   *ScopedOut
	}{
		{"", nil},
		{"Workshop", &ScopedOut{NotesHidden: 4, BestHidden: &Best{"Garden/Compost.md", 1}, BetterMatch: true, BetterHidden: true, HiddenBy: map[string]int{"folder": 4},
			Hint: "a note outside the folder matches better than every note inside: leave folder out to see it"}},
		{"Garden", &ScopedOut{NotesHidden: 4, BestHidden: &Best{"Workshop/Glaze.md", 0.7071}, HiddenBy: map[string]int{"folder": 4}}},
	} {
		in := DefaultSearch("compost")
		if tt.folder != "" {
			in.Folder = []string{tt.folder}
		}
		if got := mustSearch(t, s, in).ScopedOut; !reflect.DeepEqual(got, tt.want) {
			t.Errorf("folder %q: scoped_out %+v, want %+v", tt.folder, got, tt.want)
		}
	}
}

// An empty answer must say why, in the same object.
func TestSearchReason(t *testing.T) {
	notes := vaultNotes()
	onlyNoteVectors := []testNote{{path: "Blocks/A.md", text: "# A\nrose\n" + strings.Repeat("# Heading without text\n", 12)}}
	for _, tt := range []struct {
		name  string
		notes []testNote
		edit  func(*SearchInput)
		want  string
	}{
		{"below min_score", notes, func(in *SearchInput) { in.Query, in.MinScore = "rose, rose or kiln", 0.9 },
			`nothing scored 0.9 or more: the best was 0.8944 for "Garden/Roses.md"; lower min_score, or ask in other words`},
		{"nothing near", notes, func(in *SearchInput) { in.Query = "of no subject" },
			`nothing scored 0.5 or more: the best was 0 for "Garden/Compost.md"; lower min_score, or ask in other words`},
		{"folder without vectors", append(notes, testNote{path: "Drafts/A.md", text: "# A\n"}), func(in *SearchInput) { in.Folder = []string{"Drafts"} },
			"nothing in the folder has a vector in this scope: leave folder out, or take another (index_status lists them)"},
		{"scope without vectors", onlyNoteVectors, func(in *SearchInput) { in.Scope = "blocks" },
			"no blocks have vectors to compare: try scope auto"},
		{"nothing embedded", []testNote{{path: "A.md", text: "# A\n"}}, func(*SearchInput) {}, nothingEmbedded},
		{"empty index", nil, func(*SearchInput) {}, nothingEmbedded},
	} {
		in := DefaultSearch("rose")
		tt.edit(&in)
		out := mustSearch(t, serverOf(t, tt.notes), in)
		if out.Reason != tt.want {
			t.Errorf("%s: reason %q, want %q", tt.name, out.Reason, tt.want)
		}
		if out.Results == nil {
			t.Errorf("%s: results is null", tt.name)
		}
	}
}

func TestSearchWarning(t *testing.T) {
	many := func(n int, make func(i int) testNote) (notes []testNote) {
		for i := range n {
			notes = append(notes, make(i))
		}
		return notes
	}
	fresh := many(20, func(i int) testNote {
		return testNote{path: fmt.Sprintf("Fresh/%d.md", i), text: "# F\n" + para("A rose", 240) + "\n"}
	})
	for _, tt := range []struct {
		name string
		more []testNote
		want string // part of the warning; "" for none
	}{
		{"all well", nil, ""},
		{"one not indexed", many(1, func(i int) testNote { return testNote{path: "New.md", text: "x", unindexed: true} }), ""},
		{"many not indexed", many(5, func(i int) testNote { return testNote{path: fmt.Sprintf("New/%d.md", i), text: "x", unindexed: true} }),
			"5 of the vault's 25 notes are not in the index"},
		{"many stale", many(10, func(i int) testNote {
			return testNote{path: fmt.Sprintf("Old/%d.md", i), text: "# O\n" + para("A kiln", 240) + "\n", now: "changed"}
		}), "10 of 30 notes have changed since they were embedded"},
		{"many short", many(20, func(i int) testNote { return testNote{path: fmt.Sprintf("Short/%d.md", i), text: "x"} }), ""},
	} {
		out := mustSearch(t, serverOf(t, append(slices.Clone(fresh), tt.more...)), DefaultSearch("rose"))
		if tt.want == "" && out.Warning != "" || !strings.Contains(out.Warning, tt.want) {
			t.Errorf("%s: warning %q, want %q", tt.name, out.Warning, tt.want)
		}
	}
}

// Case 15 of the collection: one note of ten is indexed.
func TestSearchWarnsOfVaultHardlyIndexed(t *testing.T) {
	s := newTestServer(t, filepath.Join("..", "testdata", "cases", "15-most-notes-not-indexed", "vault"))
	s.embedder = func(_ context.Context, m smartenv.Model) (Embedder, error) { return axis(m.Dims), nil }
	out := mustSearch(t, s, DefaultSearch("anything"))
	if !strings.Contains(out.Warning, "9 of the vault's 10 notes are not in the index") || out.Coverage.NotIndexed != 9 {
		t.Errorf("warning %q, coverage %+v; want a warning of 9 of 10 notes", out.Warning, out.Coverage)
	}
}

// While the log is gone the answers are those of before, and every one says so.
func TestWarningOfAnOldState(t *testing.T) {
	s := serverOf(t, vaultNotes())
	before := mustSearch(t, s, DefaultSearch("rose"))
	log := filepath.Join(s.vault.Root(), ".smart-env", "smart_sources", "smart_sources.ajson")
	if err := os.Rename(log, log+".bak"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // more than Recheck
	const want = "an earlier state of the index"
	out := mustSearch(t, s, DefaultSearch("rose"))
	if !slices.Equal(show(out.Results), show(before.Results)) || strings.Contains(before.Warning, want) || !strings.Contains(out.Warning, want) {
		t.Errorf("warning %q with %q, want those of before with a warning", out.Warning, show(out.Results))
	}
	if text, isError := callTool(t, s, "related_notes", `{"path":"Garden/Roses.md"}`); isError || !strings.Contains(text, want) {
		t.Errorf("related_notes = %s, want a warning", text)
	}
	if status := mustStatus(t, s); status.Behind == "" || !slices.Contains(status.Warnings, status.Behind) {
		t.Errorf("behind %q, warnings %q", status.Behind, status.Warnings)
	}
}

// axis embeds everything as the first axis of so many dimensions.
type axis int

func (n axis) Embed(context.Context, string) ([]float32, error) {
	v := make([]float32, n)
	v[0] = 1
	return v, nil
}

func (axis) EmbedDocument(context.Context, string) ([]float32, error) { return nil, errNotProved }

func TestSearchInputRefused(t *testing.T) {
	s := serverOf(t, vaultNotes())
	for _, tt := range []struct {
		edit func(*SearchInput)
		want string
	}{
		{func(in *SearchInput) { in.Query = " \n" }, "query is empty: pass what to look for"},
		{func(in *SearchInput) { in.Query = strings.Repeat("ü", 8193) }, "query has 8193 characters: pass 1 to 8192"},
		{func(in *SearchInput) { in.Limit = 900 }, "limit is 900: pass 1 to 100"},
		{func(in *SearchInput) { in.Limit = 0 }, "limit is 0: pass 1 to 100"},
		{func(in *SearchInput) { in.MinScore = -1.5 }, "min_score is -1.5: pass -1 to 1"},
		{func(in *SearchInput) { in.Scope = "all" }, `scope is "all": pass auto, notes, blocks`},
		{func(in *SearchInput) { in.Folder = []string{"Gard"} }, `folder "Gard" is not in this vault: pass one of "Garden", "Journey", "Office", "Workshop"`},
	} {
		in := DefaultSearch("rose")
		tt.edit(&in)
		if _, err := s.Search(t.Context(), in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Search = %v, want %q", err, tt.want)
		}
	}
	if _, err := s.Search(t.Context(), DefaultSearch(strings.Repeat("ü", 8192))); err != nil {
		t.Errorf("a query of 8192 characters: %v", err)
	}
}

// Without weights the other tools must still work.
func TestOffline(t *testing.T) {
	s := serverOf(t, vaultNotes())
	s.embedder = func(context.Context, smartenv.Model) (Embedder, error) {
		return nil, errors.New("the weights of test/axes are not in the cache and the hub cannot be reached: set SMART_MODEL_PATH")
	}
	_, err := s.Search(t.Context(), DefaultSearch("rose"))
	for _, want := range []string{"the hub cannot be reached", "SMART_MODEL_PATH", "related_notes, get_note and index_status"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Search = %v, want %q in it", err, want)
		}
	}
	for name, arguments := range map[string]string{
		"related_notes": `{"path":"Garden/Roses.md"}`, "get_note": `{"path":"Short.md"}`, "index_status": `{}`,
	} {
		text, isError := callTool(t, s, name, arguments)
		if isError || name == "index_status" && !strings.Contains(text, "search_notes cannot embed queries: the weights of test/axes are not in the cache") {
			t.Errorf("%s offline: %s", name, text)
		}
	}
	s.embedder = func(context.Context, smartenv.Model) (Embedder, error) { return wordEmbedder{}, nil }
	mustSearch(t, s, DefaultSearch("rose"))
	if text, _ := callTool(t, s, "index_status", `{}`); strings.Contains(text, "cannot embed") {
		t.Errorf("index_status with the weights there: %s", text)
	}
}

// Weights of another size than the vectors must not be ranked with.
func TestWrongWeights(t *testing.T) {
	s := serverOf(t, vaultNotes())
	s.embedder = func(context.Context, smartenv.Model) (Embedder, error) { return axis(384), nil }
	_, err := s.Search(t.Context(), DefaultSearch("rose"))
	if err == nil || !strings.Contains(err.Error(), "384 dimensions and the vault's vectors have 8") {
		t.Errorf("Search = %v, want both sizes", err)
	}
}

// Without an index each tool but get_note says why, and what to do.
func TestNoIndex(t *testing.T) {
	ancient := t.TempDir()
	write(t, filepath.Join(ancient, ".smart-connections", "embeddings-3.json"), []byte(`{}`))
	write(t, filepath.Join(ancient, "A.md"), []byte("text"))
	none := t.TempDir()
	write(t, filepath.Join(none, "A.md"), []byte("text"))
	for dir, want := range map[string]string{ancient: "update the plugin to 4.7", none: "install the plugin"} {
		s := newTestServer(t, dir)
		for name, arguments := range map[string]string{
			"search_notes": `{"query":"rose"}`, "related_notes": `{"path":"A.md"}`, "index_status": `{}`,
		} {
			if text, isError := callTool(t, s, name, arguments); !isError || !strings.Contains(text, want) {
				t.Errorf("%s = %s, %v; want the error %q", name, text, isError, want)
			}
		}
		if text, isError := callTool(t, s, "get_note", `{"path":"A.md"}`); isError || !strings.Contains(text, `"text":"text"`) {
			t.Errorf("get_note = %s, %v; want the text", text, isError)
		}
	}
}
