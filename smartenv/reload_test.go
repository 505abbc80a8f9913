package smartenv

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"smart-connections-mcp/smartenv/note"
)

// A pluginAtWork edits a vault as people and the plugin do, step by step and at
// random.
type pluginAtWork struct {
	*fakeVault
	rng   *rand.Rand
	texts map[string]string // of the notes that have a record
	edits int
}

func (p *pluginAtWork) step() string {
	path := fmt.Sprintf("f%d/n%d.md", p.rng.IntN(3), p.rng.IntN(8))
	p.edits++
	switch choice := p.rng.IntN(12); {
	case choice < 5:
		p.save(path, true)
		return "saves " + path
	case choice == 5:
		p.save(path, false)
		return "saves without embedding " + path
	case choice == 6:
		p.write(path, fmt.Sprint("edited offline ", p.edits))
		return "edits offline " + path
	case choice == 7:
		p.remove(path)
		return "removes offline " + path
	case choice == 8:
		p.remove(path)
		if p.texts[path] == "" {
			return "removes offline " + path
		}
		delete(p.texts, path)
		p.log(`"smart_sources:` + path + `": null,`)
		return "deletes " + path
	case choice == 9:
		delete(p.texts, path)
		p.log(`"smart_sources:` + path + `": null,`)
		return "forgets " + path
	case choice == 10:
		p.damage(path)
		return "damages " + path
	}
	p.replace(blockRows+fakeModel.Fingerprint(), p.renumbered())
	return "rewrites the blocks' vectors"
}

// save writes a note and its record. Its vectors are appended first, or those of
// another note are pointed to.
func (p *pluginAtWork) save(path string, embed bool) {
	text := fmt.Sprintf("# A\ntext %d\n# B\nmore\n", p.edits)
	p.write(path, text)
	p.texts[path] = text
	row := p.vectors(noteRows, p.rng.IntN(fakeModel.Dims))
	blocks := map[string]any{}
	for i := range p.rng.IntN(4) {
		at := -1
		if embed {
			at = p.vectors(blockRows, p.rng.IntN(fakeModel.Dims))
		}
		blocks[fmt.Sprintf("#%c", 'D'-i)] = fakeBlock(1+i/2, 2, note.Hash(text)[:1+i], at)
	}
	if !embed {
		row = p.rng.IntN(row + 1)
	}
	p.log(p.record(path, text, row, blocks))
}

// damage gives a note a vector that has no direction, one of another length, a
// reference past the end, or a line that is none.
func (p *pluginAtWork) damage(path string) {
	text := fmt.Sprint("text ", p.edits)
	p.write(path, text)
	p.texts[path] = text
	row := p.vectors(noteRows, 0)
	scale := []float32{0, 3, 1}[p.rng.IntN(3)]
	p.append(noteRows+fakeModel.Fingerprint(), packVectors([]float32{0, 0, scale, 0, 0, 0, 0, 0}))
	if p.rng.IntN(4) == 0 {
		p.log("damaged {")
	}
	p.log(p.record(path, text, row+1+p.rng.IntN(2), nil))
}

// renumbered is the multifile of the blocks with the first two rows exchanged.
func (p *pluginAtWork) renumbered() string {
	data, _ := os.ReadFile(p.path(blockRows + fakeModel.Fingerprint()))
	if row := 4 * fakeModel.Dims; len(data) > 2*row {
		data = slices.Concat(data[row:2*row], data[:row], data[2*row:])
	}
	return string(data)
}

// Whatever happens between two looks, a snapshot that builds on the one before is
// the one that is loaded from nothing, and earlier ones stay as they were.
func TestReloadEqualsLoad(t *testing.T) {
	type kept struct {
		snap           *Snapshot
		notes, blocks  [][]float32
		sources, items int
	}
	built, shared, seeds := 0, 0, uint64(12)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		p := &pluginAtWork{newFakeVault(t), rand.New(rand.NewPCG(seed, 1)), map[string]string{}, 0}
		p.vectors(noteRows, 1)
		p.vectors(blockRows, 1)
		p.save("f0/n0.md", true)
		x := openIndex(t, p.dir, Options{Recheck: 1})
		x.loader.few = -1
		var all []kept
		for range 40 {
			var steps []string
			for range p.rng.IntN(3) {
				steps = append(steps, p.step())
			}
			everything := p.rng.IntN(3) == 0
			if everything {
				x.loader.rescanAt = time.Time{}
			}
			snap, err := x.Snapshot(t.Context())
			if err != nil {
				t.Fatalf("seed %d, %q: %v", seed, steps, err)
			}
			if everything {
				if err := sameSnapshot(snap, loadFake(t, p.fakeVault)); err != nil {
					t.Fatalf("seed %d, %q: %v", seed, steps, err)
				}
			}
			if b := x.loader.base; b != nil {
				refs := found{map[string]int{}, map[string]int{}}
				for _, rec := range x.loader.records {
					refs.count(rec, b.multifiles, 1)
				}
				if everything && !reflect.DeepEqual(b.refs, refs) {
					t.Fatalf("seed %d, %q: references %v, want %v", seed, steps, b.refs, refs)
				}
			}
			if n := len(all); n > 0 && all[n-1].snap != snap {
				built++
				if len(snap.Notes.Vectors) > 0 && len(all[n-1].snap.Notes.Vectors) > 0 && unsafe.SliceData(snap.Notes.Vectors) == unsafe.SliceData(all[n-1].snap.Notes.Vectors) {
					shared++
				}
			}
			all = append(all, kept{snap, rowsOf(&snap.Notes), rowsOf(&snap.Blocks), len(snap.Sources), len(snap.Blocks.Items)})
		}
		for i, k := range all {
			if !reflect.DeepEqual(rowsOf(&k.snap.Notes), k.notes) || !reflect.DeepEqual(rowsOf(&k.snap.Blocks), k.blocks) ||
				len(k.snap.Sources) != k.sources || len(k.snap.Blocks.Items) != k.items {
				t.Fatalf("seed %d: snapshot %d has changed since", seed, i)
			}
		}
	}
	if built < 20*int(seeds) || shared < built/2 {
		t.Errorf("of %d reloads %d shared the vectors, want half at least", built, shared)
	}
}

// rowsOf copies the items' vectors.
func rowsOf(c *Collection) [][]float32 {
	rows := [][]float32{}
	for i := range c.Items {
		rows = append(rows, slices.Clone(c.Row(i)))
	}
	return rows
}

// sameSnapshot compares what two snapshots say, however they keep it.
func sameSnapshot(got, want *Snapshot) error {
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"items of notes", got.Notes.Items, want.Notes.Items},
		{"items of blocks", got.Blocks.Items, want.Blocks.Items},
		{"vectors of notes", rowsOf(&got.Notes), rowsOf(&want.Notes)},
		{"vectors of blocks", rowsOf(&got.Blocks), rowsOf(&want.Blocks)},
		{"sources", got.Sources, want.Sources},
		{"warnings", got.Warnings, want.Warnings},
		{"model", got.Model, want.Model},
		{"refusal", got.Refusal, want.Refusal},
		{"behind", got.Behind, want.Behind},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			return fmt.Errorf("%s = %+v, want %+v", c.what, c.got, c.want)
		}
	}
	g, w := got.Status, want.Status
	g.Retries, w.Retries = 0, 0
	if !reflect.DeepEqual(g, w) {
		return fmt.Errorf("status = %+v, want %+v", g, w)
	}
	return nil
}

// Scores are the same however the vectors lie.
func TestScoresOfScatteredRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for n := range 20 {
		plain := randomCollection(rng, n)
		scattered := &Collection{Dims: plain.Dims, Items: plain.Items, places: make([]int32, n)}
		for place, i := range rng.Perm(n) {
			scattered.Vectors = append(scattered.Vectors, plain.Row(i)...)
			scattered.Vectors = append(scattered.Vectors, 9, 9, 9, 9) // of nobody
			scattered.places[i] = int32(2 * place)
		}
		q := []float32{rng.Float32(), rng.Float32(), rng.Float32(), 1}
		if got, want := scattered.Scores(nil, q), plain.Scores(nil, q); !slices.Equal(got, want) {
			t.Errorf("Scores of %d = %v, want %v", n, got, want)
		}
		if !reflect.DeepEqual(rowsOf(scattered), rowsOf(plain)) {
			t.Errorf("rows of %d = %v, want %v", n, rowsOf(scattered), rowsOf(plain))
		}
	}
}

// A scan that examined only what the log changed is the one that examines all.
func TestUpdatedScan(t *testing.T) {
	for seed := range uint64(8) {
		p := &pluginAtWork{newFakeVault(t), rand.New(rand.NewPCG(seed, 2)), map[string]string{}, 0}
		v, err := note.OpenVault(p.dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { v.Close() })
		fresh, none := newFreshness(v), func(path string) bool { return path == "f1/n1.md" }
		p.write("unindexed.md", "text")
		r := replayed(t, p.fakeVault, nil)
		sc, err := scanNotes(t.Context(), fresh, maps.Clone(r.records), none)
		if err != nil {
			t.Fatal(err)
		}
		for range 30 {
			what := p.step()
			if strings.Contains(what, "offline") { // the log tells nothing of that
				if sc, err = scanNotes(t.Context(), fresh, maps.Clone(r.records), none); err != nil {
					t.Fatal(err)
				}
			}
			r = replayed(t, p.fakeVault, r)
			records := maps.Clone(r.records)
			got, err := sc.update(t.Context(), fresh, records, none)
			if err != nil {
				t.Fatal(err)
			}
			want, err := scanNotes(t.Context(), newFreshness(v), records, none)
			if err != nil {
				t.Fatal(err)
			}
			if !got.equal(want) || !maps.Equal(got.unindexed, want.unindexed) {
				t.Fatalf("seed %d, %s: scan = %+v, want %+v", seed, what, got, want)
			}
			checkDifference(t, got.since(sc), sc, got)
			sc = got
		}
	}
}

// checkDifference checks that a difference names every note of two scans once.
func checkDifference(t *testing.T, d difference, from, to *scan) {
	t.Helper()
	seen := map[int]bool{}
	for i, was := range d.same {
		if was >= 0 {
			seen[was] = true
			if !from.notes[was].equal(&to.notes[i]) {
				t.Fatalf("note %d is said to be as %d was: %+v, %+v", i, was, to.notes[i], from.notes[was])
			}
		}
	}
	for _, was := range d.gone {
		if seen[was] {
			t.Fatalf("note %d is said to be gone and the same", was)
		}
		seen[was] = true
	}
	if len(d.same) != len(to.notes) || len(seen) != len(from.notes) {
		t.Fatalf("the difference is of %d and %d notes, want %d and %d", len(seen), len(d.same), len(from.notes), len(to.notes))
	}
}
