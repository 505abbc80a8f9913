package smartenv

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"
	"weak"
)

// P6: any number of calls at the same time make one load, the first and any later
// one.
func TestP6OneLoadForAll(t *testing.T) {
	v := newFakeVault(t)
	v.addNote("a.md", "text", 1)
	var log bytes.Buffer // its handler locks
	x := openIndex(t, v.dir, Options{Recheck: time.Hour, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for round := 1; round <= 3; round++ {
		var calls sync.WaitGroup
		for range 1000 {
			calls.Go(func() {
				if _, err := x.Snapshot(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if loads := strings.Count(log.String(), "index loaded"); loads != round {
			t.Errorf("%d loads after %d rounds of 1,000 calls, want one a round", loads, round)
		}
		v.addNote(strings.Repeat("b", round)+".md", "text", 2)
		x.current.Store(&state{snap: x.current.Load().snap, files: x.current.Load().files}) // a look is due
	}
}

// P9: of hundreds of reloads the server keeps the last snapshot only; those before
// go when nobody has them any more.
func TestP9SnapshotsAreLetGo(t *testing.T) {
	p := newBusyPlugin(t, 12)
	p.rng = rand.New(rand.NewPCG(9, 9))
	x := openIndex(t, p.dir, Options{Recheck: 1})
	reloads := 40
	if testing.Short() {
		reloads = 15
	}
	var seen []weak.Pointer[Snapshot]
	for range reloads {
		p.step()
		snap, err := x.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(seen); n == 0 || seen[n-1].Value() != snap {
			seen = append(seen, weak.Make(snap))
		}
	}
	if len(seen) < reloads/2 {
		t.Fatalf("%d snapshots of %d steps, want more", len(seen), reloads)
	}
	alive := 0
	for range 3 { // what one collection has made free may hold what the next one frees
		runtime.GC()
	}
	for _, snap := range seen {
		if snap.Value() != nil {
			alive++
		}
	}
	if alive > 1 {
		t.Errorf("%d of %d snapshots are kept, want the last one", alive, len(seen))
	}
	if last, err := x.Snapshot(t.Context()); err != nil || last != seen[len(seen)-1].Value() {
		t.Errorf("the last snapshot is another one: %v", err)
	}
}

// P9: after an Optimize, which numbers all rows anew, the vectors are those that
// are in memory already, also when the first look met it half done.
func TestP9OptimizeTakesNoSecondBuffer(t *testing.T) {
	p := newBusyPlugin(t, 30)
	x := openIndex(t, p.dir, Options{Recheck: 1})
	last, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for round := range 6 {
		if round%2 == 1 { // it begins, is looked at, and ends
			p.write(shardZero+".optimize.tmp", "")
			if snap, err := x.Snapshot(t.Context()); err != nil || snap.Behind == "" {
				t.Fatalf("round %d: half an Optimize was read: %v", round, err)
			}
		}
		p.optimize()
		if round == 4 {
			p.embed(3)
		}
		snap, err := x.Snapshot(t.Context())
		if err != nil || snap.Behind != "" || len(snap.Notes.Items) != 30 || len(snap.Blocks.Items) != 30 {
			t.Fatalf("round %d: %v, behind %q, %d notes", round, err, snap.Behind, len(snap.Notes.Items))
		}
		checkBusy(t, &snap.Notes)
		checkBusy(t, &snap.Blocks)
		for _, c := range [][2]*Collection{{&last.Notes, &snap.Notes}, {&last.Blocks, &snap.Blocks}} {
			if unsafe.SliceData(c[0].Vectors) != unsafe.SliceData(c[1].Vectors) {
				t.Errorf("round %d: %d vectors were read into another buffer", round, len(c[1].Items))
			}
		}
		last = snap
	}
}
