package hostile

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"smart-connections-mcp/bert"
	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
	"smart-connections-mcp/weights"
	"smart-connections-mcp/weights/builtin"
)

// A gardener is a person who works in a vault, and the plugin that keeps its
// index, as it writes the files. What readers may meet meanwhile is in states, so
// that any answer can be worked out without the program under test: only the
// model and the way notes are cut are the program's own.
type gardener struct {
	dir   string
	model *bert.Model
	id    smartenv.Model
	rng   *rand.Rand
	made  int // texts so far

	records map[string]*entry // by path

	mu     sync.Mutex
	states []state // oldest first; the last one is, or is just about to be, on disk
}

// A state is what a vault holds at one moment. It is never changed.
type state struct {
	texts   map[string]string
	vectors map[string]bed // of notes that are on disk and in the index
}

// An entry is a note's record in the log, and the references in it.
type entry struct {
	record map[string]any
	refs   []reference
}

// A reference is what a record says of a vector.
type reference struct {
	folder string
	value  map[string]any
	vector []float32
}

// bed is the vectors of a note and its blocks.
type bed struct {
	note   []float32
	blocks [][]float32
}

var rules = note.Rules{MinChars: 200, MaxTokens: 512}

// newGardener makes a vault with so many notes, indexed with the built-in model.
func newGardener(t testing.TB, notes int) *gardener {
	t.Helper()
	checkpoint, err := weights.Builtin()
	return gardenerWith(t, notes, checkpoint, err, builtin.Name)
}

// gardenerWith is newGardener with a model that a caller has loaded.
func gardenerWith(t testing.TB, notes int, checkpoint bert.Checkpoint, err error, name string) *gardener {
	t.Helper()
	profile, _ := bert.ProfileFor("")
	g := &gardener{dir: filepath.Join(t.TempDir(), "Garden"), rng: rand.New(rand.NewPCG(6, 6)), records: map[string]*entry{}}
	if err == nil {
		g.model, err = bert.New(checkpoint, profile)
	}
	if err != nil {
		t.Fatal(err)
	}
	g.id = smartenv.Model{Provider: "transformers", Name: name, Dims: g.model.Dims(), MaxTokens: rules.MaxTokens}
	g.write(".smart-env/smart_env.json", `{"smart_blocks":{"embed_blocks":true,"min_chars":200},"smart_sources":{"min_chars":200},"embedding_models":{"default_model_key":"transformers#1"}}`)
	g.write(".smart-env/embedding_models/embedding_models.ajson", fmt.Sprintf(
		`"embedding_models:transformers#1": {"provider_key":"transformers","model_key":%q,"dims":%d,"max_tokens":%d,"key":"transformers#1"},`, name, g.id.Dims, g.id.MaxTokens))
	g.states = []state{{map[string]string{}, map[string]bed{}}}
	for i := range notes {
		path := fmt.Sprintf("Bed %d/Plant %d.md", i%5, i)
		g.edit(path)
		g.embed(path)
	}
	g.states = g.states[len(g.states)-1:]
	return g
}

// The files of the index.
const (
	logFile    = ".smart-env/smart_sources/smart_sources.ajson"
	noteFiles  = ".smart-env/smart_sources/"
	blockFiles = ".smart-env/smart_blocks/"
)

func (g *gardener) path(name string) string { return filepath.Join(g.dir, filepath.FromSlash(name)) }

// write makes a file hold text at one blow, so that no reader sees half of it.
func (g *gardener) write(name, text string) {
	part := filepath.Join(g.dir, ".part")
	err := os.MkdirAll(filepath.Dir(g.path(name)), 0o755)
	if err == nil {
		err = os.WriteFile(part, []byte(text), 0o644)
	}
	if err == nil {
		err = os.Rename(part, g.path(name))
	}
	g.check(err)
}

// check ends the gardener's work at an error; it may be in a goroutine of its own.
func (g *gardener) check(err error) {
	if err != nil {
		panic(err)
	}
}

// append adds to a file's end what may be torn.
func (g *gardener) append(name string, data []byte) {
	g.check(os.MkdirAll(filepath.Dir(g.path(name)), 0o755))
	f, err := os.OpenFile(g.path(name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	g.check(err)
	_, err = f.Write(data)
	g.check(err)
	g.check(f.Close())
}

// now is the newest state.
func (g *gardener) now() (newest int, s state) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.states) - 1, g.states[len(g.states)-1]
}

// since are the states from the one of a number on.
func (g *gardener) since(first int) []state {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.states[first:])
}

// next announces a state before its files are written.
func (g *gardener) next(change func(s *state)) {
	_, s := g.now()
	s = state{maps.Clone(s.texts), maps.Clone(s.vectors)}
	change(&s)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.states = append(g.states, s)
}

var plants = strings.Fields("apple barley clover dahlia elder fennel garlic hazel iris juniper kale lavender mint nettle oak parsley quince rose sage thyme violet walnut yarrow zinnia")

// text is a note's text, another one each time: two sections, of which the plugin
// embeds the first.
func (g *gardener) text() string {
	g.made++
	var b strings.Builder
	fmt.Fprintf(&b, "# Notes of day %d\n", g.made)
	for b.Len() < 260 {
		fmt.Fprintf(&b, "The %s grows beside the %s. ", plants[g.rng.IntN(len(plants))], plants[g.rng.IntN(len(plants))])
	}
	return b.String() + "\n# Rest\nshort\n"
}

// edit saves a note with a new text; the index knows nothing of it yet.
func (g *gardener) edit(path string) {
	text := g.text()
	g.next(func(s *state) { s.texts[path] = text })
	g.write(path, text)
}

// embed brings a note's record up to date: vectors first, then the log.
func (g *gardener) embed(path string) {
	_, s := g.now()
	text, hash := s.texts[path], note.Hash(s.texts[path])
	info, err := os.Stat(g.path(path))
	g.check(err)
	p, e := bed{note: g.vector(note.NoteInput(path, text, rules))}, &entry{}
	e.record = map[string]any{
		"class_name": "SmartSource", "path": path, "last_read": map[string]any{"hash": hash, "at": 1},
		"last_import": map[string]any{"mtime": info.ModTime().UnixMilli(), "size": len(text), "at": 1, "hash": hash},
		"embedding":   e.stored(g, noteFiles, p.note, hash),
	}
	blocks := map[string]any{}
	for _, b := range note.Parse(path, text, rules).Blocks {
		block := map[string]any{"key": path + b.Key, "lines": []int{b.Start, b.End}, "size": b.Size, "should_embed": b.ShouldEmbed, "last_read": map[string]any{"hash": b.Hash, "at": 1}}
		if b.ShouldEmbed {
			lines, _ := note.BlockText(text, b.Start, b.End)
			vector := g.vector(note.BlockInput(path, b.Key, lines))
			block["embedding"] = e.stored(g, blockFiles, vector, b.Hash)
			p.blocks = append(p.blocks, vector)
		}
		blocks[b.Key] = block
	}
	e.record["blocks_data"] = blocks
	g.records[path] = e
	g.next(func(s *state) { s.vectors[path] = p })
	g.log(path)
}

func (g *gardener) vector(text string) []float32 {
	vector, err := g.model.EmbedDocument(context.Background(), text)
	g.check(err)
	return vector
}

// stored appends a vector to a multifile and returns the reference to it.
func (e *entry) stored(g *gardener, folder string, vector []float32, hash string) map[string]any {
	name, row := g.id.Fingerprint(), int64(0)
	if info, err := os.Stat(g.path(folder + name)); err == nil {
		row = info.Size() / int64(4*g.id.Dims)
	}
	g.append(folder+name, packed(vector))
	value := map[string]any{"file": name, "file_i": row, "read_hash": hash, "at": 1}
	e.refs = append(e.refs, reference{folder, value, vector})
	return map[string]any{"history": []any{}, "default": map[string]any{name: value}}
}

func packed(vector []float32) []byte {
	data, err := binary.Append(nil, binary.LittleEndian, vector)
	if err != nil {
		panic(err)
	}
	return data
}

// line is a note's line of the log, null when it has no record.
func (g *gardener) line(path string) string {
	key, err := json.Marshal("smart_sources:" + path)
	g.check(err)
	value := []byte("null")
	if e := g.records[path]; e != nil {
		value, err = json.Marshal(e.record)
		g.check(err)
	}
	return fmt.Sprintf("%s: %s,", key, value)
}

// log appends a note's line, a line break first.
func (g *gardener) log(path string) { g.append(logFile, []byte("\n"+g.line(path))) }

// remove deletes a note, and then its record.
func (g *gardener) remove(path string) {
	g.next(func(s *state) { delete(s.texts, path); delete(s.vectors, path) })
	g.check(os.Remove(g.path(path)))
	delete(g.records, path)
	g.log(path)
}

// paths are the notes that there are, in order.
func (g *gardener) paths() []string {
	_, s := g.now()
	return slices.Sorted(maps.Keys(s.texts))
}

// swap puts the file beside in the place of the one that is there, which steps
// aside first, as the plugin does.
func (g *gardener) swap(name, beside, aside string) {
	g.check(os.Rename(g.path(name), g.path(name+aside)))
	g.check(os.Rename(g.path(name+beside), g.path(name)))
}

// compact writes the log without superseded lines; rows stay.
func (g *gardener) compact() {
	g.write(logFile+".tmp", g.wholeLog())
	g.swap(logFile, ".tmp", ".bak")
	g.check(os.Remove(g.path(logFile + ".bak")))
}

func (g *gardener) wholeLog() string {
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(g.records)) {
		lines = append(lines, g.line(path))
	}
	return strings.Join(lines, "\n")
}

// optimize numbers the rows anew, without those that nothing refers to: the
// vectors' files first, the log last.
func (g *gardener) optimize() {
	name := g.id.Fingerprint()
	rows := map[string][]byte{}
	paths := slices.Sorted(maps.Keys(g.records))
	g.rng.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	for _, path := range paths {
		for _, ref := range g.records[path].refs {
			ref.value["file_i"] = len(rows[ref.folder]) / (4 * g.id.Dims)
			rows[ref.folder] = append(rows[ref.folder], packed(ref.vector)...)
		}
	}
	g.write(logFile+".optimize.tmp", g.wholeLog())
	for _, folder := range []string{noteFiles, blockFiles} {
		g.write(folder+name+".optimize.tmp", string(rows[folder]))
	}
	for _, file := range []string{noteFiles + name, blockFiles + name, logFile} {
		g.swap(file, ".optimize.tmp", ".backup")
	}
	for _, file := range []string{noteFiles + name, blockFiles + name, logFile} {
		g.check(os.Remove(g.path(file + ".backup")))
	}
}

// work does the day's work of a number, in turn of every kind, and leaves as many
// notes as there were, but for one.
func (g *gardener) work(day int) {
	paths := g.paths()
	some := func() string { return paths[g.rng.IntN(len(paths))] }
	switch day % 7 {
	case 0:
		path := some()
		g.edit(path)
		g.embed(path)
	case 1:
		path := fmt.Sprintf("Bed %d/Seedling %d.md", day%5, day)
		g.edit(path)
		g.embed(path)
	case 2:
		g.compact()
		g.remove(some())
	case 3:
		g.edit(some()) // the plugin is not there; it will be tomorrow
	case 4:
		for range 3 {
			path := some()
			g.edit(path)
			g.embed(path)
		}
	case 5:
		g.optimize()
	case 6:
		path := some()
		g.edit(path)
		g.embed(path)
		g.optimize()
		g.compact()
	}
}
