package tools

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"smart-connections-mcp/smartenv"
)

// A server that was not asked anything has loaded nothing, unless weights must be
// downloaded; the first call of any tool has everything loaded.
func TestNothingIsLoadedBeforeTheFirstCall(t *testing.T) {
	for _, c := range []struct {
		name   string
		atHand bool
	}{{"weights at hand", true}, {"weights to be downloaded", false}} {
		s := serverOf(t, vaultNotes())
		asked := make(chan bool, 100)
		s.embedder = func(context.Context, smartenv.Model) (Embedder, error) {
			asked <- true
			return wordEmbedder{}, nil
		}
		s.atHand = func(smartenv.Model) bool { return c.atHand }
		session := connect(t, s)
		if _, err := session.ListTools(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if loads := arrives(asked, !c.atHand); loads == c.atHand {
			t.Errorf("%s: weights are loaded at the start: %v", c.name, loads)
		}
		if c.atHand && s.loaded.Load() != nil {
			t.Errorf("%s: the index is loaded at the start", c.name)
		}
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_note", Arguments: map[string]any{"path": "Garden/Roses.md"}}); err != nil {
			t.Fatal(err)
		}
		if c.atHand && !arrives(asked, true) {
			t.Errorf("%s: a call did not have them loaded", c.name)
		}
		for deadline := time.Now().Add(20 * time.Second); s.loaded.Load() == nil; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: a call did not have the index loaded", c.name)
			}
		}
	}
}

// arrives says whether something comes: within a long time when it should, else
// within a short one.
func arrives(c <-chan bool, should bool) bool {
	patience := 200 * time.Millisecond
	if should {
		patience = 20 * time.Second
	}
	select {
	case <-c:
		return true
	case <-time.After(patience):
		return false
	}
}
