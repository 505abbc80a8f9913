package tools

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestNearestNotes(t *testing.T) {
	paths := []string{
		"Archive/2023/Roses.md", "Archive/Roses.md", "Garden/Roses.md", "Garden/Rose.md", "Garden/Pruning roses in March.md", "Garden/March pruning.md",
		"Caf\u00e9/Men\u00fc.md", "Daily/2024-01-01.md", "Daily/2024-01-02.md", "Daily/2024-01-03.md", "Daily/2024-01-04.md", "Tax.md", "Day.md", "Index.md", "Text.MD",
		"Projects/Kiln firing schedule.md", "x.md", "玫瑰花园.md", "a/b/c/Deep note.md",
	}
	for _, tt := range []struct {
		asked string
		want  string // joined by "|"
	}{
		{"Roses.md", "Garden/Roses.md|Archive/Roses.md|Archive/2023/Roses.md"},
		{"Gardn/Roses.md", "Garden/Roses.md|Archive/Roses.md|Archive/2023/Roses.md"}, // the same name, from the nearest folder
		{"garden/ROSES", "Garden/Roses.md|Archive/Roses.md|Archive/2023/Roses.md"},
		{`Garden\Rosse.md`, "Garden/Rose.md|Garden/Roses.md|Archive/Roses.md"},
		{"Menü", "Caf\u00e9/Men\u00fc.md"},
		{"cafe/menu.md", "Caf\u00e9/Men\u00fc.md"},
		{"Cafe\u0301/Menu\u0308", "Caf\u00e9/Men\u00fc.md"}, // stored in another form
		{"roses pruning", "Garden/March pruning.md|Garden/Pruning roses in March.md"},
		{"march/pruning", "Garden/March pruning.md|Garden/Pruning roses in March.md"},
		{"Daily/2024-01-05.md", "Daily/2024-01-01.md|Daily/2024-01-02.md|Daily/2024-01-03.md"},
		{"Kiln firing shedule", "Projects/Kiln firing schedule.md"},
		{"firing kiln", "Projects/Kiln firing schedule.md"},
		{"Tex", "Tax.md|Text.MD"},
		{"Nothing of the kind", ""},
		{"q", ""},
		{"Text", "Text.MD"}, {"Tent", "Text.MD"}, {"Tint", ""}, // one letter of four, not two
		{"玫瑰", "玫瑰花园.md"},
		{"a/b/Deep  NOTE.md", "a/b/c/Deep note.md"},
		{"", ""}, {"///", ""}, {"..", ""}, {strings.Repeat("x", 100_000), ""}, {"\xff\xfe", ""}, {"*", ""},
	} {
		if got := strings.Join(nearestNotes(paths, tt.asked), "|"); got != tt.want {
			t.Errorf("nearestNotes(%.40q) = %q, want %q", tt.asked, got, tt.want)
		}
	}
}

// Accents stored in another form make no difference.
func TestNearestNotesInOtherForm(t *testing.T) {
	if got := nearestNotes([]string{"Menu.md", "Men\u00fc.md"}, "Menu\u0308"); len(got) != 2 || got[0] != "Men\u00fc.md" {
		t.Errorf("nearestNotes = %q, want the same name first", got)
	}
}

// distance is that of the book, up to its limit.
func FuzzDistance(f *testing.F) {
	f.Add("roses", "rosse", 2)
	f.Add("", "abc", 3)
	f.Add("kitten", "sitting", 8)
	f.Add("abcdefgh", "hgfedcba", 1)
	f.Add("aaaa", "aa", 0)
	f.Fuzz(func(t *testing.T, first, second string, limit int) {
		a, b := []rune(first), []rune(second)
		if limit < 0 || limit > 20 || len(a) > 60 || len(b) > 60 {
			return
		}
		if got, want := distance(a, b, limit), min(edits(a, b), limit+1); got != want {
			t.Errorf("distance(%q, %q, %d) = %d, want %d", first, second, limit, got, want)
		}
	})
}

func TestDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		a, b := make([]rune, r.IntN(12)), make([]rune, r.IntN(12))
		for _, s := range [][]rune{a, b} {
			for i := range s {
				s[i] = rune('a' + r.IntN(3))
			}
		}
		limit := r.IntN(10)
		if got, want := distance(a, b, limit), min(edits(a, b), limit+1); got != want {
			t.Fatalf("distance(%q, %q, %d) = %d, want %d", string(a), string(b), limit, got, want)
		}
	}
}

// edits counts as the definition does.
func edits(a, b []rune) int {
	all := make([][]int, len(a)+1)
	for i := range all {
		all[i] = make([]int, len(b)+1)
		for j := range all[i] {
			switch {
			case i == 0 || j == 0:
				all[i][j] = i + j
			case a[i-1] == b[j-1]:
				all[i][j] = all[i-1][j-1]
			default:
				all[i][j] = 1 + min(all[i-1][j-1], all[i-1][j], all[i][j-1])
			}
		}
	}
	return all[len(a)][len(b)]
}

// A path that is not there names notes that are, without the index, and none that
// may not be named.
func TestInstead(t *testing.T) {
	s := serverOf(t, []testNote{{path: "Garden/Roses.md", text: "x", unindexed: true}, {path: "Private/Roses.md", text: "x"}, {path: "Private/Diary.md", text: "x"},
		{path: "Gone/Roses.md", text: "x", now: "-"}, {path: "Untitled.md", text: "x"}})
	root := s.vault.Root()
	write(t, filepath.Join(root, ".smart-env", "smart_env.json"), []byte(`{"smart_sources":{"folder_exclusions":"Private"},"embedding_models":{"default_model_key":"transformers#1"}}`))
	write(t, filepath.Join(root, ".trash", "Roses.md"), []byte("x"))
	write(t, filepath.Join(root, "Roses.txt"), []byte("x"))
	for _, tool := range []string{"get_note", "related_notes"} {
		for _, tt := range []struct{ asked, want string }{
			{"Roses", `no note at "Roses": did you mean "Garden/Roses.md"?`},
			{"Other/Diary.md", `no note at "Other/Diary.md": pass a path as search_notes returns it, such as Folder/Note.md`},
			{"Untiteld.md", `did you mean "Untitled.md"?`}, // not read by the index, but by the tools
			{"~/vault/Rosse.md", `no note at "…/Rosse.md": did you mean "Garden/Roses.md"?`},
			{strings.Repeat("y", 200) + ".md", "pass a path as search_notes returns it, such as Folder/Note.md"},
		} {
			text, isError := callTool(t, s, tool, fmt.Sprintf(`{"path":%q}`, tt.asked))
			if !isError || !strings.HasSuffix(text, tt.want) || strings.Contains(text, root) {
				t.Errorf("%s of %q = %s, want %s", tool, tt.asked, text, tt.want)
			}
		}
		if tool == "get_note" && s.loaded.Load() != nil {
			t.Error("the index was loaded for this")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := s.instead(ctx, "Roses.md"); !strings.HasPrefix(got, "pass a path") {
		t.Errorf("instead of a call that is cancelled = %q, want plain advice", got)
	}
	if err := s.fileError(t.Context(), strings.Repeat("ü", 5000), fs.ErrNotExist); len(err.Error()) > 500 {
		t.Errorf("fileError of a long path = %d bytes", len(err.Error()))
	}
}

// manyPaths are those of a large vault.
func manyPaths(n int) []string {
	words := strings.Fields("garden rose meeting kiln project review notes ferry compost plan invoice tax soup weekly")
	r := rand.New(rand.NewPCG(3, 4))
	var paths []string
	for i := range n {
		name := fmt.Sprintf("%s %s %s %d", words[r.IntN(len(words))], words[r.IntN(len(words))], words[r.IntN(len(words))], i)
		paths = append(paths, fmt.Sprintf("Area %d/Topic %d/%s.md", i%7, i%31, name))
	}
	return paths
}

// Of 20,000 notes the nearest are found at once, however long or like each other the names
// are.
func TestNearestIsQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes time")
	}
	long := manyPaths(20_000)
	for i := range long {
		long[i] = fmt.Sprintf("%s/%s %05d.md", strings.Repeat("Folder ", 30), strings.Repeat("a long name ", 18), i)
	}
	for name, paths := range map[string][]string{"usual": manyPaths(20_000), "long": long} {
		for _, asked := range []string{"Area 3/rose gardn plan 17.md", "plan", strings.TrimSuffix(long[7], "7.md") + "x.md", strings.Repeat("a b ", 1000)} {
			start := time.Now()
			nearestNotes(paths, asked)
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("%s, %.30q: %v", name, asked, took)
			}
		}
	}
}

func BenchmarkNearestNotes(b *testing.B) {
	paths := manyPaths(20_000)
	for _, asked := range []string{"Area 3/rose gardn plan 17.md", "weekly review", "Nothing"} {
		b.Run("asked="+strings.ReplaceAll(asked, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				nearestNotes(paths, asked)
			}
		})
	}
}
