package tools

import (
	"context"
	"fmt"
	"strings"

	"smart-connections-mcp/smartenv/note"
)

// NotesOutput is the answer of get_note for several notes.
type NotesOutput struct {
	Notes     []NoteEntry `json:"notes"` // one for each path, in their order
	Truncated bool        `json:"truncated,omitempty"`
	NextStep  string      `json:"next_step,omitempty"`
}

// A NoteEntry is one of several notes, or why it cannot be had.
type NoteEntry struct {
	Path string `json:"path"` // exact; beside an error as it was asked for
	*NoteOutput
	Error string `json:"error,omitempty"`
}

// Notes reads several notes from disk. The first have as much of MaxChars as they
// need. An error is that of the whole call, not of one note.
func (s *Server) Notes(ctx context.Context, in NoteInput) (NotesOutput, error) {
	if err := in.check(); err != nil {
		return NotesOutput{}, err
	}
	out := NotesOutput{Notes: []NoteEntry{}}
	left := in.MaxChars
	proposing, cancel := context.WithTimeout(ctx, listingTime) // for all that are not there together
	defer cancel()
	for _, path := range in.Paths {
		if err := ctx.Err(); err != nil {
			return NotesOutput{}, err
		}
		in.Path = path
		one, chars, err := s.note(proposing, in, left)
		if err != nil {
			out.Notes = append(out.Notes, NoteEntry{Path: note.Discreet(path), Error: errorText(s.scrubError(err))})
			continue
		}
		left -= chars
		one.NextStep = "" // the answer has it
		out.Notes = append(out.Notes, NoteEntry{Path: one.Path, NoteOutput: &one})
	}
	out.cut()
	return out, nil
}

// cut says what of the notes was cut, and how to go on.
func (out *NotesOutput) cut() {
	var steps []string
	whole := 0
	for _, n := range out.Notes {
		switch {
		case n.NoteOutput == nil || !n.Truncated:
		case *n.NextOffset == 0:
			whole++
		default:
			steps = append(steps, fmt.Sprintf("call get_note with path %q and offset %d to go on", shorten(n.Path, 300), *n.NextOffset))
		}
	}
	if whole > 0 {
		steps = append(steps, fmt.Sprintf("call get_note with paths of the %d notes of which nothing is shown", whole))
	}
	out.Truncated, out.NextStep = len(steps) > 0, strings.Join(steps, ", then ")
}
