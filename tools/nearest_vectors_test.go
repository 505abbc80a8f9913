package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	s := serverOf(t, vaultNotes())
	rose := []float64{3, 0, 0, 0, 0, 0, 0, 0} // any length
	out, err := s.Nearest(t.Context(), DefaultVector(rose))
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Items) == 0 || out.Items[0].Path != "Garden/Roses.md" || out.Items[0].Score != 1 || out.Mode != "vector" {
		t.Errorf("Nearest(rose) = %+v, want Garden/Roses.md first with 1", out.Items)
	}
	if !slices.IsSortedFunc(out.Items, func(a, b VectorRow) int { return int(1e4 * (b.Score - a.Score)) }) {
		t.Errorf("Nearest(rose) is not sorted: %+v", out.Items)
	}
	kinds := map[string]int{}
	for _, row := range out.Items {
		kinds[row.Matched]++
		if (row.Matched == "block") != (row.Section != "") || (row.Section != "") != (len(row.Lines) == 2) {
			t.Errorf("row %+v", row)
		}
	}
	if kinds["note"] == 0 || kinds["block"] == 0 {
		t.Errorf("kinds = %v, want notes and blocks", kinds)
	}
	in := DefaultVector(rose)
	in.Scope, in.Limit = "notes", 1
	if out, err := s.Nearest(t.Context(), in); err != nil || len(out.Items) != 1 || out.Items[0].Matched != "note" || out.Coverage.BlocksSearched != 0 {
		t.Errorf("Nearest of notes = %+v, %v", out, err)
	}
	in.MinScore, in.Vector = 0.9, []float64{0, 0, 0, 0, 0, 0, 0, -1}
	if out, err := s.Nearest(t.Context(), in); err != nil || len(out.Items) != 0 || !strings.Contains(out.Reason, "lower min_score") {
		t.Errorf("Nearest of nothing = %+v, %v, want a reason", out, err)
	}
}

func TestNearestRefuses(t *testing.T) {
	s := serverOf(t, vaultNotes())
	for arguments, want := range map[string]string{
		`{}`:                                     "vector has 0 numbers: pass 8, from the model test/axes",
		`{"vector":[1,2,3]}`:                     "vector has 3 numbers: pass 8",
		`{"vector":[0,0,0,0,0,0,0,0]}`:           "all zeros",
		`{"vector":[1,0,0,0,0,0,0,"x"]}`:         "pass an array of numbers",
		`{"vector":"x"}`:                         "pass an array of numbers",
		`{"vector":[1e999,0,0,0,0,0,0,0]}`:       "pass a value that fits",
		`{"vector":[1,0,0,0,0,0,0,0],"scope":1}`: "pass a string",
		`{"vector":[1,0,0,0,0,0,0,0],"limit":0}`: "pass 1 to 100",
	} {
		if text, isError := callTool(t, s, "nearest_vectors", arguments); !isError || !strings.Contains(text, want) {
			t.Errorf("nearest_vectors %s = %s, want %q", arguments, text, want)
		}
	}
	// No square overflows or vanishes.
	for _, scale := range []float64{1e-200, 1e200} {
		text, isError := callTool(t, s, "nearest_vectors", fmt.Sprintf(`{"vector":[%g,0,0,0,0,0,0,0]}`, scale))
		var out VectorOutput
		if json.Unmarshal([]byte(text), &out); isError || len(out.Items) == 0 || out.Items[0].Score != 1 {
			t.Errorf("nearest_vectors of %g = %.200s", scale, text)
		}
	}
	conforms(t, s, "nearest_vectors", `{"vector":[1,0,0,0,0,0,0,0]}`)
}

// nearest_vectors costs every session some tokens and serves no language model.
func TestAllTools(t *testing.T) {
	for _, every := range []bool{false, true} {
		s := serverOf(t, vaultNotes())
		s.allTools = every
		list, err := connect(t, s).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		offered := false
		for _, tool := range list.Tools {
			offered = offered || tool.Name == "nearest_vectors"
		}
		if offered != every {
			t.Errorf("nearest_vectors is offered: %v, want %v", offered, every)
		}
	}
}
