package smartenv

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// realFiles calls seed with files of that name in the indexes at hand: those of
// the repository's cases and, where they are, those of real vaults.
func realFiles(f *testing.F, name string, seed func(data []byte)) {
	f.Helper()
	count := 0
	for _, pattern := range []string{"../testdata/cases/*/vault", "../testdata/vaults/*", "../../shared/vaults/*"} {
		names, err := filepath.Glob(filepath.Join(filepath.FromSlash(pattern), indexFolder, filepath.FromSlash(name)))
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			seed(data)
			count++
		}
	}
	if count < 10 {
		f.Fatalf("%d files %s, want more", count, name)
	}
}

// realLines calls seed with the first lines of real logs that are not too long.
func realLines(f *testing.F, seed func(line string)) {
	realFiles(f, "smart_sources/smart_sources.ajson", func(data []byte) {
		some := 0
		eachLine(data, func(line []byte) {
			if len(line) < 6000 && some < 8 {
				seed(string(line))
				some++
			}
		})
	})
}

// A log that is read in three steps, whatever it is cut into, is in the state that
// the lines give which are read one after the other.
func FuzzReplay(f *testing.F) {
	f.Add("", uint(0), uint(0))
	f.Add(simpleLine("a.md", 1)+"\n"+`"smart_sources:a.md": null,`, uint(50), uint(70))
	f.Add("x\r\n\n"+`"smart_blocks:a#b": {},`+"\n"+simpleLine("a.md", 1)+" tail", uint(20), uint(30))
	var lines []string
	realLines(f, func(line string) { lines = append(lines, line) })
	for i := range lines {
		f.Add(strings.Join(lines[max(0, i-2):i+1], "\n"), uint(i), uint(100*i))
	}
	f.Fuzz(func(t *testing.T, text string, a, b uint) {
		cuts := []int{int(a % uint(len(text)+1)), int(b % uint(len(text)+1)), len(text)}
		slices.Sort(cuts)
		r, st := newReplay(), &shardState{}
		for _, cut := range cuts {
			if err := r.readTail(context.Background(), st, strings.NewReader(text[:cut]), int64(cut)); err != nil {
				t.Fatal(err)
			}
		}
		want, counts := map[string]*record{}, lineCounts{}
		for line := range strings.SplitSeq(text, "\n") {
			e, ok, err := parseLine([]byte(line))
			if err != nil {
				counts.skipped++
			}
			if !ok || e.collection != sourcesCollection {
				continue
			}
			counts.records++
			delete(want, e.key)
			if e.value == nil {
				counts.tombstones++
			} else {
				want[e.key] = newDecoder().record(e.key, e.value)
			}
		}
		counts.examples = r.counts.examples
		if !reflect.DeepEqual(r.records, want) || !reflect.DeepEqual(r.counts, counts) {
			t.Errorf("%q cut at %v: %v, %+v, want %v, %+v", text, cuts, r.records, r.counts, want, counts)
		}
	})
}

// A record, its blocks and its references are what encoding/json and the plain
// rules make of them, also when the decoder has read another record before; and
// the row that is accepted for an item is one that the rules allow.
func FuzzRecord(f *testing.F) {
	f.Add("n.md", `{"embedding":{"default":{"file":"a","file_i":1,"at":2},"history":[{"file":"b","at":1},{"file":"b","at":1,"file_i":7}]}}`)
	f.Add("n.md", `{"blocks_data":{"n.md#A":[5,6],"#A":[1,2],"#B":{"lines":[1,null],"should_embed":"x"},"#A":null,"#C":{}}}`)
	f.Add("n.md", `{"last_read":{"hash":"h"},"embedding":{"default":{"m":{"file":"m","file_i":4.0,"read_hash":"h"},"m":{"file":"m","file_i":2,"read_hash":"h"}}}}`)
	f.Add("", `{"last_import":{"mtime":"12","size":1e3,"hash":"\ud83d"},"last_read":7,"blocks_data":{"":1}}`)
	realLines(f, func(line string) {
		if e, ok, err := parseLine([]byte(line)); ok && err == nil && e.value != nil {
			f.Add(e.key, string(e.value))
		}
	})
	other := []byte(`{"last_read":{"hash":"x"},"blocks_data":{"#Z":[1,1],"#A":{"embedding":{"default":{"m":{"file":"m"}}}}},"embedding":{"default":{"m":{"file":"m"}}}}`)
	f.Fuzz(func(t *testing.T, path, value string) {
		if !json.Valid([]byte(value)) || !strings.HasPrefix(value, "{") {
			return
		}
		d := newDecoder()
		d.record("other.md", other)
		got, want := d.record(path, []byte(value)), plainRecord(path, orderedJSON(value))
		if !reflect.DeepEqual(tidy(got), tidy(want)) {
			t.Fatalf("record(%q, %s) = %+v, want %+v", path, value, *got, *want)
		}
		for _, ref := range want.refs {
			checkAccepted(t, want, ref.fingerprint)
		}
	})
}

// checkAccepted looks at the row that a record has under a fingerprint.
func checkAccepted(t *testing.T, rec *record, fingerprint string) {
	t.Helper()
	a := newAcceptor(fingerprint, &multifile{rows: 3})
	row, reason := a.row(rec.refs, rec.hash)
	may := slices.ContainsFunc(rec.refs, func(r reference) bool {
		return r == reference{fingerprint, fingerprint, row, rec.hash}
	})
	if good := 0 <= row && row < 3 && may && rec.hash != ""; good != (reason == "") || good != (a.accepted == 1) {
		t.Errorf("row of %+v under %q = %d, %q, accepted %d", rec.refs, fingerprint, row, reason, a.accepted)
	}
}

// tidy makes empty lists nil.
func tidy(rec *record) record {
	r := *rec
	r.refs = append([]reference(nil), r.refs...)
	r.blocks = append([]block(nil), r.blocks...)
	for i := range r.blocks {
		r.blocks[i].refs = append([]reference(nil), r.blocks[i].refs...)
	}
	return r
}

// orderedJSON reads a valid JSON value with encoding/json; objects become lists
// of members.
func orderedJSON(text string) any {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	return orderedValue(dec)
}

func orderedValue(dec *json.Decoder) any {
	token, _ := dec.Token()
	switch token {
	case json.Delim('{'):
		members := []jsonMember{}
		for dec.More() {
			name, _ := dec.Token()
			members = append(members, jsonMember{name.(string), orderedValue(dec)})
		}
		dec.Token()
		return members
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			list = append(list, orderedValue(dec))
		}
		dec.Token()
		return list
	}
	return token
}

// member returns the last member of that name, nil without one.
func member(value any, name string) (last any) {
	members, _ := value.([]jsonMember)
	for _, m := range members {
		if m.name == name {
			last = m.value
		}
	}
	return last
}

func text(value any) string {
	s, _ := value.(string)
	return s
}

// whole reads a whole number, which may be a string when that is allowed.
func whole(value any, lenient bool) (int64, bool) {
	number, ok := value.(json.Number)
	if s, isText := value.(string); isText && lenient {
		number, ok = json.Number(s), true
	}
	n, err := strconv.ParseFloat(string(number), 64)
	if !ok || err != nil || n != math.Trunc(n) || math.Abs(n) > 1<<53 {
		return 0, false
	}
	return int64(n), true
}

// plainRecord is decoder.record by the plain rules of format section 2.4.
func plainRecord(path string, value any) *record {
	imported := member(value, "last_import")
	rec := &record{path: path, hash: text(member(member(value, "last_read"), "hash"))}
	rec.imported.mtime, _ = whole(member(imported, "mtime"), true)
	rec.imported.size, _ = whole(member(imported, "size"), true)
	rec.imported.hash = text(member(imported, "hash"))
	rec.refs = plainReferences(member(value, "embedding"))
	type named struct {
		block
		short, gone bool
	}
	var list []named
	members, _ := member(value, "blocks_data").([]jsonMember)
	for _, m := range members {
		b := named{short: strings.HasPrefix(m.name, "#")}
		if b.key = m.name; !b.short {
			b.key = strings.TrimPrefix(m.name, path)
		}
		if !strings.HasPrefix(b.key, "#") {
			continue
		}
		b.gone = !plainBlock(&b.block, m.value)
		at := slices.IndexFunc(list, func(other named) bool { return other.key == b.key })
		switch {
		case at < 0:
			list = append(list, b)
		case b.short || !list[at].short:
			list[at] = b
		}
	}
	for _, b := range list {
		if !b.gone {
			rec.blocks = append(rec.blocks, b.block)
		}
	}
	return rec
}

func plainBlock(b *block, value any) bool {
	lines, isArray := value.([]any)
	_, isObject := value.([]jsonMember)
	if isObject {
		lines, _ = member(value, "lines").([]any)
		b.hash = text(member(member(value, "last_read"), "hash"))
		b.refs = plainReferences(member(value, "embedding"))
		switch v := member(value, "should_embed").(type) {
		case json.Number:
			n, _ := strconv.ParseFloat(string(v), 64)
			b.shouldEmbed = n != 0
		case nil:
		default:
			b.shouldEmbed = v != "" && v != false
		}
	}
	var ends [2]int64
	for i := range min(len(lines), 2) {
		ends[i], _ = whole(lines[i], false)
	}
	if ends[0] >= 1 && ends[0] <= 1<<31 {
		if b.start = int(ends[0]); ends[1] >= ends[0] && ends[1] <= 1<<31 {
			b.end = int(ends[1])
		}
	}
	return isArray || isObject
}

func plainReference(value any) (ref reference, kind string, at int64) {
	ref = reference{text(member(value, "model_fingerprint")), text(member(value, "file")), -1, text(member(value, "read_hash"))}
	if row, ok := whole(member(value, "file_i"), false); ok && row >= 0 {
		ref.row = row
	}
	if ref.fingerprint == "" {
		ref.fingerprint = ref.file
	}
	at, _ = whole(member(value, "at"), true)
	return ref, text(member(value, "type")), at
}

func plainReferences(embedding any) (refs []reference) {
	put := func(ref reference) {
		if at := slices.IndexFunc(refs, func(r reference) bool { return r.fingerprint == ref.fingerprint }); at >= 0 {
			refs[at] = ref
			return
		}
		refs = append(refs, ref)
	}
	of := member(embedding, embeddingType)
	members, _ := of.([]jsonMember)
	flat := slices.ContainsFunc(members, func(m jsonMember) bool {
		_, isText := m.value.(string)
		return m.name == "file" && isText
	})
	if !flat {
		for _, m := range members {
			if _, isObject := m.value.([]jsonMember); isObject {
				ref, _, _ := plainReference(m.value)
				ref.fingerprint = m.name
				put(ref)
			}
		}
		return refs
	}
	newest := map[string]int64{}
	history, _ := member(embedding, "history").([]any)
	for _, value := range history {
		ref, kind, at := plainReference(value)
		before, seen := newest[ref.fingerprint]
		if ref.fingerprint != "" && (kind == "" || kind == embeddingType) && !(seen && at < before) {
			newest[ref.fingerprint] = at
			put(ref)
		}
	}
	ref, _, _ := plainReference(of)
	put(ref)
	return refs
}
