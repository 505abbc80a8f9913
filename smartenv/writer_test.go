package smartenv

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A busyPlugin rewrites the index of a fake vault in every way the plugin has.
// Each item's hash and vector carry the same generation, so a reader that pairs a
// reference with the wrong row is found out.
type busyPlugin struct {
	*fakeVault
	rng   *rand.Rand
	notes []busyItem // each has one block, of the same index
	block []busyItem
}

type busyItem struct {
	generation int
	row        int // -1 = not embedded
}

// busyVector is the unit vector that carries a generation and an index.
func busyVector(generation, index int) []float32 {
	v := make([]float32, fakeModel.Dims)
	norm := math.Sqrt(float64(1 + generation*generation + index*index))
	v[0], v[1], v[2] = float32(1/norm), float32(float64(generation)/norm), float32(float64(index)/norm)
	return v
}

func busyHash(generation, index int) string { return fmt.Sprintf("g%di%d", generation, index) }

// checkBusy checks that every item's vector belongs to its hash.
func checkBusy(t *testing.T, c *Collection) {
	t.Helper()
	for i := range c.Items {
		v := c.Row(i)
		generation := int(math.Round(float64(v[1] / v[0])))
		index := int(math.Round(float64(v[2] / v[0])))
		if got, want := busyHash(generation, index), c.Items[i].Hash; got != want {
			t.Errorf("%s%s has the vector of %s, want that of %s", c.Items[i].Path, c.Items[i].Key, got, want)
		}
	}
}

func newBusyPlugin(t *testing.T, n int) *busyPlugin {
	p := &busyPlugin{fakeVault: newFakeVault(t), rng: rand.New(rand.NewPCG(7, 8))}
	p.notes, p.block = make([]busyItem, n), make([]busyItem, n)
	for i := range n {
		p.write(fmt.Sprintf("%d.md", i), "text")
	}
	p.embed(p.all()...)
	return p
}

func (p *busyPlugin) all() []int {
	var all []int
	for i := range p.notes {
		all = append(all, i)
	}
	return all
}

func (p *busyPlugin) line(i int) string {
	ref := func(index int, item busyItem) string {
		fp, hash := fakeModel.Fingerprint(), busyHash(item.generation, index)
		embedding := ""
		if item.row >= 0 {
			embedding = fmt.Sprintf(`,"embedding":{"default":{%q:{"file":%q,"file_i":%d,"read_hash":%q}}}`, fp, fp, item.row, hash)
		}
		return fmt.Sprintf(`"last_read":{"hash":%q}%s`, hash, embedding)
	}
	return fmt.Sprintf(`"smart_sources:%d.md": {%s,"blocks_data":{"#A":{"lines":[1,1],%s}}},`,
		i, ref(i, p.notes[i]), ref(1000+i, p.block[i]))
}

func (p *busyPlugin) lines(indexes ...int) string {
	var lines []string
	for _, i := range indexes {
		lines = append(lines, p.line(i))
	}
	return strings.Join(lines, "\n")
}

// rows returns the two multifiles' contents for the present state, numbered anew.
func (p *busyPlugin) renumber() (notes, blocks string) {
	var n, b []byte
	for place, i := range p.rng.Perm(len(p.notes)) {
		p.notes[i].row, p.block[i].row = place, place
		n = append(n, packVectors(busyVector(p.notes[i].generation, i))...)
		b = append(b, packVectors(busyVector(p.block[i].generation, 1000+i))...)
	}
	return string(n), string(b)
}

// embed gives items new generations: vectors first, then records.
func (p *busyPlugin) embed(indexes ...int) {
	for _, i := range indexes {
		p.notes[i].generation++
		p.block[i].generation++
		p.notes[i].row = p.appendVector(noteRows, p.notes[i].generation, i)
		p.block[i].row = p.appendVector(blockRows, p.block[i].generation, 1000+i)
	}
	p.log(p.lines(indexes...))
}

func (p *busyPlugin) appendVector(folder string, generation, index int) int {
	name := folder + fakeModel.Fingerprint()
	row := 0
	if info, err := os.Stat(p.path(name)); err == nil {
		row = int(info.Size()) / (4 * fakeModel.Dims)
	}
	p.append(name, packVectors(busyVector(generation, index)))
	return row
}

// swap replaces a file as the plugin does: the old one steps aside first.
func (p *busyPlugin) swap(name, tmp, backup string) {
	for _, move := range [][2]string{{name, name + backup}, {name + tmp, name}} {
		if err := os.Rename(p.path(move[0]), p.path(move[1])); err != nil {
			p.t.Error(err)
		}
	}
}

// compact writes the log anew without superseded records; rows stay.
func (p *busyPlugin) compact() {
	p.write(shardZero+".tmp", p.lines(p.all()...))
	p.swap(shardZero, ".tmp", ".bak")
	p.remove(shardZero + ".bak")
}

// optimize numbers rows anew: vector files first, the log last.
func (p *busyPlugin) optimize() {
	fp := fakeModel.Fingerprint()
	notes, blocks := p.renumber()
	p.write(shardZero+".optimize.tmp", p.lines(p.all()...))
	p.write(noteRows+fp+".optimize.tmp", notes)
	p.write(blockRows+fp+".optimize.tmp", blocks)
	p.swap(noteRows+fp, ".optimize.tmp", ".backup")
	p.swap(blockRows+fp, ".optimize.tmp", ".backup")
	p.swap(shardZero, ".optimize.tmp", ".ajson.backup")
	p.remove(noteRows + fp + ".backup")
	p.remove(blockRows + fp + ".backup")
	p.remove(shardZero + ".ajson.backup")
}

// reindex takes all references back, deletes the vectors and embeds anew.
func (p *busyPlugin) reindex() {
	for i := range p.notes {
		p.notes[i].row, p.block[i].row = -1, -1
	}
	p.log(p.lines(p.all()...))
	p.remove(noteRows + fakeModel.Fingerprint())
	p.remove(blockRows + fakeModel.Fingerprint())
	p.embed(p.rng.Perm(len(p.notes))...)
}

// truncate writes the log anew in place, as a sync tool may; rows stay.
func (p *busyPlugin) truncate() { p.write(shardZero, p.lines(p.all()...)+"\n") }

func (p *busyPlugin) step() {
	switch p.rng.IntN(12) {
	case 0:
		p.compact()
	case 1:
		p.optimize()
	case 2:
		p.reindex()
	case 3:
		p.truncate()
	default:
		p.embed(p.rng.Perm(len(p.notes))[:2]...)
	}
}

// T1 to T4: whatever the plugin does between two steps of an attempt, the attempt either
// ends in a retry or in vectors that belong to their items.
func TestRewriteBetweenSteps(t *testing.T) {
	fp := fakeModel.Fingerprint()
	for _, c := range []struct {
		name   string
		change func(p *busyPlugin)
		retry  string // names of the steps before which the change must lead to a retry
		within bool   // the change leaves a rewrite half done
	}{
		{"embed", func(p *busyPlugin) { p.embed(p.all()...) }, "vectors verify", false},
		{"embed others", func(p *busyPlugin) { p.write("99.md", "text"); p.log(simpleLine("99.md", 1)) }, "", false},
		{"compact", (*busyPlugin).compact, "scan vectors verify", false},
		{"optimize", (*busyPlugin).optimize, "configure log scan vectors verify", false},
		{"re-index", (*busyPlugin).reindex, "", false},
		{"truncate the log", (*busyPlugin).truncate, "", false},
		{"Optimize begins", func(p *busyPlugin) { p.write(shardZero+".optimize.tmp", "") }, "list configure log scan vectors verify", true},
		{"Optimize is half done", func(p *busyPlugin) {
			notes, _ := p.renumber()
			p.write(shardZero+".optimize.tmp", "")
			p.write(noteRows+fp+".optimize.tmp", notes)
			p.swap(noteRows+fp, ".optimize.tmp", ".backup")
		}, "list configure log scan vectors verify", true},
		{"vectors vanish", func(p *busyPlugin) { p.remove(blockRows + fp) }, "configure log scan vectors verify", true},
		{"the log vanishes", func(p *busyPlugin) { p.remove(shardZero); p.write(shardZero+".bak", "") }, "list configure log scan vectors verify", true},
	} {
		steps := []string{"list", "configure", "log", "scan", "vectors", "verify"}
		for at, before := range steps {
			p := newBusyPlugin(t, 8)
			a := &attempt{loader: openIndex(t, p.dir, Options{}).loader}
			var err error
			for i, step := range a.steps() {
				if i == at {
					c.change(p)
				}
				if err = step(t.Context()); err != nil {
					break
				}
			}
			var retry *retryError
			if err != nil && !errors.As(err, &retry) {
				t.Errorf("%s before %s: %v, want a retryError", c.name, before, err)
			}
			if must := strings.Contains(" "+c.retry+" ", " "+before+" "); err == nil && must {
				t.Errorf("%s before %s: went through, want a retryError", c.name, before)
			}
			if err == nil {
				checkBusy(t, &a.snap.Notes)
				checkBusy(t, &a.snap.Blocks)
			}
			if c.within {
				continue
			}
			// The next attempt of the same loader succeeds.
			again := &attempt{loader: a.loader}
			if err := again.run(t.Context()); err != nil || len(again.snap.Notes.Items) != 8 || len(again.snap.Blocks.Items) != 8 {
				t.Errorf("%s before %s: the next attempt: %v", c.name, before, err)
				continue
			}
			checkBusy(t, &again.snap.Notes)
			checkBusy(t, &again.snap.Blocks)
		}
	}
}

// T1 to T4, T6: readers beside a plugin that never rests always see vectors that belong to
// their items, and in the end the newest state.
func TestBesideABusyPlugin(t *testing.T) {
	p := newBusyPlugin(t, 20)
	warm := openIndex(t, p.dir, Options{Recheck: 1})
	if _, err := warm.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var good, behind, refused atomic.Int64
	read := func(x *Index) {
		snap, err := x.Snapshot(t.Context())
		if err != nil {
			var retry *retryError
			if !errors.As(err, &retry) {
				t.Error(err)
			}
			refused.Add(1)
			return
		}
		if snap.Behind != "" {
			behind.Add(1)
		}
		good.Add(1)
		checkBusy(t, &snap.Notes)
		checkBusy(t, &snap.Blocks)
	}
	var readers, writer sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for !stop.Load() && !t.Failed() {
				read(warm)
			}
		})
	}
	readers.Go(func() {
		for !stop.Load() && !t.Failed() {
			read(openIndex(t, p.dir, Options{}))
		}
	})
	steps := 0
	writer.Go(func() {
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end) && !t.Failed(); steps++ {
			p.step()
			time.Sleep(time.Duration(p.rng.IntN(4)) * time.Millisecond)
		}
	})
	writer.Wait()
	stop.Store(true)
	readers.Wait()
	t.Logf("%d steps of the plugin, %d snapshots, %d of them behind, %d first loads refused", steps, good.Load(), behind.Load(), refused.Load())
	if good.Load() < 10 {
		t.Errorf("%d snapshots, want more", good.Load())
	}
	last, err := warm.Snapshot(t.Context())
	if err != nil || last.Behind != "" || len(last.Notes.Items) != len(p.notes) || len(last.Blocks.Items) != len(p.block) {
		t.Fatalf("in the end: %v, behind %q, %d notes", err, last.Behind, len(last.Notes.Items))
	}
	for i := range last.Notes.Items {
		var index int
		fmt.Sscanf(last.Notes.Items[i].Path, "%d.md", &index)
		if got, want := last.Notes.Items[i].Hash, busyHash(p.notes[index].generation, index); got != want {
			t.Errorf("in the end %d.md has hash %s, want %s", index, got, want)
		}
	}
}
