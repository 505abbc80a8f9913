package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv"
)

func TestHealth(t *testing.T) {
	s := serverOf(t, vaultNotes())
	out, err := s.Health(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if !out.Alive || out.Mode != "semantic" || out.ProbesRun < 3 || out.ProbesPassed != out.ProbesRun || out.Agreement.Verdict != proofAgrees || !strings.HasPrefix(out.Verdict, "Search works: ") || strings.Contains(out.Verdict, "\n") {
		t.Errorf("Health = %+v, want all found", out)
	}
	for _, p := range out.Probes {
		if !p.Found || p.Rank < 1 || p.Rank > probeWithin || p.Score == 0 || p.Query != strings.TrimSuffix(p.Path[strings.LastIndex(p.Path, "/")+1:], ".md") {
			t.Errorf("probe %+v, want it found by its title", p)
		}
	}
	if out.Coverage == nil || out.Coverage.NotesSearched == 0 {
		t.Errorf("coverage = %+v, want what was searched", out.Coverage)
	}
}

func TestHealthCanary(t *testing.T) {
	notes := append(vaultNotes(), testNote{path: "New.md", text: "new", unindexed: true}, testNote{path: "Short one.md", text: "x"})
	s := serverOf(t, notes)
	for _, tt := range []struct {
		path   string
		found  bool
		reason string
	}{
		{"garden/roses", true, ""},
		{"New.md", false, "not in the index"},
		{"Short one.md", false, "no vector"},
	} {
		out, err := s.Health(t.Context(), tt.path)
		if err != nil || len(out.Probes) == 0 {
			t.Fatalf("Health(%s) = %+v, %v", tt.path, out, err)
		}
		p := out.Probes[0]
		if !p.Canary || p.Found != tt.found || out.Alive != tt.found || !strings.Contains(p.Reason, tt.reason) || !tt.found && !strings.Contains(out.Verdict, p.Path) {
			t.Errorf("Health(%s) = %+v, want found %v, reason %q", tt.path, out, tt.found, tt.reason)
		}
	}
	if _, err := s.Health(t.Context(), "gone.md"); err == nil || !strings.Contains(err.Error(), "canary_path: no note at") {
		t.Errorf("Health(gone.md) = %v, want an error", err)
	}
}

// What keeps search from working is the verdict, not an error; and nothing that is
// wrong passes for alive.
func TestHealthOfTheSick(t *testing.T) {
	lost := errors.New("no weights at hand: pass --model-path")
	without := serverOf(t, vaultNotes())
	without.embedder = func(context.Context, smartenv.Model) (Embedder, error) { return nil, lost }
	refused, _ := turnedServer(t, 0.3, nil)
	doubtful, _ := turnedServer(t, 0.9, nil)
	deaf := serverOf(t, vaultNotes())
	deaf.embedder = func(context.Context, smartenv.Model) (Embedder, error) { return deafEmbedder{}, nil }
	var many []testNote
	for i := range 40 { // so that a query which means nothing finds others first
		many = append(many, testNote{path: fmt.Sprintf("A/Ferry timetable %c%c.md", 'a'+i/26, 'a'+i%26), text: "# X\n" + para("soup and kiln", 240)})
	}
	crowded := serverOf(t, append(many, vaultNotes()...))
	crowded.embedder = deaf.embedder
	for name, tt := range map[string]struct {
		server  *Server
		mode    string
		verdict string
	}{
		"no weights":       {without, "none", "Search does not work: the query cannot be embedded: no weights at hand"},
		"wrong weights":    {refused, "none", "Search does not work: search by meaning is refused"},
		"doubtful weights": {doubtful, "semantic", "Search is not to be trusted"},
		"empty vault":      {serverOf(t, nil), "none", "Search finds nothing"},
		"deaf to queries":  {crowded, "semantic", "Search answers, but badly"},
	} {
		out, err := tt.server.Health(t.Context(), "")
		if err != nil || out.Alive || out.Mode != tt.mode || !strings.HasPrefix(out.Verdict, tt.verdict) {
			t.Errorf("%s: Health = %+v, %v, want %s, %q", name, out, err, tt.mode, tt.verdict)
		}
		conforms(t, tt.server, "search_health", `{}`)
	}
}

// deafEmbedder gives every query the same vector, and documents their own.
type deafEmbedder struct{ wordEmbedder }

func (e deafEmbedder) Embed(ctx context.Context, _ string) ([]float32, error) {
	return e.wordEmbedder.Embed(ctx, "invoice")
}
