package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"smart-connections-mcp/smartenv/links"
)

const (
	maxLink        = 4096 // bytes
	maxCandidates  = 20
	headingsListed = 20
)

// LinkInput asks where a link leads.
type LinkInput struct {
	Link string // as links.Graph.Find takes it
	From string // path of the note it stands in; "" when that is not known
}

// LinkOutput is the answer of resolve_link.
type LinkOutput struct {
	Link           string   `json:"link"`
	Resolved       bool     `json:"resolved"`
	Path           string   `json:"path,omitempty"`
	Kind           string   `json:"kind,omitempty"`       // note or attachment
	MatchedBy      string   `json:"matched_by,omitempty"` // path, filename, alias or link_text
	Section        string   `json:"section,omitempty"`    // the heading, as the note has it, or "^block"
	Line           int      `json:"line,omitempty"`       // of the heading
	MissingSection bool     `json:"missing_section,omitempty"`
	Headings       []string `json:"headings,omitempty"` // of the note, when the section is missing
	Ambiguous      bool     `json:"ambiguous,omitempty"`
	Candidates     []string `json:"candidates,omitempty"` // paths that fit as well as Path, which is among them
	Note           string   `json:"note,omitempty"`       // what speaks against the answer, or why there is none
	Warning        string   `json:"warning,omitempty"`
}

func resolveLink() tool {
	return tool{
		name:        "resolve_link",
		title:       "Resolve a link",
		description: `Tells which file of the vault a link ([[Note#Heading|text]]), name, alias or path means, as Obsidian does. Use it for a note the user names; to search use search_notes. matched_by: how it fits; candidates fit as well; note: why nothing does.`,
		input:       linkInputSchema,
		output:      linkOutputSchema,
		arguments:   []string{"link", "from"},
		run: func(ctx context.Context, s *Server, a *args) (any, error) {
			var in LinkInput
			a.text("link", &in.Link)
			a.text("from", &in.From)
			if err := a.err(); err != nil {
				return nil, err
			}
			return s.ResolveLink(ctx, in)
		},
	}
}

func (in LinkInput) check() error {
	switch {
	case strings.TrimSpace(in.Link) == "":
		return errors.New(`link is empty: pass a link or name, such as "[[Roses#Pruning]]"`)
	case len(in.Link) > maxLink:
		return fmt.Errorf("link has %d bytes: pass one link of at most %d", len(in.Link), maxLink)
	}
	return nil
}

// ResolveLink tells where a link leads. That it leads nowhere is an answer, too.
// The error is for the caller to mend, or says what cannot be read.
func (s *Server) ResolveLink(ctx context.Context, in LinkInput) (LinkOutput, error) {
	if err := in.check(); err != nil {
		return LinkOutput{}, err
	}
	from := ""
	if strings.TrimSpace(in.From) != "" {
		exact, err := s.open(ctx, in.From)
		if err != nil {
			return LinkOutput{}, err
		}
		from = exact
	}
	g, err := s.graph(ctx)
	if err != nil {
		return LinkOutput{}, err
	}
	found := g.Find(in.Link, from)
	out := LinkOutput{Link: in.Link, Warning: unreadLinks(g)}
	switch found.Target.Kind {
	case links.ToNote, links.ToAttachment:
		out.lead(g, found)
	case links.ToExcluded:
		out.Note = "it leads into a folder that the exclusion settings of Smart Connections leave out, of which nothing is shown; the user can open it in Obsidian"
	default:
		out.Note = s.ledNowhere(ctx, found, from)
	}
	return out, nil
}

// lead fills in where the link was found to lead.
func (o *LinkOutput) lead(g *links.Graph, found links.Resolution) {
	to, subpath := found.Target, found.Subpath
	o.Resolved, o.Path, o.Kind, o.MatchedBy = true, to.Path, string(to.Kind), string(found.MatchedBy)
	var notes []string
	if len(found.Candidates) > 1 {
		o.Ambiguous, o.Candidates = true, atMost(found.Candidates, maxCandidates)
		notes = append(notes, fmt.Sprintf("%d files fit equally well, and path is only one of them: pass from or more of the path", len(found.Candidates)))
	}
	n, ok := g.Note(to.Path)
	switch {
	case !ok:
	case to.MissingSubpath:
		o.MissingSection = true
		for _, h := range atMost(n.Headings, headingsListed) {
			o.Headings = append(o.Headings, shorten(h.Text, maxShown))
		}
		notes = append(notes, fmt.Sprintf("the note has no section %q; it has %d headings", shorten(subpath, maxShown), len(n.Headings)))
	case to.Line > 0:
		o.Line = to.Line
		for _, h := range n.Headings {
			if h.Line == to.Line {
				o.Section = h.Text
			}
		}
	case strings.HasPrefix(subpath, "^"): // blocks have no line
		o.Section = subpath
	}
	o.Note = strings.Join(notes, "; ")
}

// ledNowhere says why a link was not resolved and what to try.
func (s *Server) ledNowhere(ctx context.Context, found links.Resolution, from string) string {
	if found.Name == "" {
		if from == "" {
			return "it names a place within the note it stands in: pass that note as from"
		}
		return "it names no file"
	}
	return fmt.Sprintf("no note or attachment has this path, name or alias, and no note is linked under this text: %s", s.instead(ctx, found.Name))
}

const linkInputSchema = `{
  "type": "object",
  "properties": {
    "link": {"type": "string"},
    "from": {"type": "string", "description": "Note it stands in."}
  },
  "required": ["link"],
  "additionalProperties": false
}`

const linkOutputSchema = `{
  "type": "object",
  "properties": {
    "link": {"type": "string"},
    "resolved": {"type": "boolean"}
  },
  "required": ["link", "resolved"]
}`
