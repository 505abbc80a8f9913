package tools

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/search"
)

// VectorInput asks for the items nearest to a vector. Begin with DefaultVector.
type VectorInput struct {
	Vector   []float64 // of the index's dims; any length but zero
	Limit    int       // 1 to 100 items
	MinScore float64   // cosine, -1 to 1
	Scope    string    // auto, notes or blocks
}

// DefaultVector returns the input with everything but the vector at its default.
func DefaultVector(vector []float64) VectorInput {
	return VectorInput{Vector: vector, Limit: defaultLimit, MinScore: -1, Scope: string(search.Auto)}
}

// VectorOutput is the answer of nearest_vectors.
type VectorOutput struct {
	Mode      string      `json:"mode"` // always "vector"
	Model     string      `json:"model"`
	Scope     string      `json:"scope"`
	Items     []VectorRow `json:"items"`
	Reason    string      `json:"reason,omitempty"`
	Coverage  Coverage    `json:"coverage"`
	Warning   string      `json:"warning,omitempty"`
	Truncated bool        `json:"truncated,omitempty"`
	NextStep  string      `json:"next_step,omitempty"`
}

// VectorRow is one note or block.
type VectorRow struct {
	Path    string  `json:"path"`
	Score   float64 `json:"score"`             // cosine, 4 decimals
	Matched string  `json:"matched"`           // note or block
	Section string  `json:"section,omitempty"` // a block's key
	Lines   []int   `json:"lines,omitempty"`
	Stale   bool    `json:"stale,omitempty"`
}

func nearestVectors() tool {
	return tool{
		name:  "nearest_vectors",
		title: "Items nearest to a vector",
		description: `Takes a raw embedding vector and returns the notes and sections of the vault nearest to it. Use it from programs that embed for themselves with the vault's model (index_status: model, dims); to ask in words use search_notes.

Each of items is one note or block, best first; a note may appear with several blocks. A vector of any length is scaled to 1.`,
		input:     vectorInputSchema,
		output:    vectorOutputSchema,
		arguments: []string{"vector", "limit", "min_score", "scope"},
		run: func(ctx context.Context, s *Server, a *args) (any, error) {
			in := DefaultVector(nil)
			a.numbers("vector", &in.Vector)
			a.integer("limit", &in.Limit)
			a.number("min_score", &in.MinScore)
			a.text("scope", &in.Scope)
			if err := a.err(); err != nil {
				return nil, err
			}
			return s.Nearest(ctx, in)
		},
	}
}

// Nearest ranks all items of the index by their cosine to a vector. The error is
// for the caller to mend, or says what is not ready.
func (s *Server) Nearest(ctx context.Context, in VectorInput) (VectorOutput, error) {
	err := errors.Join(checkScope(in.Scope), between("limit", in.Limit, 1, maxLimit), between("min_score", in.MinScore, -1, 1))
	if err != nil {
		return VectorOutput{}, err
	}
	snap, err := s.semantic(ctx)
	if err != nil {
		return VectorOutput{}, err
	}
	query, err := unit(in.Vector, snap.Model)
	if err != nil {
		return VectorOutput{}, err
	}
	out := VectorOutput{Mode: "vector", Model: snap.Model.Name, Scope: in.Scope, Items: []VectorRow{}, Coverage: coverage(snap), Warning: s.warning(snap)}
	err = s.compute(ctx, func() error {
		if in.Scope != string(search.Blocks) {
			out.Coverage.NotesSearched = len(snap.Notes.Items)
			out.add(&snap.Notes, query, in)
		}
		if in.Scope != string(search.Notes) {
			out.Coverage.BlocksSearched = len(snap.Blocks.Items)
			out.add(&snap.Blocks, query, in)
		}
		return nil
	})
	if err != nil {
		return VectorOutput{}, err
	}
	slices.SortStableFunc(out.Items, func(a, b VectorRow) int { // notes come before blocks
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
	out.Items = out.Items[:min(len(out.Items), in.Limit)]
	switch searched := out.Coverage.NotesSearched + out.Coverage.BlocksSearched; {
	case searched == 0:
		out.Reason = nothingEmbedded
	case len(out.Items) == 0:
		out.Reason = fmt.Sprintf("none of %d vectors scored %s or more: lower min_score", searched, decimal(in.MinScore))
	}
	out.fit()
	return out, nil
}

// add appends the best items of one collection.
func (o *VectorOutput) add(c *smartenv.Collection, query []float32, in VectorInput) {
	for _, hit := range c.Nearest(query, in.Limit, nil) {
		if hit.Score < float32(in.MinScore) {
			break
		}
		item := &c.Items[hit.Row]
		row := VectorRow{Path: item.Path, Score: fourDecimals(hit.Score), Matched: "note", Section: item.Key, Stale: item.Stale}
		if item.Key != "" {
			row.Matched, row.Lines = "block", lines(item.Start, item.End)
		}
		o.Items = append(o.Items, row)
	}
}

// unit checks a vector against the model and scales it to length 1.
func unit(vector []float64, m smartenv.Model) ([]float32, error) {
	if len(vector) != m.Dims {
		return nil, fmt.Errorf("vector has %d numbers: pass %d, from the model %s", len(vector), m.Dims, m.Name)
	}
	most := 0.0 // scaled by it first, so that no square is too large or too small
	for i, x := range vector {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("vector[%d] is %v: pass finite numbers", i, x)
		}
		most = max(most, math.Abs(x))
	}
	if most == 0 {
		return nil, errors.New("vector is all zeros, which has no direction: pass an embedding")
	}
	sum := 0.0
	for _, x := range vector {
		sum += (x / most) * (x / most)
	}
	scaled := make([]float32, len(vector))
	for i, x := range vector {
		scaled[i] = float32(x / most / math.Sqrt(sum))
	}
	return scaled, nil
}

// fit leaves out items from the end until the answer is at most maxAnswer bytes.
func (o *VectorOutput) fit() {
	whole := o.Items
	fitRows(len(whole), func(k int) int {
		if k < len(whole) {
			o.Items, o.Truncated, o.NextStep = whole[:k], true, leftOut(k, len(whole))
		}
		return size(o)
	})
}

const vectorInputSchema = `{
  "type": "object",
  "properties": {
    "vector": {"type": "array", "items": {"type": "number"}},
    ` + limitProperty + `,
    "min_score": {"type": "number", "minimum": -1, "maximum": 1, "default": -1},
    "scope": {"type": "string", "enum": ["auto", "notes", "blocks"], "default": "auto"}
  },
  "required": ["vector"],
  "additionalProperties": false
}`

const vectorOutputSchema = `{
  "type": "object",
  "properties": {
    "mode": {"type": "string"},
    "model": {"type": "string"},
    "items": ` + objectArray + `,
    "coverage": ` + object + `
  },
  "required": ["mode", "model", "items", "coverage"]
}`
