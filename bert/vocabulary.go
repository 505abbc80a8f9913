package bert

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Vocabulary is everything a BERT WordPiece tokenizer is told by its files.
type Vocabulary struct {
	Tokens  []string // the word piece of each id; "" where there is none
	Special []string // literal tokens, such as [MASK], recognised in raw text before anything else

	CleanText    bool // drop control characters, make white space plain
	ChineseChars bool // make each CJK ideograph a word
	Lowercase    bool
	StripAccents bool

	UnkToken     string // stands for a word that cannot be pieced together
	ClsToken     string // opens every text
	SepToken     string // closes every text
	Prefix       string // marks a piece that continues a word: "##"
	MaxWordChars int    // a word of more code points is unknown
}

// ParseVocabulary reads a tokenizer.json with a WordPiece model. Truncation
// and padding in it are ignored, as the plugin's library ignores them.
// Anything that would split text otherwise than BERT does is refused.
func ParseVocabulary(tokenizerJSON []byte) (Vocabulary, error) {
	var file tokenizerFile
	file.Model.Type, file.Model.Prefix, file.Model.MaxWordChars = "WordPiece", "##", 100 // when absent
	err := json.Unmarshal(tokenizerJSON, &file)
	if err == nil {
		err = file.check()
	}
	var v Vocabulary
	if err == nil {
		v, err = file.vocabulary()
	}
	if err == nil {
		err = v.check()
	}
	if err != nil {
		return Vocabulary{}, fmt.Errorf("tokenizer.json: %w", err)
	}
	return v, nil
}

// tokenizerFile is what matters of a tokenizer.json.
type tokenizerFile struct {
	AddedTokens []addedToken `json:"added_tokens"`
	Normalizer  struct {
		Type         string `json:"type"`
		CleanText    bool   `json:"clean_text"`
		ChineseChars bool   `json:"handle_chinese_chars"`
		StripAccents *bool  `json:"strip_accents"` // null: as Lowercase
		Lowercase    bool   `json:"lowercase"`
	} `json:"normalizer"`
	PreTokenizer struct {
		Type string `json:"type"`
	} `json:"pre_tokenizer"`
	PostProcessor postProcessor `json:"post_processor"`
	Model         struct {
		Type         string          `json:"type"`
		UnkToken     string          `json:"unk_token"`
		Prefix       string          `json:"continuing_subword_prefix"`
		MaxWordChars int             `json:"max_input_chars_per_word"`
		Vocab        json.RawMessage `json:"vocab"` // token → id; of other models a list
	} `json:"model"`
}

// check refuses what is not computed here.
func (f *tokenizerFile) check() error {
	for _, part := range []struct{ name, got, want string }{
		{"model", f.Model.Type, "WordPiece"},
		{"normalizer", f.Normalizer.Type, "BertNormalizer"},
		{"pre_tokenizer", f.PreTokenizer.Type, "BertPreTokenizer"},
	} {
		if part.got != part.want {
			return fmt.Errorf("%s is %q: only %s is computed here; choose a model with BERT's own tokenizer", part.name, part.got, part.want)
		}
	}
	for _, t := range f.AddedTokens {
		if t.Normalized || t.LStrip || t.RStrip {
			return fmt.Errorf("added token %q is matched after normalising, or takes the white space beside it: only plain literal ones are computed here; choose a model with BERT's own tokenizer", t.Content)
		}
	}
	return nil
}

func (f *tokenizerFile) vocabulary() (Vocabulary, error) {
	var ids map[string]int
	if err := json.Unmarshal(f.Model.Vocab, &ids); err != nil {
		return Vocabulary{}, fmt.Errorf("model.vocab: %w", err)
	}
	if ids == nil {
		return Vocabulary{}, errors.New("model.vocab is null: the file is damaged, fetch the model again")
	}
	v := Vocabulary{
		CleanText:    f.Normalizer.CleanText,
		ChineseChars: f.Normalizer.ChineseChars,
		Lowercase:    f.Normalizer.Lowercase,
		StripAccents: orElse(f.Normalizer.StripAccents, f.Normalizer.Lowercase),
		UnkToken:     f.Model.UnkToken,
		Prefix:       f.Model.Prefix,
		MaxWordChars: f.Model.MaxWordChars,
	}
	for _, t := range f.AddedTokens {
		v.Special = append(v.Special, t.Content)
		ids[t.Content] = t.ID
	}
	var err error
	if v.ClsToken, v.SepToken, err = f.PostProcessor.around(); err != nil {
		return Vocabulary{}, err
	}
	v.Tokens, err = byID(ids)
	return v, err
}

// addedToken is a literal token of a tokenizer.json.
type addedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
}

// postProcessor is the part of a tokenizer.json that says which tokens are
// put around a text.
type postProcessor struct {
	Type   string `json:"type"`
	Single []struct {
		Special  *struct{ ID string } `json:"SpecialToken"`
		Sequence *struct{ ID string } `json:"Sequence"`
	} `json:"single"` // of TemplateProcessing: [CLS] A [SEP]
	Cls []any `json:"cls"` // of BertProcessing: the token and its id
	Sep []any `json:"sep"`
}

// around returns the token before and the token after every text.
func (p postProcessor) around() (cls, sep string, err error) {
	switch p.Type {
	case "TemplateProcessing":
		if s := p.Single; len(s) == 3 && s[0].Special != nil && s[1].Sequence != nil && s[2].Special != nil {
			return s[0].Special.ID, s[2].Special.ID, nil
		}
	case "BertProcessing":
		if len(p.Cls) == 2 && len(p.Sep) == 2 {
			cls, _ = p.Cls[0].(string)
			sep, _ = p.Sep[0].(string)
			return cls, sep, nil
		}
	}
	return "", "", fmt.Errorf("post_processor %q does not put one token before and one after a text, as BERT does", p.Type)
}

// byID turns a table of ids around. Ids may have gaps, but not so many that a
// small file takes much memory.
func byID(ids map[string]int) ([]string, error) {
	const gaps = 1 << 16
	n := 0
	for token, id := range ids {
		if most := len(ids) + gaps; id < 0 || id > most {
			return nil, fmt.Errorf("token %q has id %d: want 0 to %d", token, id, most)
		}
		n = max(n, id+1)
	}
	tokens := make([]string, n)
	for token, id := range ids {
		if token == "" {
			continue
		}
		if other := tokens[id]; other != "" {
			return nil, fmt.Errorf("tokens %q and %q have the same id %d", min(token, other), max(token, other), id)
		}
		tokens[id] = token
	}
	return tokens, nil
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
		return Vocabulary{}, fmt.Errorf("tokenizer_config.json: tokenizer_class is %q: only BertTokenizer is computed here; choose a model with BERT's own tokenizer", file.Class)
	}
	v := Vocabulary{
		CleanText: true, ChineseChars: file.ChineseChars, Lowercase: file.Lowercase,
		StripAccents: orElse(file.StripAccents, file.Lowercase),
		UnkToken:     string(file.Unk), ClsToken: string(file.Cls), SepToken: string(file.Sep),
		Prefix: "##", MaxWordChars: 100,
	}
	for line := range strings.Lines(string(vocabTxt)) {
		line = strings.TrimSuffix(line, "\n")
		v.Tokens = append(v.Tokens, strings.TrimSuffix(line, "\r"))
	}
	for _, name := range append([]tokenName{file.Pad, file.Unk, file.Cls, file.Sep, file.Mask}, file.Additional...) {
		if name != "" && slices.Contains(v.Tokens, string(name)) {
			v.Special = append(v.Special, string(name))
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
	if v.MaxWordChars < 1 {
		return errors.New("max_input_chars_per_word is below 1")
	}
	return nil
}

func orElse(b *bool, otherwise bool) bool {
	if b == nil {
		return otherwise
	}
	return *b
}
