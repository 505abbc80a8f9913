package smartenv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// records returns what eachRecord finds: "collection:key" with "=null" for a
// falsy value, and the lines that are damaged.
func records(text string) (found []string, bad []int) {
	eachRecord([]byte(text), func(e entry) {
		name := e.collection + ":" + e.key
		if e.value == nil {
			name += "=null"
		}
		found = append(found, name)
	}, func(line int, _ []byte) { bad = append(bad, line) })
	return found, bad
}

func TestEachRecord(t *testing.T) {
	const a, b, x = `"smart_sources:a.md": {"class_name":"SmartSource"}`, `"smart_sources:b.md": {"class_name":"SmartSource"}`, `"smart_blocks:a.md#x": {"class_name":"SmartBlock"}`
	const A, B, X = "smart_sources:a.md", "smart_sources:b.md", "smart_blocks:a.md#x"
	for _, c := range []struct {
		name, text string
		want       []string
		bad        []int
	}{
		{"nothing", "", nil, nil},
		{"blanks and commas", "\n \t,\r\n,,\n", nil, nil},
		{"a line each", a + ",\n" + x + ",\n", []string{A, X}, nil},
		{"as the plugin appends", "\n" + a + "," + x + ",\n" + b + ",", []string{A, X, B}, nil},
		{"no comma at the line's end", a + "\n" + x, []string{A, X}, nil},
		{"no comma on the line", a + x + b, []string{A, X, B}, nil},
		{"two commas", a + ",,\n,\n" + x, []string{A, X}, nil},
		{"BOM, CR LF, no-break space", "\uFEFF" + a + ",\r\n\u00a0" + x + ",\r\n", []string{A, X}, nil},
		{"deleted", a + ",\n" + `"smart_sources:a.md": null,` + `"smart_blocks:a.md#x": false`, []string{A, A + "=null", X + "=null"}, nil},
		{"class names", `"SmartNote:a.md": {},"SmartSource:b.md": {},"SmartBlock:a.md#x": {}`, []string{A, B, X}, nil},
		{"key with quotes and colons", `"smart_sources:a \"b\": c.md": {}`, []string{`smart_sources:a "b": c.md`}, nil},
		{"not a record", "hello\n" + a, []string{A}, []int{1}},
		{"a value of another kind", `"smart_sources:a.md": [1],` + "\n" + b, []string{B}, []int{1}},
		{"torn at the line's end", a[:30] + "\n" + b, []string{B}, []int{1}},
		{"torn after a comma, so that the next line looks like a member", `"smart_sources:a.md": {"path":"a.md",` + "\n" + b + ",\n" + x, []string{B, X}, []int{1}},
		{"torn at the file's end", a + ",\n" + `"smart_blocks:a.md#x": {"embeddings":{"m":{"vec":[0.1,`, []string{A}, []int{2}},
		{"the tail of a longer file", "0.5],\"last_embed\":{}}}},\n" + a, []string{A}, []int{1}},
		{"a tail, and a record on the same line", "0.5]}}}," + a + ",\n" + x, []string{A, X}, []int{1}},
		{"torn, and a record on the same line", `"smart_blocks:a.md#x": {"vec":[0.1,0.2` + a + "\n" + b, []string{A, B}, []int{1}},
		{"torn within connections, whose keys look like records", `"smart_sources:c.md": {"connections":{"smart_sources:a.md":{"hidden":1},"smart_sources:b.md":{"hidden":1}},"x":[` + "\n" + a, []string{A}, []int{1}},
		{"torn twice", `"smart_sources:c.md": {"a":[` + a[:40] + b, []string{B}, []int{1}},
		{"a line end within a text", `"smart_sources:c.md": {"text":"one` + "\n" + `two"},` + "\n" + a, []string{A}, []int{1, 2}},
		{"a record over two lines", `"smart_sources:c.md": {` + "\n" + `},` + "\n" + a, []string{A}, []int{1, 2}},
	} {
		found, bad := records(c.text)
		if !slices.Equal(found, c.want) || !slices.Equal(bad, c.bad) {
			t.Errorf("%s: eachRecord = %q, damaged lines %v, want %q, %v", c.name, found, bad, c.want, c.bad)
		}
	}
}

// FuzzEachRecord: whatever stands on other lines, the records of a whole line are
// found.
func FuzzEachRecord(f *testing.F) {
	f.Add("", "x")
	f.Add(`"smart_sources:b.md": {"path":[`, `}},`)
	f.Add(`"smart_blocks:b#c": {},"smart_sources:`, "\u2028")
	f.Fuzz(func(t *testing.T, before, after string) {
		const line = `"smart_sources:certain.md": {"class_name":"SmartSource"},"smart_blocks:certain.md#x": null,`
		found, _ := records(before + "\n" + line + "\n" + after)
		for _, want := range []string{"smart_sources:certain.md", "smart_blocks:certain.md#x=null"} {
			if !slices.Contains(found, want) {
				t.Errorf("eachRecord between %q and %q = %q, want %q in it", before, after, found, want)
			}
		}
	})
}

func TestParseFloat(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	texts := []string{"0", "-0", "0.0", "1", "-1.0", "0.05271234", "1e-3", "-2.5E+2", "123456789012345", "1234567890123456", "0.123456789012345678", "5e-324", "1e400", "-1e400", "0.00000001"}
	for range 20000 {
		texts = append(texts, strconv.FormatFloat(rng.NormFloat64(), 'f', rng.IntN(14), 64))
	}
	for _, text := range texts {
		exact, _ := strconv.ParseFloat(text, 64)
		want := float32(exact)
		if math.Abs(exact) > math.MaxFloat32 { // has no direction either way
			if got := parseFloat([]byte(text)); !math.IsInf(float64(got), 0) {
				t.Errorf("parseFloat(%s) = %v, want an infinity", text, got)
			}
			continue
		}
		if got := parseFloat([]byte(text)); got != want || math.Signbit(float64(got)) != math.Signbit(exact) {
			t.Errorf("parseFloat(%s) = %v, want %v", text, got, want)
		}
	}
}

func TestInlineRecord(t *testing.T) {
	d := newDecoder()
	rec := d.inline([]byte(`{"path":null,"embeddings":{"m/1":{"vec":[1,null,"x",-2.5e0],"last_embed":{"hash":"h1","tokens":3}},
		"m/2":{"vec":[0.5]},"m/3":{"vec":[]},"m/4":{"vec":null},"m/5":7},
		"last_embed":{"hash":"h0"},"last_read":{"hash":"h2","at":1},"last_import":{"mtime":5,"size":"6","hash":"h3"},
		"blocks":{"#A":[1,"2"],"#B":[3,4],"no key":[1,1],"#C":null,"#D":{"lines":[5,6]}},"lines":[7,8],"size":9}`))
	got := fmt.Sprintf("%s %v %v %v %v %d", rec.hash, rec.imported, rec.hasBlocks, rec.blocks, rec.lines, rec.size)
	want := "h2 {5 6 h3} true [{#A 1 0 false} {#B 3 4 true} {#C 0 0 false} {#D 5 6 true}] { 7 8 true} 9"
	if got != want {
		t.Errorf("inline record = %s, want %s", got, want)
	}
	var vectors []string
	for _, v := range rec.vectors {
		vectors = append(vectors, fmt.Sprint(v.model, v.hash, v.values))
	}
	if got, want := strings.Join(vectors, ";"), "m/1h1[1 NaN NaN -2.5];m/2h0[0.5]"; got != want {
		t.Errorf("its vectors = %s, want %s", got, want)
	}
	rec = d.inline([]byte(`{"history":[{"hash":"old","blocks":{"#A":[9,9]}},{"hash":"new","blocks":{"#A":[0,4]}}]}`))
	if rec.hash != "new" || !rec.hasBlocks || fmt.Sprint(rec.blocks) != "[{#A 0 4 true}]" {
		t.Errorf("record with a history: hash %q, blocks %v", rec.hash, rec.blocks)
	}
}

func TestInlineName(t *testing.T) {
	for path, want := range map[string]string{
		"a.md":                  "a_md.ajson",
		"A b/c d.e.md":          "A_b_c_d_e_md.ajson",
		"tab\tand\u00a0nb.md":   "tab_and_nb_md.ajson",
		"Ünï-code (x) & y.md":   "Ünï-code_(x)_&_y_md.ajson",
		"back\\slash.canvas":    "back\\slash_canvas.ajson",
		"under_score/a__b.md":   "under_score_a__b_md.ajson",
		"emoji 😀/\u3000wide.md": "emoji_😀__wide_md.ajson",
	} {
		if got := inlineName(path); got != want {
			t.Errorf("inlineName(%q) = %q, want %q", path, got, want)
		}
	}
}
