package hostile

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"smart-connections-mcp/testdata/session"
)

// A listing is an answer of search_notes or related_notes.
type listing struct {
	Path    string   `json:"path"`
	Folder  []string `json:"folder"`
	Mode    string   `json:"mode"`
	Results []row    `json:"results"`
	Related []row    `json:"related"`
	Warning string   `json:"warning"`

	Coverage struct {
		Notes  int `json:"notes_searched"`
		Blocks int `json:"blocks_searched"`
	} `json:"coverage"`
}

type row struct {
	Path    string  `json:"path"`
	Score   float64 `json:"score"`
	Section string  `json:"section"`
	Lines   []int   `json:"lines"`
	Excerpt string  `json:"excerpt"`
	Missing string  `json:"excerpt_missing"`
}

// A status is what is looked at of an answer of index_status.
type status struct {
	Notes    int    `json:"embedded_notes"`
	Blocks   int    `json:"embedded_blocks"`
	Stale    int    `json:"stale_notes"`
	LoadedAt string `json:"index_loaded_at"`
	Behind   string `json:"behind"`
	Proof    struct {
		Verdict string `json:"verdict"`
	} `json:"query_embedder_proof"`
}

// ask calls a tool and reads its answer into out. An answer that is an error is
// one.
func ask(c *session.Client, tool string, arguments map[string]any, out any) error {
	answer, err := c.Call(tool, arguments)
	if err != nil {
		return err
	}
	if answer.IsError {
		return fmt.Errorf("%s(%v): %s", tool, arguments, answer.Text())
	}
	return json.Unmarshal(answer.Structured, out)
}

// A question is one to the ranking, with what it is worked out from.
type question struct {
	vector  []float32
	limit   int
	scope   string // auto, notes, blocks
	folder  string // "" = everywhere
	without string // the note that is asked about
}

// arguments are those of search_notes.
func (q question) arguments(query string) map[string]any {
	a := map[string]any{"query": query, "limit": q.limit, "scope": q.scope, "min_score": -1}
	if q.folder != "" {
		a["folder"] = q.folder
	}
	return a
}

// rank works out an answer by hand.
func (s *state) rank(q question) (rows []row, notes, blocks int) {
	for path, p := range s.vectors {
		if path == q.without || q.folder != "" && !strings.HasPrefix(path, q.folder+"/") {
			continue
		}
		best := math.Inf(-1)
		if q.scope != "blocks" {
			best, notes = dot(q.vector, p.note), notes+1
		}
		if q.scope != "notes" {
			blocks += len(p.blocks)
			for _, block := range p.blocks {
				best = max(best, dot(q.vector, block))
			}
		}
		if !math.IsInf(best, -1) {
			rows = append(rows, row{Path: path, Score: best})
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		if a.Score != b.Score {
			return int(math.Copysign(1, b.Score-a.Score))
		}
		return strings.Compare(a.Path, b.Path)
	})
	return rows, notes, blocks
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// rounding is how far a score of four decimals may be from ours.
const rounding = 6e-5

// explains says how an answer differs from that of the state; nil when it does
// not. Notes whose scores are equal may change places.
func (s *state) explains(l listing, q question) error {
	got := append(l.Results, l.Related...)
	want, notes, blocks := s.rank(q)
	if l.Coverage.Notes != notes || l.Coverage.Blocks != blocks {
		return fmt.Errorf("%d notes and %d blocks were searched, want %d and %d", l.Coverage.Notes, l.Coverage.Blocks, notes, blocks)
	}
	if len(got) != min(q.limit, len(want)) {
		return fmt.Errorf("%d rows, want %d", len(got), min(q.limit, len(want)))
	}
	scores, seen := map[string]float64{}, map[string]bool{}
	for _, w := range want {
		scores[w.Path] = w.Score
	}
	for i, r := range got {
		own, known := scores[r.Path]
		if !known || seen[r.Path] || math.Abs(r.Score-own) > rounding || math.Abs(r.Score-want[i].Score) > rounding {
			return fmt.Errorf("row %d is %q with %.4f, want %q with %.4f (%q has %.4f)", i+1, r.Path, r.Score, want[i].Path, want[i].Score, r.Path, own)
		}
		seen[r.Path] = true
	}
	return nil
}
