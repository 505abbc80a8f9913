package search

import (
	"fmt"

	"smart-connections-mcp/simd"
	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
)

// NoVectorError says why a note cannot be compared with others.
type NoVectorError struct {
	Path   string
	Reason string // a sentence with the way out
}

func (e *NoVectorError) Error() string {
	return fmt.Sprintf("%q has no vector to compare: %s", e.Path, e.Reason)
}

// Related ranks both pools against the note's own vector, as the plugin's
// sidebar does: the note, its blocks and all frontmatter blocks are left out.
// path is exact. The error is a *NoVectorError when the note has no accepted
// vector.
func Related(s *smartenv.Snapshot, path string, q Query) (Answer, error) {
	source, ok := s.Source(path)
	if !ok {
		return Answer{}, &NoVectorError{path, "it is not in the index: open the vault in Obsidian so that Smart Connections reads it, or use search_notes"}
	}
	if source.Row < 0 {
		return Answer{}, &NoVectorError{path, source.Reason.Explain()}
	}
	q.Vector = s.Notes.Row(source.Row)
	q.Without = path
	q.SkipFrontmatter = true
	return Rank(s, q), nil
}

// bestBlock returns the row of the source's block nearest to q other than
// frontmatter, or -1.
func bestBlock(s *smartenv.Snapshot, source int, q []float32) int32 {
	row, score := int32(-1), float32(0)
	rows := s.Sources[source].BlockRows
	for i := rows[0]; i < rows[1]; i++ {
		if s.Blocks.Items[i].Key == note.FrontmatterKey {
			continue
		}
		if dot := simd.Dot(s.Blocks.Row(i), q); row < 0 || dot > score {
			row, score = int32(i), dot
		}
	}
	return row
}
