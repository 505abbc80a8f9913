package bert

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sugarme/tokenizer/model"
	"github.com/sugarme/tokenizer/model/wordpiece"
)

// tokenizer turns text into ids as transformers.js's BertTokenizer does.
// Normalising and splitting are ours; of the sugarme library only the
// vocabulary and the greedy match within one word are used, which cannot
// panic or end the process. Safe for concurrent use.
type tokenizer struct {
	normaliser
	pieces   wordpiece.WordPiece
	special  literals
	cls, sep int
	unk      int
	wordMax  int // a longer word, in code points, is unknown
}

func newTokenizer(v Vocabulary) (*tokenizer, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	ids := make(model.Vocab, len(v.Tokens))
	for id, token := range v.Tokens {
		if token != "" {
			ids[token] = id
		}
	}
	return &tokenizer{
		normaliser: normaliser{clean: v.CleanText, isolate: v.ChineseChars, lower: v.Lowercase, strip: v.StripAccents},
		pieces: wordpiece.NewWordPieceBuilder().Vocab(&ids).UnkToken(v.UnkToken).
			ContinuingSubwordPrefix(v.Prefix).MaxInputCharsPerWord(v.MaxWordChars).Build(),
		special: newLiterals(v.Special, ids),
		cls:     ids[v.ClsToken],
		sep:     ids[v.SepToken],
		unk:     ids[v.UnkToken],
		wordMax: v.MaxWordChars,
	}, nil
}

// ids returns all ids of the text, [CLS] first and [SEP] last, uncut.
func (t *tokenizer) ids(text string) []int {
	ids := make([]int, 1, len(text)/4+2)
	ids[0] = t.cls
	for {
		at, literal := t.special.next(text)
		for word := range words(t.normalise(text[:at])) {
			ids = t.appendWord(ids, word)
		}
		if literal.text == "" {
			return append(ids, t.sep)
		}
		ids = append(ids, literal.id)
		text = text[at+len(literal.text):]
	}
}

// appendWord appends the ids of a word's pieces: from the left, the longest
// piece known at each place, or the unknown token for the whole word.
func (t *tokenizer) appendWord(ids []int, word string) []int {
	if len(word) <= t.wordMax { // bytes, so code points too
		if id, ok := t.pieces.TokenToId(word); ok {
			return append(ids, id) // most words: the greedy match's first try, without its copies
		}
	}
	pieces, err := t.pieces.Tokenize(word)
	if err != nil { // only when the vocabulary lacks the unknown token, which check refuses
		return append(ids, t.unk)
	}
	for _, piece := range pieces {
		ids = append(ids, piece.Id)
	}
	return ids
}

// words yields the words of a normalised text: runs between white space, each
// punctuation mark being a word of its own.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := 0 // of the current run
		for i, r := range text {
			space, mark := isSpace(r), isPunctuation(r)
			if !space && !mark {
				continue
			}
			if start < i && !yield(text[start:i]) {
				return
			}
			start = i + utf8.RuneLen(r)
			if mark && !yield(text[i:start]) {
				return
			}
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}

// literal is a token that is found in raw text as it is written.
type literal struct {
	text string
	id   int
}

// literals finds literal tokens.
type literals struct {
	longest []literal // longest first
	first   string    // the characters they begin with
}

func newLiterals(texts []string, ids map[string]int) literals {
	var l literals
	for _, text := range texts {
		id, known := ids[text]
		if !known {
			continue
		}
		l.longest = append(l.longest, literal{text, id})
		first, _ := utf8.DecodeRuneInString(text)
		if !strings.ContainsRune(l.first, first) {
			l.first += string(first)
		}
	}
	slices.SortStableFunc(l.longest, func(a, b literal) int { return cmp.Compare(len(b.text), len(a.text)) })
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
			if strings.HasPrefix(text[at:], candidate.text) {
				return at, candidate
			}
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return len(text), literal{}
}
