package property

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		text, yaml string
		body       int
	}{
		{"", "", 1},
		{"---", "", 1},
		{"---\n", "", 1},
		{"---\n---", "", 3},
		{"---\na: 1\n---\ntext", "a: 1\n", 4},
		{"\uFEFF---\r\na: 1\r\n---\r\n", "a: 1\r\n", 4},
		{"--- \t\na: 1\n---  \n", "a: 1\n", 4},
		{"---\na: |\n  ---\n---\n", "a: |\n  ---\n", 5},
		{"---\na: 1\n----\n--- x\n---", "a: 1\n----\n--- x\n", 6},
		{"---\na: 1\n", "", 1},        // never closed
		{"\n---\na: 1\n---\n", "", 1}, // not the first line
		{" ---\na: 1\n---\n", "", 1},
		{"----\na: 1\n---\n", "", 1},
	} {
		if yaml, body := Split(c.text); yaml != c.yaml || body != c.body {
			t.Errorf("Split(%q) = %q, %d, want %q, %d", c.text, yaml, body, c.yaml, c.body)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"", `null`},
		{"# only a comment\n", `null`},
		{"~", `null`},
		{"a: text\nB: 'it''s'\n", `{"a":"text","B":"it's"}`},
		{"a: 5\nb: -4.50\nc: 1e3\nd: 007\ne: 1_000\nf: 0x1F\ng: .inf\nh: 20231130123456789\ni: 0.5\nj: '5'\nk: 0\n",
			`{"a":5,"b":-4.5,"c":1000,"d":"007","e":"1_000","f":"0x1F","g":".inf","h":"20231130123456789","i":0.5,"j":"5","k":0}`},
		{"a: true\nb: False\nc: yes\nd:\ne: null\nf: ''", `{"a":true,"b":false,"c":"yes","d":null,"e":null,"f":""}`},
		{"a: 2026-11-30\nb: 2026-11-30T10:00:00Z\nc: 10:30\n", `{"a":"2026-11-30","b":"2026-11-30T10:00:00Z","c":"10:30"}`},
		{"a: [x, 2]\nb:\n  - y\n  -\nc: {d: {e: 1}}\n", `{"a":["x",2],"b":["y",null],"c":{"d":{"e":1}}}`},
		{"a: [[Note]]\nb: [[ Note#Part|label ]]\nc:\n  - [[A]]\n  - [[Smith, John]]\nd: [[[A]], [[B]]]\n",
			`{"a":"[[Note]]","b":"[[Note#Part|label]]","c":["[[A]]","[[Smith, John]]"],"d":["[[A]]","[[B]]"]}`},
		{"a: [ [x] ]\nb: [[\"x\"]]\nc: [[x], y]\nd: []\ne: [[]]\n", `{"a":[["x"]],"b":[["x"]],"c":[["x"],"y"],"d":[],"e":[[]]}`},
		{"a: &v [x, y]\nb: *v\n", `{"a":["x","y"],"b":["x","y"]}`},
		{"a: |\n  two\n  lines\nb: !!binary aGk=\nc: !own x\n", `{"a":"two\nlines\n","b":"aGk=","c":"x"}`},
		{"2026: x\ntrue: y\n", `{"2026":"x","true":"y"}`},
	} {
		got, err := Parse(c.yaml)
		if text, _ := json.Marshal(got); err != nil || !sameJSON(t, string(text), c.want) {
			t.Errorf("Parse(%q) = %s, %v, want %s", c.yaml, text, err, c.want)
		}
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	return json.Unmarshal([]byte(a), &x) == nil && reflect.DeepEqual(x, y)
}

// The lines are those of the note, where a line of dashes stands above.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"a: 1\nb: [x\nc: 2\n", "line 3: did not find expected ',' or ']'"},
		{"a: [x\nc: 2\n", "line 3: did not find expected ',' or ']'"},
		{"a: 1\nb:\n c: 1\n  d: 2\n", "line 5: mapping values are not allowed in this context"},
		{"a: 1\nb\nc: 2\n", "line 3: could not find expected ':'"},
		{"a: 1\n- b\n", "line 3: did not find expected key"},
		{"a: x: y\n", "line 2: mapping values are not allowed in this context"},
		{"a: 1\n\tb: 2\n", "line 3: found a tab character that violates indentation"},
		{"a: 1\nb: \"x\nc: y", "line 3: found unexpected end of stream"},
		{"a: 1\na: 2\n", `line 3: "a" is there twice: keep one`},
		{"x:\n  y: 1\n  y: 2\n", `line 4: "y" is there twice: keep one`},
		{"- a\n- b\n", "line 2: the properties must be lines of \"name: value\""},
		{"just text", "line 2: the properties must be"},
		{"a: 1\ntitle: {{title}}\n", "line 3: a name must be a text"},
		{"a: 1\n[[A]]: x\n", "line 3: a name must be a text"},
		{"a: 1\nb: *none\n", "unknown anchor 'none' referenced"},
		{"a: &a [*a]\n", "line 2: lists and maps stand in each other more than 64 deep"},
		{"a: \x01\n", "control characters are not allowed"},
		{strings.Repeat("a", maxYAML+1), "the properties are 64 KB long: at most 64 KB are read"},
	} {
		got, err := Parse(c.yaml)
		if err == nil || !strings.Contains(err.Error(), c.want) || got != nil {
			t.Errorf("Parse(%.40q) = %v, %v, want the error %q", c.yaml, got, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "yaml:") {
			t.Errorf("Parse(%.40q) = %v: names the library", c.yaml, err)
		}
	}
}

// hostile are documents that cost a naive reader much more than their size.
func hostile() map[string]string {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'l'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 10) + "]\n"
	}
	maps := "a: &a {x: 1, y: 2}\n"
	for c := 'b'; c < 'z'; c++ {
		maps += string(c) + ": &" + string(c) + " {x: *" + string(c-1) + ", y: *" + string(c-1) + "}\n"
	}
	n := maxYAML - 10
	return map[string]string{
		"bomb of lists":   bomb,
		"bomb of maps":    maps,
		"one long alias":  "a: &a " + strings.Repeat("x", n/3) + "\nb: [" + strings.Repeat("*a,", n/6) + "]\n",
		"names":           "? &k " + strings.Repeat("x", n/2) + "\n: [" + strings.Repeat("{*k : 1},", n/20) + "]\n",
		"itself":          "a: &a [*a, *a]\n",
		"deep lists":      "a: " + strings.Repeat("[", n),
		"deep maps":       "a: " + strings.Repeat("{a: ", n/4),
		"deep items":      "a:\n" + strings.Repeat("- ", n/2),
		"deep questions":  strings.Repeat("? ", n/2),
		"anchors":         "a: " + strings.Repeat("&a ", n/3),
		"brackets closed": "a: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"open quote":      "a: \"" + strings.Repeat("x\n", n/2),
		"colons":          strings.Repeat("a:", n/2),
		"commas":          "a: [" + strings.Repeat(",", n),
	}
}

// A document that would blow up is refused long before (in well under 0.1 s; see maxYAML, maxAlias, maxDepth).
func TestHostile(t *testing.T) {
	const limit = 30 * time.Second // the quickest of three, on any machine
	for name, yaml := range hostile() {
		best := time.Hour
		var err error
		for try := 0; try < 10 && best > limit; try++ {
			start := time.Now()
			_, err = Parse(yaml)
			best = min(best, time.Since(start))
		}
		if err == nil || best > limit {
			t.Errorf("%s: Parse = %v after %v, want an error within %v", name, err, best, limit)
		}
	}
}

func parse(t *testing.T, yaml string) Properties {
	t.Helper()
	p, err := Parse(yaml)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestGet(t *testing.T) {
	p := parse(t, "Status: open\nB: 1\nb: 2\nbB: 3\nBb: 4\n")
	for _, c := range []struct {
		name string
		want any
		ok   bool
	}{{"status", "open", true}, {"STATUS", "open", true}, {"b", 2.0, true}, {"B", 1.0, true}, {"BB", 4.0, true}, {"x", nil, false}} {
		if got, ok := p.Get(c.name); got != c.want || ok != c.ok {
			t.Errorf("Get(%q) = %v, %v, want %v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
	if got, ok := Properties(nil).Get("a"); got != nil || ok {
		t.Errorf("Get of no properties = %v, %v", got, ok)
	}
}

func TestMatches(t *testing.T) {
	p := parse(t, "Status: Open\nn: 5\nhalf: 0.50\ndone: true\nlist: [a, 7, [[Note|label]]]\nup: \"[[Folder/Note]]\"\nplain: [[Note]]\nempty:\nmap: {a: b}\nday: 2026-11-30\n")
	for _, c := range []struct {
		name string
		want any
		ok   bool
	}{
		{"status", "open", true}, {"STATUS", " OPEN ", true}, {"status", "ope", false},
		{"n", 5.0, true}, {"n", 5, true}, {"n", "5", true}, {"n", 6.0, false}, {"n", true, false}, {"half", 0.5, true},
		{"done", true, true}, {"done", "TRUE", true}, {"done", false, false},
		{"list", "A", true}, {"list", 7.0, true}, {"list", "note", true}, {"list", "[[Note]]", true}, {"list", "label", false},
		{"up", "folder/note", true}, {"up", "[[Folder/Note|x]]", true}, {"up", "Note", false},
		{"plain", "Note", true}, {"plain", "[[note]]", true},
		{"day", "2026-11-30", true},
		{"empty", "x", false}, {"map", "b", false}, {"map", "", false}, {"none", "", false}, {"none", nil, false},
	} {
		if ok := p.Matches(c.name, c.want); ok != c.ok {
			t.Errorf("Matches(%q, %v) = %v, want %v", c.name, c.want, ok, c.ok)
		}
	}
}

func TestTagsAndAliases(t *testing.T) {
	for _, c := range []struct{ yaml, tags, aliases string }{
		{"tags: [a, '#b/c', A, 2024, y2024]\naliases:\n  - One\n  - 2\n  - ''\n  -\n", "a|b/c|y2024", "One|2"},
		{"TAGS: '#a, b c,d'\nTag: e\nAlias: Two, words\n", "a|b|c|d|e", "Two, words"},
		{"tag: x\nalias: [y]\n", "x", "y"},
		{"tags: {a: b}\naliases: {a: b}\n", "", ""},
		{"tags:\naliases:\n", "", ""},
		{"other: x\n", "", ""},
	} {
		p := parse(t, c.yaml)
		if got := strings.Join(p.Tags(), "|"); got != c.tags {
			t.Errorf("Tags of %q = %q, want %q", c.yaml, got, c.tags)
		}
		if got := strings.Join(p.Aliases(), "|"); got != c.aliases {
			t.Errorf("Aliases of %q = %q, want %q", c.yaml, got, c.aliases)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range hostile() {
		f.Add("---\n" + text[:min(len(text), 500)] + "\n---\n")
	}
	for _, text := range []string{"---\na: [[Note]]\n---\n", "---\ntags: [a, b]\naliases: c\n---\nx", "\uFEFF---\r\na: 1.5\r\n---", "---\n? [a]\n: b\n---\n", "---\n<<: {a: 1}\n---\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		yaml, body := Split(text)
		if lines := strings.Count(text, "\n") + 1; body < 1 || body > lines+1 || !strings.Contains(text, yaml) || strings.Count(yaml, "\n") != max(0, body-3) {
			t.Fatalf("Split(%q) = %q, %d", text, yaml, body)
		}
		p, err := Parse(yaml)
		if err != nil {
			if p != nil || strings.Contains(err.Error(), "runtime error") {
				t.Fatalf("Parse(%q) = %v, %v", yaml, p, err)
			}
			return
		}
		if _, err := json.Marshal(p); err != nil {
			t.Fatalf("Parse(%q) is no JSON: %v", yaml, err)
		}
		for name, value := range p {
			if _, ok := p.Get(strings.ToUpper(name)); !ok && strings.EqualFold(name, strings.ToUpper(name)) {
				t.Fatalf("Get does not find %q in upper case", name)
			}
			if s, ok := value.(string); ok && !p.Matches(name, s) {
				t.Fatalf("Matches(%q, %q) = false", name, s)
			}
		}
		if slices.Contains(p.Aliases(), "") || slices.Contains(p.Tags(), "") {
			t.Fatalf("an empty tag or alias in %q", yaml)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	const yaml = "aliases: [One, Two]\ntags:\n  - a/b\n  - c\ncreated: 2026-11-30\nstatus: open\nup: \"[[Home]]\"\n"
	b.SetBytes(int64(len(yaml)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(yaml); err != nil {
			b.Fatal(err)
		}
	}
}
