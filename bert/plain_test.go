package bert

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sugarme/tokenizer/model"
	"github.com/sugarme/tokenizer/model/wordpiece"
	"golang.org/x/text/unicode/norm"
)

// plainWordPiece is what the wordPiece segmenter must agree with, written down
// without a thought of speed: step after step over the whole section, and the
// sugarme library's greedy match.
type plainWordPiece struct {
	WordPiece
	pieces wordpiece.WordPiece
}

func (p plainWordPiece) normalise(out []byte, section string) []byte {
	var chars []rune
	for _, r := range section {
		switch {
		case p.CleanText && isDropped(r):
		case p.CleanText && isSpace(r):
			chars = append(chars, ' ')
		case p.ChineseChars && isIdeograph(r):
			chars = append(chars, ' ', r, ' ')
		default:
			chars = append(chars, r)
		}
	}
	if p.Lowercase {
		chars = plainLower(chars)
	}
	if p.StripAccents {
		chars = plainStrip(chars)
	}
	return append(out, string(chars)...)
}

func plainLower(chars []rune) []rune {
	var out []rune
	for i, r := range chars {
		switch r {
		case 'İ':
			out = append(out, 'i', '\u0307')
		case 'Σ':
			before, after := slices.Clone(chars[:i]), chars[i+1:]
			slices.Reverse(before)
			cased := func(list []rune) bool {
				list = slices.DeleteFunc(slices.Clone(list[:min(len(list), 400)]), isCaseIgnorable)
				return len(list) > 0 && isCased(list[0])
			}
			if cased(before) && !cased(after) {
				r = 'ς'
			} else {
				r = 'σ'
			}
			out = append(out, r)
		default:
			out = append(out, unicode.ToLower(r))
		}
	}
	return out
}

// plainStrip decomposes by the letter of the standard (UAX 15), then removes.
func plainStrip(chars []rune) []rune {
	class := func(r rune) int { return int(norm.NFD.PropertiesString(string(r)).CCC()) }
	var out []rune
	for _, r := range chars {
		out = append(out, []rune(norm.NFD.String(string(r)))...)
	}
	for at := 0; at < len(out); at++ {
		end := at
		for end < len(out) && class(out[end]) != 0 {
			end++
		}
		slices.SortStableFunc(out[at:end], func(a, b rune) int { return class(a) - class(b) })
		at = end
	}
	return slices.DeleteFunc(out, func(r rune) bool { return unicode.Is(unicode.Mn, r) })
}

func (p plainWordPiece) appendIDs(ids []int, section []byte, _ bool) []int {
	start := 0
	word := func(end int) {
		if start == end {
			return
		}
		pieces, err := p.pieces.Tokenize(string(section[start:end]))
		if err != nil {
			panic(err)
		}
		for _, piece := range pieces {
			ids = append(ids, piece.Id)
		}
	}
	for i, r := range string(section) {
		if isSpace(r) || isPunctuation(r) {
			word(i)
			start = i
			if isSpace(r) {
				start += utf8.RuneLen(r)
			}
		} else if before, _ := utf8.DecodeLastRune(section[:i]); isPunctuation(before) {
			word(i)
			start = i
		}
	}
	word(len(section))
	return ids
}

// pair is a tokenizer and the plain one of the same settings.
type pair struct {
	name        string
	fast, plain *tokenizer
}

func newPair(t testing.TB, name string, v Vocabulary) pair {
	t.Helper()
	fast, err := newTokenizer(v)
	if err != nil {
		t.Fatal(err)
	}
	vocab := make(model.Vocab)
	for id, token := range v.Tokens {
		if token != "" {
			vocab[token] = id
		}
	}
	plain := *fast
	plain.segmenter = plainWordPiece{*v.WordPiece, wordpiece.NewWordPieceBuilder().Vocab(&vocab).UnkToken(v.UnkToken).
		ContinuingSubwordPrefix(v.Prefix).MaxInputCharsPerWord(v.MaxWordChars).Build()}
	return pair{name, fast, &plain}
}

// pairs are those of a small and of a larger vocabulary, each under its own
// settings first and then under others.
func pairs(t testing.TB) []pair {
	t.Helper()
	var list []pair
	for i := range 16 {
		f := fixtures[i%2]
		v := readVocabulary(t, f.model+"/tokenizer.json")
		v.Lowercase, v.StripAccents = i&2 == 0, i&4 == 0
		v.CleanText, v.ChineseChars = i&8 == 0, i&12 != 8
		if i >= 12 {
			v.Prefix, v.MaxWordChars = "", 5
		}
		list = append(list, newPair(t, fmt.Sprintf("%s %+v", f.name, *v.WordPiece), v))
	}
	return list
}

// check compares what becomes of a text, as a section and as a whole.
func (p pair) check(t *testing.T, text string) {
	t.Helper()
	if got, want := p.fast.normalise(nil, text), p.plain.normalise(nil, text); string(got) != string(want) {
		t.Fatalf("%s: normalise(%+q) = %+q, want %+q", p.name, text, got, want)
	}
	if got, want := p.fast.ids(text), p.plain.ids(text); !slices.Equal(got, want) {
		t.Fatalf("%s: ids(%+q) = %v, want %v", p.name, text, got, want)
	}
}

// Any text has the ids that the plain way gives it.
func FuzzTokenizeAgrees(f *testing.F) {
	list := pairs(f)
	addTexts(f, func(text string) { f.Add(text, byte(0)) })
	for i, text := range []string{"ΑΣ\u00ad'Σ\x07.Σ", "e\u0301\u302E\u0323\u034F\U0001D165", "각é\u1B44\u302F", "unbelievabl☃ " + strings.Repeat("xy", 51)} {
		f.Add(text, byte(i))
	}
	f.Fuzz(func(t *testing.T, text string, setting byte) { list[int(setting)%len(list)].check(t, text) })
}

// Random mixes of real text, characters of all classes, and long words, with
// ends inside a character.
func TestTokenizeAgrees(t *testing.T) {
	var real []string
	for _, g := range fixtures[0].goldens(t) {
		real = append(real, g.Text)
	}
	parts := []string{
		" ", "\n", "'", ".", "Σ", "ΑΣ", "ς", "İ", "É", "e\u0301", "\u0323", "\u034F", "\u302E", "\U0001D165", "\u1B44", "가", "힣", "中", "\uF900",
		"\u00AD", "\x00", "\x07", "\uFFFD", "\xFF", "\u00A0", "\u3000", "[MASK]", "[", "##", "un", "able", "ing", "☃", "😀", "Ǆ", "\u0345", "ᾳ",
	}
	random := rand.New(rand.NewPCG(2, 7182))
	rounds := 400
	if testing.Short() {
		rounds = 40
	}
	for _, p := range pairs(t) {
		for range rounds {
			text := ""
			for range 1 + random.IntN(12) {
				switch random.IntN(5) {
				case 0: // a piece of real text, from and to any byte
					from := real[random.IntN(len(real))]
					at := random.IntN(len(from) + 1)
					text += from[at:min(len(from), at+random.IntN(60))]
				case 1:
					text += string(rune(random.IntN([]int{0x80, 0x800, 0x3100, 0x20000}[random.IntN(4)])))
				case 2:
					text += strings.Repeat(parts[random.IntN(len(parts))], random.IntN(120))
				default:
					text += parts[random.IntN(len(parts))] + parts[random.IntN(len(parts))]
				}
			}
			p.check(t, text)
		}
	}
}

// Each character beside those that look at their neighbours.
func TestNormaliseAgreesOnEveryCharacter(t *testing.T) {
	skipShort(t)
	p := pairs(t)[0]
	for r := rune(0); r < 0x20000; r++ {
		text := "Σ" + string(r) + "Σ" + string(r) + "a\u302F" + string(r) + "\u302E\U0001D165"
		if got, want := p.fast.normalise(nil, text), p.plain.normalise(nil, text); string(got) != string(want) {
			t.Errorf("normalise(%+q) = %+q, want %+q", text, got, want)
		}
	}
}

// The notes of a real vault, with the vocabulary of the models in use.
func TestTokenizeAgreesOnVault(t *testing.T) {
	skipShort(t)
	p := newPair(t, "vault", readVocabulary(t, need(t, bigVocabulary)))
	for _, text := range vaultTexts(t) {
		p.check(t, text)
	}
}

// The list of ids and one buffer are made for each text, and one of them may
// have to grow.
func TestTokenizeAllocations(t *testing.T) {
	skipShort(t) // the race detector allocates too
	check := func(t *testing.T, tok *tokenizer, text string, most float64) {
		t.Helper()
		if n := testing.AllocsPerRun(3, func() { tok.ids(text) }); n > most {
			t.Errorf("ids(%.40q…) allocates %v times, want at most %v", text, n, most)
		}
	}
	tok := fixtures[1].load(t).tokenizer
	t.Run("prose", func(t *testing.T) { check(t, tok, prose, 3) })
	t.Run("vault", func(t *testing.T) {
		tok := patched(t, need(t, bigVocabulary), nil)
		for _, text := range vaultTexts(t) {
			check(t, tok, text, 3)
		}
	})
	// As long as the longest query, in words as long as words are taken apart,
	// which no piece ends. Each try of a piece used to be a copy: 400,000 of them.
	t.Run("hostile", func(t *testing.T) {
		for _, part := range []string{"a", "qx", "é", "Σ", "Σ'", "e\u0301", "각", "[", "!"} {
			word := strings.Repeat(part, 99/utf8.RuneCountInString(part)) + "☃ "
			check(t, tok, strings.Repeat(word, 81), 10)
		}
	})
	t.Run("unigram", func(t *testing.T) { check(t, patched(t, unigramFile, nil), prose, 12) })
}

// However long a word, no more of it is looked up than a piece can have.
func TestLongestPiece(t *testing.T) {
	p := newPieces(0)
	p.add("a", 1)
	p.add("abc", 2)
	p.add("é", 3)
	if p.most != 3 {
		t.Errorf("the longest of a, abc, é is said to have %d bytes", p.most)
	}
	for _, tt := range []struct {
		most     int
		in       string
		id, size int
	}{
		{p.most, "abcabc", 2, 3},
		{p.most, "abd", 1, 1},
		{p.most, "éa", 3, 2},
		{p.most, "ba", 0, 0},
		{p.most, "", 0, 0},
		{2, "abcabc", 1, 1}, // nothing longer is tried
	} {
		p.most = tt.most
		if id, size := p.longest([]byte(tt.in)); id != tt.id || size != tt.size {
			t.Errorf("longest(%q) of at most %d bytes = %d, %d, want %d, %d", tt.in, tt.most, id, size, tt.id, tt.size)
		}
	}
}

// vaultTexts are the notes of a real vault, each whole.
func vaultTexts(t testing.TB) []string {
	t.Helper()
	var texts []string
	err := filepath.WalkDir(need(t, "../../shared/vaults/obsidian-help-minilm"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		texts = append(texts, string(text))
		return err
	})
	if err != nil || len(texts) != 173 {
		t.Fatalf("%d notes, %v, want 173", len(texts), err)
	}
	return texts
}

// bigVocabulary is that of bert-base-uncased, of 30,522 pieces.
const bigVocabulary = "../../shared/models/all-MiniLM-L6-v2/tokenizer.json"

func readVocabulary(t testing.TB, file string) Vocabulary {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := ParseVocabulary(data)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
