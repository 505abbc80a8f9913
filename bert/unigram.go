package bert

import (
	"bytes"
	"iter"
	"slices"
	"unicode/utf8"
)

// spaceMark stands for a space in SentencePiece's pieces.
const spaceMark = "▁"

// unigram is the segmenter of XLM-R's tokenizer: SentencePiece's Unigram model
// as transformers.js computes it.
//
// The search is ours. The sugarme library's adds a bonus for length to each
// score, which decides between equal ways and about unknown characters, looks
// for no piece over 20 bytes, and goes through the whole vocabulary for every
// word: of 233 golden texts it takes 4 apart otherwise.
type unigram struct {
	Unigram
	prefixes prefixes
	unk      int
	unkToken string
	unkScore float64
	literals map[string]int // literal tokens that are no pieces
}

func newUnigram(v Vocabulary, ids map[string]int) *unigram {
	u := &unigram{
		Unigram: *v.Unigram, unk: ids[v.UnkToken], unkToken: v.UnkToken,
		unkScore: slices.Min(v.Scores) - 10, literals: make(map[string]int),
	}
	u.Scores = slices.Clone(v.Scores)
	u.Scores[u.unk] = u.unkScore
	u.prefixes = newPrefixes(v.Tokens[:len(v.Scores)], ids)
	for _, special := range v.Special {
		if id, known := ids[special.Text]; known && id >= len(v.Scores) {
			u.literals[special.Text] = id
		}
	}
	return u
}

func (u *unigram) normalise(out []byte, section string) []byte {
	for _, step := range u.steps {
		section = step.apply(section)
	}
	return append(out, section...)
}

func (u *unigram) appendIDs(ids []int, section []byte, first bool) []int {
	var unknown []byte // the text of the unknown pieces since the last known one
	flush := func() {
		if len(unknown) > 0 {
			ids = append(ids, u.literal(unknown))
		}
		unknown = unknown[:0]
	}
	mark := u.Mark == "always" || u.Mark == "first" && first
	l := newLattice()
	var run, word []byte
	for len(section) > 0 {
		if run, section = u.cut(section); len(run) == 0 {
			break
		}
		word = appendMarked(word[:0], run, mark)
		for _, n := range l.best(u, word) {
			id := int(n.id)
			if id == u.unk {
				id = u.literal(word[n.start:n.end])
			}
			if id != u.unk {
				flush()
				ids = append(ids, id)
			} else if string(unknown) != u.unkToken { // written out it ends a row, in the library too
				unknown = append(unknown, word[n.start:n.end]...)
			}
		}
	}
	flush()
	return ids
}

// literal is the id of an unknown piece. It is that of a literal token when
// normalising has given the piece, or unknown pieces in a row, its spelling.
func (u *unigram) literal(text []byte) int {
	if id, known := u.literals[string(text)]; known {
		return id
	}
	return u.unk
}

// cut takes the first run that becomes a word off a normalised text, and white
// space before it. There is none in white space alone.
func (u *unigram) cut(text []byte) (run, after []byte) {
	if !u.SplitSpaces {
		return text, nil
	}
	text = bytes.TrimLeftFunc(text, isSpace)
	if end := bytes.IndexFunc(text, isSpace); end >= 0 {
		return text[:end], text[end:]
	}
	return text, nil
}

// appendMarked appends a run with its spaces marked, one before it included if
// it is to begin with a mark.
func appendMarked(word, run []byte, begin bool) []byte {
	if begin && run[0] != ' ' && !bytes.HasPrefix(run, []byte(spaceMark)) {
		word = append(word, spaceMark...)
	}
	for {
		at := bytes.IndexByte(run, ' ')
		if at < 0 {
			return append(word, run...)
		}
		word = append(word, run[:at]...)
		word = append(word, spaceMark...)
		run = run[at+1:]
	}
}

// lattice is all ways to take a word apart, and its memory from word to word.
type lattice struct {
	nodes       []node
	first, last []int32 // by byte of the word: the first and last node that end there; 0: none
	path        []node
}

func newLattice() lattice {
	const size = 64 // bytes; hardly a word is longer
	return lattice{make([]node, 0, 2*size), make([]int32, 0, size), make([]int32, 0, size), make([]node, 0, size)}
}

// node is a piece at a place of the word.
type node struct {
	score      float64 // of the best way through the word that ends with this piece
	start, end int32
	id         int32
	from       int32 // the node before it on that way
	next       int32 // the next node with the same end, in the order they were found; 0: none
}

// best returns the likeliest way to take the word apart. Of equal ways the one
// found first wins, node by node: sums are rounded, so the order and place of
// each addition are the plugin library's.
func (l *lattice) best(u *unigram, word []byte) []node {
	l.nodes = append(l.nodes[:0], node{}) // before the word
	l.first = append(l.first[:0], make([]int32, len(word)+1)...)
	l.last = append(l.last[:0], make([]int32, len(word)+1)...)
	size := 0
	for at := 0; at < len(word); at += size {
		_, size = utf8.DecodeRune(word[at:])
		whole := false // is the character a piece by itself?
		for end, id := range u.prefixes.all(word[at:]) {
			l.add(at, at+end, id, u.Scores[id])
			whole = whole || end == size
		}
		if !whole {
			l.add(at, at+size, u.unk, u.unkScore)
		}
	}
	l.path = l.path[:0]
	from, _ := l.before(len(word), 0)
	for ; from != 0; from = l.nodes[from].from {
		l.path = append(l.path, l.nodes[from])
	}
	slices.Reverse(l.path)
	return l.path
}

func (l *lattice) add(start, end, id int, score float64) {
	n := node{start: int32(start), end: int32(end), id: int32(id)}
	n.from, n.score = l.before(start, score)
	at := int32(len(l.nodes))
	l.nodes = append(l.nodes, n)
	if l.first[end] == 0 {
		l.first[end] = at
	} else {
		l.nodes[l.last[end]].next = at
	}
	l.last[end] = at
}

// before returns the node with which the best way to a piece ends that starts
// at the given place, and that way's score with the piece's.
func (l *lattice) before(start int, score float64) (from int32, sum float64) {
	from = l.first[start] // at the beginning 0, the node before the word
	sum = l.nodes[from].score + score
	for i := l.nodes[from].next; i != 0; i = l.nodes[i].next {
		if s := l.nodes[i].score + score; s > sum {
			from, sum = i, s
		}
	}
	return from, sum
}

// prefixes finds the pieces that a text begins with. A trie would take fewer
// steps, but half a second to build for 250,000 pieces.
type prefixes struct {
	ids     map[string]int
	pieces  int             // ids from here on are no pieces
	longest map[[2]rune]int // by the first two characters: bytes of the longest piece
}

func newPrefixes(pieces []string, ids map[string]int) prefixes {
	p := prefixes{ids: ids, pieces: len(pieces), longest: make(map[[2]rune]int)}
	for _, piece := range pieces {
		first, size := utf8.DecodeRuneInString(piece)
		if size < len(piece) {
			second, _ := utf8.DecodeRuneInString(piece[size:])
			start := [2]rune{first, second}
			p.longest[start] = max(p.longest[start], len(piece))
		}
	}
	return p
}

// all yields the ends in the text, which is not empty, and the ids of the
// pieces it begins with, the shortest first.
func (p *prefixes) all(text []byte) iter.Seq2[int, int] {
	return func(yield func(end, id int) bool) {
		first, end := utf8.DecodeRune(text)
		second, _ := utf8.DecodeRune(text[end:])
		longest := min(p.longest[[2]rune{first, second}], len(text))
		for {
			if id, known := p.ids[string(text[:end])]; known && id < p.pieces && !yield(end, id) || end >= longest {
				return
			}
			_, size := utf8.DecodeRune(text[end:])
			end += size
		}
	}
}
