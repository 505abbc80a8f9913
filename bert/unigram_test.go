package bert

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	unigramDir  = "../testdata/golden/unigram/"
	unigramFile = unigramDir + "tokenizer.json"
)

// patched is the tokenizer of a tokenizer.json whose members a patch replaces.
func patched(t testing.TB, file string, patch map[string]json.RawMessage) *tokenizer {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	members := unmarshal[map[string]json.RawMessage](t, data)
	for member, value := range patch {
		members[member] = value
	}
	if data, err = json.Marshal(members); err != nil {
		t.Fatal(err)
	}
	v, err := ParseVocabulary(data)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := newTokenizer(v)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func unmarshal[E any](t testing.TB, data []byte) (value E) {
	t.Helper()
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// unigramGolden is a line of ids.jsonl with the ids of transformers.js.
type unigramGolden struct {
	ID    string // of a text of the other goldens
	Text  string // otherwise a text
	Half  bool   // after the text comes half a surrogate pair
	Limit int    // of tokens: the plugin's loop left of the text
	Cut   string // this

	Variant string // or texts under other settings
	Patch   map[string]json.RawMessage
	Texts   []string

	IDs json.RawMessage
}

// Every text of the other goldens, hostile ones, cut ones, and other settings.
func TestUnigramGolden(t *testing.T) {
	texts := make(map[string]string)
	for _, g := range fixtures[0].goldens(t) {
		texts[g.ID] = g.Text
	}
	tok := patched(t, unigramFile, nil)
	seen := make(map[string]int)
	for _, g := range readLines[unigramGolden](t, unigramDir+"ids.jsonl") {
		if g.Variant != "" {
			seen["variants"]++
			t.Run(g.Variant, func(t *testing.T) { checkVariant(t, g) })
			continue
		}
		var got []int
		switch want := unmarshal[[]int](t, g.IDs); {
		case g.ID != "":
			seen["known"]++
			got = tok.ids(texts[g.ID])
			delete(texts, g.ID)
		case g.Limit > 0:
			seen["cut"]++
			var cut string
			if cut, got = tok.fit(new(buffers), g.Text, g.Limit); cut != g.Cut {
				t.Errorf("fit(%q, %d) = %q, want %q", g.Text, g.Limit, cut, g.Cut)
			}
			if g.Half && want[len(want)-2] != tok.segmenter.(*unigram).unk {
				t.Errorf("half a pair of %q is not unknown", g.Text)
			}
		case g.Half:
			seen["half"]++
			got = tok.ids(g.Text + tok.half)
		default:
			seen["own"]++
			got = tok.ids(g.Text)
		}
		if want := unmarshal[[]int](t, g.IDs); !slices.Equal(got, want) {
			t.Errorf("%s: ids of %q = %v, want %v", g.ID, g.Text, got, want)
		}
	}
	if fmt.Sprint(seen) != "map[cut:12 half:9 known:552 own:161 variants:23]" || len(texts) > 0 {
		t.Errorf("compared %v, without %d known texts", seen, len(texts))
	}
}

func checkVariant(t *testing.T, g unigramGolden) {
	file := unigramFile
	if g.Variant == "tiny-bert-48" {
		file = fixtures[0].model + "/tokenizer.json"
	}
	tok, want := patched(t, file, g.Patch), unmarshal[[][]int](t, g.IDs)
	if len(want) != len(g.Texts) || len(want) == 0 {
		t.Fatalf("%d texts, %d lists of ids", len(g.Texts), len(want))
	}
	for i, text := range g.Texts {
		if got := tok.ids(text); !slices.Equal(got, want[i]) {
			t.Errorf("ids(%q) = %v, want %v", text, got, want[i])
		}
	}
}

func TestUnigramCut(t *testing.T) {
	u := &unigram{Unigram: Unigram{SplitSpaces: true}}
	for _, tt := range []struct{ in, run, after string }{
		{"a b", "a", " b"},
		{" \t\u3000ab\nc", "ab", "\nc"},
		{"ab", "ab", ""},
		{" \t\u3000", "", ""},
	} {
		if run, after := u.cut([]byte(tt.in)); string(run) != tt.run || string(after) != tt.after {
			t.Errorf("cut(%q) = %q, %q, want %q, %q", tt.in, run, after, tt.run, tt.after)
		}
	}
}

// newerForms lists the compatibility forms that the reference, with Unicode 17,
// knows and the tables of Go 1.26 and x/text, those of 15, do not.
var newerForms = [][2]rune{{0xA7F1, 0xA7F1}, {0x1CCD6, 0x1CCF9}}

// What the normaliser does with every code point, against a table made by
// transformers.js: what "a?b" becomes, where ? is the code point.
func TestPrecompiledCodePoints(t *testing.T) {
	skipShort(t)
	excused := make(map[rune]bool)
	for _, span := range newerForms {
		for r := span[0]; r <= span[1]; r++ {
			excused[r] = true
		}
	}
	table := precompiledTable(t)
	differ := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if 0xD800 <= r && r <= 0xDFFF {
			continue
		}
		text := "a" + string(r) + "b"
		want, listed := table[r]
		if !listed {
			want = text
		}
		if got := precompiled(text); got != want {
			differ++
			if !excused[r] {
				t.Errorf("precompiled(a, U+%04X, b) = %q, want %q", r, got, want)
			}
		}
	}
	t.Logf("%d code points differ, all newer than Unicode %s", differ, norm.Version)
	if norm.Version == "15.0.0" && differ != len(excused) {
		t.Errorf("%d code points differ, but %d are excused: shorten the list", differ, len(excused))
	}
}

// precompiledTable reads codepoints.tsv.
func precompiledTable(t *testing.T) map[rune]string {
	t.Helper()
	data, err := os.ReadFile(unigramDir + "codepoints.tsv")
	if err != nil {
		t.Fatal(err)
	}
	table := make(map[rune]string)
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		field := strings.Split(strings.TrimSpace(line), "\t")
		from, to, span := strings.Cut(field[0], "-")
		if !span {
			to = from
		}
		lo, errLo := strconv.ParseUint(from, 16, 21)
		hi, errHi := strconv.ParseUint(to, 16, 21)
		if errLo != nil || errHi != nil {
			t.Fatalf("%q is no line of the table", line)
		}
		for r := rune(lo); r <= rune(hi); r++ {
			switch field[1] {
			case "drop":
				table[r] = "ab"
			case "space":
				table[r] = "a b"
			case "map":
				table[r] = "a" + codePoints(t, field[2]) + "b"
			case "whole":
				table[r] = codePoints(t, field[2])
			default:
				t.Fatalf("%q: unknown class", line)
			}
		}
	}
	if len(table) < 4900 {
		t.Fatalf("only %d code points in the table", len(table))
	}
	return table
}

// The form by the letter of the standard is the norm package's, wherever that
// package breaks nothing up.
func TestNFKCLong(t *testing.T) {
	skipShort(t)
	check := func(text string) {
		t.Helper()
		if got, want := nfkcLong(text), norm.NFKC.String(text); got != want {
			t.Errorf("nfkcLong(%+q) = %+q, want %+q", text, got, want)
		}
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		form := norm.NFKD.PropertiesString(string(r))
		if some := form.CCC() != 0 || form.Decomposition() != nil || r%97 == 0; some && r != 0x34F {
			check("a" + string(r) + "\u0323\u0301")
		}
	}
	for _, g := range fixtures[0].goldens(t) {
		if norm.NFKC.String(g.Text) == nfkc(g.Text) {
			check(g.Text)
		}
	}
}

// A text that a client may send costs memory and steps in proportion to what it
// is normalised to, whatever is in it: it grows by normalising, or consists of
// one word of unknown characters, of marks, of the longest pieces. The clock has
// no say in it.
func TestUnigramHostile(t *testing.T) {
	skipShort(t)
	alone := map[string]json.RawMessage{"pre_tokenizer": json.RawMessage(`{"type":"Metaspace"}`)}
	for name, tok := range map[string]*tokenizer{"words": patched(t, unigramFile, nil), "one word": patched(t, unigramFile, alone)} {
		for _, part := range []string{"a", "\uFDFA", "☃", "\u0301\u0323", "中", "😀", " ", "<mask> ", "<", "\uFF5E", "a\u0301 "} {
			text := strings.Repeat(part, 8192/utf8.RuneCountInString(part))
			size := len(norm.NFKC.String(text))
			counted := *tok
			steps := &stepCounter{unigram: tok.segmenter.(*unigram)}
			counted.segmenter = steps
			counted.fit(new(buffers), text, 512)
			if got, most := steps.count, 100*size; got > most {
				t.Errorf("%s: 8192 characters of %q take %d steps, want at most %d", name, part, got, most)
			}
			got, most := fitBytes(tok, text), 4000*uint64(size)
			if got > most {
				t.Errorf("%s: 8192 characters of %q take %d bytes, want at most %d", name, part, got, most)
			}
			t.Logf("%s: %q %d steps, %d bytes for %d", name, part, steps.count, got, size)
		}
	}
}

// stepCounter counts how often the search looks at a piece, or at a way to it.
type stepCounter struct {
	*unigram
	count int
}

func (c *stepCounter) appendIDs(ids []int, section []byte, first bool) []int {
	ids = c.unigram.appendIDs(ids, section, first)
	for run := section; len(section) > 0; {
		if run, section = c.cut(section); len(run) == 0 {
			break
		}
		l := newLattice()
		l.best(c.unigram, appendMarked(nil, run, true))
		ends := map[int32]int{}
		for _, n := range l.nodes[1:] {
			ends[n.end]++
		}
		for _, n := range l.nodes[1:] {
			c.count += 1 + ends[n.start]
		}
	}
	return ids
}

func fitBytes(tok *tokenizer, text string) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tok.fit(new(buffers), text, 512)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A vocabulary as large as multilingual-e5-small's, which is read before the
// first question can be answered.
func BenchmarkUnigramVocabulary(b *testing.B) {
	file := largeVocabulary(b, 250_000)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		v, err := ParseVocabulary(file)
		if err == nil {
			_, err = newTokenizer(v)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// largeVocabulary is the small tokenizer.json with many more pieces.
func largeVocabulary(t testing.TB, pieces int) []byte {
	t.Helper()
	data, err := os.ReadFile(unigramFile)
	if err != nil {
		t.Fatal(err)
	}
	var more strings.Builder
	for i := range pieces {
		fmt.Fprintf(&more, "\n      [\n        \"▁%s\",\n        -%d.%d\n      ],", strconv.FormatInt(int64(1e9+i*7919), 36), 12+i%7, i)
	}
	const last = `["<mask>"`
	text := strings.Replace(string(data), last, more.String()+last, 1)
	return []byte(strings.Replace(text, `{"id":3001,"content":"<mask>"`, fmt.Sprintf(`{"id":%d,"content":"<mask>"`, 3001+pieces), 1))
}

func TestLargeVocabulary(t *testing.T) {
	v, err := ParseVocabulary(largeVocabulary(t, 1000))
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Tokens) != 4002 || len(v.Scores) != 4002 || v.Tokens[4001] != "<mask>" || v.Scores[3001] != -12 {
		t.Errorf("%d tokens, %d scores, the last %q", len(v.Tokens), len(v.Scores), v.Tokens[len(v.Tokens)-1])
	}
}
