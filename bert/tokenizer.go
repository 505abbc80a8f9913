package bert

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// tokenizer turns text into ids as transformers.js does: literal tokens are
// found in the raw text, and what lies between them is normalised and taken
// apart by the segmenter. Safe for concurrent use.
type tokenizer struct {
	segmenter
	special  literals
	cls, sep int
	half     string // what half a surrogate pair at the end of a text is like
}

// segmenter is that in which tokenizers differ. It works on the sections of a
// text between its literal tokens.
type segmenter interface {
	// normalise appends a section as pieces are looked for in it.
	normalise(out []byte, section string) []byte
	// appendIDs appends the ids of the pieces of a normalised section. It is
	// told whether the text begins with the section.
	appendIDs(ids []int, section []byte, first bool) []int
}

func newTokenizer(v Vocabulary) (*tokenizer, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	all := newPieces(len(v.Tokens))
	for id, token := range v.Tokens {
		if token != "" {
			all.add(token, id)
		}
	}
	ids := all.GetVocab()
	t := &tokenizer{special: newLiterals(v.Special, ids), cls: ids[v.ClsToken], sep: ids[v.SepToken]}
	if v.Unigram != nil {
		t.segmenter = newUnigram(v, ids)
	} else {
		t.segmenter = newWordPiece(v, all)
	}
	if v.WordPiece == nil || !v.CleanText { // cleaning drops half a pair
		t.half = "\U0010FFFF" // like that half no character, and in no vocabulary
	}
	return t, nil
}

// buffers is memory that one text after the other can be taken apart in.
type buffers struct {
	ids        []int
	normalised []byte // the section at hand
}

// ids returns all ids of the text, [CLS] first and [SEP] last, uncut.
func (t *tokenizer) ids(text string) []int { return t.idsIn(new(buffers), text) }

// idsIn is ids in memory that the next call with the same buffers overwrites.
func (t *tokenizer) idsIn(b *buffers, text string) []int {
	ids := append(slices.Grow(b.ids[:0], len(text)/3+2), t.cls)
	var before Literal
	for first := true; ; first = false {
		at, literal := t.special.next(text)
		section := text[:at]
		if before.RStrip {
			section = strings.TrimLeftFunc(section, isSpace)
		}
		if literal.LStrip {
			section = strings.TrimRightFunc(section, isSpace)
		}
		b.normalised = t.normalise(b.normalised[:0], section)
		if id, is := t.special.id(b.normalised); is { // such as "＜s＞", and nothing beside it
			ids = append(ids, id)
		} else {
			ids = t.appendIDs(ids, b.normalised, first)
		}
		if literal.Text == "" {
			b.ids = append(ids, t.sep)
			return b.ids
		}
		ids = append(ids, literal.id)
		text = text[at+len(literal.Text):]
		before = literal.Literal
	}
}

// literal is a token that is found in raw text as it is written.
type literal struct {
	Literal
	id int
}

// literals finds literal tokens.
type literals struct {
	longest []literal // longest first
	first   string    // the characters they begin with
}

func newLiterals(list []Literal, ids map[string]int) literals {
	var l literals
	begins := map[rune]bool{}
	for _, token := range list {
		id, known := ids[token.Text]
		if !known {
			continue
		}
		l.longest = append(l.longest, literal{token, id})
		first, _ := utf8.DecodeRuneInString(token.Text)
		begins[first] = true
	}
	l.first = string(slices.Sorted(maps.Keys(begins)))
	slices.SortStableFunc(l.longest, func(a, b literal) int { return cmp.Compare(len(b.Text), len(a.Text)) })
	return l
}

// next returns where the first literal token of the text begins, and the
// longest one there; without any, the text's length and the zero literal.
func (l literals) next(text string) (at int, found literal) {
	for at < len(text) {
		i := strings.IndexAny(text[at:], l.first)
		if i < 0 {
			break
		}
		at += i
		for _, candidate := range l.longest {
			if strings.HasPrefix(text[at:], candidate.Text) {
				return at, candidate
			}
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return len(text), literal{}
}

// id returns the id of the literal token that is spelt like the text.
func (l literals) id(text []byte) (id int, is bool) {
	for _, literal := range l.longest {
		if literal.Text == string(text) {
			return literal.id, true
		}
	}
	return 0, false
}
