package bert

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// Both forms of a model's vocabulary say the same.
func TestVocabularyFormsAgree(t *testing.T) {
	const dir = "../testdata/models/tiny-bert-48/"
	tokenizerJSON, err := os.ReadFile(dir + "tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	vocabTxt, err := os.ReadFile(dir + "vocab.txt")
	if err != nil {
		t.Fatal(err)
	}
	one, err := ParseVocabulary(tokenizerJSON)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"as it is":          string(vocabTxt),
		"CRLF":              strings.ReplaceAll(string(vocabTxt), "\n", "\r\n"),
		"no newline at end": strings.TrimSuffix(string(vocabTxt), "\n"),
	} {
		other, err := VocabularyFromText([]byte(text), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(one, other) {
			t.Errorf("%s: tokenizer.json and vocab.txt disagree: %+v, %+v", name, tail(one), tail(other))
		}
	}
}

// tail leaves out the long part.
func tail(v Vocabulary) Vocabulary {
	v.Tokens = v.Tokens[len(v.Tokens)-3:]
	return v
}

const tiny = `{
 "truncation": {"max_length": 128}, "padding": {"strategy": {"Fixed": 128}},
 "added_tokens": [{"id": 5, "content": "[MASK]", "special": true}],
 "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
 "pre_tokenizer": {"type": "BertPreTokenizer"},
 "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[CLS]"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "[SEP]"}}]},
 "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3}}
}`

func TestParseVocabulary(t *testing.T) {
	want := Vocabulary{
		Tokens: []string{"[UNK]", "[CLS]", "[SEP]", "a", "", "[MASK]"}, Special: []Literal{{Text: "[MASK]"}},
		UnkToken: "[UNK]", ClsToken: "[CLS]", SepToken: "[SEP]",
	}
	settings := WordPiece{CleanText: true, ChineseChars: true, Lowercase: true, StripAccents: true, Prefix: "##", MaxWordChars: 100}
	tests := []struct {
		name, from, to string
		change         func(v *Vocabulary)
	}{
		{"plain", "", "", func(*Vocabulary) {}},
		{"accents follow case", `"lowercase": true`, `"lowercase": false`, func(v *Vocabulary) { v.Lowercase, v.StripAccents = false, false }},
		{"accents by themselves", `"strip_accents": null`, `"strip_accents": false`, func(v *Vocabulary) { v.StripAccents = false }},
		{"defaults", `"continuing_subword_prefix": "##", "max_input_chars_per_word": 100, `, "", func(*Vocabulary) {}},
		{"white space beside a literal", `"special": true`, `"special": true, "lstrip": true, "rstrip": true`, func(v *Vocabulary) { v.Special = []Literal{{"[MASK]", true, true}} }},
		{"type not named", `"type": "WordPiece", `, "", func(*Vocabulary) {}},
		{"BertProcessing", `"TemplateProcessing"`, `"BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]`, func(*Vocabulary) {}},
	}
	for _, tt := range tests {
		want, settings := want, settings
		want.WordPiece = &settings
		tt.change(&want)
		got, err := ParseVocabulary([]byte(strings.Replace(tiny, tt.from, tt.to, 1)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: ParseVocabulary = %+v, %v, want %+v", tt.name, got, err, want)
		}
	}
}

func TestParseVocabularyRefuses(t *testing.T) {
	tests := []struct{ name, from, to, want string }{
		{"model", `"type": "WordPiece"`, `"type": "BPE"`, `model is "BPE": only WordPiece and Unigram are computed here; choose a model`},
		{"normaliser", `"BertNormalizer"`, `"Precompiled"`, `normalizer is "Precompiled"`},
		{"splitter", `"BertPreTokenizer"`, `"Metaspace"`, `pre_tokenizer is "Metaspace"`},
		{"template", `"TemplateProcessing"`, `"RobertaProcessing"`, `"RobertaProcessing"`},
		{"template of two", `{"SpecialToken": {"id": "[CLS]"}}, `, "", "post_processor"},
		{"unknown word", `"[UNK]": 0`, `"[unk]": 0`, `"[UNK]" is not in the vocabulary`},
		{"negative id", `"a": 3`, `"a": -3`, "has id -3"},
		{"huge id", `"a": 3`, `"a": 999999999`, "has id 999999999"},
		{"double id", `"a": 3`, `"a": 2`, "same id 2"},
		{"list for a table", `{"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3}`, `["a"]`, "model.vocab"},
		{"null for a table", `{"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3}`, `null`, "model.vocab is no table"},
		{"id that is no number", `"a": 3`, `"a": "3"`, `model.vocab: token "a" has no id`},
		{"id that is null", `"a": 3`, `"a": null`, `model.vocab: token "a" has no id`},
		{"id that is a fraction", `"a": 3`, `"a": 3.5`, `model.vocab: token "a" has no id`},
		{"id that is a list", `"a": 3`, `"a": [3, {"b": "}"}]`, `model.vocab: token "a" has no id`},
		{"normalised literal", `"special": true`, `"special": true, "normalized": true`, `added token "[MASK]"`},
		{"literal that is not special", `"special": true`, `"special": false`, `added token "[MASK]" is matched after normalising`},
		{"literal with a space", `"content": "[MASK]"`, `"content": "[MASK] "`, `added token "[MASK] " begins or ends`},
		{"no word length", `"max_input_chars_per_word": 100`, `"max_input_chars_per_word": 0`, "max_input_chars_per_word"},
		{"not JSON", `{`, ``, "tokenizer.json"},
	}
	for _, tt := range tests {
		_, err := ParseVocabulary([]byte(strings.Replace(tiny, tt.from, tt.to, 1)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q in it", tt.name, err, tt.want)
		}
	}
	for _, text := range []string{"", "null", "{}", "[]"} {
		if _, err := ParseVocabulary([]byte(text)); err == nil {
			t.Errorf("ParseVocabulary(%q) succeeds", text)
		}
	}
}

const likely = `{
 "truncation": {"max_length": 512},
 "added_tokens": [{"id": 0, "content": "<s>", "special": true}, {"id": 6, "content": "<mask>", "lstrip": true, "special": true}],
 "normalizer": {"type": "Precompiled", "precompiled_charsmap": "ALQCAA=="},
 "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "add_prefix_space": true}]},
 "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "</s>"}}]},
 "model": {"type": "Unigram", "unk_id": 2, "vocab": [["<s>", 0], ["</s>", 0.0],
   [ "<unk>" , 0 ], ["\u2581a", -1.5e0] ,["\"\\]", -2]]}
}`

func TestParseVocabularyUnigram(t *testing.T) {
	precompiled := step{kind: "Precompiled"}
	want := Vocabulary{
		Tokens:   []string{"<s>", "</s>", "<unk>", "▁a", `"\]`, "", "<mask>"},
		Special:  []Literal{{Text: "<s>"}, {Text: "<mask>", LStrip: true}},
		UnkToken: "<unk>", ClsToken: "<s>", SepToken: "</s>",
	}
	settings := Unigram{steps: []step{precompiled}, SplitSpaces: true, Mark: "always", Scores: []float64{0, 0, 0, -1.5, -2}}
	tests := []struct {
		name, from, to string
		change         func(u *Unigram)
	}{
		{"plain", "", "", func(*Unigram) {}},
		{"model not named", `"type": "Unigram", `, "", func(*Unigram) {}},
		{"marked once", `"add_prefix_space": true`, `"prepend_scheme": "first"`, func(u *Unigram) { u.Mark = "first" }},
		{"whole text", `{"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "add_prefix_space": true}]}`,
			`{"type": "Metaspace", "prepend_scheme": "never"}`, func(u *Unigram) { u.SplitSpaces, u.Mark = false, "never" }},
		{"steps", `{"type": "Precompiled", "precompiled_charsmap": "ALQCAA=="}`, `{"type": "Sequence", "normalizers": [{"type": "Precompiled"}, {"type": "Sequence", "normalizers": [
			{"type": "Strip", "strip_left": false, "strip_right": true}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}]}]}`,
			func(u *Unigram) {
				u.steps = append(u.steps[:1:1], step{kind: "Strip", right: true}, step{kind: "Replace", by: "▁"})
			}},
	}
	for _, tt := range tests {
		want, settings := want, settings
		want.Unigram = &settings
		tt.change(&settings)
		got, err := ParseVocabulary([]byte(strings.Replace(likely, tt.from, tt.to, 1)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: ParseVocabulary = %+v with %+v, %v, want %+v with %+v", tt.name, got, got.Unigram, err, want, want.Unigram)
		}
	}
}

func TestParseVocabularyRefusesUnigram(t *testing.T) {
	const out = "choose a model with BERT's own tokenizer"
	tests := []struct{ name, from, to, want string }{
		{"normaliser", `"Precompiled"`, `"NFKC"`, `normalizer is "NFKC": only Precompiled, Strip and Replace`},
		{"no normaliser", `{"type": "Precompiled", "precompiled_charsmap": "ALQCAA=="}`, `null`, `normalizer is ""`},
		{"in a sequence", `"type": "Precompiled"`, `"type": "Sequence", "normalizers": [{"type": "Lowercase"}]`, `normalizer is "Lowercase"`},
		{"another replacement", `"type": "Precompiled"`, `"type": "Replace", "pattern": {"String": "x"}, "content": "y"`, `normalizer replaces {"String": "x"} by "y"`},
		{"replacement with a group", `"type": "Precompiled"`, `"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "$&"`, `by "$&"`},
		{"splitter", `"Metaspace"`, `"ByteLevel"`, `pre_tokenizer is "ByteLevel": only Metaspace`},
		{"splitter before", `"WhitespaceSplit"`, `"Digits"`, `pre_tokenizer is "Sequence"`},
		{"another mark", `"replacement": "▁"`, `"replacement": "_"`, `marks spaces by "_"`},
		{"another text for the mark", `"replacement": "▁"`, `"str_rep": "_"`, `marks spaces by "_"`},
		{"no unknown token", `"unk_id": 2`, `"unk_id": null`, "unk_id is missing or not below 5"},
		{"unknown beyond", `"unk_id": 2`, `"unk_id": 5`, "unk_id is missing or not below 5"},
		{"twice", `"\u2581a"`, `"</s>"`, `the piece "</s>" stands in model.vocab twice`},
		{"literal elsewhere", `"id": 0, "content": "<s>"`, `"id": 1, "content": "<s>"`, `added token "<s>" has id 1, the piece of that name 0`},
		{"literal for a piece", `"id": 6`, `"id": 3`, `same id 3`},
		{"template", `"</s>"}`, `"<end>"}`, `"<end>" is not in the vocabulary`},
		{"no list", `[["<s>", 0], ["</s>", 0.0],`, `{"a":[`, "tokenizer.json"},
		{"table", `"type": "Unigram", "unk_id": 2, "vocab": [["<s>", 0], ["</s>", 0.0],
   [ "<unk>" , 0 ], ["\u2581a", -1.5e0] ,["\"\\]", -2]]`, `"type": "Unigram", "vocab": {"a": 0}`, "model.vocab is no list"},
		{"empty list", `["<s>", 0], ["</s>", 0.0],
   [ "<unk>" , 0 ], ["\u2581a", -1.5e0] ,["\"\\]", -2]`, "", "unk_id is missing or not below 0"},
		{"no score", `["</s>", 0.0]`, `["</s>"]`, "entry 1 is no token with its score"},
		{"no token", `["</s>", 0.0]`, `[0.0]`, "entry 1 is no token with its score"},
		{"no pair", `["</s>", 0.0]`, `"</s>"`, "entry 1 is no token with its score"},
		{"an empty pair", `["</s>", 0.0]`, `[]`, "entry 1 is no token with its score"},
		{"an object", `["</s>", 0.0]`, `{"</s>": 0}`, "entry 1 is no token with its score"},
		{"three of them", `["</s>", 0.0]`, `["</s>", 0, 0]`, "entry 1 is no token with its score"},
		{"score in quotes", `["</s>", 0.0]`, `["</s>", "0"]`, "entry 1 is no token with its score"},
		{"score in brackets", `["</s>", 0.0]`, `["</s>", [0]]`, "entry 1 is no token with its score"},
		{"infinite score", `["</s>", 0.0]`, `["</s>", 1e999]`, "entry 1 is no token with its score"},
	}
	for _, tt := range tests {
		changed := strings.Replace(likely, tt.from, tt.to, 1)
		_, err := ParseVocabulary([]byte(changed))
		if err == nil || !strings.Contains(err.Error(), tt.want) || changed == likely {
			t.Errorf("%s: error %v, want %q in it", tt.name, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "computed here") && !strings.HasSuffix(err.Error(), out) {
			t.Errorf("%s: error %v does not end with the way out", tt.name, err)
		}
	}
}

func TestVocabularyFromText(t *testing.T) {
	const vocab = "<p>\n[UNK]\n<s>\n</s>\na\n[EXTRA]\n"
	got, err := VocabularyFromText([]byte(vocab), []byte(`{"do_lower_case":false,"strip_accents":true,"tokenize_chinese_chars":false,
		"cls_token":{"content":"<s>"},"sep_token":"</s>","pad_token":null,"additional_special_tokens":["[EXTRA]","[NONE]"]}`))
	want := Vocabulary{
		Tokens: []string{"<p>", "[UNK]", "<s>", "</s>", "a", "[EXTRA]"}, Special: []Literal{{Text: "[UNK]"}, {Text: "<s>"}, {Text: "</s>"}, {Text: "[EXTRA]"}},
		UnkToken: "[UNK]", ClsToken: "<s>", SepToken: "</s>",
		WordPiece: &WordPiece{CleanText: true, StripAccents: true, Prefix: "##", MaxWordChars: 100},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("VocabularyFromText = %+v, %v, want %+v", got, err, want)
	}
	for _, tt := range []struct{ vocab, config, want string }{
		{"", "", `"[UNK]" is not in the vocabulary`},
		{vocab, "", `"[CLS]" is not in the vocabulary`},
		{vocab, "{", "tokenizer_config.json"},
		{vocab, `{"tokenizer_class":"XLMRobertaTokenizer"}`, `"XLMRobertaTokenizer"`},
		{vocab, `{"unk_token":7}`, "tokenizer_config.json"},
	} {
		if _, err := VocabularyFromText([]byte(tt.vocab), []byte(tt.config)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("VocabularyFromText(%q, %s): error %v, want %q in it", tt.vocab, tt.config, err, tt.want)
		}
	}
}
