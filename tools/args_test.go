package tools

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// P3, 73: arguments as models and clients really send them.
func TestArgsAccepted(t *testing.T) {
	defaults := DefaultSearch("q")
	edited := func(edit func(*SearchInput)) SearchInput {
		in := defaults
		edit(&in)
		return in
	}
	for _, tt := range []struct {
		raw  string
		want SearchInput
	}{
		{`{"query":"q"}`, defaults},
		{`{"query":"q","limit":null,"min_score":null,"scope":null,"folder":null,"include_text":null}`, defaults},
		{`{"query":"q","limit":7}`, edited(func(in *SearchInput) { in.Limit = 7 })},
		{`{"query":"q","limit":7.0}`, edited(func(in *SearchInput) { in.Limit = 7 })},
		{`{"query":"q","limit":1e1}`, defaults},
		{`{"query":"q","limit":"7"}`, edited(func(in *SearchInput) { in.Limit = 7 })},
		{`{"query":"q","limit":" 7.0 "}`, edited(func(in *SearchInput) { in.Limit = 7 })},
		{`{"query":"q","limit":900}`, edited(func(in *SearchInput) { in.Limit = 900 })}, // refused by the check of ranges
		{`{"query":"q","min_score":"-0.25"}`, edited(func(in *SearchInput) { in.MinScore = -0.25 })},
		{`{"query":"q","min_score":0}`, edited(func(in *SearchInput) { in.MinScore = 0 })},
		{`{"query":"q","include_text":false}`, edited(func(in *SearchInput) { in.IncludeText = false })},
		{`{"query":"q","include_text":"false"}`, edited(func(in *SearchInput) { in.IncludeText = false })},
		{`{"query":"q","include_text":"True"}`, defaults},
		{`{"query":"q","folder":["A","B/C"]}`, edited(func(in *SearchInput) { in.Folder = []string{"A", "B/C"} })},
		{`{"query":"q","folder":"A"}`, edited(func(in *SearchInput) { in.Folder = []string{"A"} })},
		{`{"query":"q","folder":""}`, edited(func(in *SearchInput) { in.Folder = []string{""} })}, // the root's own notes
		{`{"query":"q","folder":null,"tags":"","filters":null}`, defaults},
		{`{"query":"q","exclude_folder":["A",""]}`, edited(func(in *SearchInput) { in.ExcludeFolder = []string{"A", ""} })},
		{`{"query":"q","tags":["#a","","b/c"]}`, edited(func(in *SearchInput) { in.Tags = []string{"#a", "b/c"} })},
		{`{"query":"q","tags":"a"}`, edited(func(in *SearchInput) { in.Tags = []string{"a"} })},
		{`{"query":"q","filters":{"a":["x",2],"b":true}}`, edited(func(in *SearchInput) { in.Properties = map[string]any{"a": []any{"x", 2.0}, "b": true} })},
		{`{"query":"q","filters":"{\"a\": \"x\"}"}`, edited(func(in *SearchInput) { in.Properties = map[string]any{"a": "x"} })},
		{`{"query":"q","sections_per_note":"3"}`, edited(func(in *SearchInput) { in.SectionsPerNote = 3 })},
		{`{"query":"q","folder":[]}`, defaults},
		{`{"query":"q","scope":"notes"}`, edited(func(in *SearchInput) { in.Scope = "notes" })},
	} {
		in, err := decodeSearch([]byte(tt.raw))
		if err != nil || !reflect.DeepEqual(in, tt.want) {
			t.Errorf("%s = %+v, %v; want %+v", tt.raw, in, err, tt.want)
		}
	}
}

func TestArgsRefused(t *testing.T) {
	for _, tt := range []struct{ raw, want string }{
		{`[]`, `arguments must be a JSON object: pass for example {"query": "…"}`},
		{`"query"`, `arguments must be a JSON object`},
		{`{"querry":"q"}`, `unknown argument "querry": search_notes takes query, limit, min_score, scope, sections_per_note, include_text, folder, exclude_folder, tags, filters, modified_after, modified_before`},
		{`{"b":1,"a":2,"Query":3}`, `unknown argument "Query", "a", "b": search_notes takes`},
		{`{"query":7}`, `query is 7: pass a string`},
		{`{"query":["a"]}`, `query is ["a"]: pass a string`},
		{`{"limit":7.5}`, `limit is 7.5: pass a whole number`},
		{`{"limit":"seven"}`, `limit is "seven": pass a whole number`},
		{`{"limit":""}`, `limit is "": pass a whole number`},
		{`{"limit":true}`, `limit is true: pass a whole number`},
		{`{"limit":1e999}`, `limit is 1e999`},
		{`{"min_score":"NaN"}`, `min_score is "NaN": pass a number`},
		{`{"min_score":"Infinity"}`, `min_score is "Infinity": pass a number`},
		{`{"min_score":[]}`, `min_score is []: pass a number`},
		{`{"include_text":1}`, `include_text is 1: pass true or false`},
		{`{"include_text":"yes"}`, `include_text is "yes": pass true or false`},
		{`{"folder":7}`, `folder is 7: pass an array of strings, such as ["Projects"]`},
		{`{"folder":["A",7]}`, `folder is ["A",7]: pass an array of strings`},
		{`{"filters":["a"]}`, `filters is ["a"]: pass an object, such as {"status": "draft"}`},
		{`{"filters":"status = draft"}`, `filters is "status = draft": pass an object`},
		{`{"tags":7}`, `tags is 7: pass an array of strings`},
		{`{"folder":{"a":"b"}}`, `folder is {"a":"b"}: pass an array of strings`},
	} {
		if _, err := decodeSearch([]byte(tt.raw)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s = %v, want %q", tt.raw, err, tt.want)
		}
	}
}

// Everything that is wrong is said at once.
func TestArgsAllMistakes(t *testing.T) {
	_, err := decodeSearch([]byte(`{"limit":"x","include_text":"y","z":1}`))
	if got := strings.Count(fmt.Sprint(err), "\n"); got != 2 {
		t.Errorf("got %v, want three lines", err)
	}
}

// A limit beyond any range must not wrap around into it.
func TestArgsHugeInteger(t *testing.T) {
	for _, raw := range []string{`1e300`, `-1e300`, `4294967297`, `"18446744073709551617"`} {
		in, err := decodeSearch([]byte(`{"query":"q","limit":` + raw + `}`))
		if err == nil {
			err = in.check()
		}
		if err == nil || !strings.Contains(err.Error(), "pass 1 to 100") {
			t.Errorf("limit %s: %v, want it refused", raw, err)
		}
	}
}

func decodeSearch(raw []byte) (SearchInput, error) {
	return searchInput(newArgs("search_notes", raw, searchNotes().arguments))
}
