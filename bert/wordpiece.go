package bert

import (
	"iter"
	"unicode/utf8"

	"github.com/sugarme/tokenizer/model"
	"github.com/sugarme/tokenizer/model/wordpiece"
)

// wordPiece is the segmenter of BERT's own tokenizer. Normalising and
// splitting are ours; of the sugarme library only the vocabulary and the
// greedy match within one word are used, which cannot panic or end the
// process.
type wordPiece struct {
	normaliser
	pieces  wordpiece.WordPiece
	unk     int
	wordMax int // a longer word, in code points, is unknown
}

func newWordPiece(v Vocabulary, ids map[string]int) *wordPiece {
	vocab := model.Vocab(ids)
	return &wordPiece{
		normaliser: normaliser{clean: v.CleanText, isolate: v.ChineseChars, lower: v.Lowercase, strip: v.StripAccents},
		pieces: wordpiece.NewWordPieceBuilder().Vocab(&vocab).UnkToken(v.UnkToken).
			ContinuingSubwordPrefix(v.Prefix).MaxInputCharsPerWord(v.MaxWordChars).Build(),
		unk:     ids[v.UnkToken],
		wordMax: v.MaxWordChars,
	}
}

func (w *wordPiece) appendIDs(ids []int, section string, _ bool) []int {
	for word := range words(section) {
		ids = w.appendWord(ids, word)
	}
	return ids
}

// appendWord appends the ids of a word's pieces: from the left, the longest
// piece known at each place, or the unknown token for the whole word.
func (w *wordPiece) appendWord(ids []int, word string) []int {
	if len(word) <= w.wordMax { // bytes, so code points too
		if id, ok := w.pieces.TokenToId(word); ok {
			return append(ids, id) // most words: the greedy match's first try, without its copies
		}
	}
	pieces, err := w.pieces.Tokenize(word)
	if err != nil { // only when the vocabulary lacks the unknown token, which check refuses
		return append(ids, w.unk)
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
