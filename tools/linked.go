package tools

import (
	"context"
	"fmt"
	"path"
	"strings"

	"smart-connections-mcp/smartenv/links"
)

// What the tools share that answer from links.
const (
	maxLinks     = 200 // rows of one list
	defaultLinks = 50
	maxShown     = 300 // bytes of a link's text; get_note has the rest
)

const (
	linkLimitProperty = `"limit": {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}`
)

// open turns a path argument into the exact path of a file of which links may be
// told.
func (s *Server) open(ctx context.Context, asked string) (string, error) {
	exact, err := s.resolve(ctx, asked)
	if err != nil {
		return "", err
	}
	if s.index.Settings().Closes(exact) {
		return "", fmt.Errorf("%q is not read: the exclusion settings of Smart Connections leave its folder out; the user can open it in Obsidian", exact)
	}
	return exact, nil
}

// graph returns what the notes say of each other as it is now. Reading them the first
// time leaves much to be collected, as loading the index does.
func (s *Server) graph(ctx context.Context) (*links.Graph, error) {
	first := s.links.Peek() == nil
	g, err := s.links.Graph(ctx)
	if first && err == nil {
		go func() { // nobody need wait for it
			defer s.recovered()
			settle()
		}()
	}
	return g, err
}

// oldLinks says that the graph is not the newest; "" when it is.
func oldLinks(g *links.Graph) string {
	if g.Behind == "" {
		return ""
	}
	return "Links, tags and properties are those of an earlier moment: " + strings.TrimSuffix(g.Behind, ".") + "."
}

// unreadLinks says of which notes the links are not known, and whether the others are
// old; "" when all is known as it is now.
func unreadLinks(g *links.Graph) string {
	return strings.TrimSpace(oldLinks(g) + " " + unknownLinks(g))
}

func unknownLinks(g *links.Graph) string {
	switch n := len(g.Unreadable); {
	case n > 0 && g.Unlisted > 0:
		return fmt.Sprintf("%d notes (%q is the first) cannot be read and %d folders or notes cannot be listed just now, so their links are not known: check permissions, or call again.", n, g.Unreadable[0], g.Unlisted)
	case n > 0:
		return fmt.Sprintf("%d notes (%q is the first) cannot be read just now, so their links are not known: check permissions, or call again.", n, g.Unreadable[0])
	case g.Unlisted > 0:
		return fmt.Sprintf("%d folders or notes cannot be listed just now, so their links are not known: check permissions, or call again.", g.Unlisted)
	}
	return ""
}

// isNote says whether an exact path is that of a note, and not of an attachment.
func isNote(exact string) bool { return strings.EqualFold(path.Ext(exact), ".md") }

// atMost returns the first n of rows.
func atMost[T any](rows []T, n int) []T { return rows[:min(n, len(rows))] }

// moreLinks says how to see more than the first k rows of lists, the longest of
// which has so many; advice is for when a higher limit would not do.
func moreLinks(k, limit, of int, advice string) string {
	switch {
	case k < limit:
		return fmt.Sprintf("each list ends after %d rows to keep the answer under %d bytes, and the longest has %d: %s", k, maxAnswer, of, advice)
	case limit < maxLinks:
		return fmt.Sprintf("each list ends after %d rows, and the longest has %d: pass a higher limit, up to %d", k, of, maxLinks)
	}
	return fmt.Sprintf("each list ends after %d rows, and the longest has %d: %s", k, of, advice)
}
