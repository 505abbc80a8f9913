package bert

import (
	"strings"
	"unicode/utf8"

	"github.com/sugarme/tokenizer/model"
	"github.com/sugarme/tokenizer/model/wordpiece"
)

// wordPiece is the segmenter of BERT's own tokenizer: normalise, cut into
// words, take each word apart.
//
// Of the sugarme library the vocabulary is used, in which every piece is looked
// up. Its greedy match is not: it copies a word for each piece it tries, and
// tries all that a long word contains.
type wordPiece struct {
	*normaliser
	kinds          [256]kind // by the first byte of a character
	first, further pieces    // of a word
	unk            int
	wordMax        int // a longer word, in code points, is unknown
}

// newWordPiece is told all pieces: each may begin a word.
func newWordPiece(v Vocabulary, all pieces) *wordPiece {
	further := newPieces(len(v.Tokens) / 4)
	for id, token := range v.Tokens {
		if rest, is := strings.CutPrefix(token, v.Prefix); is && token != "" {
			further.add(rest, id)
		}
	}
	return &wordPiece{
		normaliser: newNormaliser(*v.WordPiece), kinds: newKinds(), first: all, further: further,
		unk: all.GetVocab()[v.UnkToken], wordMax: v.MaxWordChars,
	}
}

func (w *wordPiece) appendIDs(ids []int, section []byte, _ bool) []int {
	for len(section) > 0 {
		var word []byte
		if word, section = w.cut(section); len(word) > 0 {
			ids = w.appendWord(ids, word)
		}
	}
	return ids
}

// kind is what a character does to the word it is found in.
type kind uint8

const (
	letter kind = iota // goes on
	space              // ends it
	mark               // ends it and is a word of its own
	beyond             // ASCII: the character is to be looked at
)

func newKinds() (kinds [256]kind) {
	for b := range kinds {
		kinds[b] = beyond
		if b < utf8.RuneSelf {
			kinds[b] = kindOf(rune(b))
		}
	}
	return kinds
}

func kindOf(r rune) kind {
	switch {
	case isSpace(r):
		return space
	case isPunctuation(r):
		return mark
	}
	return letter
}

// cut takes the first word off a normalised text, and white space before it.
// There is none in white space alone.
func (w *wordPiece) cut(text []byte) (word, after []byte) {
	start := 0
	for at, size := 0, 0; at < len(text); at += size {
		kind := w.kinds[text[at]]
		size = 1
		if kind == beyond {
			var r rune
			r, size = utf8.DecodeRune(text[at:])
			kind = kindOf(r)
		}
		switch {
		case kind == letter:
			continue
		case start < at:
			return text[start:at], text[at:]
		case kind == mark:
			return text[at : at+size], text[at+size:]
		}
		start = at + size
	}
	return text[start:], nil
}

// appendWord appends the ids of a word's pieces: from the left, the longest
// piece known at each place, or the unknown token for the whole word.
func (w *wordPiece) appendWord(ids []int, word []byte) []int {
	if w.isTooLong(word) {
		return append(ids, w.unk)
	}
	before := len(ids)
	id, size := w.first.longest(word)
	for size > 0 {
		ids = append(ids, id)
		if word = word[size:]; len(word) == 0 {
			return ids
		}
		id, size = w.further.longest(word)
	}
	return append(ids[:before], w.unk)
}

func (w *wordPiece) isTooLong(word []byte) bool {
	if len(word) <= w.wordMax { // bytes, so code points too
		return false
	}
	chars := 0
	for _, b := range word { // RuneCount would copy
		if utf8.RuneStart(b) {
			chars++
		}
	}
	return chars > w.wordMax
}

// pieces are those that may stand at one kind of place in a word.
type pieces struct {
	wordpiece.WordPiece
	most int // bytes of the longest
}

// newPieces has no piece yet, but room for a number. Those that the library is
// given before it builds it keeps by id too, which nobody asks for here.
func newPieces(room int) pieces {
	vocab := make(model.Vocab, room)
	return pieces{WordPiece: wordpiece.NewWordPieceBuilder().Vocab(&vocab).Build()}
}

func (p *pieces) add(piece string, id int) {
	p.GetVocab()[piece] = id
	p.most = max(p.most, len(piece))
}

// longest returns the longest piece that the word begins with; 0 bytes if none.
// However long the word, it looks for no more pieces than the longest has bytes.
func (p *pieces) longest(word []byte) (id, size int) {
	for size = min(len(word), p.most); size > 0; size-- {
		if size < len(word) && !utf8.RuneStart(word[size]) {
			continue // within a character
		}
		if id, known := p.TokenToId(string(word[:size])); known {
			return id, size
		}
	}
	return 0, 0
}
