package tools

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"smart-connections-mcp/smartenv"
)

// P6: once all is loaded, a call that waits behind others for too long is told so,
// and its work ends with it: it takes no processor from the calls that follow.
func TestP6Busy(t *testing.T) {
	s := serverOf(t, vaultNotes())
	s.patience = 500 * time.Millisecond
	var asked atomic.Int32
	s.embedder = func(context.Context, smartenv.Model) (Embedder, error) {
		return embedderFunc(func(ctx context.Context, text string) ([]float32, error) {
			asked.Add(1)
			return wordEmbedder{}.Embed(ctx, text)
		}), nil
	}
	session := connect(t, s)
	search := &mcp.CallToolParams{Name: "search_notes", Arguments: map[string]any{"query": "rose"}}
	answered := func() (tries int) { // a machine that does much else may need more than one
		for deadline := time.Now().Add(20 * time.Second); ; {
			tries++
			res, err := session.CallTool(t.Context(), search)
			if err == nil && !res.IsError {
				return tries
			}
			if time.Now().After(deadline) {
				t.Fatalf("search_notes = %+v, %v", res, err)
			}
		}
	}
	answered()
	for range cap(s.cpu) { // as calls that compute do
		s.cpu <- struct{}{}
	}
	before := asked.Load()
	res, err := session.CallTool(t.Context(), search)
	if err != nil || !res.IsError || !strings.Contains(textOf(res), "busy with other calls") || !strings.Contains(textOf(res), "call again") {
		t.Errorf("search_notes behind others = %+v, %v; want that the server is busy", res, err)
	}
	for range cap(s.cpu) {
		<-s.cpu
	}
	if tries, more := answered(), int(asked.Load()-before); more > tries {
		t.Errorf("%d computations for %d calls: one that was given up goes on", more, tries)
	}
}

// P9: nothing keeps an index that was replaced, also not the proof that was made
// with it.
func TestP9SnapshotsAreLetGo(t *testing.T) {
	dir := writeVault(t, vaultNotes())
	s := newTestServer(t, dir)
	mustSearch(t, s, DefaultSearch("rose"))
	if proof, _ := s.proved(testModel); proof.Compared == 0 {
		t.Fatalf("proof %+v, want one that compared something", proof)
	}
	first := weak.Make(s.loaded.Load())
	copyTree(t, writeVault(t, append(vaultNotes(), testNote{path: "New.md", text: "# N\n" + para("A rose", 240) + "\n"})), dir)
	for deadline := time.Now().Add(20 * time.Second); s.loaded.Load() == first.Value(); time.Sleep(10 * time.Millisecond) {
		if mustSearch(t, s, DefaultSearch("rose")); time.Now().After(deadline) {
			t.Fatal("the index is not loaded anew")
		}
	}
	runtime.GC()
	runtime.GC()
	if first.Value() != nil {
		t.Error("the first index is kept")
	}
	mustSearch(t, s, DefaultSearch("rose")) // the server lives
}
