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
		{"null for a table", `{"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3}`, `null`, "model.vocab is null"},
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
