package smartenv

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv/note"
)

func TestAccept(t *testing.T) {
	const fp = "mf_a"
	good := reference{fingerprint: fp, file: fp, row: 4, readHash: "h"}
	with := func(change func(*reference)) []reference {
		ref := good
		change(&ref)
		return []reference{{fingerprint: "mf_b", file: "mf_b", row: 0, readHash: "h"}, ref}
	}
	for _, c := range []struct {
		name    string
		refs    []reference
		hash    string
		missing bool
		row     int64
		reason  Reason
	}{
		{name: "good", refs: with(func(*reference) {}), hash: "h", row: 4},
		{name: "none", hash: "h", row: -1, reason: reasonNotEmbedded},
		{name: "other model", refs: with(func(r *reference) { r.fingerprint = "mf_c" }), hash: "h", row: -1, reason: reasonOtherModel},
		{name: "other file", refs: with(func(r *reference) { r.file = "mf_b" }), hash: "h", row: -1, reason: reasonWrongFile},
		{name: "no file", refs: with(func(r *reference) { r.file = "" }), hash: "h", row: -1, reason: reasonWrongFile},
		{name: "other hash", refs: with(func(r *reference) { r.readHash = "old" }), hash: "h", row: -1, reason: reasonOutdated},
		{name: "no read hash", refs: with(func(r *reference) { r.readHash = "" }), hash: "", row: -1, reason: reasonOutdated},
		{name: "no integer", refs: with(func(r *reference) { r.row = -1 }), hash: "h", row: -1, reason: reasonBadRow},
		{name: "past the end", refs: with(func(r *reference) { r.row = 5 }), hash: "h", row: -1, reason: reasonOutOfRange},
		{name: "far past the end", refs: with(func(r *reference) { r.row = 1 << 53 }), hash: "h", row: -1, reason: reasonOutOfRange},
		{name: "file missing", refs: with(func(*reference) {}), hash: "h", missing: true, row: -1, reason: reasonNoFile},
	} {
		a := newAcceptor(fp, &multifile{rows: 5, missing: c.missing})
		row, reason := a.row(c.refs, c.hash)
		if row != c.row || reason != c.reason {
			t.Errorf("%s: row = %d, %q, want %d, %q", c.name, row, reason, c.row, c.reason)
		}
		counted := map[Reason]int{}
		if c.reason != "" && c.reason != reasonNotEmbedded {
			counted[c.reason] = 1
		}
		if !reflect.DeepEqual(a.refused, counted) || (a.accepted == 1) != (c.reason == "") {
			t.Errorf("%s: counted %v, accepted %d", c.name, a.refused, a.accepted)
		}
	}
}

// T2, A 2, A 22: every reason appears in the status of a whole load, for notes and for blocks,
// and costs nothing but its own item.
func TestRefusedReferencesAreCounted(t *testing.T) {
	fp := fakeModel.Fingerprint()
	v := newFakeVault(t)
	v.vectors(noteRows, 0, 1, 2)
	v.vectors(blockRows, 0, 1, 2)
	blocks := map[string]any{"#good": fakeBlock(1, 1, "text", 2), "#none": fakeBlock(1, 1, "text", -1)}
	for name, ref := range map[string]map[string]any{
		"other_model":  {"fingerprint": "mf_other", "file": "mf_other", "file_i": 0},
		"wrong_file":   {"file": "mf_other"},
		"outdated":     {"read_hash": "old"},
		"bad_row":      {"file_i": "0"},
		"out_of_range": {"file_i": 3},
	} {
		b := fakeBlock(1, 1, "text", 0)
		full := map[string]any{"file": fp, "file_i": 0, "read_hash": note.Hash("text")}
		for k, val := range ref {
			full[k] = val
		}
		key := fp
		if other, ok := full["fingerprint"].(string); ok {
			key = other
		}
		b["embedding"] = map[string]any{"default": map[string]any{key: full}}
		blocks["#"+name] = b
		v.write(name+".md", "text")
		v.log(logLine("smart_sources:"+name+".md", b))
	}
	v.write("n.md", "text")
	v.log(v.record("n.md", "text", 1, blocks))
	snap := loadFake(t, v)
	want := map[Reason]int{reasonOtherModel: 1, reasonWrongFile: 1, reasonOutdated: 1, reasonBadRow: 1, reasonOutOfRange: 1}
	for _, collection := range []string{sourcesCollection, blocksCollection} {
		if got := snap.Status.Refused[collection]; !reflect.DeepEqual(got, want) {
			t.Errorf("refused of %s = %v, want %v", collection, got, want)
		}
	}
	if len(snap.Notes.Items) != 1 || len(snap.Blocks.Items) != 1 || snap.Blocks.Items[0].Key != "#good" || snap.Blocks.Row(0)[2] != 1 {
		t.Errorf("items = %+v, %+v, want the good ones", snap.Notes.Items, snap.Blocks.Items)
	}
	if got := snap.Status.Blocks.Wanted; got != 6 {
		t.Errorf("wanted blocks = %d, want 6", got)
	}
	for reason := range want {
		src, _ := snap.Source(string(reason) + ".md")
		if src.Reason != reason || src.Reason.Explain() == "" {
			t.Errorf("%s: reason = %q (%q)", src.Path, src.Reason, src.Reason.Explain())
		}
	}
	if src, _ := snap.Source("outdated.md"); src.State != Stale || snap.Status.Notes.Stale != 1 {
		t.Errorf("outdated.md is %v, %d stale notes, want it stale", src.State, snap.Status.Notes.Stale)
	}
}

// T7: a row without a direction is left out and counted, one of another length is
// scaled and counted: the plugin ranks by the full cosine, and so do we.
func TestDamagedRows(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	v := newFakeVault(t)
	v.append(noteRows+fakeModel.Fingerprint(), packVectors(
		[]float32{0, 1, 0, 0, 0, 0, 0, 0},
		[]float32{0, 1, nan, 0, 0, 0, 0, 0},
		[]float32{inf, 0, 0, 0, 0, 0, 0, 0},
		[]float32{0, 0, 0, 0, 0, 0, 0, 0},
		[]float32{1e-9, 0, 0, 0, 0, 0, 0, 0},
		[]float32{3, 0, 0, 4, 0, 0, 0, 0},
		[]float32{0, 0, 1 + 1e-7, 0, 0, 0, 0, 0},
		[]float32{-inf, nan, 0, 0, 0, 0, 0, 0},
		[]float32{3e38, 0, 0, 0, 0, 0, 0, 0},
	))
	for row, name := range []string{"good", "nan", "inf", "zero", "tiny", "long", "nearly", "both", "huge"} {
		v.write(name+".md", "text")
		v.log(v.record(name+".md", "text", row, nil))
	}
	snap := loadFake(t, v)
	if got, want := snap.Status.Quarantined[sourcesCollection], (map[Reason]int{badNaN: 2, badInf: 1, badZero: 2}); !reflect.DeepEqual(got, want) {
		t.Errorf("quarantined = %v, want %v", got, want)
	}
	if got := snap.Status.Normalised[sourcesCollection]; got != 2 {
		t.Errorf("normalised = %d, want 2", got)
	}
	var paths []string
	for i, item := range snap.Notes.Items {
		paths = append(paths, item.Path)
		var norm float64
		for _, x := range snap.Notes.Row(i) {
			norm += float64(x) * float64(x)
		}
		if math.Abs(norm-1) > 1e-6 {
			t.Errorf("row of %s = %v, want a unit vector", item.Path, snap.Notes.Row(i))
		}
	}
	if want := []string{"good.md", "huge.md", "long.md", "nearly.md"}; !reflect.DeepEqual(paths, want) {
		t.Fatalf("items = %q, want %q", paths, want)
	}
	if row := snap.Notes.Row(2); math.Abs(float64(row[0])-0.6) > 1e-7 || math.Abs(float64(row[3])-0.8) > 1e-7 {
		t.Errorf("row of long.md = %v, want 0.6 and 0.8", row)
	}
	for name, want := range map[string]Reason{"nan.md": badNaN, "zero.md": badZero, "good.md": ""} {
		src, _ := snap.Source(name)
		if src.Reason != want || (src.Row >= 0) != (want == "") {
			t.Errorf("%s: row %d, reason %q, want %q", name, src.Row, src.Reason, want)
		}
		if want == "" && snap.Notes.Items[src.Row].Path != name {
			t.Errorf("%s: row %d belongs to %s", name, src.Row, snap.Notes.Items[src.Row].Path)
		}
	}
}

// T7, A 22: a file that does not end with a row has the whole ones before that.
func TestTornTailRow(t *testing.T) {
	v := newFakeVault(t)
	v.addNote("a.md", "text", 1)
	v.append(noteRows+fakeModel.Fingerprint(), packRows(2)[:13])
	v.write("b.md", "text")
	v.log(v.record("b.md", "text", 1, nil))
	snap := loadFake(t, v)
	if len(snap.Notes.Items) != 1 || snap.Status.Refused[sourcesCollection][reasonOutOfRange] != 1 || !hasWarning(snap, "ends within a row") {
		t.Errorf("items %+v, refused %v, warnings %q", snap.Notes.Items, snap.Status.Refused, snap.Warnings)
	}
}

// T7: with the multifiles of notes and blocks in each other's place nothing is
// ranked, and the refusal counts what gave it away; with them back everything is.
func TestCrossedMultifiles(t *testing.T) {
	fp := fakeModel.Fingerprint()
	v := newFakeVault(t)
	for i := range 3 {
		path, text := string(rune('a'+i))+".md", "one\ntwo"
		v.write(path, text)
		row := v.vectors(blockRows, 3+i, 4+i)
		v.log(v.record(path, text, v.vectors(noteRows, i), map[string]any{"#A": fakeBlock(1, 1, "one", row), "#B": fakeBlock(2, 2, "two", row+1)}))
	}
	x := openIndex(t, v.dir, Options{Recheck: 1})
	if snap, err := x.Snapshot(t.Context()); err != nil || len(snap.Notes.Items) != 3 || len(snap.Blocks.Items) != 6 || snap.Refusal != nil {
		t.Fatal(err, snap)
	}
	exchange := func() {
		for _, move := range [][2]string{{noteRows + fp, "aside"}, {blockRows + fp, noteRows + fp}, {"aside", blockRows + fp}} {
			if err := os.Rename(v.path(move[0]), v.path(move[1])); err != nil {
				t.Fatal(err)
			}
		}
	}
	exchange()
	for _, x := range []*Index{x, openIndex(t, v.dir, Options{})} {
		snap, err := x.Snapshot(t.Context())
		if err != nil || snap.Refusal == nil || !strings.Contains(snap.Refusal.Error(), "3 references past the end") || !hasWarning(snap, "each other's folder") {
			t.Fatalf("crossed: %v, refusal %v, warnings %q", err, snap.Refusal, snap.Warnings)
		}
		if src, ok := snap.Source("a.md"); !ok || src.Reason != reasonRefused || len(snap.Notes.Items)+len(snap.Blocks.Items) > 0 || snap.Status.Blocks.Total != 6 {
			t.Errorf("crossed: %d notes, %d blocks, source %+v, want none ranked", len(snap.Notes.Items), len(snap.Blocks.Items), src)
		}
	}
	exchange()
	if snap, err := x.Snapshot(t.Context()); err != nil || len(snap.Notes.Items) != 3 || len(snap.Blocks.Items) != 6 || snap.Refusal != nil {
		t.Errorf("put right: %v, %d notes, %d blocks, refusal %v", err, len(snap.Notes.Items), len(snap.Blocks.Items), snap.Refusal)
	}
}

// A model of another provider may lack its dims; the files tell, when they agree.
func TestDimsFromTheFiles(t *testing.T) {
	v := newFakeVault(t)
	model := Model{Provider: "ollama", Name: "nomic", MaxTokens: 2048}
	fp := model.Fingerprint()
	v.write(".smart-env/embedding_models/embedding_models.ajson", `"embedding_models:m#1": {"provider_key":"ollama","model_key":"nomic","max_tokens":2048},`)
	v.append(noteRows+fp, packRows(1, 2))
	hash := note.Hash("text")
	for row, path := range []string{"a.md", "b.md"} {
		v.write(path, "text")
		ref, _ := json.Marshal(map[string]any{"file": fp, "file_i": row, "read_hash": hash})
		v.log(`"smart_sources:` + path + `": {"last_read":{"hash":"` + hash + `"},"embedding":{"default":{"` + fp + `":` + string(ref) + `}}},`)
	}
	snap := loadFake(t, v)
	if snap.Model.Dims != fakeModel.Dims || len(snap.Notes.Items) != 2 || snap.Fingerprint != fp {
		t.Fatalf("dims = %d with %d items, refusal %v, want %d with 2", snap.Model.Dims, len(snap.Notes.Items), snap.Refusal, fakeModel.Dims)
	}
	v.append(noteRows+fp, make([]byte, 4))
	if snap = loadFake(t, v); snap.Refusal == nil || !strings.Contains(snap.Refusal.Error(), "nomic") {
		t.Errorf("dims = %d, refusal %v, want a refusal", snap.Model.Dims, snap.Refusal)
	}
}

// Files that do not agree on the length of a row tell nothing, in whatever order
// they are looked at.
func TestDeriveDims(t *testing.T) {
	for _, c := range []struct {
		noteRow, noteBytes, blockRow, blockBytes int64 // the greatest row; 0 bytes = no file
		want                                     int
	}{
		{1, 64, -1, 0, 8},
		{-1, 0, 3, 128, 8},
		{1, 64, 3, 128, 8},
		{1, 64, 3, 64, 0}, // 8 and 4
		{1, 64, 3, 0, 8},
		{2, 64, -1, 0, 0},
		{1, 66, -1, 0, 0},
		{-1, 64, -1, 64, 0},
	} {
		v := &fakeVault{t: t, dir: t.TempDir()}
		files := fileInfos{}
		for name, size := range map[string]int64{"smart_sources/m": c.noteBytes, "smart_blocks/m": c.blockBytes} {
			if size > 0 {
				v.write(name, strings.Repeat("x", int(size)))
				files.add(folder{dir: v.dir}, name)
			}
		}
		refs := func(row int64) []reference {
			return []reference{{fingerprint: "m", row: row}, {fingerprint: "other", row: 99}}
		}
		records := map[string]*record{"a.md": {refs: refs(c.noteRow), blocks: []block{{refs: refs(c.blockRow)}, {refs: refs(0)}}}}
		if c.blockRow < 0 {
			records["a.md"].blocks = nil
		}
		for range 8 {
			if got := deriveDims(records, "m", files); got != c.want {
				t.Fatalf("%+v: deriveDims = %d, want %d", c, got, c.want)
			}
		}
	}
}

// The files of a model whose recorded dims are wrong suggest the right ones.
func TestDimsThatDoNotFit(t *testing.T) {
	v := newFakeVault(t)
	half := make([]byte, 6*4*fakeModel.Dims/2) // six rows of half the length
	v.append(noteRows+fakeModel.Fingerprint(), half)
	for row := range 6 {
		v.log(v.record(string(rune('a'+row))+".md", "text", row, nil))
	}
	if snap := loadFake(t, v); !hasWarning(snap, "would fit vectors of 4 values") {
		t.Errorf("warnings = %q, want the dims that fit", snap.Warnings)
	}
}

// Rows are read in chunks; those at the borders must be the right ones.
func TestReadAcrossChunks(t *testing.T) {
	const dims = 8
	rows := int64(3*chunkBytes/(4*dims) + 5)
	values := make([]float32, rows*dims)
	for i := range rows {
		values[i*dims] = float32(i)
	}
	dir := t.TempDir()
	os.MkdirAll(dir+"/smart_blocks", 0o755)
	if err := os.WriteFile(dir+"/smart_blocks/mf_a", packVectors(values), 0o644); err != nil {
		t.Fatal(err)
	}
	info, err := (folder{dir: dir}).stat("smart_blocks/mf_a")
	if err != nil {
		t.Fatal(err)
	}
	m, err := openMultifile(folder{dir: dir}, blocksCollection, "mf_a", dims, fileInfos{"smart_blocks/mf_a": info})
	if err != nil || m.rows != rows {
		t.Fatalf("rows = %d, %v, want %d", m.rows, err, rows)
	}
	const chunk = chunkBytes / (4 * dims)
	wanted := []int64{rows - 1, 0, chunk - 1, chunk, chunk + 1, 2*chunk - 1, 2 * chunk, 0, rows - 1, 1}
	dst := make([]float32, len(wanted)*dims)
	if err := m.read(t.Context(), dst, wanted, dims); err != nil {
		t.Fatal(err)
	}
	for i, row := range wanted {
		if got := dst[i*dims]; got != float32(row) {
			t.Errorf("row %d = %v, want %v", row, got, row)
		}
	}
}
