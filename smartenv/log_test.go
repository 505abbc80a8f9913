package smartenv

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// T1, T8: lines that are whole, cut, and damaged in every way.
func TestParseLine(t *testing.T) {
	const record = `{"last_read":{"hash":"x"}}`
	for _, c := range []struct {
		line            string
		collection, key string
		value           string // "" = tombstone
		blank, bad      bool
	}{
		{line: `"smart_sources:a.md": ` + record + `,`, collection: "smart_sources", key: "a.md", value: record},
		{line: `"smart_sources:a.md": ` + record, collection: "smart_sources", key: "a.md", value: record},
		{line: "\ufeff \"smart_sources:a.md\" : " + record + " , \r", collection: "smart_sources", key: "a.md", value: record},
		{line: `"SmartSource:b.md": {},`, collection: "smart_sources", key: "b.md", value: "{}"},
		{line: `"SmartNote:b.md": {},`, collection: "smart_sources", key: "b.md", value: "{}"},
		{line: `"SmartBlock:b.md#x": {},`, collection: "smart_blocks", key: "b.md#x", value: "{}"},
		{line: `"smart_sources:a: b.md": {},`, collection: "smart_sources", key: "a: b.md", value: "{}"},
		{line: `"smart_sources:\"q\" \u00e9.md": {},`, collection: "smart_sources", key: `"q" é.md`, value: "{}"},
		{line: "\"smart_sources:u\u2028v.md\": {},", collection: "smart_sources", key: "u\u2028v.md", value: "{}"},
		{line: `"no colon": {},`, collection: "no colon", key: "", value: "{}"},
		{line: `"smart_sources:a.md": null,`, collection: "smart_sources", key: "a.md"},
		{line: `"smart_sources:a.md": false`, collection: "smart_sources", key: "a.md"},
		{line: `"smart_sources:a.md": 0,`, collection: "smart_sources", key: "a.md"},
		{line: `"smart_sources:a.md": -0.0,`, collection: "smart_sources", key: "a.md"},
		{line: `"smart_sources:a.md": "",`, collection: "smart_sources", key: "a.md"},
		{line: "", blank: true},
		{line: " \t\r", blank: true},
		{line: "\ufeff", blank: true},
		{line: ",", blank: true},
		{line: `"smart_sources:a.md": {"last_re`, bad: true},
		{line: `"smart_sources:a.md": {}, "smart_sources:b.md": {},`, bad: true},
		{line: `"smart_sources:a.md": {},,`, bad: true},
		{line: `"smart_sources:a.md": 5,`, bad: true},
		{line: `"smart_sources:a.md": [1],`, bad: true},
		{line: `"smart_sources:a.md": true,`, bad: true},
		{line: `"smart_sources:a.md": "text",`, bad: true},
		{line: `"smart_sources:a.md" {},`, bad: true},
		{line: `"smart_sources:a.md":`, bad: true},
		{line: `"smart_sources:a.md": ,`, bad: true},
		{line: `"smart_sources:a.md": 0.`, bad: true},
		{line: `"smart_sources:a.md": nul`, bad: true},
		{line: `"smart_sources:a.md": `, bad: true},
		{line: `"smart_sources:a.md": nu`, bad: true},
		{line: `"smart_sources:a.md": fals`, bad: true},
		{line: `"smart_sources:a.md": "`, bad: true},
		{line: `"smart_sources:a.md": nothing,`, bad: true},
		{line: `"smart_sources:a.md`, bad: true},
		{line: `.12, 0.5], "tail": 1},`, bad: true},
		{line: `{"smart_sources:a.md": {}},`, bad: true},
		{line: "\u0085\"smart_sources:a.md\": {},", bad: true},
		{line: "\x00\x00\x00", bad: true},
	} {
		e, ok, err := parseLine([]byte(c.line))
		if l := newDecoder().line([]byte(c.line)); (l.err != nil) != c.bad || l.ok == (c.bad || c.blank) ||
			l.ok && (l.collection != c.collection || l.key != c.key || l.record != nil && c.value == "") {
			t.Errorf("line(%q) = %+v, want blank %v, bad %v", c.line, l, c.blank, c.bad)
		}
		if (err != nil) != c.bad || ok == (c.bad || c.blank) {
			t.Errorf("parseLine(%q) = ok %v, error %v, want blank %v, bad %v", c.line, ok, err, c.blank, c.bad)
			continue
		}
		if e.collection != c.collection || e.key != c.key || string(e.value) != c.value {
			t.Errorf("parseLine(%q) = %q %q %q, want %q %q %q", c.line, e.collection, e.key, e.value, c.collection, c.key, c.value)
		}
		checkLine(t, c.line, e, ok, err)
	}
}

// checkLine checks that the reading of a line with the record in it is that of
// parseLine.
func checkLine(t *testing.T, line string, e entry, ok bool, err error) {
	t.Helper()
	l := newDecoder().line([]byte(line))
	record := ok && e.value != nil && e.collection == sourcesCollection
	if l.ok != ok || (l.err != nil) != (err != nil) || ok && (l.collection != e.collection || l.key != e.key) || (l.record != nil) != record {
		t.Errorf("line(%q) = %+v, parseLine says %+v, %v, %v", line, l, e, ok, err)
	}
}

func TestEachLineSplitsAtLFOnly(t *testing.T) {
	var lines []string
	eachLine([]byte("a\rb\u2028c\u0085d\n\ne\n"), func(line []byte) { lines = append(lines, string(line)) })
	if got, want := strings.Join(lines, "|"), "a\rb\u2028c\u0085d||e"; got != want {
		t.Errorf("lines = %q, want %q", got, want)
	}
}

// FuzzParseLine holds two properties: what encoding/json reads as one member of
// an object, parseLine reads in the same way; and it accepts nothing else.
func FuzzParseLine(f *testing.F) {
	for _, seed := range []string{
		`"smart_sources:a.md": {"a":1},`, `"smart_sources:a.md": null`, `"a:b":{}`, "\ufeff\"a:b\": {}\r", `"a": {}, "b": {}`,
		`"smart_sources:\ud83d.md": {"blocks_data":{"#A":{"lines":[1,null]}}},`, `"x:y": [`, `,`, `"a:\u0000": {"k":"\\"},`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		e, ok, err := parseLine([]byte(line))
		if ok && err != nil {
			t.Fatalf("parseLine(%q) = ok and %v", line, err)
		}
		checkLine(t, line, e, ok, err)
		trimmed := string(trimBlanks([]byte(strings.TrimSuffix(string(trimBlanks([]byte(line))), ","))))
		members, wellFormed := decodeMembers("{" + trimmed + "}")
		if !wellFormed || len(members) != 1 {
			if ok {
				t.Fatalf("parseLine(%q) = %+v, but encoding/json reads %v", line, e, members)
			}
			return
		}
		number, isNumber := members[0].value.(json.Number)
		zero, _ := number.Float64()
		falsy := members[0].value == nil || members[0].value == false || members[0].value == "" || isNumber && zero == 0
		_, object := members[0].value.(map[string]any)
		if want := falsy || object; ok != want {
			t.Fatalf("parseLine(%q) ok = %v, want %v", line, ok, want)
		}
		if !ok {
			return
		}
		if collection, key := splitKey(members[0].name); e.collection != collection || e.key != key {
			t.Fatalf("parseLine(%q) key = %q %q, want %q %q", line, e.collection, e.key, collection, key)
		}
		if object != json.Valid(e.value) {
			t.Fatalf("parseLine(%q) value = %q", line, e.value)
		}
		newDecoder().record(e.key, e.value) // must not panic
	})
}

type jsonMember struct {
	name  string
	value any
}

// decodeMembers reads the members of one object with encoding/json, in order.
func decodeMembers(text string) (members []jsonMember, ok bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	if _, err := dec.Token(); err != nil {
		return nil, false
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, false
		}
		m := jsonMember{name: name.(string)}
		if err := dec.Decode(&m.value); err != nil {
			return nil, false
		}
		members = append(members, m)
	}
	return members, true
}
