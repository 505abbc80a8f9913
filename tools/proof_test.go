package tools

import (
	"context"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"smart-connections-mcp/smartenv"
)

// turnedEmbedder is the test model with weights that are a little, or quite,
// wrong: documents come out turned away from where they should be, so that the
// cosine with the right vector is cos.
type turnedEmbedder struct {
	wordEmbedder
	cos   float64
	calls *atomic.Int64
	wait  chan bool // when not nil, documents are embedded once it is closed
}

func (e turnedEmbedder) EmbedDocument(ctx context.Context, text string) ([]float32, error) {
	e.calls.Add(1)
	if e.wait != nil {
		<-e.wait
	}
	v, err := e.wordEmbedder.EmbedDocument(ctx, text)
	for i := range v {
		v[i] *= float32(e.cos)
	}
	v[len(v)-1] += float32(math.Sqrt(1 - e.cos*e.cos)) // no text of vaultNotes lies on the last axis
	return v, err
}

func turnedServer(t *testing.T, cos float64, wait chan bool) (*Server, *atomic.Int64) {
	s := serverOf(t, vaultNotes())
	calls := new(atomic.Int64)
	s.embedder = func(context.Context, smartenv.Model) (Embedder, error) {
		return turnedEmbedder{cos: cos, calls: calls, wait: wait}, nil
	}
	return s, calls
}

func TestProof(t *testing.T) {
	for _, c := range []struct {
		cos     float64
		verdict string
		warning string // of answers and of index_status
		refusal string
	}{
		{1, "agrees", "", ""},
		{0.951, "agrees", "", ""},
		{0.949, "differs", "by 0.949 only", ""},
		{0.801, "differs", "by 0.801 only", ""},
		{0.799, "refused", "", "by 0.799 only"},
		{0, "refused", "", "by 0.000 only"},
		{-1, "refused", "", "by -1.000 only"},
	} {
		s, _ := turnedServer(t, c.cos, nil)
		before := mustStatus(t, s)
		if before.EmbedderProof != (Proof{Verdict: "pending"}) {
			t.Errorf("cos %v: before the first answer %+v, want pending", c.cos, before.EmbedderProof)
		}
		for range 2 { // the first answer waits, the second finds it there
			out, err := s.Search(t.Context(), DefaultSearch("rose"))
			switch {
			case c.refusal != "":
				for _, part := range []string{c.refusal, "SMART_MODEL_PATH", "verify", "related_notes"} {
					if err == nil || !strings.Contains(err.Error(), part) {
						t.Errorf("cos %v: Search = %v, want %q in the error", c.cos, err, part)
					}
				}
			case err != nil || len(out.Results) == 0 || c.warning == "" && strings.Contains(out.Warning, "doubtful") || !strings.Contains(out.Warning, c.warning):
				t.Errorf("cos %v: %d results, warning %q, %v; want %q", c.cos, len(out.Results), out.Warning, err, c.warning)
			}
		}
		after := mustStatus(t, s)
		want := Proof{Verdict: c.verdict, Compared: 3, Cosine: c.cos}
		if got := after.EmbedderProof; got.Verdict != want.Verdict || got.Compared != 3 || math.Abs(got.Cosine-c.cos) > 1e-3 {
			t.Errorf("cos %v: proof %+v, want %+v", c.cos, got, want)
		}
		said := strings.Join(after.Warnings, "\n")
		if !strings.Contains(said, c.warning) || !strings.Contains(said, c.refusal) || !strings.Contains(after.Refusal, c.refusal) || c.refusal == "" && after.Refusal != "" {
			t.Errorf("cos %v: warnings %q, refusal %q, want %q, %q", c.cos, said, after.Refusal, c.warning, c.refusal)
		}
		if _, isError := callTool(t, s, "related_notes", `{"path":"Garden/Roses.md"}`); isError {
			t.Errorf("cos %v: related_notes is refused, too", c.cos)
		}
	}
}

// One proof is made, however many ask; the tools that need no model do not wait.
func TestProofIsMadeOnce(t *testing.T) {
	wait := make(chan bool)
	s, calls := turnedServer(t, 0.5, wait)
	session := connect(t, s) // begins to warm
	done := make(chan error)
	for range 4 {
		go func() {
			_, err := s.Search(t.Context(), DefaultSearch("rose"))
			done <- err
		}()
	}
	start := time.Now()
	callTool(t, s, "related_notes", `{"path":"Garden/Roses.md"}`)
	if text, isError := callTool(t, s, "index_status", `{}`); isError || !strings.Contains(text, `"verdict":"pending"`) {
		t.Errorf("index_status meanwhile = %.200s", text)
	}
	if took := time.Since(start); took >= proofPatience {
		t.Errorf("related_notes and index_status took %v", took)
	}
	close(wait)
	for range 4 {
		if err := <-done; err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("Search = %v, want the refusal", err)
		}
	}
	if n := calls.Load(); n != 3 {
		t.Errorf("%d documents embedded, want 3", n)
	}
	session.Close()
}

// A proof that cannot be made is said, and nothing is refused for it; one that
// found nothing is made again when the index has something.
func TestNoProof(t *testing.T) {
	s := serverOf(t, vaultNotes())
	s.embedder = func(context.Context, smartenv.Model) (Embedder, error) { return axis(testModel.Dims), nil }
	in := DefaultSearch("rose")
	in.MinScore = -1
	if out := mustSearch(t, s, in); len(out.Results) == 0 {
		t.Error("no results without a proof")
	}
	if p := mustStatus(t, s).EmbedderProof; p.Verdict != "failed" || p.Reason != errNotProved.Error() {
		t.Errorf("proof %+v, want failed", p)
	}

	notes := vaultNotes()
	for i := range notes {
		if notes[i].now == "" {
			notes[i].now = "changed"
		}
	}
	dir := writeVault(t, notes)
	s = newTestServer(t, dir)
	mustSearch(t, s, DefaultSearch("rose"))
	if p := mustStatus(t, s).EmbedderProof; p != (Proof{Verdict: "nothing to compare"}) {
		t.Errorf("proof %+v, want nothing to compare", p)
	}
	for _, n := range vaultNotes() {
		write(t, dir+"/"+n.path, []byte(n.text))
	}
	deadline := time.Now().Add(20 * time.Second)
	for mustStatus(t, s).EmbedderProof.Verdict != "agrees" {
		if time.Now().After(deadline) {
			t.Fatalf("proof %+v, want it made again", mustStatus(t, s).EmbedderProof)
		}
		mustSearch(t, s, DefaultSearch("rose"))
		time.Sleep(20 * time.Millisecond)
	}
}
