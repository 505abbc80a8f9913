package smartenv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"smart-connections-mcp/smartenv/note"
)

// hostile returns how long a test bound by time runs: that of HOSTILE, as in
// HOSTILE=30s, else the short one. long says that counts are to be full.
func hostile(t testing.TB, short time.Duration) (d time.Duration, long bool) {
	t.Helper()
	text := os.Getenv("HOSTILE")
	if text == "" {
		return short, false
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("HOSTILE: %v", err)
	}
	return d, true
}

// A genScenario is a way in which a writer treats the index.
type genScenario struct {
	name  string // with the IDs
	begin func(*genVault)
	step  func(*genVault)
	whole bool // a snapshot that is not marked has every item, also one that is loaded from nothing
	warm  bool // the same, but only one that has an older one to compare with
	one   bool // all items of a snapshot are of one generation
}

func genScenarios() []genScenario {
	anew := func(g *genVault) { g.rebuild(1) }
	sometimes := func(what func(*genVault)) func(*genVault) {
		return func(g *genVault) {
			if g.rng.IntN(3) == 0 {
				what(g)
			} else {
				g.embed(g.some(), false)
			}
		}
	}
	return []genScenario{
		// Half lines and rows, and lines before their vectors.
		{name: "T1 T2 append", begin: anew, step: func(g *genVault) { g.embed(g.some(), g.rng.IntN(3) == 0) }},
		{name: "T3 compact by renaming", begin: anew, step: sometimes((*genVault).compact), whole: true},
		{name: "T3 truncate in place", begin: anew, step: sometimes((*genVault).truncate), warm: true},
		{name: "T3 Optimize", begin: anew, step: sometimes((*genVault).optimize), whole: true},
		{name: "T3 Re-index", begin: anew, step: sometimes((*genVault).reindex)},
		{name: "T4 replace all", begin: anew, step: anew, whole: true, one: true},
		{name: "T5 same size and time, other files", begin: func(g *genVault) { g.dated = true; g.rebuild(1) }, step: anew, whole: true, one: true},
		{name: "T5 same size and time, same file", begin: func(g *genVault) { g.dated = true; g.rebuild(4) }, step: (*genVault).inPlace},
		{name: "T1 T3 T4 inline", begin: (*genVault).beginInline, step: (*genVault).stepInline, warm: true},
		{name: "T5 same size and time, inline", begin: (*genVault).beginInline, step: (*genVault).inPlaceInline},
	}
}

// A genReader checks snapshots of a genVault and counts them.
type genReader struct {
	*genScenario
	t    *testing.T
	seed int

	snapshots, behind, refused, unresolved atomic.Int64
	generations, wrote, waited             atomic.Int64 // waited: when the writer last was long over a step
}

// check checks that every vector of a snapshot is of the slot and generation that
// its item tells.
func (r *genReader) check(snap *Snapshot, warm bool) {
	r.snapshots.Add(1)
	if snap.Behind != "" {
		r.behind.Add(1)
	}
	if snap.Status.Refused[sourcesCollection][reasonOutOfRange] > 0 {
		r.unresolved.Add(1)
	}
	seen := map[string]bool{}
	for base, c := range map[int]*Collection{0: &snap.Notes, genBlocks: &snap.Blocks} {
		for i := range c.Items {
			it := &c.Items[i]
			slot, generation := genSlot(it)
			if axis := slices.Index(c.Row(i), 1); axis != genAxis(base+slot, generation) {
				r.t.Errorf("seed %d: %s of generation %d has the vector of axis %d, want %d; warnings %q",
					r.seed, it.id(), generation, axis, genAxis(base+slot, generation), snap.Warnings)
				return
			}
			seen[it.Hash] = true
		}
	}
	if r.one && len(seen) > 1 {
		r.t.Errorf("seed %d: one snapshot has the generations %v", r.seed, seen)
	}
	n := len(snap.Notes.Items) + len(snap.Blocks.Items)
	for _, refused := range snap.Status.Refused {
		n += refused[reasonOutOfRange] // not there yet, and counted
	}
	if (r.whole || r.warm && warm) && n != 2*genNotes && !r.starved(snap) {
		r.t.Errorf("seed %d: %d of %d items, behind %q, warnings %q", r.seed, n, 2*genNotes, snap.Behind, snap.Warnings)
	}
}

// starved says whether the writer had to wait for so long that a file it is at
// counts as one that is left alone.
func (r *genReader) starved(snap *Snapshot) bool {
	since := func(at *atomic.Int64) time.Duration { return time.Since(time.Unix(0, at.Load())) }
	return hasWarning(snap, "a crash has left it") && snap.Status.Retries > 0 || since(&r.wrote) > recent/2 || since(&r.waited) < 10*time.Second
}

// genSlot returns the note of an item and the generation in its hash.
func genSlot(it *Item) (slot, generation int) {
	fmt.Sscanf(it.Path, "%d.md", &slot)
	fmt.Sscanf(it.Hash, "g%d", &generation)
	return slot, generation
}

// refuse checks that an error is one of those that a rewrite may give to who has
// no older snapshot to answer with.
func (r *genReader) refuse(err error) {
	var retry *retryError
	var generation *GenerationError
	if !errors.As(err, &retry) && !errors.As(err, &generation) {
		r.t.Errorf("seed %d: %v, want a retryError", r.seed, err)
	}
	r.refused.Add(1)
}

// read reads the index until ctx ends: again and again with one Index, which
// always answers and never with an older state than before (T6), and with new ones.
func (r *genReader) read(ctx context.Context, v *note.Vault, x *Index) {
	var readers sync.WaitGroup
	defer readers.Wait()
	readers.Go(func() {
		for ctx.Err() == nil && !r.t.Failed() {
			if snap, err := Open(v, Options{}).Snapshot(ctx); err == nil {
				r.check(snap, false)
			} else if ctx.Err() == nil {
				r.refuse(err)
			}
		}
	})
	newest := map[string]int{}
	for ctx.Err() == nil && !r.t.Failed() {
		snap, err := x.Snapshot(ctx)
		if err != nil {
			if ctx.Err() == nil {
				r.t.Errorf("seed %d: %v, want the last good snapshot", r.seed, err)
			}
			continue
		}
		r.check(snap, true)
		for _, c := range []*Collection{&snap.Notes, &snap.Blocks} {
			for i := range c.Items {
				id := c.Items[i].id()
				_, generation := genSlot(&c.Items[i])
				if generation < newest[id] {
					r.t.Errorf("seed %d: %s went back from generation %d to %d", r.seed, id, newest[id], generation)
				}
				newest[id] = generation
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// run lets a process write while this one reads, kills it in the middle of what it
// does, and checks that the index is as new as it can be after that.
func (r *genReader) run(number int, d time.Duration) {
	dir := r.t.TempDir()
	g := newGenVault(r.t, dir, uint64(100+r.seed))
	r.begin(g)
	v, err := note.OpenVault(dir)
	if err != nil {
		r.t.Error(err)
		return
	}
	defer v.Close()
	x := Open(v, Options{Recheck: 1})
	if _, err := x.Snapshot(r.t.Context()); err != nil {
		r.t.Error(err)
		return
	}
	stop, err := r.startWriter(fmt.Sprintf("%s|%d %d %d", dir, number, r.seed, int64(d+slack)))
	if err != nil {
		r.t.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), d+slack/2)
	defer cancel()
	go func() { // d, or more where the machine is busy with other things
		for start := time.Now(); ctx.Err() == nil && (time.Since(start) < d || r.generations.Load() < enough); {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	r.read(ctx, v, x)
	stop()
	if snap, err := x.Snapshot(r.t.Context()); err != nil {
		r.t.Errorf("seed %d: %v, want the last good snapshot", r.seed, err)
	} else {
		r.check(snap, true)
	}
	g.generation = int(r.generations.Load()) + 1000
	r.begin(g)
	for range 6 {
		r.newest(g, x)
		r.newest(g, Open(v, Options{}))
		r.step(g)
	}
}

// newest checks that an index tells the state that a writer at rest has left.
func (r *genReader) newest(g *genVault, x *Index) {
	snap, err := x.Snapshot(r.t.Context())
	for end := time.Now().Add(5 * time.Second); (err != nil || snap.Behind != "") && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond) // what was rewritten a moment ago is waited for
		snap, err = x.Snapshot(r.t.Context())
	}
	if err != nil || snap.Behind != "" {
		r.t.Errorf("seed %d: at rest: %v, behind %q", r.seed, err, snap.Behind)
		return
	}
	r.check(snap, true)
	for _, c := range []*Collection{&snap.Notes, &snap.Blocks} {
		if len(c.Items) != genNotes {
			r.t.Errorf("seed %d: at rest: %d items, want %d", r.seed, len(c.Items), genNotes)
		}
		for i := range c.Items {
			if slot, generation := genSlot(&c.Items[i]); generation != g.items[slot].generation {
				r.t.Errorf("seed %d: at rest: %s is of generation %d, want %d", r.seed, c.Items[i].id(), generation, g.items[slot].generation)
				return
			}
		}
	}
}

// A writer must get as far as enough generations, and has slack to do so.
const (
	enough = 12
	slack  = 20 * time.Second
)

// writerRole is the environment variable that makes the test's binary a writer.
const writerRole = "SMARTENV_WRITER"

// startWriter starts a writer's process. stop kills it and waits for its end.
func (r *genReader) startWriter(spec string) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), writerRole+"="+spec)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	if _, err := cmd.StdinPipe(); err != nil { // stays open while this process lives
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan bool)
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			n, _ := strconv.Atoi(lines.Text())
			r.generations.Store(int64(n))
			now := time.Now().UnixNano()
			if before := r.wrote.Swap(now); before != 0 && now-before > int64(recent/2) {
				r.waited.Store(now)
			}
		}
	}()
	return func() {
		cmd.Process.Kill()
		<-done
		cmd.Wait()
		if complaint.Len() > 0 || cmd.ProcessState.Exited() {
			r.t.Errorf("seed %d: the writer ended itself: %v %s", r.seed, cmd.ProcessState, complaint.String())
		}
		if n := r.generations.Load(); n < enough && !r.t.Failed() {
			r.t.Errorf("seed %d: %d generations, want more", r.seed, n)
		}
	}, nil
}

// T1 to T6: beside another process that rewrites the index in every way that is
// known, no snapshot pairs an item with the vector of another generation.
func TestTornReads(t *testing.T) {
	d, _ := hostile(t, 700*time.Millisecond)
	for number, c := range genScenarios() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			readers := make([]*genReader, 3)
			var all sync.WaitGroup
			for seed := range readers {
				readers[seed] = &genReader{genScenario: &c, t: t, seed: seed}
				all.Go(func() { readers[seed].run(number, d) })
			}
			all.Wait()
			var generations, snapshots, behind, refused, unresolved int64
			for _, r := range readers {
				generations += r.generations.Load()
				snapshots += r.snapshots.Load()
				behind += r.behind.Load()
				refused += r.refused.Load()
				unresolved += r.unresolved.Load()
			}
			t.Logf("%d generations written, %d snapshots, %d of them behind, %d with references beyond the end; %d refused",
				generations, snapshots, behind, unresolved, refused)
			if snapshots < 30 {
				t.Errorf("%d snapshots, want more", snapshots)
			}
		})
	}
}
