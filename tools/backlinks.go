package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"smart-connections-mcp/smartenv/links"
)

// BacklinksInput asks who links to a file.
type BacklinksInput struct {
	Path            string // of a note or attachment, as note.Vault.Resolve takes it
	IncludeOutbound bool   // also what the note itself links to
	Limit           int    // rows of each list, 1 to 200
}

// BacklinksOutput is the answer of backlinks. LinksTo and Unresolved are nil unless
// they were asked for.
type BacklinksOutput struct {
	Path       string     `json:"path"` // exact
	Backlinks  []backlink `json:"backlinks"`
	Count      int        `json:"count"` // links to it, those in code not counted
	Notes      int        `json:"notes"` // distinct notes that they stand in
	LinksTo    []outbound `json:"links_to,omitzero"`
	Unresolved []outbound `json:"unresolved,omitzero"`
	Reason     string     `json:"reason,omitempty"` // why Backlinks is empty
	Warning    string     `json:"warning,omitempty"`
	Truncated  bool       `json:"truncated,omitempty"`
	NextStep   string     `json:"next_step,omitempty"`
}

// backlink is a link to the file asked for.
type backlink struct {
	Path     string `json:"path"` // of the note it stands in
	Line     int    `json:"line"`
	Link     string `json:"link"`           // as written
	Text     string `json:"text,omitempty"` // what a reader sees, when that is not the target
	Section  string `json:"section,omitempty"`
	Property string `json:"property,omitempty"`
	Embed    bool   `json:"embed,omitempty"`
	InCode   bool   `json:"in_code,omitempty"`
}

// outbound is a link of the note asked for.
type outbound struct {
	Path     string `json:"path,omitempty"` // that it leads to; "" when there is nothing
	Kind     string `json:"kind"`           // of the file, or of what is missing: note, attachment or heading
	Line     int    `json:"line"`
	Link     string `json:"link"`
	Property string `json:"property,omitempty"`
	Embed    bool   `json:"embed,omitempty"`
	InCode   bool   `json:"in_code,omitempty"`
}

func backlinks() tool {
	return tool{
		name:        "backlinks",
		title:       "List backlinks",
		description: `Lists the links to a note or attachment of the vault, with line and text. Use it to see what refers to it; include_outbound adds links_to and unresolved. count leaves out links in_code.`,
		input:       backlinksInputSchema,
		output:      backlinksOutputSchema,
		arguments:   []string{"path", "include_outbound", "limit"},
		run: func(ctx context.Context, s *Server, a *args) (any, error) {
			in := defaultBacklinks("")
			a.text("path", &in.Path)
			a.boolean("include_outbound", &in.IncludeOutbound)
			a.integer("limit", &in.Limit)
			if err := a.err(); err != nil {
				return nil, err
			}
			return s.Backlinks(ctx, in)
		},
	}
}

func defaultBacklinks(path string) BacklinksInput {
	return BacklinksInput{Path: path, Limit: defaultLinks}
}

func (in BacklinksInput) check() error {
	return errors.Join(checkPath(in.Path), between("limit", in.Limit, 1, maxLinks))
}

// Backlinks lists the links to a file. The error is for the caller to mend, or
// says what cannot be read.
func (s *Server) Backlinks(ctx context.Context, in BacklinksInput) (BacklinksOutput, error) {
	if err := in.check(); err != nil {
		return BacklinksOutput{}, err
	}
	exact, err := s.open(ctx, in.Path)
	if err != nil {
		return BacklinksOutput{}, err
	}
	g, err := s.graph(ctx)
	if err != nil {
		return BacklinksOutput{}, err
	}
	out := BacklinksOutput{Path: exact, Backlinks: []backlink{}, Warning: unreadLinks(g)}
	out.refer(g.To(exact))
	if len(out.Backlinks) == 0 {
		out.Reason = fmt.Sprintf("none of the %d notes that were read links to it", len(g.Notes))
	}
	if in.IncludeOutbound {
		out.leave(g)
	}
	out.fit(in.Limit)
	return out, nil
}

// refer lists and counts the links to the file, which are sorted by note.
func (o *BacklinksOutput) refer(to []links.Reference) {
	last := ""
	for _, r := range to {
		l := r.Link
		o.Backlinks = append(o.Backlinks, backlink{
			Path:     r.From.Path,
			Line:     l.Line,
			Link:     shorten(l.Raw, maxShown),
			Text:     shorten(l.Text, maxShown),
			Section:  shorten(l.Subpath, maxShown),
			Property: shorten(l.Property, maxShown),
			Embed:    l.Embed,
			InCode:   l.Code,
		})
		if l.Code {
			continue
		}
		o.Count++
		if r.From.Path != last {
			o.Notes++
			last = r.From.Path
		}
	}
}

// leave lists the links of the note to other files, and those to what is missing.
func (o *BacklinksOutput) leave(g *links.Graph) {
	o.LinksTo, o.Unresolved = []outbound{}, []outbound{}
	n, ok := g.Note(o.Path)
	if !ok {
		if isNote(o.Path) {
			o.warn("The note itself was not read, so what it links to is not known.")
		}
		return
	}
	closed := 0
	for i := range n.Links {
		l := &n.Links[i]
		row := outbound{Path: l.To.Path, Kind: string(l.To.Kind), Line: l.Line, Link: shorten(l.Raw, maxShown), Property: shorten(l.Property, maxShown), Embed: l.Embed, InCode: l.Code}
		switch lack := l.Missing(); {
		case lack != "" && !l.Code:
			row.Kind = string(lack)
			o.Unresolved = append(o.Unresolved, row)
		case l.To.Kind == links.ToExcluded:
			closed++
		case l.To.Path != "" && l.To.Path != o.Path:
			o.LinksTo = append(o.LinksTo, row)
		}
	}
	if closed > 0 {
		o.warn(fmt.Sprintf("%d links of the note lead into folders that the exclusion settings of Smart Connections leave out; they are not listed.", closed))
	}
}

func (o *BacklinksOutput) warn(sentence string) {
	o.Warning = strings.TrimSpace(sentence + " " + o.Warning)
}

// fit keeps at most limit rows of each list, and fewer when the answer would be
// longer than maxAnswer bytes.
func (o *BacklinksOutput) fit(limit int) {
	whole := *o
	longest := max(len(o.Backlinks), len(o.LinksTo), len(o.Unresolved))
	fitRows(min(limit, longest), func(k int) int {
		o.Backlinks, o.LinksTo, o.Unresolved = atMost(whole.Backlinks, k), atMost(whole.LinksTo, k), atMost(whole.Unresolved, k)
		if k < longest {
			o.Truncated, o.NextStep = true, moreLinks(k, limit, longest, "count and notes count all links to it")
		}
		return size(o)
	})
}

const backlinksInputSchema = `{
  "type": "object",
  "properties": {
    "path": {"type": "string"},
    "include_outbound": {"type": "boolean", "default": false},
    ` + linkLimitProperty + `
  },
  "required": ["path"],
  "additionalProperties": false
}`

const backlinksOutputSchema = `{
  "type": "object",
  "properties": {
    "path": {"type": "string"},
    "backlinks": ` + objectArray + `,
    "count": {"type": "integer"},
    "notes": {"type": "integer"}
  },
  "required": ["path", "backlinks", "count", "notes"]
}`
