package tools

import (
	"context"
	"errors"
	"strings"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
	"smart-connections-mcp/smartenv/search"
)

// RelatedInput asks for notes near one note. Begin with DefaultRelated.
type RelatedInput struct {
	Path     string   // of the note, as note.Vault.Resolve takes it
	Limit    int      // 1 to 100 rows
	MinScore float64  // cosine, -1 to 1
	Folder   []string // only notes below one of these; empty means everywhere
}

// DefaultRelated returns the input with everything but the path at its default.
func DefaultRelated(path string) RelatedInput {
	return RelatedInput{Path: path, Limit: defaultLimit}
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
}

func relatedNotes() tool {
	return tool{
		name:  "related_notes",
		title: "Find related notes",
		description: `Finds the notes nearest in meaning to one note of the user's Obsidian vault (mode: semantic), as the Smart Connections sidebar does. Use it to find context, duplicates or missing links for a note whose path you know; for a question use search_notes. It compares the vectors that the plugin stored, so it needs no model and works offline. It does not follow links or tags.

Each row of related is one note, best first: path (pass it to get_note); score (cosine, compare only within one answer); matched (the note as a whole, or a block, which is one section); section and lines of the nearest section; stale when its text has changed since it was embedded.

A note without a vector is an error that says why. coverage counts what was compared. Pass a warning on to the user. When related is empty, reason says why. With folder, scoped_out tells whether something outside it is nearer. truncated and next_step appear when the answer was cut to size.`,
		input:     relatedInputSchema,
		output:    relatedOutputSchema,
		arguments: []string{"path", "limit", "min_score", "folder"},
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
	a.texts("folder", &in.Folder)
	return in, a.err()
}

func (in RelatedInput) check() error {
	return errors.Join(checkPath(in.Path), between("limit", in.Limit, 1, maxLimit), between("min_score", in.MinScore, -1, 1))
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
	folders, err := s.folders(snap, in.Folder)
	if err != nil {
		return RelatedOutput{}, err
	}
	q := search.Query{Limit: in.Limit, MinScore: float32(in.MinScore), Scope: search.Auto, Folders: folders}
	var answer search.Answer
	err = s.compute(ctx, func() (err error) {
		answer, err = search.Related(snap, path, q)
		return err
	})
	if err != nil {
		return RelatedOutput{}, err
	}
	out := RelatedOutput{
		Path:      path,
		Mode:      "semantic",
		Model:     snap.Model.Name,
		Folder:    folders,
		Related:   []RelatedRow{},
		Reason:    emptyReason(answer, q, "lower min_score"),
		ScopedOut: scopedOut(answer),
		Coverage:  coverage(snap),
		Warning:   s.warning(snap),
	}
	for _, hit := range answer.Hits {
		out.Related = append(out.Related, relatedRow(hit))
	}
	out.Coverage.searched(answer)
	if source, ok := snap.Source(path); ok && source.State == smartenv.Stale {
		out.Warning = strings.TrimSpace("This note has changed since it was embedded, so its neighbours are those of its older text. " + out.Warning)
	}
	out.fit()
	return out, nil
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
	return RelatedRow{
		Path:    hit.Path,
		Score:   fourDecimals(hit.Score),
		Matched: string(hit.Matched),
		Section: hit.Section(),
		Lines:   lines(hit.Lines()),
		Stale:   hit.Stale,
	}
}

const relatedInputSchema = `{
  "type": "object",
  "properties": {
    ` + pathProperty + `,
    ` + limitProperty + `,
    "min_score": {"type": "number", "minimum": -1, "maximum": 1, "default": 0, "description": "Leave out notes below this cosine."},
    ` + folderProperty + `
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
    "folder": ` + stringArray + `,
    "related": ` + objectArray + `,
    ` + scoredOutputs + `
  },
  "required": ["path", "mode", "model", "related", "coverage"]
}`
