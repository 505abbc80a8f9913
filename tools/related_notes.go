package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
	"smart-connections-mcp/smartenv/search"
)

// RelatedInput asks for notes near one note. Begin with DefaultRelated.
type RelatedInput struct {
	Path         string  // of the note, as note.Vault.Resolve takes it
	Limit        int     // 1 to 100 rows
	MinScore     float64 // cosine, -1 to 1
	Level        string  // auto: the note with notes and sections; notes: with notes; blocks: its sections with sections
	UnlinkedOnly bool    // no notes that it links to or that link to it
	Filters
}

// DefaultRelated returns the input with everything but the path at its default.
func DefaultRelated(path string) RelatedInput {
	return RelatedInput{Path: path, Limit: defaultLimit, Level: string(search.Auto)}
}

// RelatedOutput is the answer of related_notes.
type RelatedOutput struct {
	Path      string       `json:"path"` // of the note asked for, exactly
	Mode      string       `json:"mode"`
	Model     string       `json:"model"`
	Folder    []string     `json:"folder,omitempty"`
	Related   []RelatedRow `json:"related"`
	Reason    string       `json:"reason,omitempty"`
	ScopedOut *ScopedOut   `json:"scoped_out,omitempty"`
	Coverage  Coverage     `json:"coverage"`
	Warning   string       `json:"warning,omitempty"`
	Truncated bool         `json:"truncated,omitempty"`
	NextStep  string       `json:"next_step,omitempty"`
}

// RelatedRow is one note near another.
type RelatedRow struct {
	Path    string  `json:"path"`
	Score   float64 `json:"score"`             // cosine, 4 decimals
	Matched string  `json:"matched"`           // note or block
	Section string  `json:"section,omitempty"` // key of the block that is nearest
	Lines   []int   `json:"lines,omitempty"`
	Stale   bool    `json:"stale,omitempty"`

	// When a block matched: the section of the asking note that is nearest to it.
	OwnSection string   `json:"own_section,omitempty"`
	OwnLines   []int    `json:"own_lines,omitempty"`
	PairScore  *float64 `json:"pair_score,omitempty"` // cosine of the two sections; nil when the asking note has none

	Boilerplate bool `json:"boilerplate,omitempty"` // the section stands word for word in three notes or more
}

func relatedNotes() tool {
	return tool{
		name:  "related_notes",
		title: "Find related notes",
		description: `Finds notes nearest in meaning to one note of the vault (mode: semantic). Use it for context, duplicates or missing links (unlinked_only); for a question use search_notes.

level auto: the note against notes and sections; notes: against notes; blocks: section against section. Fields and filters as in search_notes. For a block match own_section is this note's nearest passage, pair_score their cosine; boilerplate: the same text stands in 3 notes or more.`,
		input:     relatedInputSchema,
		output:    relatedOutputSchema,
		arguments: append([]string{"path", "limit", "min_score", "level", "unlinked_only"}, filterArguments[:]...),
		run: func(ctx context.Context, s *Server, a *args) (any, error) {
			in, err := relatedInput(a)
			if err != nil {
				return nil, err
			}
			return s.Related(ctx, in)
		},
	}
}

func relatedInput(a *args) (RelatedInput, error) {
	in := DefaultRelated("")
	a.text("path", &in.Path)
	a.integer("limit", &in.Limit)
	a.number("min_score", &in.MinScore)
	a.text("level", &in.Level)
	a.boolean("unlinked_only", &in.UnlinkedOnly)
	in.Filters.decode(a)
	return in, a.err()
}

func (in RelatedInput) check() error {
	wrong := []error{checkPath(in.Path), between("limit", in.Limit, 1, maxLimit), between("min_score", in.MinScore, -1, 1)}
	if levels := []string{string(search.Auto), string(search.Notes), string(search.Blocks)}; !slices.Contains(levels, in.Level) {
		wrong = append(wrong, fmt.Errorf("level is %q: pass %s", shorten(in.Level, 40), strings.Join(levels, ", ")))
	}
	return errors.Join(append(wrong, in.Filters.check())...)
}

// Related ranks the vault's notes by how near they are to one of them. The
// error is for the caller to mend, or says what is not ready.
func (s *Server) Related(ctx context.Context, in RelatedInput) (RelatedOutput, error) {
	if err := in.check(); err != nil {
		return RelatedOutput{}, err
	}
	snap, err := s.semantic(ctx)
	if err != nil {
		return RelatedOutput{}, err
	}
	path, err := s.indexed(ctx, snap, in.Path)
	if err != nil {
		return RelatedOutput{}, err
	}
	unlinked := ""
	if in.UnlinkedOnly {
		unlinked = path
	}
	narrow, err := s.narrow(ctx, snap, in.Filters, unlinked)
	if err != nil {
		return RelatedOutput{}, err
	}
	q := search.Query{Limit: in.Limit, MinScore: float32(in.MinScore), Scope: search.Scope(in.Level), Filters: narrow.filters, Pairs: true}
	var answer search.Answer
	err = s.compute(ctx, func() (err error) {
		if q.Scope == search.Blocks {
			answer, err = search.RelatedBlocks(snap, path, q)
		} else {
			answer, err = search.Related(snap, path, q)
		}
		return err
	})
	if err != nil {
		return RelatedOutput{}, err
	}
	out := RelatedOutput{
		Path:      path,
		Mode:      "semantic",
		Model:     snap.Model.Name,
		Folder:    narrow.folders,
		Related:   []RelatedRow{},
		Reason:    emptyReason(answer, q, "level", "lower min_score"),
		ScopedOut: scopedOut(snap, answer, q.Filters),
		Coverage:  coverage(snap),
		Warning:   sentences(ownWarning(snap, path, answer), s.warning(snap), narrow.warning),
	}
	for _, hit := range answer.Hits {
		out.Related = append(out.Related, relatedRow(hit))
	}
	out.Coverage.searched(answer)
	out.fit()
	return out, nil
}

// ownWarning says what of the note itself was not compared as it stands now.
func ownWarning(snap *smartenv.Snapshot, path string, a search.Answer) string {
	var stale, many string
	if source, ok := snap.Source(path); ok && source.State == smartenv.Stale {
		stale = "This note has changed since it was embedded, so its neighbours are those of its older text."
	}
	if a.OwnLeftOut > 0 {
		many = fmt.Sprintf("This note has many sections: the longest were compared, %d others were not.", a.OwnLeftOut)
	}
	return sentences(stale, many)
}

// indexed resolves a path. A note that is not on disk but is in the index is
// accepted, so that the index can say what became of it. Of a path that is refused
// the index may not even tell that it has it.
func (s *Server) indexed(ctx context.Context, snap *smartenv.Snapshot, asked string) (string, error) {
	exact, err := s.vault.Resolve(asked)
	if err == nil {
		return exact, nil
	}
	var refused *note.RefusedError
	slashed := strings.ReplaceAll(asked, `\`, "/")
	if _, known := snap.Source(slashed); known && !errors.As(err, &refused) {
		return slashed, nil
	}
	return "", s.fileError(ctx, asked, err)
}

func relatedRow(hit search.Hit) RelatedRow {
	row := RelatedRow{
		Path:        hit.Path,
		Score:       fourDecimals(hit.Score),
		Matched:     string(hit.Matched),
		Section:     hit.Section(),
		Lines:       lines(hit.Lines()),
		Stale:       hit.Stale,
		Boilerplate: hit.Repeated,
	}
	if pair := hit.Pair; pair != nil {
		score := fourDecimals(pair.Score)
		row.OwnSection, row.OwnLines, row.PairScore = pair.Section, lines(pair.Start, pair.End), &score
	}
	return row
}

const relatedInputSchema = `{
  "type": "object",
  "properties": {
    ` + pathProperty + `,
    ` + limitProperty + `,
    "min_score": {"type": "number", "minimum": -1, "maximum": 1, "default": 0},
    "level": {"type": "string", "enum": ["auto", "notes", "blocks"], "default": "auto"},
    "unlinked_only": {"type": "boolean"},
    ` + bareFilterProperties + `
  },
  "required": ["path"],
  "additionalProperties": false
}`

const relatedOutputSchema = `{
  "type": "object",
  "properties": {
    "path": {"type": "string"},
    "mode": {"type": "string"},
    "model": {"type": "string"},
    "related": ` + objectArray + `,
    "coverage": ` + object + `
  },
  "required": ["path", "mode", "model", "related", "coverage"]
}`
