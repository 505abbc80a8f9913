package bert

import (
	"encoding/json"

	"os"
	"slices"

	"testing"
)

const unigramDir = "../testdata/golden/unigram/"

// unigramFile is the XLM-R style tokenizer.json, by member.
func unigramFile(t testing.TB) map[string]json.RawMessage {
	t.Helper()
	data, err := os.ReadFile(unigramDir + "tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file
}

// unigramTokenizer is the tokenizer of a file whose members a patch replaces.
func unigramTokenizer(t testing.TB, patch map[string]json.RawMessage) *tokenizer {
	t.Helper()
	file := unigramFile(t)
	for member, value := range patch {
		file[member] = value
	}
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := ParseVocabulary(data)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := newTokenizer(v)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// unigramGolden is a line of ids.jsonl: a text of the other goldens by its id,
// a text, a text with half a surrogate pair after it, or texts under other
// settings.
type unigramGolden struct {
	ID      string
	Text    string
	Half    bool
	IDs     json.RawMessage
	Variant string
	Patch   map[string]json.RawMessage
	Texts   []string
}

func unmarshal[E any](t testing.TB, data []byte) (value E) {
	t.Helper()
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// Token ids of transformers.js, for the whole file and under other settings.
func TestUnigramGolden(t *testing.T) {
	texts := make(map[string]string)
	for _, g := range fixtures[0].goldens(t) {
		texts[g.ID] = g.Text
	}
	tok := unigramTokenizer(t, nil)
	known, own, halves, variants := 0, 0, 0, 0
	for _, g := range readLines[unigramGolden](t, unigramDir+"ids.jsonl") {
		if g.Variant != "" {
			variants++
			t.Run(g.Variant, func(t *testing.T) {
				tok, ids := unigramTokenizer(t, g.Patch), unmarshal[[][]int](t, g.IDs)
				if len(ids) != len(g.Texts) || len(ids) == 0 {
					t.Fatalf("%d texts, %d lists of ids", len(g.Texts), len(ids))
				}
				for i, text := range g.Texts {
					if got := tok.ids(text); !slices.Equal(got, ids[i]) {
						t.Errorf("ids(%q) = %v, want %v", text, got, ids[i])
					}
				}
			})
			continue
		}
		text := g.Text
		switch {
		case g.Half:
			text += tok.half
			halves++
		case g.ID != "":
			text = texts[g.ID]
			delete(texts, g.ID)
			known++
		default:
			own++
		}
		if got, want := tok.ids(text), unmarshal[[]int](t, g.IDs); !slices.Equal(got, want) {
			t.Errorf("ids(%q) = %v, want %v", text, got, want)
		}
	}
	if known != 552 || len(texts) != 0 || own < 150 || halves < 9 || variants < 18 {
		t.Errorf("compared %d golden texts, %d others, %d with half a pair, %d variants: want more", known, own, halves, variants)
	}
}
