package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/links"
	"smart-connections-mcp/smartenv/search"
)

const (
	maxDepth        = 5
	maxPerLevel     = 20
	defaultDepth    = 2
	defaultMinScore = 0.6
	defaultPerLevel = 5
)

// How two notes are connected.
const (
	similar = "similar" // their vectors score min_score or more
	linked  = "link"    // one links to the other
	both    = "both"
)

// ConnectionsInput asks for the notes around a note.
type ConnectionsInput struct {
	Path        string
	Depth       int     // levels, 1 to 5
	MinScore    float64 // cosine from which notes are similar, -1 to 1
	MaxPerLevel int     // new notes on each level, 1 to 20
}

// ConnectionsOutput is the answer of connection_graph.
type ConnectionsOutput struct {
	Root        string       `json:"root"` // exact path
	Mode        string       `json:"mode"` // what was followed: "semantic+links", "semantic" or "links"
	Model       string       `json:"model,omitempty"`
	Connections []connection `json:"connections"` // by depth, then score
	Reason      string       `json:"reason,omitempty"`
	Coverage    *Coverage    `json:"coverage,omitempty"` // nil in mode "links"
	Warning     string       `json:"warning,omitempty"`
	Truncated   bool         `json:"truncated,omitempty"`
	NextStep    string       `json:"next_step,omitempty"`
}

// connection is a note with the best edge that leads to it from the level before.
type connection struct {
	Path    string   `json:"path"`
	Depth   int      `json:"depth"`
	From    string   `json:"from"`
	Score   *float64 `json:"score,omitempty"` // cosine, 4 decimals; nil when one of the two has no vector
	Kind    string   `json:"kind"`
	Matched string   `json:"matched,omitempty"` // note or block, when similar
	Section string   `json:"section,omitempty"`
	Stale   bool     `json:"stale,omitempty"`
}

func connectionGraph() tool {
	return tool{
		name:        "connection_graph",
		title:       "Map connections",
		description: `Maps the notes around a note of the Obsidian vault by likeness and links, level by level. Use it to explore; for one level related_notes tells more. Each note has its best edge.`,
		input:       connectionsInputSchema,
		output:      connectionsOutputSchema,
		arguments:   []string{"path", "depth", "min_score", "max_per_level"},
		run: func(ctx context.Context, s *Server, a *args) (any, error) {
			in := defaultConnections("")
			a.text("path", &in.Path)
			a.integer("depth", &in.Depth)
			a.number("min_score", &in.MinScore)
			a.integer("max_per_level", &in.MaxPerLevel)
			if err := a.err(); err != nil {
				return nil, err
			}
			return s.Connections(ctx, in)
		},
	}
}

func defaultConnections(path string) ConnectionsInput {
	return ConnectionsInput{Path: path, Depth: defaultDepth, MinScore: defaultMinScore, MaxPerLevel: defaultPerLevel}
}

func (in ConnectionsInput) check() error {
	return errors.Join(checkPath(in.Path), between("depth", in.Depth, 1, maxDepth),
		between("min_score", in.MinScore, -1, 1), between("max_per_level", in.MaxPerLevel, 1, maxPerLevel))
}

// Connections walks from a note to those that are similar or linked to it, and on
// from them. The error is for the caller to mend, or says what is not ready.
func (s *Server) Connections(ctx context.Context, in ConnectionsInput) (ConnectionsOutput, error) {
	if err := in.check(); err != nil {
		return ConnectionsOutput{}, err
	}
	root, err := s.open(ctx, in.Path)
	if err != nil {
		return ConnectionsOutput{}, err
	}
	w := walk{in: in, root: root}
	w.snap, w.unsearched = s.semantic(ctx)
	w.graph, w.unlinked = s.graph(ctx)
	switch {
	case ctx.Err() != nil:
		return ConnectionsOutput{}, ctx.Err()
	case w.unsearched != nil && w.unlinked != nil:
		return ConnectionsOutput{}, errors.Join(w.unsearched, w.unlinked)
	case !isNote(root) && !w.indexed():
		return ConnectionsOutput{}, fmt.Errorf("%q is not a note: pass the path of one, or ask backlinks what refers to this file", root)
	}
	if err := w.run(ctx, s); err != nil {
		return ConnectionsOutput{}, err
	}
	out := w.answer(s)
	out.fit()
	return out, nil
}

// A walk visits the notes around root.
type walk struct {
	in    ConnectionsInput
	root  string
	snap  *smartenv.Snapshot // nil when no vectors can be compared
	graph *links.Graph       // nil when no links can be followed

	unsearched, unlinked error // why that is so

	found    []connection
	ofRoot   search.Answer
	bare     bool // the root has no vector
	followed int  // notes on the way that have none
}

// indexed says whether the index knows root, as it does some files that are no notes.
func (w *walk) indexed() bool {
	if w.snap == nil {
		return false
	}
	_, ok := w.snap.Source(w.root)
	return ok
}

// run visits level after level.
func (w *walk) run(ctx context.Context, s *Server) error {
	w.found = []connection{}
	seen := map[string]bool{w.root: true}
	level := []string{w.root}
	for depth := 1; depth <= w.in.Depth && len(level) > 0; depth++ {
		best := map[string]connection{} // by path
		for _, from := range level {
			var edges []connection
			err := s.compute(ctx, func() error {
				edges = w.edges(from, w.in.MaxPerLevel+len(seen))
				return ctx.Err()
			})
			if err != nil {
				return err
			}
			for _, e := range edges {
				e.Depth = depth
				if old, known := best[e.Path]; !seen[e.Path] && (!known || byScore(e, old) < 0) {
					best[e.Path] = e
				}
			}
		}
		next := make([]connection, 0, len(best))
		for _, e := range best {
			next = append(next, e)
		}
		slices.SortFunc(next, byScore)
		next = atMost(next, w.in.MaxPerLevel)
		level = level[:0]
		for _, e := range next {
			seen[e.Path] = true
			level = append(level, e.Path)
		}
		w.found = append(w.found, next...)
	}
	return nil
}

// edges are the connections of one note, in no order: the best so many, at least,
// so that those of the level are among them whatever has been seen.
func (w *walk) edges(from string, limit int) []connection {
	var edges []connection
	at := map[string]int{} // index in edges by path
	if w.snap != nil {
		for _, hit := range w.similar(from, limit) {
			score := fourDecimals(hit.Score)
			at[hit.Path] = len(edges)
			edges = append(edges, connection{Path: hit.Path, From: from, Score: &score, Kind: similar, Matched: string(hit.Matched), Section: hit.Section(), Stale: hit.Stale})
		}
	}
	if w.graph == nil {
		return edges
	}
	full := len(edges) == limit // then those that are only linked, and not among them, come after these
	for _, path := range w.graph.Neighbours(from) {
		if i, ok := at[path]; ok {
			edges[i].Kind = both
		} else if !full {
			edges = append(edges, connection{Path: path, From: from, Score: w.cosine(from, path), Kind: linked})
		}
	}
	return edges
}

// similar ranks the notes near one; a note without a vector has none.
func (w *walk) similar(from string, limit int) []search.Hit {
	answer, err := search.Related(w.snap, from, search.Query{Limit: limit, MinScore: float32(w.in.MinScore), Scope: search.Auto})
	switch {
	case from == w.root:
		w.ofRoot, w.bare = answer, err != nil
	case err != nil:
		w.followed++
	}
	return answer.Hits
}

// cosine compares two notes as a whole; nil when one of them has no vector.
func (w *walk) cosine(a, b string) *float64 {
	if w.snap == nil {
		return nil
	}
	dot, ok := search.Cosine(w.snap, a, b)
	if !ok {
		return nil
	}
	score := fourDecimals(dot)
	return &score
}

// byScore puts the better edge first: the higher score, one without a score last.
// Two edges to one note differ in where they come from.
func byScore(a, b connection) int {
	score := func(c connection) float64 {
		if c.Score == nil {
			return math.Inf(-1)
		}
		return *c.Score
	}
	return cmp.Or(cmp.Compare(score(b), score(a)), cmp.Compare(a.Path, b.Path), cmp.Compare(a.From, b.From))
}

// answer is what was found, with what speaks against taking it at face value.
func (w *walk) answer(s *Server) ConnectionsOutput {
	out := ConnectionsOutput{Root: w.root, Mode: "semantic+links", Connections: w.found, Reason: w.reason()}
	var warnings []string
	if w.unsearched != nil {
		out.Mode = "links"
		warnings = append(warnings, "Only links were followed: "+sentence(s.scrubError(w.unsearched)))
	} else {
		c := coverage(w.snap)
		c.searched(w.ofRoot)
		out.Model, out.Coverage = w.snap.Model.Name, &c
		warnings = append(warnings, w.warning(), s.warning(w.snap))
	}
	if w.unlinked != nil {
		out.Mode = "semantic"
		warnings = append(warnings, "Links were not followed: "+sentence(s.scrubError(w.unlinked)))
	} else {
		warnings = append(warnings, unreadLinks(w.graph))
	}
	out.Warning = strings.Join(slices.DeleteFunc(warnings, func(w string) bool { return w == "" }), " ")
	return out
}

// warning says what was not compared; "" when all was.
func (w *walk) warning() string {
	var parts []string
	source, ok := w.snap.Source(w.root)
	switch {
	case !ok:
		parts = append(parts, "This note is not in the index: open the vault in Obsidian so that Smart Connections reads it.")
	case w.bare:
		parts = append(parts, fmt.Sprintf("This note has no vector to compare, only links: %s.", source.Reason.Explain()))
	case source.State == smartenv.Stale:
		parts = append(parts, "This note has changed since it was embedded, so what is similar to it is so to its older text.")
	}
	if w.followed > 0 {
		parts = append(parts, fmt.Sprintf("%d notes on the way have no vector to compare, only links.", w.followed))
	}
	return strings.Join(parts, " ")
}

// reason says why nothing was found; "" when something was.
func (w *walk) reason() string {
	switch {
	case len(w.found) > 0:
		return ""
	case w.graph == nil && w.bare:
		return "it cannot be compared with others, and links were not followed: warning says why"
	case w.snap == nil || w.bare:
		return "no note links to it and it links to none, and it cannot be compared with others: warning says why"
	}
	reason := nothingEmbedded
	if best := w.ofRoot.Best; best != nil {
		reason = fmt.Sprintf("nothing scored %s or more: the best was %s for %q; lower min_score", decimal(w.in.MinScore), decimal(fourDecimals(best.Score)), best.Path)
	}
	if w.graph != nil {
		reason = "no note links to it and it links to none; " + reason
	}
	return reason
}

// sentence is an error as the end of a sentence.
func sentence(err error) string { return strings.TrimSuffix(err.Error(), ".") + "." }

// fit leaves out rows from the end until the answer is at most maxAnswer bytes.
func (o *ConnectionsOutput) fit() {
	whole := o.Connections
	fitRows(len(whole), func(k int) int {
		if k < len(whole) {
			o.Connections, o.Truncated = whole[:k], true
			o.NextStep = fmt.Sprintf("rows %d to %d were left out to keep the answer under %d bytes: pass a lower depth or max_per_level", k+1, len(whole), maxAnswer)
		}
		return size(o)
	})
}

const connectionsInputSchema = `{
  "type": "object",
  "properties": {
    "path": {"type": "string"},
    "depth": {"type": "integer", "minimum": 1, "maximum": 5, "default": 2},
    "min_score": {"type": "number", "minimum": -1, "maximum": 1, "default": 0.6},
    "max_per_level": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5}
  },
  "required": ["path"],
  "additionalProperties": false
}`

const connectionsOutputSchema = `{
  "type": "object",
  "properties": {
    "root": {"type": "string"},
    "mode": {"type": "string"},
    "connections": ` + objectArray + `
  },
  "required": ["root", "mode", "connections"]
}`
