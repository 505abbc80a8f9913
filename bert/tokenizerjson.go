package bert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ParseVocabulary reads a tokenizer.json with a WordPiece or a Unigram model.
// Truncation and padding in it are ignored, as the plugin's library ignores
// them. Anything that would split text otherwise than BERT or XLM-R does is
// refused.
func ParseVocabulary(tokenizerJSON []byte) (Vocabulary, error) {
	var file tokenizerFile
	err := json.Unmarshal(tokenizerJSON, &file)
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
	AddedTokens   []addedToken   `json:"added_tokens"`
	Normalizer    normalizerPart `json:"normalizer"`
	PreTokenizer  splitterPart   `json:"pre_tokenizer"`
	PostProcessor postProcessor  `json:"post_processor"`
	Model         modelPart      `json:"model"`
}

// normalizerPart is a normalizer of any type that is computed here.
type normalizerPart struct {
	Type string `json:"type"`

	// BertNormalizer
	CleanText    bool  `json:"clean_text"`
	ChineseChars bool  `json:"handle_chinese_chars"`
	StripAccents *bool `json:"strip_accents"` // null: as Lowercase
	Lowercase    bool  `json:"lowercase"`

	Parts      []normalizerPart `json:"normalizers"` // of a Sequence
	StripLeft  bool             `json:"strip_left"`  // of Strip
	StripRight bool             `json:"strip_right"`
	Pattern    json.RawMessage  `json:"pattern"` // of Replace
	Content    string           `json:"content"`
}

// splitterPart is a pre_tokenizer of any type that is computed here.
type splitterPart struct {
	Type  string         `json:"type"`
	Parts []splitterPart `json:"pretokenizers"` // of a Sequence

	// Metaspace. The plugin's library looks at neither add_prefix_space nor split.
	Replacement *string `json:"replacement"`
	Instead     string  `json:"str_rep"`
	Prepend     *string `json:"prepend_scheme"`
}

// modelPart is a model of either type.
type modelPart struct {
	Type  string          `json:"type"`
	Vocab json.RawMessage `json:"vocab"` // WordPiece: token → id; Unigram: a list of tokens with scores

	UnkToken     string  `json:"unk_token"` // WordPiece
	Prefix       *string `json:"continuing_subword_prefix"`
	MaxWordChars *int    `json:"max_input_chars_per_word"`

	UnkID *int `json:"unk_id"` // Unigram
}

// kind is the model's type, which old files do not name.
func (m *modelPart) kind() string {
	switch {
	case m.Type != "":
		return m.Type
	case strings.HasPrefix(string(m.Vocab), "["):
		return "Unigram"
	}
	return "WordPiece"
}

// otherwise is the way out of a tokenizer that is not computed here.
const otherwise = "choose a model with BERT's own tokenizer"

func (f *tokenizerFile) vocabulary() (Vocabulary, error) {
	var v Vocabulary
	var ids map[string]int
	var err error
	switch kind := f.Model.kind(); kind {
	case "WordPiece":
		ids, err = f.wordPiece(&v)
	case "Unigram":
		ids, err = f.unigram(&v)
	default:
		err = fmt.Errorf("model is %q: only WordPiece and Unigram are computed here; %s", kind, otherwise)
	}
	if err != nil {
		return Vocabulary{}, err
	}
	for _, t := range f.AddedTokens {
		if err := t.check(); err != nil {
			return Vocabulary{}, err
		}
		if id, piece := ids[t.Content]; piece && id != t.ID && v.Unigram != nil {
			return Vocabulary{}, fmt.Errorf("added token %q has id %d, the piece of that name %d: the file is damaged, fetch the model again", t.Content, t.ID, id)
		}
		v.Special = append(v.Special, Literal{t.Content, t.LStrip, t.RStrip})
		ids[t.Content] = t.ID
	}
	if v.ClsToken, v.SepToken, err = f.PostProcessor.around(); err != nil {
		return Vocabulary{}, err
	}
	v.Tokens, err = byID(ids)
	return v, err
}

// wordPiece fills in the settings of a WordPiece model and returns its pieces.
func (f *tokenizerFile) wordPiece(v *Vocabulary) (ids map[string]int, err error) {
	n := f.Normalizer
	for _, part := range []struct{ name, got, want string }{
		{"normalizer", n.Type, "BertNormalizer"},
		{"pre_tokenizer", f.PreTokenizer.Type, "BertPreTokenizer"},
	} {
		if part.got != part.want {
			return nil, fmt.Errorf("%s is %q: only %s is computed here before a WordPiece model; %s", part.name, part.got, part.want, otherwise)
		}
	}
	if !bytes.HasPrefix(f.Model.Vocab, []byte("{")) {
		return nil, errors.New("model.vocab is no table: the file is damaged, fetch the model again")
	}
	if ids, err = numberedPieces(f.Model.Vocab); err != nil {
		return nil, fmt.Errorf("model.vocab: %w", err)
	}
	v.UnkToken = f.Model.UnkToken
	v.WordPiece = &WordPiece{
		CleanText:    n.CleanText,
		ChineseChars: n.ChineseChars,
		Lowercase:    n.Lowercase,
		StripAccents: orElse(n.StripAccents, n.Lowercase),
		Prefix:       orElse(f.Model.Prefix, "##"),
		MaxWordChars: orElse(f.Model.MaxWordChars, 100),
	}
	return ids, nil
}

// unigram fills in the settings of a Unigram model and returns its pieces.
func (f *tokenizerFile) unigram(v *Vocabulary) (ids map[string]int, err error) {
	u := &Unigram{}
	if u.steps, err = f.Normalizer.steps(); err != nil {
		return nil, err
	}
	if u.SplitSpaces, u.Mark, err = f.PreTokenizer.metaspace(); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(f.Model.Vocab, []byte("[")) {
		return nil, errors.New("model.vocab is no list: the file is damaged, fetch the model again")
	}
	pieces, err := scoredPieces(f.Model.Vocab)
	if err != nil {
		return nil, fmt.Errorf("model.vocab: %w", err)
	}
	ids = make(map[string]int, len(pieces))
	u.Scores = make([]float64, len(pieces))
	for id, p := range pieces {
		if _, twice := ids[p.text]; twice {
			return nil, fmt.Errorf("the piece %q stands in model.vocab twice: the file is damaged, fetch the model again", p.text)
		}
		ids[p.text], u.Scores[id] = id, p.score
	}
	unk := orElse(f.Model.UnkID, -1)
	if unk < 0 || unk >= len(pieces) {
		return nil, fmt.Errorf("model.unk_id is missing or not below %d: only a model with an unknown token is computed here; %s", len(pieces), otherwise)
	}
	v.UnkToken, v.Unigram = pieces[unk].text, u
	return ids, nil
}

// steps are those of a normalizer as SentencePiece models have it.
func (n normalizerPart) steps() ([]step, error) {
	switch n.Type {
	case "Precompiled":
		return []step{{kind: n.Type}}, nil
	case "Strip":
		return []step{{kind: n.Type, left: n.StripLeft, right: n.StripRight}}, nil
	case "Replace":
		var pattern struct{ Regex string }
		if err := json.Unmarshal(n.Pattern, &pattern); err != nil || pattern.Regex != " {2,}" || strings.Contains(n.Content, "$") {
			return nil, fmt.Errorf("normalizer replaces %s by %q: only runs of spaces are replaced here; %s", n.Pattern, n.Content, otherwise)
		}
		return []step{{kind: n.Type, by: n.Content}}, nil
	case "Sequence":
		var all []step
		for _, part := range n.Parts {
			steps, err := part.steps()
			if err != nil {
				return nil, err
			}
			all = append(all, steps...)
		}
		return all, nil
	}
	return nil, fmt.Errorf("normalizer is %q: only Precompiled, Strip and Replace are computed here before a Unigram model; %s", n.Type, otherwise)
}

// metaspace tells how a Unigram model's text is split, and where it is marked.
func (s splitterPart) metaspace() (split bool, mark string, err error) {
	if s.Type == "Sequence" && len(s.Parts) == 2 && s.Parts[0].Type == "WhitespaceSplit" {
		split, s = true, s.Parts[1]
	}
	if s.Type != "Metaspace" {
		return false, "", fmt.Errorf("pre_tokenizer is %q: only Metaspace, alone or after WhitespaceSplit, is computed here before a Unigram model; %s", s.Type, otherwise)
	}
	if orElse(s.Replacement, spaceMark) != spaceMark || s.Instead != "" && s.Instead != spaceMark {
		return false, "", fmt.Errorf("pre_tokenizer marks spaces by %q: only %q is computed here; %s", orElse(s.Replacement, "")+s.Instead, spaceMark, otherwise)
	}
	return split, orElse(s.Prepend, "always"), nil
}

// addedToken is a literal token of a tokenizer.json.
type addedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Special    bool   `json:"special"`
	Normalized *bool  `json:"normalized"` // null: when not special
}

// check refuses what is not computed here.
func (t addedToken) check() error {
	if orElse(t.Normalized, !t.Special) {
		return fmt.Errorf("added token %q is matched after normalising: only tokens in raw text are computed here; %s", t.Content, otherwise)
	}
	if strings.TrimFunc(t.Content, isSpace) != t.Content {
		return fmt.Errorf("added token %q begins or ends with white space, which is not computed here; %s", t.Content, otherwise)
	}
	return nil
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

// orElse is what p points to, otherwise the value given.
func orElse[E any](p *E, otherwise E) E {
	if p == nil {
		return otherwise
	}
	return *p
}
