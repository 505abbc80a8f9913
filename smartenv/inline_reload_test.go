package smartenv

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"smart-connections-mcp/smartenv/note"
)

// Only files that changed are read again, and what has not changed lies in the
// newest snapshot.
func TestInlineReload(t *testing.T) {
	v := newInlineVault(t)
	for i := range 5 {
		v.addInline(fmt.Sprintf("%d.md", i), "text", i)
	}
	x := openIndex(t, v.dir, Options{Recheck: time.Nanosecond})
	snapshot := func() *Snapshot {
		t.Helper()
		x.loader.rescanAt = time.Time{}
		snap, err := x.Snapshot(t.Context())
		if err != nil || snap.Behind != "" {
			t.Fatal(err, snap)
		}
		return snap
	}
	first := snapshot()
	checkAxesOf(t, "at first", first, "0.md:0 1.md:1 2.md:2 3.md:3 4.md:4")
	before := maps.Clone(x.loader.inline.files)
	if snapshot() != first {
		t.Error("loaded again though nothing changed")
	}

	v.addInline("3.md", "new text", 7)
	v.addInline("5.md", "text", 5)
	v.remove(".smart-env/multi/1_md.ajson")
	v.remove("2.md")
	second := snapshot()
	checkAxesOf(t, "after changes", second, "0.md:0 3.md:7 4.md:4 5.md:5")
	if n := heldBySnapshot(x); n != 4 { // and 2.md's vector holds no snapshot
		t.Errorf("%d of the kept vectors lie in a snapshot, want 4", n)
	}
	checkAxesOf(t, "the snapshot before", first, "0.md:0 1.md:1 2.md:2 3.md:3 4.md:4")
	for name, f := range x.loader.inline.files {
		changed := name == "3_md.ajson" || name == "5_md.ajson"
		if (before[name] == f) == changed {
			t.Errorf("%s: read again: %v, want %v", name, before[name] != f, changed)
		}
	}
	v.write("2.md", "text")
	checkAxesOf(t, "with the note back", snapshot(), "0.md:0 2.md:2 3.md:7 4.md:4 5.md:5")

	if n := heldBySnapshot(x); n != 5 {
		t.Errorf("%d of the kept vectors lie in the snapshot, want 5", n)
	}

	// The plugin is updated, and packs the index.
	v.addNote("0.md", "text", 6)
	packed := snapshot()
	if checkAxesOf(t, "packed", packed, "0.md:6"); packed.Generation != "packed" {
		t.Errorf("generation = %s, want packed", packed.Generation)
	}
	v.remove(".smart-env/smart_sources")
	if again := snapshot(); again.Generation != "inline" || len(again.Notes.Items) != 5 {
		t.Errorf("back to %s, %d notes, want inline, 5", again.Generation, len(again.Notes.Items))
	}
}

// heldBySnapshot counts the vectors that are kept in a snapshot only.
func heldBySnapshot(x *Index) (count int) {
	for _, f := range x.loader.inline.files {
		for _, rec := range f.notes {
			for _, vec := range rec.vectors {
				if vec.shared {
					count++
				}
			}
		}
	}
	return count
}

// T1, T3: a file that is met while the plugin is in the middle of writing it.
func TestInlineShortRead(t *testing.T) {
	v := newInlineVault(t)
	line := func(path string, axis int) string {
		return logLine("smart_sources:"+path, inlineItem("text", axis, nil)) + "\n"
	}
	v.write("a.md", "text")
	v.write("b.md", "text")
	const file = ".smart-env/multi/a_md.ajson"
	whole := line("a.md", 1) + line("b.md", 2)
	for _, c := range []struct{ name, torn, left string }{
		{"nothing yet", "", ""}, {"cut within a record", whole[:len(whole)-9], "a.md:1"}, {"cut after a record", line("a.md", 1), "a.md:1"},
	} {
		x := openIndex(t, v.dir, Options{Recheck: time.Nanosecond})
		v.write(file, whole)
		v.age(file)
		if snap, err := x.Snapshot(t.Context()); err != nil || len(snap.Notes.Items) != 2 {
			t.Fatal(c.name, err)
		}
		v.write(file, c.torn)
		time.AfterFunc(2*inlineWait, func() { os.WriteFile(v.path(file), []byte(whole), 0o644) })
		snap, err := x.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		checkAxesOf(t, c.name+", soon whole", snap, "a.md:1 b.md:2")

		time.Sleep(4 * inlineWait)
		v.write(file, c.torn) // and so it stays for now
		snap, err = x.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		checkAxesOf(t, c.name+", for long", snap, "a.md:1 b.md:2")
		if len(x.loader.inline.unsettled) != 1 {
			t.Errorf("%s: unsettled = %q, want the file", c.name, x.loader.inline.unsettled)
		}
		v.age(file) // nobody writes it any more
		snap, err = x.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		checkAxesOf(t, c.name+", at last", snap, c.left)
	}
}

// T3: beside a plugin that rewrites its files in place all the time, every vector is
// that of the text which the record names.
func TestInlineBesideABusyPlugin(t *testing.T) {
	v := newInlineVault(t)
	const notes = 12
	texts := make([]string, fakeModel.Dims)
	for generation := range texts {
		texts[generation] = fmt.Sprintf("text of generation %d", generation)
	}
	write := func(i, generation int) {
		path := fmt.Sprintf("%d.md", i)
		blocks := map[string]any{"#A": []int{1, 1}}
		text := logLine("smart_sources:"+path, inlineItem(texts[generation], generation, map[string]any{"blocks": blocks})) + "\n" +
			logLine("smart_blocks:"+path+"#A", inlineItem(texts[generation], generation, nil)) + "\n"
		f, err := os.OpenFile(v.path(".smart-env/multi/"+inlineName(path)), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		for len(text) > 0 { // in pieces, as a slow disk would have it
			n := min(len(text), 97)
			f.WriteString(text[:n])
			text = text[n:]
			runtime.Gosched()
		}
	}
	v.write(".smart-env/multi/x", "")
	for i := range notes {
		v.write(fmt.Sprintf("%d.md", i), "text")
		write(i, 0)
	}
	var stop atomic.Bool
	done := make(chan bool)
	go func() {
		defer close(done)
		rng := rand.New(rand.NewPCG(7, 7))
		for !stop.Load() {
			write(rng.IntN(notes), rng.IntN(len(texts)))
		}
	}()
	defer func() { stop.Store(true); <-done }()
	x := openIndex(t, v.dir, Options{Recheck: time.Nanosecond})
	loads, full := 0, 0
	for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); loads++ {
		snap, err := x.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []*Collection{&snap.Notes, &snap.Blocks} {
			if len(c.Items) == notes {
				full++
			}
			for i := range c.Items {
				axis := 0
				for c.Row(i)[axis] != 1 {
					axis++
				}
				if c.Items[i].Hash != note.Hash(texts[axis]) {
					t.Fatalf("%s has the vector of generation %d and another hash", c.Items[i].id(), axis)
				}
			}
		}
	}
	if full < loads { // of twice as many collections
		t.Errorf("of %d loads, %d collections were whole, want at least half", loads, full)
	}
}
