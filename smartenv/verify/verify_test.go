package verify

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
)

// edgeMini copies the fixture vault, so that a test may change notes, and loads
// its index.
func edgeMini(t *testing.T) (string, *note.Vault, *smartenv.Snapshot) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../testdata/vaults/edge-mini")); err != nil {
		t.Fatal(err)
	}
	v, err := note.OpenVault(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	s, err := smartenv.Open(v, smartenv.Options{}).Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return dir, v, s
}

// memory is an embedder that knows the stored vector of each rebuilt text.
func memory(t *testing.T, v *note.Vault, s *smartenv.Snapshot) map[string][]float32 {
	t.Helper()
	known := map[string][]float32{}
	for _, c := range []*smartenv.Collection{&s.Notes, &s.Blocks} {
		for row, item := range c.Items {
			text, ok, err := Input(v, item, Rules(s))
			if err != nil || !ok {
				t.Fatalf("Input(%s%s) = %v, %v", item.Path, item.Key, ok, err)
			}
			known[text] = slices.Clone(c.Row(row))
		}
	}
	return known
}

func recall(known map[string][]float32) EmbedFunc {
	return func(_ context.Context, text string) ([]float32, error) { return known[text], nil }
}

func TestRun(t *testing.T) {
	dir, v, s := edgeMini(t)
	known := memory(t, v, s)
	r, err := Run(context.Background(), v, s, recall(known), Options{})
	if err != nil || !r.Passed || r.Notes.Compared != 13 || r.Blocks.Compared != 14 || r.Notes.Worst < 0.999999 || r.Notes.ShareExact != 1 {
		t.Fatalf("Run = %+v, %v, want all 13 notes and 14 blocks to agree", r, err)
	}

	// One vector that disagrees is found and named.
	text, _, _ := Input(v, s.Blocks.Items[0], Rules(s))
	for i, x := range known[text] {
		known[text][i] = -x
	}
	key := s.Blocks.Items[0].Path + s.Blocks.Items[0].Key
	if r, err = Run(context.Background(), v, s, recall(known), Options{}); err != nil || r.Passed || r.Blocks.Below[0].Key != key {
		t.Errorf("Run with a wrong vector = %+v, %v, want it to fail and name %s", r, err, key)
	}

	// A note that changed is skipped, not compared.
	if err := os.WriteFile(filepath.Join(dir, "b201.md"), []byte(strings.Repeat("other words ", 30)), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err = Run(context.Background(), v, s, recall(known), Options{}); err != nil || r.Notes.SkippedStale != 1 || r.Notes.Compared != 12 {
		t.Errorf("Run after an edit = %+v, %v, want one note skipped", r.Notes, err)
	}
}

// A run that compared nothing has proved nothing.
func TestRunNothing(t *testing.T) {
	_, v, _ := edgeMini(t)
	r, err := Run(context.Background(), v, &smartenv.Snapshot{}, recall(nil), Options{})
	if err != nil || r.Passed || !strings.Contains(r.Reason, "nothing could be compared") {
		t.Errorf("Run of an empty index = %+v, %v, want it not passed, with the reason", r, err)
	}
}

func TestRunWrongDims(t *testing.T) {
	_, v, s := edgeMini(t)
	embed := func(context.Context, string) ([]float32, error) { return make([]float32, 384), nil }
	if _, err := Run(context.Background(), v, s, embed, Options{}); err == nil || !strings.Contains(err.Error(), "384 dimensions and the index holds 128") {
		t.Errorf("Run with 384 dimensions = %v, want an error with both", err)
	}
}

// P5: once it is cancelled no further item is read and embedded.
func TestRunCancelled(t *testing.T) {
	_, v, s := edgeMini(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var calls atomic.Int32
	embed := func(context.Context, string) ([]float32, error) {
		calls.Add(1)
		cancel()
		return make([]float32, 128), nil
	}
	if _, err := Run(ctx, v, s, embed, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v, want it cancelled", err)
	}
	if n := int(calls.Load()); n > runtime.GOMAXPROCS(0) {
		t.Errorf("%d items were embedded, want one for each processor at most", n)
	}
}

// A panic of the embedder reaches whoever asked for the comparison.
func TestRunPanic(t *testing.T) {
	_, v, s := edgeMini(t)
	defer func() {
		if p := recover(); p != "kernel" {
			t.Errorf("recovered %v, want the embedder's panic", p)
		}
	}()
	r, err := Run(context.Background(), v, s, func(context.Context, string) ([]float32, error) { panic("kernel") }, Options{})
	t.Errorf("Run = %+v, %v after a panic", r, err)
}

func TestPick(t *testing.T) {
	tests := []struct{ total, n, want int }{{0, 5, 0}, {10, 0, 10}, {10, 3, 3}, {10, 10, 10}, {10, 99, 10}}
	for _, test := range tests {
		got := pick(rand.New(rand.NewPCG(7, 0)), test.total, test.n)
		if len(got) != test.want || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("pick(%d, %d) = %v, want %d different indices in order", test.total, test.n, got, test.want)
		}
	}
	again := pick(rand.New(rand.NewPCG(7, 0)), 1000, 5)
	if got := pick(rand.New(rand.NewPCG(7, 0)), 1000, 5); !slices.Equal(got, again) {
		t.Errorf("pick with the same seed = %v, then %v", again, got)
	}
}

func TestSummarise(t *testing.T) {
	var items []Item
	for i := range 200 {
		items = append(items, Item{Cosine: 1 - float64(i)/2000}) // 1 down to 0.9005
	}
	var g Group
	g.summarise(items)
	if g.Worst != 1-199.0/2000 || g.P1 != 1-198.0/2000 || g.Median != 1-99.0/2000 || g.ShareExact != 3.0/200 || g.ShareFloor != 101.0/200 || len(g.Below) != maxBelow {
		t.Errorf("summarise = worst %v, p1 %v, median %v, shares %v %v, %d below", g.Worst, g.P1, g.Median, g.ShareExact, g.ShareFloor, len(g.Below))
	}
}
