package smartenv

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"smart-connections-mcp/smartenv/note"
)

// newInlineVault is a vault whose index a test writes as plugin versions before
// 4.7 do.
func newInlineVault(t testing.TB) *fakeVault {
	v := newFakeVault(t)
	v.remove(".smart-env/smart_sources")
	return v
}

// multi writes a file of multi/ and dates it back, so that it does not look as if
// it were being written.
func (v *fakeVault) multi(name string, lines ...string) {
	v.t.Helper()
	path := ".smart-env/multi/" + name
	v.write(path, strings.Join(lines, "\n")+"\n")
	v.age(path)
}

// age dates a file back, each time to another moment.
func (v *fakeVault) age(name string) {
	v.t.Helper()
	at := time.Now().Add(-time.Hour)
	if err := os.Chtimes(v.path(name), at, at); err != nil {
		v.t.Fatal(err)
	}
}

// axisVector is the unit vector of an axis.
func axisVector(dims, axis int) []float32 {
	vec := make([]float32, dims)
	vec[axis] = 1
	return vec
}

// inlineItem is the record of an item with one vector of the fake model.
func inlineItem(text string, axis int, more map[string]any) map[string]any {
	hash := note.Hash(text)
	rec := map[string]any{
		"class_name": "SmartSource", "size": len(text),
		"last_read":  map[string]any{"hash": hash, "at": 1},
		"embeddings": map[string]any{},
	}
	if axis >= 0 {
		rec["embeddings"] = map[string]any{fakeModel.Name: map[string]any{
			"vec": axisVector(fakeModel.Dims, axis), "last_embed": map[string]any{"hash": hash, "tokens": 1}}}
	}
	for key, value := range more {
		rec[key] = value
	}
	return rec
}

// addInline writes a note and its record, alone in its file.
func (v *fakeVault) addInline(path, text string, axis int) {
	v.write(path, text)
	v.multi(inlineName(path), logLine("smart_sources:"+path, inlineItem(text, axis, nil)))
}

// axes maps the items of a snapshot to the axes of their vectors.
func axes(snap *Snapshot) map[string]int {
	got := map[string]int{}
	for _, c := range []*Collection{&snap.Notes, &snap.Blocks} {
		for i := range c.Items {
			got[c.Items[i].id()] = slices.Index(c.Row(i), 1)
		}
	}
	return got
}

func checkAxesOf(t *testing.T, what string, snap *Snapshot, want string) {
	t.Helper()
	if got := fmt.Sprint(axes(snap)); got != "map["+want+"]" {
		t.Errorf("%s: items and axes = %s, want map[%s]; warnings %q", what, got, want, snap.Warnings)
	}
}

// What a packed index of our notes says, its vectors in the inline form say too.
func TestInlineEqualsPacked(t *testing.T) {
	dir := filepath.Join("..", "testdata", "vaults", "edge-mini")
	packed := load(t, dir)
	v := &fakeVault{t: t, dir: t.TempDir()}
	if err := os.CopyFS(v.dir, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	v.remove(".smart-env/smart_sources")
	v.remove(".smart-env/smart_blocks")
	x := openIndex(t, dir, Options{})
	if _, err := x.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	vectors := map[string][]json.Number{}
	for _, c := range []*Collection{&packed.Notes, &packed.Blocks} {
		for i := range c.Items {
			for _, value := range c.Row(i) {
				id := c.Items[i].id()
				vectors[id] = append(vectors[id], json.Number(fmt.Sprintf("%.8f", value)))
			}
		}
	}
	embeddings := func(id, hash string) map[string]any {
		if vectors[id] == nil {
			return map[string]any{}
		}
		return map[string]any{packed.Model.Name: map[string]any{"vec": vectors[id], "last_embed": map[string]any{"hash": hash}}}
	}
	for path, rec := range x.loader.records {
		blocks := map[string]any{}
		var lines []string
		for i := range rec.blocks {
			b := &rec.blocks[i]
			blocks[b.key] = []int{b.start, b.end}
			lines = append(lines, logLine("smart_blocks:"+path+b.key, map[string]any{
				"class_name": "SmartBlock", "last_read": map[string]any{"hash": b.hash}, "embeddings": embeddings(path+b.key, b.hash)}))
		}
		v.multi(inlineName(path), logLine("smart_sources:"+path, map[string]any{
			"class_name": "SmartSource", "last_read": map[string]any{"hash": rec.hash}, "embeddings": embeddings(path, rec.hash), "blocks": blocks}),
			strings.Join(lines, "\n"))
	}
	inline := loadFake(t, v)
	if inline.Generation != "inline" || inline.Model.Name != packed.Model.Name || inline.Model.Dims != packed.Model.Dims {
		t.Fatalf("loaded as %s, model %+v, want %+v; %q", inline.Generation, inline.Model, packed.Model, inline.Warnings)
	}
	for _, c := range []struct {
		name      string
		got, want *Collection
	}{{"notes", &inline.Notes, &packed.Notes}, {"blocks", &inline.Blocks, &packed.Blocks}} {
		if len(c.want.Items) < 10 || !slices.Equal(c.got.Items, c.want.Items) {
			t.Fatalf("%s = %v, want %v", c.name, c.got.Items, c.want.Items)
		}
		for i := range c.want.Items {
			for j, want := range c.want.Row(i) {
				if got := c.got.Row(i)[j]; math.Abs(float64(got-want)) > 1e-7 {
					t.Fatalf("%s: value %d of row %d = %v, want %v", c.name, j, i, got, want)
				}
			}
		}
	}
}

func TestInlineBlocks(t *testing.T) {
	v := newInlineVault(t)
	text := "# A\none\n# B\ntwo\n"
	v.write("a.md", text)
	block := func(key, text string, axis int, lines []int) string {
		return logLine("smart_blocks:a.md"+key, inlineItem(text, axis, map[string]any{"lines": lines}))
	}
	v.multi("a_md.ajson",
		logLine("smart_sources:a.md", inlineItem(text, 0, map[string]any{"blocks": map[string]any{"#A": []int{1, 2}, "#B": []any{3, nil}, "#C": []int{4, 4}, "#D": []int{4, 4}}})),
		logLine("smart_blocks:a.md#D", inlineItem("", 6, map[string]any{"last_read": nil})),
		block("#A", "# A\none", 1, []int{9, 9}),
		block("#B", "# B\ntwo", 2, []int{3, 4}),
		block("#Ghost", "gone", 3, []int{1, 2}),
		logLine("smart_blocks:dead.md#x", inlineItem("", 4, nil)),
		block("#C", "x", 5, nil), `"smart_blocks:a.md#C": null,`)
	snap := loadFake(t, v)
	checkAxesOf(t, "blocks", snap, "a.md:0 a.md#A:1 a.md#B:2 a.md#D:6")
	for i, want := range []string{"#A 1-2 false true", "#B 3-4 false true", "#D 4-4 false false"} {
		it := snap.Blocks.Items[i]
		if got := fmt.Sprintf("%s %d-%d %v %v", it.Key, it.Start, it.End, it.Stale, it.Comparable()); got != want {
			t.Errorf("block %d = %s, want %s", i, got, want)
		}
	}
	if st := snap.Status; st.Ghosts != 2 || st.Blocks.Total != 4 || st.Tombstones != 1 || st.Records != 8 {
		t.Errorf("ghosts %d, blocks %d, tombstones %d, records %d; want 2, 4, 1, 8", st.Ghosts, st.Blocks.Total, st.Tombstones, st.Records)
	}
}

// Records of 2024: class names in keys, lines from 0, SHA-256 hashes.
func TestInlineRecordsOf2024(t *testing.T) {
	v := newInlineVault(t)
	sha := strings.Repeat("ab", 32)
	item := func(axis int, more map[string]any) map[string]any {
		more["last_read"] = map[string]any{"hash": sha}
		more["last_embed"] = map[string]any{"hash": sha}
		rec := inlineItem("", axis, more)
		delete(rec["embeddings"].(map[string]any)[fakeModel.Name].(map[string]any), "last_embed")
		return rec
	}
	for _, name := range []string{"a.md", "b.md", "c.md"} {
		v.write(name, "# A\none\n# B\ntwo\n")
	}
	blocks := func(start, end int) map[string]any {
		return map[string]any{"blocks": map[string]any{"#B": []int{start, end}}}
	}
	zero := blocks(2, 3)
	zero["blocks"].(map[string]any)["#A"] = []int{0, 1}
	v.multi("a_md.ajson", logLine("SmartSource:a.md", item(0, zero)), logLine("SmartBlock:a.md#B", item(1, map[string]any{})))
	v.multi("b_md.ajson", logLine("SmartNote:b.md", item(2, blocks(2, 3))), logLine("SmartBlock:b.md#B", item(3, map[string]any{})))
	v.multi("c_md.ajson", logLine("smart_sources:c.md", item(4, blocks(3, 4))), logLine("smart_blocks:c.md#B", item(5, map[string]any{})))
	snap := loadFake(t, v)
	checkAxesOf(t, "2024", snap, "a.md:0 a.md#B:1 b.md:2 b.md#B:3 c.md:4 c.md#B:5")
	for i := range snap.Blocks.Items {
		if it := &snap.Blocks.Items[i]; it.Start != 3 || it.End != 4 || it.Stale || it.Comparable() {
			t.Errorf("block %+v, want lines 3-4, unknown freshness", it)
		}
	}
	for i := range snap.Sources {
		if src := &snap.Sources[i]; src.State != Unknown {
			t.Errorf("state of %s = %v, want unknown", src.Path, src.State)
		}
	}
	if snap.Status.Notes.Stale != 0 || snap.Status.Notes.Unknown != 3 || !hasWarning(snap, "older plugin version") {
		t.Errorf("stale %d, unknown %d, warnings %q", snap.Status.Notes.Stale, snap.Status.Notes.Unknown, snap.Warnings)
	}
}

func TestInlineFreshness(t *testing.T) {
	v := newInlineVault(t)
	hash := note.Hash("text")
	marks := func(read, embedded any) map[string]any {
		return map[string]any{
			"last_read": map[string]any{"hash": read},
			"embeddings": map[string]any{fakeModel.Name: map[string]any{
				"vec": axisVector(8, 1), "last_embed": map[string]any{"hash": embedded}}},
		}
	}
	for _, c := range []struct {
		path, onDisk string
		marks        map[string]any
		state        State
		row          bool
		reason       Reason
	}{
		{"same.md", "text", marks(hash, hash), Fresh, true, ""},
		{"crlf.md", "text", marks(hash, hash), Fresh, true, ""},
		{"edited.md", "other", marks(hash, hash), Stale, true, ""},
		{"outdated.md", "text", marks(hash, "older"), Stale, false, reasonOutdated},
		{"no embed hash.md", "text", marks(hash, nil), Fresh, true, ""},
		{"no read hash.md", "text", marks(nil, hash), Unknown, true, ""},
		{"neither.md", "text", marks(nil, nil), Unknown, true, ""},
		{"gone.md", "", marks(hash, hash), Missing, false, reasonMissing},
	} {
		if c.onDisk != "" {
			v.write(c.path, c.onDisk)
		}
		v.multi(inlineName(c.path), logLine("smart_sources:"+c.path, c.marks))
		src, ok := loadFake(t, v).Source(c.path)
		if !ok || src.State != c.state || src.Row >= 0 != c.row || src.Reason != c.reason {
			t.Errorf("%s = %+v, want %v, with a row: %v, reason %q", c.path, src, c.state, c.row, c.reason)
		}
	}
}

// Keys are trusted and not file names; a copy of a file does not speak for a note
// whose own file is there.
func TestInlineKeysAndNames(t *testing.T) {
	v := newInlineVault(t)
	for _, path := range []string{"a b.md", "a_b.md", "new.md", "dead.md", "only copy.md"} {
		v.write(path, "text")
	}
	line := func(path string, axis int) string {
		return logLine("smart_sources:"+path, inlineItem("text", axis, nil))
	}
	v.multi("a_b_md.ajson", line("a b.md", 0), line("a_b.md", 1))
	v.multi("new_md.ajson", line("new.md", 2))
	v.multi("new_md-LAPTOP.ajson", line("new.md", 3))
	v.multi("renamed_by_hand.ajson", line("only copy.md", 4))
	v.multi("dead_md.ajson", line("dead.md", 5), `"smart_sources:dead.md": null,`)
	v.multi("dead_md (1).ajson", line("dead.md", 6))
	v.write(".smart-env/multi/readme.txt", line("new.md", 7))
	snap := loadFake(t, v)
	checkAxesOf(t, "names", snap, "a b.md:0 a_b.md:1 new.md:2 only copy.md:4")
	if want := []string{"multi/dead_md (1).ajson", "multi/new_md-LAPTOP.ajson"}; !slices.Equal(snap.Status.IgnoredFiles, want) || !hasWarning(snap, "LAPTOP") {
		t.Errorf("ignored %q, warnings %q, want %q", snap.Status.IgnoredFiles, snap.Warnings, want)
	}
	if snap.Status.Notes.NotIndexed != 1 { // dead.md is on disk again
		t.Errorf("not indexed = %d, want 1", snap.Status.Notes.NotIndexed)
	}
}

func TestInlineModels(t *testing.T) {
	embeddings := func(dims map[string]int) map[string]any {
		m := map[string]any{}
		for name, n := range dims {
			m[name] = map[string]any{"vec": axisVector(n, 1), "last_embed": map[string]any{"hash": note.Hash("text")}}
		}
		return map[string]any{"embeddings": m}
	}
	const bge, e5 = "TaylorAI/bge-micro-v2", "Xenova/multilingual-e5-small"
	records := func(adapter, key string) string {
		return fmt.Sprintf(`"embedding_models:m#1": {"provider_key":%q,"model_key":%q,"created_at":1},`, adapter, key)
	}
	for _, c := range []struct {
		name, settings, records string
		notes                   []map[string]int // model → dims
		model                   string           // provider, name, dims
		rows                    int
		warning, refusal        string
	}{
		{name: "nothing set", settings: `{}`, notes: []map[string]int{{bge: 384}}, model: "transformers " + bge + " 384", rows: 1},
		{name: "adapter", settings: `{"smart_sources":{"embed_model":{"transformers":{"model_key":"` + e5 + `"},"ollama":{"model_key":"x"},"adapter":"transformers","model_key":"y"}}}`,
			notes: []map[string]int{{bge: 384, e5: 384}, {e5: 384}}, model: "transformers " + e5 + " 384", rows: 2},
		{name: "before adapters", settings: `{"smart_sources":{"embed_model":{"model_key":"` + e5 + `"}},"smart_blocks":{"embed_model":{"model_key":"` + bge + `"}}}`,
			notes: []map[string]int{{bge: 384, e5: 384}}, model: "transformers " + e5 + " 384", rows: 1},
		{name: "an adapter without a key", settings: `{"smart_sources":{"embed_model":{"adapter":"ollama","model_key":"` + bge + `"}}}`,
			notes: []map[string]int{{bge: 384}}, model: "transformers " + bge + " 384", rows: 1},
		{name: "model records come first", settings: `{"embedding_models":{"default_model_key":"m#1"},"smart_sources":{"embed_model":{"adapter":"transformers","transformers":{"model_key":"` + bge + `"}}}}`,
			records: records("transformers", e5), notes: []map[string]int{{bge: 384, e5: 384}}, model: "transformers " + e5 + " 384", rows: 1},
		{name: "records that are gone", settings: `{"embedding_models":{"default_model_key":"m#1"},"smart_sources":{"embed_model":{"model_key":"` + e5 + `"}}}`,
			notes: []map[string]int{{bge: 384, e5: 384}}, model: "transformers " + bge + " 384", rows: 1},
		{name: "an API model, any length", settings: `{}`, records: records("ollama", "nomic-embed-text"), notes: []map[string]int{{"nomic-embed-text": 5}},
			model: "ollama nomic-embed-text 5", rows: 1},
		{name: "one key, two lengths", settings: `{}`, records: records("openai", "text-embedding-3-small"),
			notes: []map[string]int{{"text-embedding-3-small": 6}, {"text-embedding-3-small": 7}, {"text-embedding-3-small": 7}}, model: "openai text-embedding-3-small 7", rows: 2,
			warning: "1 note cannot be ranked, having vectors of another model only"},
		{name: "only another model", settings: `{}`, notes: []map[string]int{{e5: 384}}, model: "transformers " + e5 + " 384", rows: 1, warning: "only vectors of " + e5},
		{name: "two others", settings: `{}`, notes: []map[string]int{{e5: 384, "a/b": 9}}, rows: 0, refusal: "a/b"},
		{name: "no vector at all", settings: `{}`, notes: []map[string]int{{}}, model: "transformers " + bge + " 384", rows: 0},
	} {
		v := &fakeVault{t: t, dir: t.TempDir()}
		v.write(".smart-env/smart_env.json", c.settings)
		if c.records != "" {
			v.write(".smart-env/embedding_models/embedding_models.ajson", c.records)
		}
		for i, models := range c.notes {
			path := fmt.Sprintf("%d.md", i)
			v.write(path, "text")
			v.multi(inlineName(path), logLine("smart_sources:"+path, inlineItem("text", -1, embeddings(models))))
		}
		snap := loadFake(t, v)
		m := snap.Model
		if got := fmt.Sprintf("%s %s %d", m.Provider, m.Name, m.Dims); c.refusal == "" && got != c.model || m.Space != "" {
			t.Errorf("%s: model = %s, space %q, want %s", c.name, got, m.Space, c.model)
		}
		if len(snap.Notes.Items) != c.rows || c.warning != "" && !hasWarning(snap, c.warning) {
			t.Errorf("%s: %d rows, warnings %q, want %d, %q", c.name, len(snap.Notes.Items), snap.Warnings, c.rows, c.warning)
		}
		if (snap.Refusal != nil) != (c.refusal != "") || c.refusal != "" && !strings.Contains(snap.Refusal.Error(), c.refusal) {
			t.Errorf("%s: refusal = %v, want %q", c.name, snap.Refusal, c.refusal)
		}
	}
}

// Vectors that are not of unit length are scaled, those without a direction left
// out, each alone.
func TestInlineDamagedVectors(t *testing.T) {
	v := newInlineVault(t)
	for path, vec := range map[string]any{
		"long.md": []float32{0, 3, 0, 0, 0, 0, 0, 0}, "null.md": []any{1, nil, 0, 0, 0, 0, 0, 0},
		"zero.md": make([]float32, 8), "huge.md": []json.Number{"1e39", "0", "0", "0", "0", "0", "0", "0"},
		"round.md": []json.Number{"0.35355", "0.35355", "0.35355", "0.35355", "0.35355", "0.35355", "0.35355", "0.35355"}, // length 0.99999
	} {
		v.write(path, "text")
		v.multi(inlineName(path), logLine("smart_sources:"+path, inlineItem("text", -1, map[string]any{
			"embeddings": map[string]any{fakeModel.Name: map[string]any{"vec": vec}}})))
	}
	snap := loadFake(t, v)
	if got := len(snap.Notes.Items); got != 2 {
		t.Errorf("%d items, want long.md and round.md", got)
	}
	for i := range snap.Notes.Items {
		var sum float64
		for _, value := range snap.Notes.Row(i) {
			sum += float64(value) * float64(value)
		}
		if math.Abs(math.Sqrt(sum)-1) > unitRounding {
			t.Errorf("length of %s = %.9f, want 1", snap.Notes.Items[i].Path, math.Sqrt(sum))
		}
	}
	bad := snap.Status.Quarantined[sourcesCollection]
	if bad[badNaN] != 1 || bad[badZero] != 1 || bad[badInf] != 1 || snap.Status.Normalised[sourcesCollection] != 1 {
		t.Errorf("quarantined %v, normalised %v", bad, snap.Status.Normalised)
	}
}

// The rule by which versions before 4.7 choose blocks, on a real vault: every
// block it selects has a vector, and all but one of the vectors are selected.
func TestInlineSelection(t *testing.T) {
	x := openIndex(t, shared(t, "vaults", "ml-en-mit-inline"), Options{})
	snap, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	selected := 0
	for _, rec := range x.loader.records {
		for i := range rec.blocks {
			if rec.blocks[i].shouldEmbed {
				selected++
			}
		}
	}
	if selected != 337 || snap.Status.Blocks.Wanted != 0 {
		t.Errorf("%d blocks selected, %d of them without a vector; want 337, 0", selected, snap.Status.Blocks.Wanted)
	}
}
