package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"smart-connections-mcp/testdata/session"
)

// A visitor asks a server about a vault that a gardener works in, and checks each
// answer against what the vault holds or has held.
type visitor struct {
	*session.Client
	g       *gardener
	rng     *rand.Rand
	queries []string
	vectors [][]float32 // of the queries

	low      int // number of the oldest state that may still be served
	calls    int
	searches int
	status   status        // the last one
	reloads  int           // how often status told of another load
	reloaded chan struct{} // has something after a reload
}

func newVisitor(t testing.TB, c *session.Client, g *gardener) *visitor {
	v := &visitor{Client: c, g: g, rng: rand.New(rand.NewPCG(1, 1)), reloaded: make(chan struct{}, 1)}
	v.low, _ = g.now()
	for i := range 500 {
		v.queries = append(v.queries, fmt.Sprintf("which %s grows beside a %s, question %d", plants[i%len(plants)], plants[v.rng.IntN(len(plants))], i))
		vector, err := g.model.Embed(t.Context(), v.queries[i])
		if err != nil {
			t.Fatal(err)
		}
		v.vectors = append(v.vectors, vector)
	}
	return v
}

// call asks one question, in turn of all kinds. Its error says what is wrong with
// the answer.
func (v *visitor) call() error {
	v.calls++
	switch v.calls % 10 {
	case 7:
		return v.related()
	case 8:
		return v.read()
	case 9:
		return v.look()
	}
	v.searches++
	n := v.rng.IntN(len(v.queries))
	q := question{vector: v.vectors[n], limit: 1 + v.rng.IntN(20), scope: []string{"auto", "notes", "blocks"}[v.rng.IntN(3)]}
	if v.rng.IntN(4) == 0 {
		q.folder = fmt.Sprintf("Bed %d", v.rng.IntN(5))
	}
	var l listing
	if err := ask(v.Client, "search_notes", q.arguments(v.queries[n]), &l); err != nil {
		return err
	}
	return v.among(func(s *state) error { return s.explains(l, q) })
}

// among finds the state that explains an answer. States do not come back.
func (v *visitor) among(explains func(*state) error) error {
	var wrong []error
	for i, s := range v.g.since(v.low) {
		err := explains(&s)
		if err == nil {
			v.low += i
			return nil
		}
		wrong = append(wrong, err)
	}
	return fmt.Errorf("call %d: none of the states %d to %d explains the answer: %w", v.calls, v.low, v.low+len(wrong)-1, errors.Join(wrong[max(0, len(wrong)-5):]...))
}

func (v *visitor) related() error {
	paths := v.g.paths()
	path := paths[v.rng.IntN(len(paths))]
	var l listing
	err := ask(v.Client, "related_notes", map[string]any{"path": path, "limit": 10, "min_score": -1}, &l)
	return v.among(func(s *state) error {
		p, known := s.vectors[path]
		if err != nil || !known {
			if err == nil || known || !strings.Contains(err.Error(), path) {
				return fmt.Errorf("%q is known: %v, and the answer is %v", path, known, err)
			}
			return nil
		}
		return s.explains(l, question{vector: p.note, limit: 10, scope: "auto", without: path})
	})
}

// read reads a note, which is always as it is on disk.
func (v *visitor) read() error {
	paths := v.g.paths()
	path := paths[v.rng.IntN(len(paths))]
	before, _ := v.g.now()
	var out struct {
		Text string `json:"text"`
	}
	err := ask(v.Client, "get_note", map[string]any{"path": path}, &out)
	for _, s := range v.g.since(max(0, before-1)) {
		text, there := s.texts[path]
		if there == (err == nil) && text == out.Text {
			return nil
		}
	}
	return fmt.Errorf("get_note(%q) = %q, %v, which it never was", path, out.Text, err)
}

// look asks for the status and notices whether the index was loaded anew.
func (v *visitor) look() error {
	var s status
	if err := ask(v.Client, "index_status", map[string]any{}, &s); err != nil {
		return err
	}
	if last := v.status.LoadedAt; last != "" && last != s.LoadedAt {
		if s.LoadedAt < last {
			return fmt.Errorf("index_loaded_at goes from %s back to %s", last, s.LoadedAt)
		}
		v.reloads++
		select {
		case v.reloaded <- struct{}{}:
		default:
		}
	}
	v.status = s
	return v.among(func(st *state) error { return st.counts(s) })
}

// counts says how a status differs from the state; nil when it does not.
func (s *state) counts(got status) error {
	_, notes, blocks := s.rank(question{scope: "auto", vector: []float32{}})
	if got.Notes != notes || got.Blocks != blocks {
		return fmt.Errorf("%d notes and %d blocks are embedded, want %d and %d", got.Notes, got.Blocks, notes, blocks)
	}
	return nil
}

// arrives waits until the newest state is what is served.
func (v *visitor) arrives() error {
	newest, s := v.g.now()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		q := question{vector: v.vectors[0], limit: 100, scope: "auto"}
		var l listing
		if err := ask(v.Client, "search_notes", q.arguments(v.queries[0]), &l); err != nil {
			return err
		}
		err := errors.Join(s.explains(l, q), v.look(), s.counts(v.status))
		if err == nil && v.status.Behind == "" {
			v.low = newest
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the newest state is not served: behind %q: %w", v.status.Behind, err)
		}
	}
}

// A soak is how much there is to do.
type soak struct {
	long              time.Duration
	searches, reloads int
}

// P9, bugs 11 and 39: hours of use in short. A gardener and the plugin work in the
// vault while a visitor asks; every answer is right, the newest state is served
// in the end, and memory, goroutines and descriptors are what they were.
// HOSTILE=10m makes 10^5 searches and 200 reloads.
func TestP9Soak(t *testing.T) {
	t.Parallel()
	s := soak{time.Second, 400, 3}
	long, full := hostile(t)
	if full {
		share := long.Seconds() / 600
		s = soak{long, max(s.searches, int(1e5*share)), max(s.reloads, int(200*share))}
	}
	g := newGardener(t, 60)
	few := "" // the goroutines after a few calls
	if runtime.GOOS == "linux" {
		few = goroutinesAfter(t, g)
	}
	v := newVisitor(t, serve(t, g.dir), g)
	if err := v.look(); err != nil { // what the garden does must not be in the first load
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 4*s.long+2*time.Minute)
	var garden sync.WaitGroup
	t.Cleanup(garden.Wait) // before the vault goes
	t.Cleanup(stop)
	garden.Go(func() { v.garden(ctx) })
	m := &meter{p: v.Process}
	for begun := time.Now(); time.Since(begun) < s.long || v.searches < s.searches || v.reloads < s.reloads; {
		if ctx.Err() != nil {
			t.Fatalf("%d searches and %d reloads in %v: too few", v.searches, v.reloads, time.Since(begun))
		}
		if err := v.call(); err != nil {
			t.Fatal(err)
		}
		if v.calls%20 == 0 {
			m.sample(t)
		}
		done := min(time.Since(begun).Seconds()/s.long.Seconds(), float64(v.reloads)/float64(s.reloads))
		if v.searches > int(done*float64(s.searches))+s.searches/2 { // rest, that the work may catch up
			time.Sleep(5 * time.Millisecond)
		}
	}
	stop()
	garden.Wait()
	if err := v.arrives(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d calls, %d of them searches, %d reloads, %d states", v.calls, v.searches, v.reloads, len(g.since(0)))
	m.judge(t, full)
	if v.status.Proof.Verdict != "agrees" {
		t.Errorf("the embedder's proof is %q, want agrees", v.status.Proof.Verdict)
	}
	if runtime.GOOS == "linux" {
		if now := goroutinesOf(t, v.Client); started(now) > started(few) {
			t.Errorf("the goroutines in the end are more than those after a few calls:\n%s\nwere:\n%s", now, few)
		}
		return
	}
	if _, err := v.End(); err != nil {
		t.Error(err)
	}
}

// garden works day after day, each when the server has seen the one before.
func (v *visitor) garden(ctx context.Context) {
	for day := 0; ctx.Err() == nil; day++ {
		v.g.work(day)
		select {
		case <-v.reloaded:
		case <-ctx.Done():
		}
	}
}

// A meter follows what a process holds. Only Linux tells.
type meter struct {
	p           *session.Process
	resident    []float64 // MB
	descriptors []float64
}

func (m *meter) sample(t testing.TB) {
	if runtime.GOOS != "linux" {
		return
	}
	mb, err := m.p.Megabytes("VmRSS")
	open, err2 := m.p.Descriptors()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	m.resident, m.descriptors = append(m.resident, mb), append(m.descriptors, float64(open))
}

// judge compares the last quarter with the second one; the first is for warming
// up. A short run is too short for memory.
func (m *meter) judge(t testing.TB, full bool) {
	if runtime.GOOS != "linux" {
		return
	}
	n := len(m.resident)
	if n < 20 {
		t.Fatalf("%d samples, want 20 at least", n)
	}
	middle := func(values []float64) float64 {
		values = slices.Sorted(slices.Values(values))
		return values[len(values)/2]
	}
	before, after := middle(m.resident[n/4:n/2]), middle(m.resident[n-n/4:])
	t.Logf("resident: %.1f MB after warming up, %.1f MB in the end (%+.1f %%), %d samples", before, after, 100*(after/before-1), n)
	if limit := 1.05; full && after > limit*before {
		t.Errorf("resident memory grew from %.1f to %.1f MB, want 5 %% at most", before, after)
	}
	before, after = middle(m.descriptors[n/4:n/2]), middle(m.descriptors[n-n/4:])
	if now, err := m.p.Descriptors(); err != nil || after > before || float64(now) > before {
		t.Errorf("open files: %v after warming up, %v near the end, %d now, %v", before, after, now, err)
	}
}

// goroutinesAfter are the goroutines of a server that has answered a few calls.
func goroutinesAfter(t testing.TB, g *gardener) string {
	v := newVisitor(t, serve(t, g.dir), g)
	for range 40 {
		if err := v.call(); err != nil {
			t.Fatal(err)
		}
	}
	return goroutinesOf(t, v.Client)
}

// started counts the goroutines of a dump that the program has started; Go's
// runtime starts some of its own when it likes.
func started(dump string) int {
	return strings.Count(dump, "\ncreated by ") - strings.Count(dump, "\ncreated by runtime.")
}

// goroutinesOf ends a server that has nothing to do by the signal at which Go's
// runtime lists all goroutines.
func goroutinesOf(t testing.TB, c *session.Client) string {
	t.Helper()
	time.Sleep(200 * time.Millisecond) // those of the last call end
	if err := c.Cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = c.Cmd.Process.Kill() })
	defer late.Stop()
	_, _ = io.Copy(io.Discard, c.Out) // its stdin stays open: an end of the session would be in the dump
	_ = c.Cmd.Wait()
	if started(c.Said()) < 2 {
		t.Fatalf("this is no dump:\n%s", c.Said())
	}
	return c.Said()
}
