package tools

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv/search"
)

func TestRelated(t *testing.T) {
	s := serverOf(t, vaultNotes())
	for _, tt := range []struct {
		name, path string
		edit       func(*RelatedInput)
		want       []string
	}{
		{"itself and its sections are left out", "Garden/Roses.md", func(in *RelatedInput) { in.MinScore = 0.1 }, []string{
			`Garden/Compost.md 0.3939 block "#Compost#{1}" [2 3] false`,
			`Workshop/Glaze.md 0.2785 block "#Glaze#{1}" [2 3] true`,
		}},
		{"path as a model writes it", `.\garden\ROSES`, func(in *RelatedInput) { in.MinScore, in.Limit = 0.1, 1 }, []string{
			`Garden/Compost.md 0.3939 block "#Compost#{1}" [2 3] false`,
		}},
		{"folder", "Garden/Compost.md", func(in *RelatedInput) { in.Folder = []string{"Workshop"}; in.MinScore = 0.1 }, []string{
			`Workshop/Glaze.md 0.7071 block "#Glaze#{1}" [2 3] true`,
		}},
	} {
		in := DefaultRelated(tt.path)
		tt.edit(&in)
		out, err := s.Related(t.Context(), in)
		var got []string
		for _, r := range out.Related {
			got = append(got, fmt.Sprintf("%s %v %s %q %v %v", r.Path, r.Score, r.Matched, r.Section, r.Lines, r.Stale))
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestRelatedToChangedNoteWarns(t *testing.T) {
	s := serverOf(t, vaultNotes())
	out, err := s.Related(t.Context(), DefaultRelated("Workshop/Glaze.md"))
	if err != nil || !strings.HasPrefix(out.Warning, "This note has changed since it was embedded") {
		t.Errorf("warning %q, %v", out.Warning, err)
	}
}

// A note without a vector is an error that gives the reason.
func TestRelatedWithoutVector(t *testing.T) {
	s := serverOf(t, append(vaultNotes(), testNote{path: "New.md", text: "x", unindexed: true}))
	for path, want := range map[string]string{
		"Short.md":             "too short",
		"Journey/Old ferry.md": "no such file in the vault any more",
		"New.md":               "it is not in the index",
	} {
		_, err := s.Related(t.Context(), DefaultRelated(path))
		var none *search.NoVectorError
		if !errors.As(err, &none) || !strings.Contains(err.Error(), want) {
			t.Errorf("Related(%q) = %v, want a NoVectorError with %q", path, err, want)
		}
	}
	for path, want := range map[string]string{
		"Roses.md":            `did you mean "Garden/Roses.md"?`,
		"Nothing.md":          "pass a path as search_notes returns it",
		"../Roses.md":         "is refused",
		".obsidian/app.json":  "is refused",
		" ":                   "path is empty",
		"C:\\Users\\x\\a.md":  "is refused",
		"/home/x/vault/Me.md": "is refused",
	} {
		_, err := s.Related(t.Context(), DefaultRelated(path))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Users") || strings.Contains(err.Error(), "home") {
			t.Errorf("Related(%q) = %v, want %q and no place on the host", path, err, want)
		}
	}
}
