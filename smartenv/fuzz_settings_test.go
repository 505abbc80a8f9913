package smartenv

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// Settings are the same in whatever order their members come, numbers are in
// range, and what begins with a dot is always left out.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{`{}`, "\ufeff{}\r", `{"smart_blocks":{"min_chars":"150","embed_blocks":0},"smart_sources":{"min_chars":1e99}}`,
		`{"gitignore_exclusions":["a","[b"],"skip_excluding_gitignore":1,"smart_sources":{"file_exclusions":"x,y","folder_exclusions_list":["z"]}}`,
		`{"skip_excluding_gitignore":true,"gitignore_exclusions":"a","smart_sources":{"skip_excluding_gitignore":false}}`,
		`{"smart_sources":{"embed_model":{"adapter":"openai","openai":{"model_key":"k"},"model_key":"TaylorAI/bge-micro-v2"}}}`} {
		f.Add([]byte(seed))
	}
	realFiles(f, settingsFile, func(data []byte) { f.Add(data) })
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseSettings(data)
		trimmed := trimBlanks(data)
		if valid := json.Valid(trimmed) && trimmed[0] == '{'; valid != (err == nil) {
			t.Fatalf("parseSettings(%q) = %v, want it read: %v", data, err, valid)
		}
		if err != nil {
			return
		}
		if got.MinChars < 0 || got.NoteMinBytes < 0 || got.MinChars > math.MaxInt32 || got.NoteMinBytes > math.MaxInt32 {
			t.Errorf("parseSettings(%q) = %+v: out of range", data, got)
		}
		excluded := got.Excludes()
		if !excluded(".obsidian/a.md") || !excluded("a/.b/c.md") || !excluded("a#b.md") {
			t.Errorf("parseSettings(%q): what is hidden is not left out", data)
		}
		if other, ok := sorted(trimmed); ok {
			if again, err := parseSettings(other); err != nil || !reflect.DeepEqual(again, got) {
				t.Errorf("parseSettings(%q) = %+v, with its members sorted %+v, %v", data, got, again, err)
			}
		}
	})
}

// sorted is a JSON object with all members in the order of their names; false when
// some name comes twice.
func sorted(data []byte) ([]byte, bool) {
	if twice(orderedJSON(string(data))) {
		return nil, false
	}
	var value any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if dec.Decode(&value) != nil {
		return nil, false
	}
	out, err := json.Marshal(value)
	return out, err == nil
}

func twice(value any) bool {
	switch value := value.(type) {
	case []any:
		return slices.ContainsFunc(value, twice)
	case []jsonMember:
		seen := map[string]bool{}
		for _, m := range value {
			if seen[m.name] || twice(m.value) {
				return true
			}
			seen[m.name] = true
		}
	}
	return false
}

// The model that is chosen does not depend on chance, its numbers are in range,
// and a record that is appended counts, whatever comes before it.
func FuzzModels(f *testing.F) {
	f.Add([]byte(`"embedding_models:m#1": {"model_key":"a","dims":"96","created_at":5},`+"\n"+`"embedding_models:m#2": {"model_key":"b","created_at":5}`), "m#3")
	f.Add([]byte(`"embedding_models:m": {"provider_key":"ollama","dimensions":99999999,"max_tokens":-1,"created_at":-1},`), "m")
	realFiles(f, modelsFile, func(data []byte) { f.Add(data, "") })
	f.Fuzz(func(t *testing.T, data []byte, key string) {
		models, _ := parseModels(data)
		first := configuredModel(key, models)
		for range 4 {
			if again := configuredModel(key, models); again != first {
				t.Fatalf("configuredModel(%q) of %q = %v, then %v", key, data, first, again)
			}
		}
		if first.Dims < 0 || first.Dims > maxDims || first.MaxTokens < 0 || len(first.Fingerprint()) < 4 {
			t.Errorf("configuredModel of %q = %+v", data, first)
		}
		line := fmt.Appendf(bytes.Clone(data), "\n%s: {\"model_key\":\"last\"}", jsString("embedding_models:"+strings.ToValidUTF8(key, "?")))
		models, _ = parseModels(line)
		if got := configuredModel(strings.ToValidUTF8(key, "?"), models); got.Name != "last" {
			t.Errorf("configuredModel of %q = %+v, want the record appended", line, got)
		}
	})
}

// A glob matches what it says, character by character; and the literal that is
// looked for first changes nothing.
func FuzzExclusions(f *testing.F) {
	for _, glob := range []string{"**/.**", "a/**", "*.tmp.md", "[!c]z.md", "x{1,2}.md", "bad[", "a**b*c?", "é*", "{", "a}", "[]]", "[z-a]", "**"} {
		for _, path := range []string{"a/b.md", ".a", "x1.md", "é.md"} {
			f.Add(glob, path)
		}
	}
	f.Fuzz(func(t *testing.T, glob, path string) {
		if len(glob)*len(path) > 10_000 || !utf8.ValidString(glob) || !utf8.ValidString(path) { // as all settings and paths are
			return
		}
		got := excluder([]string{glob})(path)
		if pattern := compileGlob(glob).MatchString(path); got != pattern {
			t.Fatalf("excluder(%q)(%q) = %v, its pattern says %v", glob, path, got, pattern)
		}
		if strings.ContainsAny(glob, "[{") {
			return
		}
		if want := plainMatch([]rune(glob), []rune(path)); got != want {
			t.Errorf("excluder(%q)(%q) = %v, want %v", glob, path, got, want)
		}
	})
}

// plainMatch matches a glob of *, ** and ? in quadratic time.
func plainMatch(glob, path []rune) bool {
	reached := make([]bool, len(path)+1) // by what was matched of the glob
	reached[0] = true
	for i := 0; i < len(glob); i++ {
		next := make([]bool, len(path)+1)
		many := glob[i] == '*'
		all := many && i+1 < len(glob) && glob[i+1] == '*'
		if all {
			i++
		}
		for j := range next {
			switch {
			case many:
				next[j] = reached[j] || j > 0 && next[j-1] && (all || path[j-1] != '/')
			case j > 0:
				next[j] = reached[j-1] && (glob[i] == path[j-1] || glob[i] == '?' && path[j-1] != '/')
			}
		}
		reached = next
	}
	return reached[len(path)]
}

// A row of a multifile has no direction, or ends as a unit vector in its own.
func FuzzRepair(f *testing.F) {
	f.Add(packVectors([]float32{3, 0, 0, 4}))
	f.Add(packVectors([]float32{1e-9, 0, 0}))
	f.Add(packVectors([]float32{1e-23, 3e38, -3e38, 3e38}))
	f.Add(packVectors([]float32{float32(math.NaN()), 1, float32(math.Inf(-1))}))
	realFiles(f, "smart_sources/mf_*", func(data []byte) { f.Add(data[:min(len(data), 4*384)]) })
	f.Fuzz(func(t *testing.T, data []byte) {
		row := make([]float32, len(data)/4)
		binary.Decode(data, binary.LittleEndian, row)
		before, sum, odd := slices.Clone(row), 0.0, false
		for _, v := range before {
			sum += float64(v) * float64(v)
			odd = odd || math.IsNaN(float64(v)) || math.IsInf(float64(v), 0)
		}
		state, dot, norm := repair(row, unitTolerance), 0.0, 0.0
		if bad := odd || math.Sqrt(sum) < 0.99e-8; bad && state.bad() == "" || state.bad() != "" && !odd && math.Sqrt(sum) > 1.01e-8 {
			t.Fatalf("repair(%v) = %v", before, state)
		}
		if state.bad() != "" {
			return
		}
		for i, v := range row {
			dot += float64(v) * (float64(before[i]) / math.Sqrt(sum))
			norm += float64(v) * float64(v)
		}
		if math.Abs(math.Sqrt(norm)-1) > 1.01*unitTolerance || math.Abs(dot-1) > 1.01*unitTolerance {
			t.Errorf("repair(%v) = %v of length %v, cosine %v", before, row, math.Sqrt(norm), dot)
		}
	})
}

// The values of an inline vector are those that encoding/json reads, rounded once
// to a float64 and once to a float32.
func FuzzInlineVector(f *testing.F) {
	for _, seed := range []string{"", "0.05271234,-1", "1e400,-0.0,5e-324,1E+2", "null,\"x\",[1],{}", "123456789012345678,0.123456789012345678", " 1 , 2 "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		value := `{"embeddings":{"m":{"vec":[` + list + `]}}}`
		var parsed struct {
			Embeddings map[string]struct{ Vec []any }
		}
		dec := json.NewDecoder(strings.NewReader(value))
		dec.UseNumber()
		if !json.Valid([]byte(value)) || dec.Decode(&parsed) != nil || twice(orderedJSON(value)) || len(parsed.Embeddings) != 1 {
			return
		}
		want := parsed.Embeddings["m"].Vec
		rec := newDecoder().inline([]byte(value))
		if len(rec.vectors) == 0 && len(want) == 0 {
			return
		}
		if len(rec.vectors) != 1 || len(rec.vectors[0].values) != len(want) {
			t.Fatalf("inline(%s) has %+v, want %v", value, rec.vectors, want)
		}
		for i, got := range rec.vectors[0].values {
			number, isNumber := want[i].(json.Number)
			exact, err := strconv.ParseFloat(string(number), 64)
			switch {
			case !isNumber && math.IsNaN(float64(got)):
			case err != nil && math.IsInf(float64(got), 0): // beyond every float64
			case isNumber && err == nil && got == float32(exact):
			default:
				t.Errorf("inline(%s): value %d is %v, want %v", value, i, got, want[i])
			}
		}
	})
}
