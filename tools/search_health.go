package tools

import (
	"context"
	"fmt"
	"path"
	"strings"
	"unicode"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/search"
)

const (
	probes      = 5  // notes that are asked for
	probeWithin = 10 // rank in which a note must be found
	probeDepth  = 50 // rank down to which it is looked for
)

// HealthOutput is the answer of search_health.
type HealthOutput struct {
	Alive        bool          `json:"alive"`
	Verdict      string        `json:"verdict"` // one line, to be read aloud
	Mode         string        `json:"mode"`    // semantic, or none
	Model        string        `json:"model,omitempty"`
	Probes       []HealthProbe `json:"probes"`
	ProbesPassed int           `json:"probes_passed"`
	ProbesRun    int           `json:"probes_run"`
	Agreement    Proof         `json:"agreement"` // of re-embedded items with their stored vectors
	Coverage     *Coverage     `json:"coverage,omitempty"`
	Warning      string        `json:"warning,omitempty"`
}

// HealthProbe is one question whose answer is known.
type HealthProbe struct {
	Query  string  `json:"query"` // the note's title
	Path   string  `json:"expected_path"`
	Found  bool    `json:"found"`          // among the first ten
	Rank   int     `json:"rank,omitempty"` // from 1; 0: not among the first fifty
	Score  float64 `json:"score,omitempty"`
	Canary bool    `json:"canary,omitempty"`
	Reason string  `json:"reason,omitempty"` // why it was not found
}

func searchHealth() tool {
	return tool{
		name:  "search_health",
		title: "Is search working?",
		description: `A positive control of search_notes: asks the index for notes that are known to be in it, by their titles, and embeds a few stored texts again. Use it when results look wrong or empty, or when the user asks whether search works; not before an ordinary search. What is indexed: index_status.

Read verdict to the user. alive: most probes were found among the first 10, and agreement (re-embedded texts with their stored vectors) is as it must be. canary_path: a note of the user's choice that must be found, too.`,
		input: `{
  "type": "object",
  "properties": {"canary_path": {"type": "string"}},
  "additionalProperties": false
}`,
		output: `{
  "type": "object",
  "properties": {
    "alive": {"type": "boolean"},
    "verdict": {"type": "string"},
    "mode": {"type": "string"},
    "probes": ` + objectArray + `
  },
  "required": ["alive", "verdict", "mode", "probes"]
}`,
		arguments: []string{"canary_path"},
		run: func(ctx context.Context, s *Server, a *args) (any, error) {
			var canary string
			a.text("canary_path", &canary)
			if err := a.err(); err != nil {
				return nil, err
			}
			return s.Health(ctx, canary)
		},
	}
}

// Health asks the index for notes that are known to be in it. That search does
// not work is an answer; the error says that canary, if given, is no note.
func (s *Server) Health(ctx context.Context, canary string) (HealthOutput, error) {
	out := HealthOutput{Mode: "none", Probes: []HealthProbe{}, Agreement: Proof{Verdict: proofPending}}
	dead := func(err error) (HealthOutput, error) {
		if ctx.Err() != nil {
			return HealthOutput{}, err
		}
		out.Verdict = "Search does not work: " + s.scrubError(err).Error()
		return out, nil
	}
	snap, err := s.semantic(ctx)
	if err != nil {
		return dead(err)
	}
	var asked []*smartenv.Source
	if canary != "" {
		exact, err := s.indexed(ctx, snap, canary)
		if err != nil {
			return HealthOutput{}, fmt.Errorf("canary_path: %w", err)
		}
		source, ok := snap.Source(exact)
		if !ok {
			source = &smartenv.Source{Path: exact, Row: -1}
		}
		asked = append(asked, source)
	}
	out.Model = snap.Model.Name
	covered := coverage(snap)
	out.Coverage, out.Warning = &covered, s.warning(snap)
	asked = append(asked, known(snap, probes)...)
	if len(asked) == 0 {
		out.Verdict = "Search finds nothing: " + nothingEmbedded + "."
		return out, nil
	}
	for i, source := range asked {
		probe, answer, err := s.probe(ctx, snap, source)
		if err != nil {
			return dead(err)
		}
		covered.searched(answer)
		if probe.Canary = canary != "" && i == 0; probe.Found {
			out.ProbesPassed++
		}
		out.Probes = append(out.Probes, probe)
	}
	out.ProbesRun, out.Mode = len(out.Probes), "semantic"
	var finding string
	out.Agreement, finding = s.proved(snap.Model) // each probe has waited for it
	out.Warning = strings.TrimSpace(finding + " " + out.Warning)
	out.judge()
	return out, nil
}

// known chooses up to n notes with a vector of their own, spread over the vault,
// whose title is worth asking for: not a number or date, and not of several notes.
func known(snap *smartenv.Snapshot, n int) []*smartenv.Source {
	titles := map[string]int{}
	for i := range snap.Sources {
		titles[stem(snap.Sources[i].Path)]++
	}
	var good, poor []*smartenv.Source
	for i := range snap.Sources {
		source := &snap.Sources[i]
		letters := 0
		for _, r := range stem(source.Path) {
			if unicode.IsLetter(r) {
				letters++
			}
		}
		switch {
		case source.Row < 0 || source.State == smartenv.Stale:
		case letters >= 5 && titles[stem(source.Path)] == 1:
			good = append(good, source)
		default:
			poor = append(poor, source)
		}
	}
	if len(good) < n {
		good = append(good, poor[:min(len(poor), n-len(good))]...)
	}
	chosen := make([]*smartenv.Source, 0, n)
	for i := range min(n, len(good)) {
		chosen = append(chosen, good[i*len(good)/min(n, len(good))])
	}
	return chosen
}

// probe asks for a note by its title.
func (s *Server) probe(ctx context.Context, snap *smartenv.Snapshot, source *smartenv.Source) (HealthProbe, search.Answer, error) {
	name := path.Base(source.Path)
	title := strings.TrimSuffix(name, path.Ext(name))
	p := HealthProbe{Query: title, Path: source.Path}
	answer, _, err := s.rank(ctx, snap, title, search.Query{Limit: probeDepth, MinScore: -1, Scope: search.Auto})
	if err != nil {
		return p, answer, err
	}
	for i, hit := range answer.Hits {
		if hit.Path == source.Path {
			p.Rank, p.Score, p.Found = i+1, fourDecimals(hit.Score), i < probeWithin
		}
	}
	rows := source.BlockRows
	switch {
	case p.Found:
	case source.Row < 0 && rows[0] == rows[1] && source.Reason != "":
		p.Reason = "it has no vector: " + source.Reason.Explain()
	case source.Row < 0 && rows[0] == rows[1]:
		p.Reason = "it is not in the index: open the vault in Obsidian so that Smart Connections reads it"
	case p.Rank > 0:
		p.Reason = fmt.Sprintf("%d notes are nearer to its title: for a title made of common words that can be so", p.Rank-1)
	default:
		p.Reason = fmt.Sprintf("more than %d notes are nearer to its title", probeDepth)
	}
	return p, answer, nil
}

// judge draws the conclusion.
func (o *HealthOutput) judge() {
	canaryLost := len(o.Probes) > 0 && o.Probes[0].Canary && !o.Probes[0].Found
	agrees := o.Agreement.Verdict == proofAgrees
	o.Alive = 2*o.ProbesPassed > o.ProbesRun && !canaryLost && (agrees || o.Agreement.Verdict == proofNone)
	found := fmt.Sprintf("%d of %d notes asked for by their titles were found", o.ProbesPassed, o.ProbesRun)
	model := fmt.Sprintf("stored texts embedded again agree by %.3f", o.Agreement.Cosine)
	if o.Agreement.Compared == 0 {
		model = "whether queries are embedded as the notes were could not be shown"
	}
	switch {
	case !agrees && o.Agreement.Verdict != proofNone:
		o.Verdict = fmt.Sprintf("Search is not to be trusted: %s; %s. See warning, and run smart-connections-mcp verify.", model, found)
	case canaryLost:
		o.Verdict = fmt.Sprintf("Search did not find %q: %s. Otherwise %s, and %s.", o.Probes[0].Path, o.Probes[0].Reason, found, model)
	case !o.Alive:
		o.Verdict = fmt.Sprintf("Search answers, but badly: %s; %s.", found, model)
	default:
		o.Verdict = fmt.Sprintf("Search works: %s, and %s.", found, model)
	}
	if o.Alive && o.Warning != "" {
		o.Verdict += " There is a warning: " + o.Warning
	}
}
