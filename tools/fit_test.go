package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// longNotes makes notes whose excerpts, or paths, are long.
func longNotes(n int, path, sentence string) (notes []testNote) {
	for i := range n {
		notes = append(notes, testNote{path: fmt.Sprintf(path, i), text: "# N\n" + para(sentence, 1500) + "\n"})
	}
	return notes
}

// Bug 79: a hundred long excerpts: they get shorter, all rows stay, and the answer says
// what happened and how to go on.
func TestSearchFitsByCuttingExcerpts(t *testing.T) {
	for _, sentence := range []string{"A rose is a rose", "Die Rose 玫瑰花园里的 rose 👨‍👩‍👧‍👦", "rose \"<&>\" \\ \u202e\U000e0069"} {
		s := serverOf(t, longNotes(100, "Garden/Note %d.md", sentence))
		text, isError := callTool(t, s, "search_notes", `{"query":"rose","limit":100}`)
		var out SearchOutput
		if err := json.Unmarshal([]byte(text), &out); err != nil || isError {
			t.Fatal(err, text)
		}
		if len(text) > maxAnswer || len(text) < maxAnswer*95/100 {
			t.Errorf("%q: the answer has %d bytes, want nearly %d", sentence, len(text), maxAnswer)
		}
		if len(out.Results) != 100 || !out.Truncated || !strings.Contains(out.NextStep, "get_note") {
			t.Errorf("%q: %d rows, truncated %v, next_step %q", sentence, len(out.Results), out.Truncated, out.NextStep)
		}
		for _, row := range out.Results {
			if row.Excerpt == "" || !utf8.ValidString(row.Excerpt) || strings.Contains(row.Excerpt, "\ufffd") {
				t.Fatalf("%q: excerpt %q", sentence, row.Excerpt)
			}
		}
		if text, _ := callTool(t, s, "search_notes", `{"query":"rose","limit":10}`); strings.Contains(text, "truncated") {
			t.Errorf("%q: ten rows are cut", sentence)
		}
	}
}

// Rows that are too long even without excerpts are left out from the end.
func TestSearchFitsByLeavingOutRows(t *testing.T) {
	folder := strings.TrimSpace(strings.Repeat("Ordner mit langem Namen ", 10))
	s := serverOf(t, longNotes(100, folder+"/"+folder+"/"+folder+"/%03d.md", "A rose is a rose"))
	text, _ := callTool(t, s, "search_notes", `{"query":"rose","limit":100}`)
	var out SearchOutput
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	if len(text) > maxAnswer || len(out.Results) < 50 || len(out.Results) > 99 {
		t.Errorf("%d rows in %d bytes", len(out.Results), len(text))
	}
	want := fmt.Sprintf("rows %d to 100 were left out", len(out.Results)+1)
	if !out.Truncated || !strings.Contains(out.NextStep, want) {
		t.Errorf("truncated %v, next_step %q, want %q", out.Truncated, out.NextStep, want)
	}
	text, _ = callTool(t, s, "related_notes", fmt.Sprintf(`{"path":%q,"limit":100}`, out.Results[0].Path))
	var related RelatedOutput
	if err := json.Unmarshal([]byte(text), &related); err != nil {
		t.Fatal(err)
	}
	if len(text) > maxAnswer || len(related.Related) < 50 || !related.Truncated || related.NextStep == "" {
		t.Errorf("%d related in %d bytes, truncated %v", len(related.Related), len(text), related.Truncated)
	}
}

// index_status keeps its size in a vault of many and long folders.
func TestStatusFits(t *testing.T) {
	var notes []testNote
	for i := range 90 {
		name := fmt.Sprintf("%02d %s", i, strings.Repeat("ü", 110))
		notes = append(notes, testNote{path: name + "/" + name + "/" + name + "/a.md", text: "# N\n" + para("rose", 240) + "\n"})
	}
	notes = append(notes, // sorts last, but has more than the others
		testNote{path: "Z/a.md", text: "# N\n" + para("rose", 240) + "\n"},
		testNote{path: "Z/b.md", text: "# N\n" + para("rose", 240) + "\n"})
	s := serverOf(t, notes)
	text, _ := callTool(t, s, "index_status", `{}`)
	var out StatusOutput
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	if len(text) > maxAnswer || len(out.Folders) != shownFolders || out.FoldersLeftOut != 181-shownFolders || out.Folders["Z"] != (vectorCount{2, 2}) {
		t.Errorf("%d bytes, %d folders, %d left out", len(text), len(out.Folders), out.FoldersLeftOut)
	}
}

func TestRowsThatFit(t *testing.T) {
	for _, tt := range []struct{ n, each, want int }{{10, 1, 10}, {10, maxAnswer, 1}, {10, maxAnswer + 1, 0}, {10, maxAnswer / 4, 4}, {0, 1, 0}} {
		if got := rowsThatFit(tt.n, func(k int) int { return k * tt.each }); got != tt.want {
			t.Errorf("rowsThatFit(%d of %d bytes) = %d, want %d", tt.n, tt.each, got, tt.want)
		}
	}
}

func BenchmarkFit(b *testing.B) {
	s := serverOf(b, longNotes(100, "Garden/Note %d.md", "Die Rose 玫瑰花园里的 rose"))
	in := DefaultSearch("rose")
	in.Limit = 100
	for b.Loop() {
		if out, err := s.Search(b.Context(), in); err != nil || !out.Truncated {
			b.Fatal(err)
		}
	}
}
