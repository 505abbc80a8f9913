package smartenv

import (
	"encoding/json"
	"strings"
	"testing"
)

var jsonSeeds = []string{
	`{}`, `[]`, `null`, `true`, `false`, `0`, `-0`, `1.5e-7`, `""`, `"a\u00e9\ud83d\ude00\n"`, `"\ud800"`,
	`{"a":[1,{"b":"c"}],"d":null}`, ` { "a" : 1 } `, `{"a":1,}`, `[1,]`, `01`, `-`, `1.`, `.5`, `1e`, `+1`, `tru`, `nul`,
	"\"\t\"", `"\x"`, `"\u12"`, `"`, `{"a"}`, `{"a":}`, `{1:2}`, `[1 2]`, "\ufeff{}", "\"\xff\"", `{} {}`, ``, ` `,
}

// checkScanner compares the scanner with encoding/json on one text.
func checkScanner(t *testing.T, text string) {
	t.Helper()
	valid := json.Valid([]byte(text))
	if got := validJSON([]byte(text)); got != valid {
		t.Fatalf("validJSON(%.100q) = %v, want %v", text, got, valid)
	}
	var want any
	if !valid || json.Unmarshal([]byte(text), &want) != nil {
		return
	}
	s := &scanner{text: []byte(text)}
	if s.peek() == '"' {
		if got := s.str(); got != want {
			t.Fatalf("str(%q) = %q, want %q", text, got, want)
		}
		return
	}
	members, ok := want.(map[string]any)
	if !ok {
		return
	}
	got := map[string]bool{}
	s.members(func(name []byte) {
		got[string(name)] = true
		s.skip()
	})
	if s.bad || len(got) != len(members) {
		t.Fatalf("members(%q) = %v, bad %v, want %v", text, got, s.bad, members)
	}
	for name := range members {
		if !got[name] {
			t.Fatalf("members(%q) = %v, want %q too", text, got, name)
		}
	}
}

func TestScanner(t *testing.T) {
	for _, text := range jsonSeeds {
		checkScanner(t, text)
	}
	for _, depth := range []int{maxDepth, maxDepth + 1} {
		checkScanner(t, strings.Repeat("[", depth)+strings.Repeat("]", depth))
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range jsonSeeds {
		f.Add(text)
	}
	f.Fuzz(checkScanner)
}

func TestScannerIsTolerantOfTypes(t *testing.T) {
	const text = `{"s":5,"n":"7","i":"x","f":2.5,"e":1e3,"w":4.0,"neg":-3,"o":[1],"a":{"b":1},"b":"","z":0,"big":1e300,"ok":"yes"}`
	type result struct {
		str     string
		n       int64
		whole   bool
		truthy  bool
		touched int
	}
	var got result
	var numbers []int64
	s := &scanner{text: []byte(text)}
	s.members(func(name []byte) {
		switch string(name) {
		case "s":
			got.str = s.str()
		case "n":
			got.n, got.whole = s.lenientInteger()
		case "i", "f", "e", "w", "neg", "big":
			if n, ok := s.integer(); ok {
				numbers = append(numbers, n)
			}
		case "o":
			s.members(func([]byte) { got.touched++; s.skip() })
		case "a":
			s.elements(func() { got.touched++; s.skip() })
		case "b", "z":
			got.truthy = got.truthy || s.truth()
		case "ok":
			got.str += s.str()
		}
	})
	if want := (result{str: "yes", n: 7, whole: true}); s.bad || got != want {
		t.Errorf("got %+v, bad %v, want %+v", got, s.bad, want)
	}
	if len(numbers) != 3 || numbers[0] != 1000 || numbers[1] != 4 || numbers[2] != -3 {
		t.Errorf("whole numbers = %v, want [1000 4 -3]", numbers)
	}
}
