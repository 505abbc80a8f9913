package smartenv

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv/note"
)

// A fakeVault is a vault whose index a test writes the way the plugin does.
type fakeVault struct {
	t   testing.TB
	dir string
}

// fakeModel is the model fake vaults are configured for.
var fakeModel = Model{Provider: "transformers", Name: "test/model", Dims: 8, MaxTokens: 512}

func newFakeVault(t testing.TB) *fakeVault {
	v := &fakeVault{t: t, dir: t.TempDir()}
	v.write(".smart-env/smart_env.json", `{"embedding_models":{"default_model_key":"m#1"}}`)
	v.write(".smart-env/embedding_models/embedding_models.ajson", fmt.Sprintf(
		`"embedding_models:m#1": {"provider_key":%q,"model_key":%q,"dims":%d,"max_tokens":%d,"created_at":1},`,
		fakeModel.Provider, fakeModel.Name, fakeModel.Dims, fakeModel.MaxTokens))
	v.write(".smart-env/smart_sources/smart_sources.ajson", "")
	return v
}

func (v *fakeVault) path(name string) string {
	return filepath.Join(v.dir, filepath.FromSlash(name))
}

// index is its folder of the index.
func (v *fakeVault) index() folder { return folder{dir: v.path(indexFolder)} }

// write makes a file hold text, truncating it in place.
func (v *fakeVault) write(name, text string) {
	v.t.Helper()
	path := v.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		v.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		v.t.Fatal(err)
	}
}

// replace makes a file hold text by renaming another one over it.
func (v *fakeVault) replace(name, text string) {
	v.t.Helper()
	v.write(name+".tmp", text)
	if err := os.Rename(v.path(name+".tmp"), v.path(name)); err != nil {
		v.t.Fatal(err)
	}
}

func (v *fakeVault) append(name string, data []byte) {
	v.t.Helper()
	if err := os.MkdirAll(filepath.Dir(v.path(name)), 0o755); err != nil {
		v.t.Fatal(err)
	}
	f, err := os.OpenFile(v.path(name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		v.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		v.t.Fatal(err)
	}
}

const (
	shardZero = ".smart-env/smart_sources/smart_sources.ajson"
	noteRows  = ".smart-env/smart_sources/"
	blockRows = ".smart-env/smart_blocks/"
)

// log appends lines to shard 0 as the plugin does: a line break first, unless the
// file is empty.
func (v *fakeVault) log(lines ...string) {
	v.t.Helper()
	text := strings.Join(lines, "\n")
	if info, err := os.Stat(v.path(shardZero)); err == nil && info.Size() > 0 {
		text = "\n" + text
	}
	v.append(shardZero, []byte(text))
}

// vectors appends rows to a multifile of the fake model and returns the row of the
// first. Each row is the unit vector of its axis.
func (v *fakeVault) vectors(folder string, axes ...int) int {
	v.t.Helper()
	name := folder + fakeModel.Fingerprint()
	first := 0
	if info, err := os.Stat(v.path(name)); err == nil {
		first = int(info.Size()) / (4 * fakeModel.Dims)
	}
	v.append(name, packRows(axes...))
	return first
}

func packRows(axes ...int) []byte {
	var rows [][]float32
	for _, axis := range axes {
		row := make([]float32, fakeModel.Dims)
		row[axis] = 1
		rows = append(rows, row)
	}
	return packVectors(rows...)
}

func packVectors(rows ...[]float32) []byte {
	var b bytes.Buffer
	for _, row := range rows {
		binary.Write(&b, binary.LittleEndian, row)
	}
	return b.Bytes()
}

// fakeRef is embedding.default with one reference of the fake model.
func fakeRef(row int, hash string) map[string]any {
	fp := fakeModel.Fingerprint()
	return map[string]any{"history": []any{}, "default": map[string]any{
		fp: map[string]any{"file": fp, "file_i": row, "read_hash": hash, "at": 1}}}
}

// fakeBlock is a value of blocks_data.
func fakeBlock(start, end int, text string, row int) map[string]any {
	hash := note.Hash(text)
	b := map[string]any{"lines": []int{start, end}, "last_read": map[string]any{"hash": hash, "at": 1}, "should_embed": true}
	if row >= 0 {
		b["embedding"] = fakeRef(row, hash)
	}
	return b
}

// record is the log line of a note with this text; row -1 means no vector.
func (v *fakeVault) record(path, text string, row int, blocks map[string]any) string {
	hash := note.Hash(text)
	rec := map[string]any{
		"class_name":  "SmartSource",
		"last_read":   map[string]any{"hash": hash, "at": 1},
		"last_import": map[string]any{"mtime": 1, "size": len(text), "at": 1, "hash": hash},
		"blocks_data": blocks,
	}
	if row >= 0 {
		rec["embedding"] = fakeRef(row, hash)
	}
	return logLine("smart_sources:"+path, rec)
}

func logLine(key string, value any) string {
	k, _ := json.Marshal(key)
	val, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(k) + ": " + string(val) + ","
}

// addNote writes a note and its record, with the unit vector of an axis.
func (v *fakeVault) addNote(path, text string, axis int) {
	v.t.Helper()
	v.write(path, text)
	v.log(v.record(path, text, v.vectors(noteRows, axis), nil))
}

func (v *fakeVault) remove(name string) {
	v.t.Helper()
	if err := os.RemoveAll(v.path(name)); err != nil {
		v.t.Fatal(err)
	}
}
