package tools

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Whatever a client sends as arguments, the tools agree with encoding/json on what
// it says; what they accept survives being written down and read again, and what
// passes their checks is in range; what they refuse, they refuse in few words,
// the same each time.
func FuzzArgs(f *testing.F) {
	for _, raw := range []string{
		"", "null", "[]", `{}`, `{"query":"q","limit":"7","min_score":-0,"scope":null,"folder":["A","","B/C"],"include_text":"True"}`,
		`{"path":"Folder\\Note.md","max_chars":1e300}`, `{"path":"\ud800","limit":" 7.0 ","folder":"\u202e"}`, `{"limit":7.5,"limit":8}`,
		`{"min_score":"NaN","include_text":1,"folder":{"a":"b"},"` + strings.Repeat("\x7f", 70) + `":1}`, `{"query":1e999,"limit":[` + "\n" + `]}`, "{\"query\":\"\xff\"}",
		`{"min_score":"0x1p-2","limit":"Infinity"}`,
		`{"paths":["A.md","","B.md"],"lines":["1",2.0],"section":"A#B","offset":"7","frontmatter":"true"}`, `{"lines":[1e300,null]}`, `{"lines":[[1],"x"]}`,
		`{"filters":{"a":["x",1,true],"b":null},"tags":["","#a"],"exclude_folder":"","modified_after":"2026-02-30","level":"blocks"}`, `{"filters":"{\"a\":1}"}`,
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		search, err := decodeSearch(raw)
		checkArgs(t, raw, decodeSearch, search, err)
		if err == nil && search.check() == nil {
			n := len([]rune(search.Query))
			if n < 1 || n > 8192 || search.Limit < 1 || search.Limit > 100 || !(-1 <= search.MinScore && search.MinScore <= 1) ||
				!slices.Contains([]string{"auto", "notes", "blocks"}, search.Scope) || search.SectionsPerNote < 1 || search.SectionsPerNote > 5 {
				t.Errorf("%q is let through as %+v", raw, search)
			}
		}
		related, err := decodeRelated(raw)
		checkArgs(t, raw, decodeRelated, related, err)
		note, err := decodeNote(raw)
		checkArgs(t, raw, decodeNote, note, err)
	})
}

func decodeRelated(raw []byte) (RelatedInput, error) {
	return relatedInput(newArgs("related_notes", raw, relatedNotes().arguments))
}

func decodeNote(raw []byte) (NoteInput, error) {
	return noteInput(newArgs("get_note", raw, getNote().arguments))
}

// fieldOf are the arguments by the fields that they fill.
var fieldOf = map[string]string{
	"Query": "query", "Path": "path", "Limit": "limit", "MaxChars": "max_chars", "MinScore": "min_score",
	"Scope": "scope", "IncludeText": "include_text", "SectionsPerNote": "sections_per_note", "Level": "level", "UnlinkedOnly": "unlinked_only",
	"Paths": "paths", "Lines": "lines", "Section": "section", "Offset": "offset", "Frontmatter": "frontmatter",
	"Folder": "folder", "ExcludeFolder": "exclude_folder", "Tags": "tags", "Properties": "filters",
	"ModifiedAfter": "modified_after", "ModifiedBefore": "modified_before",
}

// checkArgs looks at what a tool made of its arguments.
func checkArgs[In any](t *testing.T, raw []byte, decode func([]byte) (In, error), in In, err error) {
	t.Helper()
	again, failed := decode(raw)
	if fmt.Sprint(failed) != fmt.Sprint(err) || !reflect.DeepEqual(again, in) {
		t.Fatalf("%q = %+v, %v, then %+v, %v", raw, in, err, again, failed)
	}
	if err != nil {
		if n := len(err.Error()); n > 4000 {
			t.Errorf("%q: an error of %d bytes: %v", raw, n, err)
		}
		return
	}
	var said map[string]any
	if json.Unmarshal(raw, &said) != nil && len(strings.TrimSpace(string(raw))) > 0 {
		t.Fatalf("%q is accepted", raw)
	}
	written := map[string]any{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[In]()) {
		if field.Anonymous {
			continue
		}
		name, got := fieldOf[field.Name], reflect.ValueOf(in).FieldByIndex(field.Index).Interface()
		if written[name] = got; !agrees(got, said[name]) {
			t.Errorf("%q: %s is %v, want %v", raw, name, got, said[name])
		}
		delete(said, name)
	}
	if len(said) > 0 {
		t.Errorf("%q: unknown arguments are accepted: %v", raw, said)
	}
	text, _ := json.Marshal(written)
	if back, err := decode(text); err != nil || fmt.Sprint(back) != fmt.Sprint(in) {
		t.Errorf("%q = %+v, written as %s = %+v, %v", raw, in, text, back, err)
	}
}

// agrees says whether got may be read from a value of JSON; nil is the default,
// and of what is lenient only the type is looked at.
func agrees(got, said any) bool {
	switch said := said.(type) {
	case nil:
		return true
	case float64:
		whole, isInt := got.(int)
		return got == said || isInt && float64(whole) == max(math.MinInt32, min(said, math.MaxInt32))
	case bool:
		return got == said
	case map[string]any:
		return reflect.DeepEqual(got, said)
	case []any:
		if numbers, ok := got.([]int); ok {
			return len(numbers) == len(said) // each is as lenient as a single one
		}
		list, ok := got.([]string)
		for _, item := range said {
			if item == "" && (len(list) == 0 || list[0] != "") {
				continue
			}
			if len(list) == 0 || list[0] != item {
				return false
			}
			list = list[1:]
		}
		return ok && len(list) == 0
	case string:
		if list, ok := got.([]string); ok {
			return said == "" && len(list) == 0 || slices.Equal(list, []string{said})
		}
		_, isText := got.(string)
		return !isText || got == said
	}
	return false
}
