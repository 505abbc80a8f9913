package bert

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// addTexts seeds a fuzz target with the golden texts and with what cannot
// stand in them: invalid UTF-8.
func addTexts(f *testing.F, add func(text string)) {
	for i, g := range fixtures[0].goldens(f) {
		if i%5 == 0 && len(g.Text) < 500 {
			add(g.Text)
		}
	}
	for _, text := range []string{"\xff\xfe", "a\xed\xa0\x80b", "ΑΣ\xcc", "[MASK\xc2]", "\xf0\x9f\x98"} {
		add(text)
	}
}

// Any bytes have ids: in range, [CLS] first, [SEP] last, the same every time;
// and invalid UTF-8 is nothing but dropped characters.
func FuzzTokenize(f *testing.F) {
	wordPiece, unigram := fixtures[0].load(f).tokenizer, patched(f, unigramFile, nil)
	addTexts(f, func(text string) { f.Add(text) })
	f.Fuzz(func(t *testing.T, text string) {
		for _, tok := range []*tokenizer{wordPiece, unigram} {
			ids := tok.ids(text)
			if ids[0] != tok.cls || ids[len(ids)-1] != tok.sep {
				t.Errorf("ids(%q) = %v: not between [CLS] and [SEP]", text, ids)
			}
			for _, id := range ids {
				if id < 0 || id >= 3002 || id >= 1000 && tok == wordPiece {
					t.Errorf("ids(%q) has %d", text, id)
				}
			}
			if again := tok.ids(string([]rune(text))); !slices.Equal(again, ids) {
				t.Errorf("ids(%q) = %v, with U+FFFD for invalid bytes %v", text, ids, again)
			}
		}
	})
}

// What fits is a beginning of the text and short enough.
func FuzzFit(f *testing.F) {
	tok := fixtures[0].load(f).tokenizer
	addTexts(f, func(text string) { f.Add(text, 8) })
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 2 || limit > 1<<20 { // [CLS] and [SEP] alone are two
			return
		}
		checkFit(t, tok, text, limit)
	})
}

// No files make the readers panic, and what they accept can be used: its sizes
// are within bounds, and its tokenizer gives ids that it has. Give it
// -fuzzminimizetime 10x: coverage varies with the order of maps, on which the
// search for smaller inputs would otherwise spend its time.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sound), []byte(tiny))
	f.Add([]byte(sound), []byte(likely))
	for _, name := range []string{"../testdata/models/tiny-bert-48", "../../shared/models/all-MiniLM-L6-v2"} {
		if config, err := os.ReadFile(name + "/config.json"); err == nil {
			f.Add(config, []byte(tiny))
		}
	}
	f.Fuzz(func(t *testing.T, config, vocabulary []byte) {
		if c, err := ParseConfig(config); err == nil && (c.check() != nil || c.head()*c.Heads != c.Hidden) {
			t.Errorf("ParseConfig(%q) = %+v, %v", config, c, c.check())
		}
		if v, err := ParseVocabulary(vocabulary); err == nil {
			checkVocabulary(t, v)
		}
	})
}

// The lines of a vocab.txt are the pieces, and they can be used.
func FuzzVocabularyFromText(f *testing.F) {
	f.Add("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n", []byte(nil))
	f.Add("[UNK]\r\n<s>\r\n</s>\r\nü", []byte(`{"cls_token":{"content":"<s>"},"sep_token":"</s>","pad_token":null,"strip_accents":true}`))
	f.Add("[UNK]\n[CLS]\n[SEP]\n\n\xff\n", []byte(`{"do_lower_case":false,"additional_special_tokens":["\u00fc",null]}`))
	f.Fuzz(func(t *testing.T, text string, config []byte) {
		v, err := VocabularyFromText([]byte(text), config)
		if err != nil {
			return
		}
		if got, want := strings.Join(v.Tokens, "\n"), strings.TrimSuffix(strings.ReplaceAll(text+"\n", "\r\n", "\n"), "\n"); got != want && got+"\n" != want {
			t.Errorf("VocabularyFromText(%q) has the pieces %q", text, v.Tokens)
		}
		checkVocabulary(t, v)
	})
}

// checkVocabulary takes a text apart with a vocabulary that was accepted.
func checkVocabulary(t *testing.T, v Vocabulary) {
	t.Helper()
	tok, err := newTokenizer(v)
	if err != nil {
		t.Fatalf("%+v is accepted and refused by newTokenizer: %v", v, err)
	}
	ids := tok.ids("a [MASK] text<s> ☃\u00A8 ab")
	if v.Tokens[ids[0]] != v.ClsToken || v.Tokens[ids[len(ids)-1]] != v.SepToken {
		t.Errorf("ids of %+v = %v: not between the tokens that open and close", v, ids)
	}
	for _, id := range ids {
		if id < 0 || id >= len(v.Tokens) {
			t.Errorf("%+v has %d pieces and gives the id %d", v, len(v.Tokens), id)
		}
	}
}

// Tables of numbers are read as the json package reads them.
func FuzzNumberedPieces(f *testing.F) {
	for _, table := range []string{
		"{}", "{ }", `{"a":0}`, " {\n\t\"a\" : 1 ,\r\"##b\":-2}", `{"a":1,"a":2}`, `{"\\":1,"\"":2,":":3,",":4,"}":5,"\u2581":6,"":7,"\ud83d\ude00":8}`,
		"{\"\xff\": 1}", `{"a":1e2}`, `{"a":9223372036854775808}`, `{"a":{}}`, `{"a":"1"}`, `{"a":true,"b":1}`, `{"a":-0}`,
	} {
		f.Add([]byte(table))
	}
	f.Fuzz(func(t *testing.T, table []byte) {
		table = bytes.TrimLeft(table, jsonSpace)
		if !json.Valid(table) || table[0] != '{' {
			return
		}
		var want map[string]int
		wantErr := json.Unmarshal(table, &want)
		got, err := numberedPieces(bytes.TrimSpace(table))
		if nulls := bytes.Contains(table, []byte("null")); nulls && err != nil {
			return // is no id here, and 0 there
		}
		if (err == nil) != (wantErr == nil) || err == nil && !maps.Equal(got, want) {
			t.Errorf("numberedPieces(%q) = %v, %v, want %v, %v", table, got, err, want, wantErr)
		}
	})
}
