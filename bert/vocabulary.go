package bert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Vocabulary is everything a tokenizer is told by its files. Exactly one of
// WordPiece and Unigram is set: the way in which a text becomes pieces.
type Vocabulary struct {
	Tokens  []string  // the piece of each id; "" where there is none
	Special []Literal // tokens recognised in raw text before anything else

	UnkToken string // stands for what no pieces make up
	ClsToken string // opens every text
	SepToken string // closes every text

	*WordPiece
	*Unigram
}

// Literal is a token that is recognised in raw text as it is written, such as
// [MASK]. It may take the white space before or after it along.
type Literal struct {
	Text           string
	LStrip, RStrip bool
}

// WordPiece is how BERT's own tokenizer normalises a text, and how it takes a
// word apart: from the left, the longest piece known at each place.
type WordPiece struct {
	CleanText    bool // drop control characters, make white space plain
	ChineseChars bool // make each CJK ideograph a word
	Lowercase    bool
	StripAccents bool

	Prefix       string // marks a piece that continues a word: "##"
	MaxWordChars int    // a word of more code points is unknown
}

// Unigram is how XLM-R's tokenizer, made by SentencePiece, normalises a text,
// and how it takes a word apart: into the likeliest pieces.
type Unigram struct {
	steps []step // the normaliser's, in order

	SplitSpaces bool   // each run without white space is a word; else the whole text is
	Mark        string // where "▁" comes before what does not begin with it: "always", "first" (at the beginning of the whole text only) or else nowhere

	Scores []float64 // log probability of each piece, by id; ids beyond it are literal tokens only
}

// VocabularyFromText reads a vocab.txt, one word piece per line, with what a
// tokenizer_config.json beside it may add. Without the latter (nil) the
// settings are those of bert-base-uncased.
func VocabularyFromText(vocabTxt, tokenizerConfigJSON []byte) (Vocabulary, error) {
	file := tokenizerConfig{
		Class: "BertTokenizer", Lowercase: true, ChineseChars: true,
		Unk: "[UNK]", Cls: "[CLS]", Sep: "[SEP]", Pad: "[PAD]", Mask: "[MASK]",
	}
	if len(tokenizerConfigJSON) > 0 {
		if err := json.Unmarshal(tokenizerConfigJSON, &file); err != nil {
			return Vocabulary{}, fmt.Errorf("tokenizer_config.json: %w", err)
		}
	}
	if file.Class != "BertTokenizer" && file.Class != "BertTokenizerFast" {
		return Vocabulary{}, fmt.Errorf("tokenizer_config.json: tokenizer_class is %q: only BertTokenizer is computed here without a tokenizer.json; %s", file.Class, otherwise)
	}
	v := Vocabulary{
		UnkToken: string(file.Unk), ClsToken: string(file.Cls), SepToken: string(file.Sep),
		WordPiece: &WordPiece{
			CleanText: true, ChineseChars: file.ChineseChars, Lowercase: file.Lowercase,
			StripAccents: orElse(file.StripAccents, file.Lowercase),
			Prefix:       "##", MaxWordChars: 100,
		},
	}
	lines := bytes.Count(vocabTxt, []byte("\n")) + 1
	if lines > maxRows {
		return Vocabulary{}, fmt.Errorf("vocab.txt: %d lines: want at most %d", lines, maxRows)
	}
	v.Tokens = make([]string, 0, lines)
	for line := range strings.Lines(string(vocabTxt)) {
		line = strings.TrimSuffix(line, "\n")
		v.Tokens = append(v.Tokens, strings.TrimSuffix(line, "\r"))
	}
	known := make(map[string]bool, 5+len(file.Additional)) // of the special tokens, those in the vocabulary
	special := append([]tokenName{file.Pad, file.Unk, file.Cls, file.Sep, file.Mask}, file.Additional...)
	for _, name := range special {
		known[string(name)] = false
	}
	for _, token := range v.Tokens {
		if _, asked := known[token]; asked {
			known[token] = true
		}
	}
	for _, name := range special {
		if name != "" && known[string(name)] {
			v.Special = append(v.Special, Literal{Text: string(name)})
		}
	}
	if err := v.check(); err != nil {
		return Vocabulary{}, fmt.Errorf("vocab.txt: %w", err)
	}
	return v, nil
}

// tokenizerConfig is what matters of a tokenizer_config.json.
type tokenizerConfig struct {
	Class        string      `json:"tokenizer_class"`
	Lowercase    bool        `json:"do_lower_case"`
	StripAccents *bool       `json:"strip_accents"` // null: as Lowercase
	ChineseChars bool        `json:"tokenize_chinese_chars"`
	Unk          tokenName   `json:"unk_token"`
	Cls          tokenName   `json:"cls_token"`
	Sep          tokenName   `json:"sep_token"`
	Pad          tokenName   `json:"pad_token"`
	Mask         tokenName   `json:"mask_token"`
	Additional   []tokenName `json:"additional_special_tokens"`
}

// tokenName is a token in a tokenizer_config.json: a string, or an object
// with its content.
type tokenName string

// UnmarshalJSON accepts both forms, and null for none.
func (t *tokenName) UnmarshalJSON(data []byte) error {
	var object struct {
		Content string `json:"content"`
	}
	if len(data) > 0 && data[0] == '{' {
		err := json.Unmarshal(data, &object)
		*t = tokenName(object.Content)
		return err
	}
	return json.Unmarshal(data, (*string)(t))
}

// check says what makes the vocabulary unusable.
func (v Vocabulary) check() error {
	if len(v.Tokens) > maxRows {
		return fmt.Errorf("%d tokens: want at most %d", len(v.Tokens), maxRows)
	}
	for _, name := range []string{v.UnkToken, v.ClsToken, v.SepToken} {
		if name == "" || !slices.Contains(v.Tokens, name) {
			return fmt.Errorf("the special token %q is not in the vocabulary", name)
		}
	}
	switch {
	case (v.WordPiece == nil) == (v.Unigram == nil):
		return errors.New("the vocabulary says not, or twice, how a text becomes pieces")
	case v.WordPiece != nil && v.MaxWordChars < 1:
		return errors.New("max_input_chars_per_word is below 1")
	case v.Unigram != nil && len(v.Scores) > len(v.Tokens):
		return fmt.Errorf("%d scores for %d tokens", len(v.Scores), len(v.Tokens))
	case v.Unigram != nil && slices.Index(v.Tokens, v.UnkToken) >= len(v.Scores):
		return fmt.Errorf("the unknown token %q has no score", v.UnkToken)
	}
	return nil
}
