package smartenv

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A genVault is a vault whose index tells of every hash and every vector which
// generation it is of: slot i of generation g holds the unit vector of the axis
// (i+g) mod 384, and g stands in the item's hash. A reader that pairs a reference
// with the row of another generation, or of another item, is found out. Note i
// has slot i, and its one block slot i+genBlocks.
type genVault struct {
	*fakeVault
	rng        *rand.Rand
	generation int       // the newest
	items      []genItem // by note; its block is of the same generation
	ends       [2]int    // rows that the two multifiles have
	order      []int     // of the notes in the log that was made last
	dated      bool      // all files bear one time
}

type genItem struct {
	generation int
	rows       [2]int // of note and block; -1 = not embedded
	later      [][2]int
}

const (
	genNotes  = 24
	genBlocks = 180 // slot of the first block
	genRows   = 2500
)

var (
	genModel = Model{Provider: "transformers", Name: "test/generations", Dims: 384, MaxTokens: 512}
	genTime  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// newGenVault returns the vault at dir without an index.
func newGenVault(t testing.TB, dir string, seed uint64) *genVault {
	g := &genVault{fakeVault: &fakeVault{t, dir}, rng: rand.New(rand.NewPCG(seed, 40)), items: make([]genItem, genNotes)}
	for i := range g.items {
		g.write(genPath(i), "text")
	}
	return g
}

func genPath(i int) string { return fmt.Sprintf("%d.md", i) }

func genHash(generation int) string { return fmt.Sprintf("g%06d", generation) }

func genAxis(slot, generation int) int { return (slot + generation) % genModel.Dims }

// genRow is the row of a slot as it stands in a multifile.
func genRow(slot, generation int) []byte {
	row := make([]byte, 4*genModel.Dims)
	binary.LittleEndian.PutUint32(row[4*genAxis(slot, generation):], math.Float32bits(1))
	return row
}

// line is the record of a note. All are of one length.
func (g *genVault) line(i int) string {
	it, fp := &g.items[i], genModel.Fingerprint()
	part := func(row int) string {
		hash, embedding := genHash(it.generation), ""
		if row >= 0 {
			embedding = fmt.Sprintf(`,"embedding":{"default":{%q:{"file":%q,"file_i":%-6d,"read_hash":%q}}}`, fp, fp, row, hash)
		}
		return fmt.Sprintf(`"last_read":{"hash":%q}%s`, hash, embedding)
	}
	key := fmt.Sprintf("%q:", "smart_sources:"+genPath(i))
	return fmt.Sprintf(`%-24s {%s,"blocks_data":{"#A":{"lines":[1,1],%s}}},`, key, part(it.rows[0]), part(it.rows[1]))
}

// lines are the records of some notes, in a new order.
func (g *genVault) lines(notes []int) string {
	var lines []string
	for _, i := range notes {
		lines = append(lines, g.line(i))
	}
	return strings.Join(lines, "\n")
}

func (g *genVault) all() []int { return g.rng.Perm(len(g.items)) }

// pause gives the readers a chance; stop does where a state is dangerous.
func (g *genVault) pause() { time.Sleep(time.Duration(g.rng.IntN(2000)) * time.Microsecond) }

func (g *genVault) stop() { time.Sleep(time.Duration(g.rng.IntN(12)) * time.Millisecond) }

// pieces writes data to a file, cut at random places.
func (g *genVault) pieces(name string, flag int, data []byte) {
	f, err := os.OpenFile(g.path(name), os.O_WRONLY|os.O_CREATE|flag, 0o644)
	if err != nil {
		g.t.Fatal(err)
	}
	defer f.Close()
	for len(data) > 0 {
		n := len(data)
		if g.rng.IntN(3) > 0 {
			n = 1 + g.rng.IntN(n)
		}
		if _, err := f.Write(data[:n]); err != nil {
			g.t.Fatal(err)
		}
		if data = data[n:]; len(data) > 0 {
			g.pause()
		}
	}
}

// names returns the two multifiles.
func (g *genVault) names() []string {
	fp := genModel.Fingerprint()
	return []string{noteRows + fp, blockRows + fp}
}

// renumber gives every item rows in a new order, and returns the multifiles. Each
// item has rows for as many generations as are asked for, from its own on.
func (g *genVault) renumber(generations int) (files [2][]byte) {
	n := len(g.items) * generations
	places := [2][]int{g.rng.Perm(n), g.rng.Perm(n)}
	for side, slot := range [2]int{0, genBlocks} {
		files[side] = make([]byte, n*4*genModel.Dims)
		for i := range g.items {
			it := &g.items[i]
			it.later = append(it.later[:0:0], it.later...)
			for k := range generations {
				row := places[side][i*generations+k]
				copy(files[side][row*4*genModel.Dims:], genRow(slot+i, it.generation+k))
				if side == 0 {
					it.later = append(it.later[:min(k, len(it.later))], [2]int{row, -1})
				} else {
					it.later[k][1] = row
				}
			}
			it.rows = it.later[0]
		}
	}
	g.ends = [2]int{n, n}
	return files
}

// embed appends vectors of a new generation for some notes, and their records:
// vectors first, as the plugin does, or ahead of them.
func (g *genVault) embed(notes []int, ahead bool) {
	g.generation++
	var rows [2][]byte
	for _, i := range notes {
		g.items[i] = genItem{generation: g.generation, rows: g.ends}
		for side, slot := range [2]int{0, genBlocks} {
			rows[side] = append(rows[side], genRow(slot+i, g.generation)...)
			g.ends[side]++
		}
	}
	record := []byte("\n" + g.lines(notes))
	if ahead {
		g.pieces(shardZero, os.O_APPEND, record)
		g.stop()
	}
	for side, name := range g.names() {
		g.pieces(name, os.O_APPEND, rows[side])
	}
	if !ahead {
		g.pieces(shardZero, os.O_APPEND, record)
	}
	if g.ends[0] > genRows { // the files must not grow for ever
		g.rebuild(1)
	}
}

func (g *genVault) some() []int { return g.all()[:1+g.rng.IntN(5)] }

// rebuild makes a whole new index of one generation aside and puts it in the
// place of the present one.
func (g *genVault) rebuild(generations int) {
	g.generation++
	for i := range g.items {
		g.items[i] = genItem{generation: g.generation}
	}
	next := &fakeVault{g.t, g.path(".next")}
	next.write(".smart-env/smart_env.json", `{"embedding_models":{"default_model_key":"m#1"}}`)
	next.write(".smart-env/embedding_models/embedding_models.ajson", fmt.Sprintf(
		`"embedding_models:m#1": {"provider_key":%q,"model_key":%q,"dims":%d,"max_tokens":%d,"created_at":1},`,
		genModel.Provider, genModel.Name, genModel.Dims, genModel.MaxTokens))
	files := g.renumber(generations)
	for side, name := range g.names() {
		next.write(name, string(files[side]))
	}
	g.order = g.all()
	next.write(shardZero, g.lines(g.order))
	for _, name := range append(g.names(), shardZero) {
		if g.dated {
			g.date(next.path(name))
		}
	}
	g.exchange(next)
}

// exchange puts the index of another vault in the place of this one's.
func (g *genVault) exchange(next *fakeVault) {
	old := g.path(".old")
	os.RemoveAll(old) // what a killed writer has left
	os.Rename(g.path(indexFolder), old)
	if err := os.Rename(next.path(indexFolder), g.path(indexFolder)); err != nil {
		g.t.Fatal(err)
	}
	os.RemoveAll(old)
}

// date gives a file the one time.
func (g *genVault) date(path string) {
	if err := os.Chtimes(path, genTime, genTime); err != nil {
		g.t.Fatal(err)
	}
}

// swap replaces a file as the plugin does: the old one steps aside first.
func (g *genVault) swap(name, tmp, backup string) {
	for _, move := range [][2]string{{name, name + backup}, {name + tmp, name}} {
		if err := os.Rename(g.path(move[0]), g.path(move[1])); err != nil {
			g.t.Fatal(err)
		}
	}
	g.stop()
}

// compact writes the log, or a multifile as it is, anew and renames it over.
func (g *genVault) compact() {
	name, data := shardZero, []byte(g.lines(g.all()))
	if side := g.rng.IntN(3); side < 2 {
		name = g.names()[side]
		data, _ = os.ReadFile(g.path(name))
	}
	g.remove(name + ".tmp")
	g.pieces(name+".tmp", os.O_TRUNC, data)
	g.swap(name, ".tmp", ".bak")
	g.remove(name + ".bak")
}

// optimize numbers rows anew: the vector files first, the log last.
func (g *genVault) optimize() {
	files, names := g.renumber(1), g.names()
	g.pieces(shardZero+".optimize.tmp", os.O_TRUNC, []byte(g.lines(g.all())))
	for side, name := range names {
		g.write(name+".optimize.tmp", string(files[side]))
	}
	for _, name := range append(names, shardZero) {
		g.swap(name, ".optimize.tmp", ".backup")
	}
	for _, name := range append(names, shardZero) {
		g.remove(name + ".backup")
	}
}

// reindex takes all references back, deletes the vectors and embeds anew.
func (g *genVault) reindex() {
	for i := range g.items {
		g.items[i].rows = [2]int{-1, -1}
	}
	g.pieces(shardZero, os.O_APPEND, []byte("\n"+g.lines(g.all())))
	for side, name := range g.names() {
		g.remove(name)
		g.ends[side] = 0
		g.stop()
	}
	for all := g.all(); len(all) > 0; all = all[min(len(all), 8):] {
		g.embed(all[:min(len(all), 8)], false)
	}
}

// truncate writes the log anew in place, or a multifile as it is.
func (g *genVault) truncate() {
	name, data := shardZero, []byte(g.lines(g.all())+"\n")
	if side := g.rng.IntN(6); side < 2 {
		name = g.names()[side]
		data, _ = os.ReadFile(g.path(name))
	}
	g.pieces(name, os.O_TRUNC, data)
}

// inPlace makes the log tell the next generation, of which the rows are there,
// without a change of its size, its file or its time.
func (g *genVault) inPlace() {
	if len(g.items[0].later) < 2 {
		g.rebuild(4)
		return
	}
	g.generation++
	for i := range g.items {
		it := &g.items[i]
		it.generation, it.rows, it.later = it.generation+1, it.later[1], it.later[1:]
	}
	g.pieces(shardZero, 0, []byte(g.lines(g.order))) // each line in its place
	g.date(g.path(shardZero))
}

// A childTB lets a process that is no test use what tests use.
type childTB struct{ testing.TB }

func (childTB) Helper() {}

func (childTB) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}

// writeGenerations is the writer's process: it takes the steps of a scenario until
// it is killed, its standard input closes, or its time is over. It prints each
// generation that stands on disk.
func writeGenerations(spec string) {
	var scenario, seed int
	var most time.Duration
	dir, numbers, _ := strings.Cut(spec, "|")
	if _, err := fmt.Sscan(numbers, &scenario, &seed, (*int64)(&most)); err != nil {
		childTB{}.Fatal(err)
	}
	time.AfterFunc(most, func() { os.Exit(3) })
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(4)
	}()
	g := newGenVault(childTB{}, filepath.Clean(dir), uint64(seed))
	c := &genScenarios()[scenario]
	for c.begin(g); ; c.step(g) {
		fmt.Println(g.generation)
		g.pause()
	}
}
