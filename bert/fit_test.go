package bert

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
)

// Every text the plugin's library embedded, before and after the loop.
func TestFitGolden(t *testing.T) {
	for _, tt := range []struct {
		dump  string
		model fixture
	}{
		{"../testdata/vaults/edge-mini.inputs.jsonl", fixtures[1]},
		{"../../shared/vaults/edge-mini.inputs.jsonl", fixtures[1]},
		{"../../shared/vaults/edge-synth.inputs.jsonl", fixtures[2]},
		{"../../shared/vaults/obsidian-help-synth.inputs.jsonl", fixtures[2]},
	} {
		t.Run(filepath.Base(tt.dump), func(t *testing.T) {
			type input struct {
				Key    string
				Before string `json:"input_text_before_loop"`
				After  string `json:"text_after_loop"`
				Tokens int
			}
			inputs := readLines[input](t, tt.dump)
			m := tt.model.load(t)
			cut := 0
			for _, in := range inputs {
				got := m.Fit(in.Before)
				if got != in.After {
					t.Errorf("%s: Fit of %d bytes keeps %d, want %d", in.Key, len(in.Before), len(got), len(in.After))
				}
				if n := len(m.Tokens(got)); n != in.Tokens {
					t.Errorf("%s: %d tokens, want %d", in.Key, n, in.Tokens)
				}
				if got != in.Before {
					cut++
				}
			}
			if cut == 0 {
				t.Error("no text was long enough to be shortened")
			}
			t.Logf("%d texts, %d shortened", len(inputs), cut)
		})
	}
}

// The loop's steps, worked out by hand. Each letter of x and each 中 is one token.
func TestFitSteps(t *testing.T) {
	tok := fixtures[0].load(t).tokenizer
	tests := []struct {
		name, in string
		limit    int
		want     string
	}{
		{"fits exactly", "x x x", 5, "x x x"},
		// 12 tokens in 19 units: floor(19 * 10/12 * .9) = 14 units end in a space, which goes: 9 tokens
		{"back to a space", "x x x x x x x x x x", 10, "x x x x x x x"},
		// newlines are no place to go back to
		{"newlines stay", "x\nx\nx\nx\nx\nx\nx\nx\nx\nx", 10, "x\nx\nx\nx\nx\nx\nx\n"},
		// the last space is that of the breadcrumbs: the text shrinks to the first word
		{"no later space", "x " + strings.Repeat("中", 30), 10, "x"},
		// a space at 0 is no place to go back to: floor(31 * 10/32 * .9) = 8 units
		{"leading space", " " + strings.Repeat("中", 30), 10, " 中中中中中中中"},
		{"no room at all", "x x", 1, ""},
	}
	for _, tt := range tests {
		if got, _ := tok.fit(new(buffers), tt.in, tt.limit); got != tt.want {
			t.Errorf("%s: fit(%q, %d) = %q, want %q", tt.name, tt.in, tt.limit, got, tt.want)
		}
	}
}

// The loop in JavaScript's terms, on UTF-16 units, against random texts that
// take several rounds: with and without spaces, and with surrogate pairs for
// cuts to fall into. Half a pair counts as a unit and shows as no token.
func TestFitUTF16(t *testing.T) {
	tok := fixtures[0].load(t).tokenizer
	reference := func(text string, limit int) (string, int) {
		cur, rounds := utf16.Encode([]rune(text)), 0
		count := func() int { return len(tok.ids(string(utf16.Decode(cur)))) }
		for n := count(); n > limit && len(cur) > 0; n = count() {
			cur = cur[:int(math.Floor(float64(len(cur))*(float64(limit)/float64(n))*0.9))]
			for p := len(cur) - 1; p > 0; p-- {
				if cur[p] == ' ' {
					cur = cur[:p]
					break
				}
			}
			rounds++
		}
		return strings.TrimSuffix(string(utf16.Decode(cur)), "\uFFFD"), rounds
	}
	random := rand.New(rand.NewPCG(3, 1415))
	halves, repeated := 0, 0
	for range 3000 {
		dense := random.IntN(3) // how often a space comes
		text := ""
		for range 10 + random.IntN(150) {
			text += []string{"😀", "!", "中", "x", "\n", "é", "word", " ", " "}[random.IntN(7+dense)]
		}
		limit := 3 + random.IntN(60)
		want, rounds := reference(text, limit)
		if got, _ := tok.fit(new(buffers), text, limit); got != want {
			t.Fatalf("fit(%q, %d) = %q, want %q", text, limit, got, want)
		}
		if rounds > 1 {
			repeated++
		}
		if rest, cut := strings.CutPrefix(text, want); cut && rounds > 0 && strings.HasPrefix(rest, "😀") {
			halves++
		}
	}
	if halves < 10 || repeated < 100 {
		t.Errorf("%d texts cut before a pair, %d in several rounds: want more", halves, repeated)
	}
}

func TestUnits(t *testing.T) {
	tests := []struct {
		in     string
		len    int
		prefix []string // of 0, 1, 2 … units
	}{
		{"", 0, []string{"", ""}},
		{"aé", 2, []string{"", "a", "aé", "aé"}},
		{"a😀b", 4, []string{"", "a", "a", "a😀", "a😀b", "a😀b"}},
		{"\xff中\xed\xa0\x80", 5, []string{"", "\xff", "\xff中", "\xff中\xed"}},
	}
	for _, tt := range tests {
		if got := len16(tt.in); got != tt.len {
			t.Errorf("len16(%q) = %d, want %d", tt.in, got, tt.len)
		}
		for n, want := range tt.prefix {
			if got := prefix16(tt.in, n); got != want {
				t.Errorf("prefix16(%q, %d) = %q, want %q", tt.in, n, got, want)
			}
		}
	}
}

// No text grows, and each is short enough, at several limits.
func TestFitProperty(t *testing.T) {
	f := fixtures[0]
	tok := f.load(t).tokenizer
	for _, limit := range []int{512, 64, 8, 2} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			for _, g := range f.goldens(t) {
				checkFit(t, tok, g.Text, limit)
			}
		})
	}
}

func checkFit(t *testing.T, tok *tokenizer, text string, limit int) {
	t.Helper()
	got, ids := tok.fit(new(buffers), text, limit)
	if !strings.HasPrefix(text, got) {
		t.Errorf("fit(%q, %d) = %q, which is no beginning of it", text, limit, got)
	}
	if len(ids) > limit || len(tok.ids(got)) != len(ids) {
		t.Errorf("fit(%q, %d) has %d tokens, its text %d", text, limit, len(ids), len(tok.ids(got)))
	}
}
