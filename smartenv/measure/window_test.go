package measure

import (
	"slices"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
)

func TestUnion(t *testing.T) {
	tests := []struct{ spans, want []span }{
		{nil, nil},
		{[]span{{3, 3}, {5, 4}}, nil},
		{[]span{{4, 6}, {0, 2}}, []span{{0, 2}, {4, 6}}},
		{[]span{{0, 2}, {2, 4}}, []span{{0, 4}}},
		{[]span{{0, 9}, {2, 4}, {8, 12}}, []span{{0, 12}}},
		{[]span{{5, 6}, {0, 3}, {2, 4}, {4, 5}}, []span{{0, 6}}},
	}
	for _, test := range tests {
		if got := union(test.spans); !slices.Equal(got, test.want) {
			t.Errorf("union(%v) = %v, want %v", test.spans, got, test.want)
		}
	}
}

func TestHeader(t *testing.T) {
	tests := []struct{ path, want string }{
		{"a.md", "a:\n"},
		{"A b/c.md", "A b > c:\n"},
		{"x.md/y.md", "x > y.md:\n"},
		{"UP.MD", "UP.MD:\n"},
		{"d.excalidraw.md", "d.excalidraw:\n"},
		{"x", "x:\n"},
	}
	for _, test := range tests {
		if got := header(test.path); got != test.want {
			t.Errorf("header(%q) = %q, want %q", test.path, got, test.want)
		}
	}
}

// Whatever is dropped, what the spans hold is the beginning of the text without
// empty lines.
func TestWithoutEmptyLines(t *testing.T) {
	for _, body := range []string{"a\nb", "\n\na\n\n\nb\n", "a\n \n\nb\n\n", "é\n\n漢字\n\n😀\n\nz", ""} {
		var kept []string
		for line := range strings.SplitSeq(body, "\n") {
			if line != "" {
				kept = append(kept, line)
			}
		}
		whole := strings.Join(kept, "\n")
		for n := range len(whole) + 1 {
			held := ""
			for _, s := range union(withoutEmptyLines(body, n)) {
				held += body[s.from:s.to]
			}
			if held != whole[:n] {
				t.Errorf("withoutEmptyLines(%q, %d) holds %q, want %q", body, n, held, whole[:n])
			}
		}
	}
}

func TestBlockWindow(t *testing.T) {
	const body = "one\ntwo words\nthree"
	legacy := strings.Repeat("ab", 32) // as plugin versions before May 2025 stored
	tests := []struct {
		name       string
		start, end int
		hash       string
		want       span
		ok         bool
	}{
		{"first line", 1, 1, note.Hash("one"), span{0, 3}, true},
		{"two lines", 1, 2, note.Hash("one\ntwo words"), span{0, 13}, true},
		{"last line", 3, 3, note.Hash("three"), span{14, 19}, true},
		{"other text", 3, 3, note.Hash("four"), span{}, false},
		{"beyond the end", 3, 4, note.Hash("three"), span{}, false},
		{"before the beginning", 0, 1, note.Hash("one"), span{}, false},
		{"backwards", 3, 2, note.Hash(""), span{}, false},
		{"never closed", 1, 0, note.Hash(""), span{}, true},
		{"a hash that says nothing", 2, 2, legacy, span{4, 13}, true},
	}
	for _, test := range tests {
		item := smartenv.Item{Path: "a.md", Key: "#A#{1}", Start: test.start, End: test.end, Hash: test.hash}
		got, ok := cutter{}.block(item, body, lineStarts(body))
		if got != test.want || ok != test.ok {
			t.Errorf("%s: block = %v, %v, want %v, %v", test.name, got, ok, test.want, test.ok)
		}
	}
	// Without a tokenizer the cap is floor(3.7 × 500) for a model without a limit:
	// 1850, of which "a > A\n" takes 6.
	long := strings.Repeat("x", 3000)
	item := smartenv.Item{Path: "a.md", Key: "#A#{1}", Start: 1, End: 1, Hash: note.Hash(long)}
	if got, _ := (cutter{}).block(item, long, lineStarts(long)); got != (span{0, 1844}) {
		t.Errorf("block of 3000 characters = %v, want 1844 of them", got)
	}
}

func TestBehind(t *testing.T) {
	for n, want := range map[int]string{99: "some text", 9 + 4: "some", 9: "", 3: ""} {
		fit := func(text string) string { return text[:min(len(text), n)] }
		if got := Behind("passage: ", fit)("some text"); got != want {
			t.Errorf("Behind a prefix, %d bytes fit %q, want %q", n, got, want)
		}
	}
}

func TestReach(t *testing.T) {
	tests := []struct {
		body    string
		windows []span
		want    extent
	}{
		{"abc def", []span{{0, 7}}, extent{7, whole}},
		{"abc def\n\n", []span{{0, 7}}, extent{7, whole}},
		{"abc def", []span{{0, 3}, {4, 7}}, extent{6, whole}},
		{"abc def", []span{{0, 2}, {4, 7}}, extent{5, gaps}},
		{"abc def", []span{{2, 7}}, extent{5, gaps}},
		{"abc def", []span{{0, 5}}, extent{5, tail}},
		{"abc def", []span{{0, 1}, {3, 5}}, extent{3, tail}},
		{"abc def", nil, extent{0, none}},
		{" \n", nil, extent{0, whole}},
		{"\uFEFF", nil, extent{0, whole}},
		{"😀é", []span{{0, 6}}, extent{3, whole}},
	}
	for _, test := range tests {
		if got := reach(test.body, test.windows); got != test.want {
			t.Errorf("reach(%q, %v) = %+v, want %+v", test.body, test.windows, got, test.want)
		}
	}
}
