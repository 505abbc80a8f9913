package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/links"
	"smart-connections-mcp/smartenv/search"
)

const (
	maxReferences   = 1000
	defaultReferred = 3
	maxExamples     = 5
)

// missingKinds are the kinds of broken link.
var missingKinds = []string{string(links.MissingNote), string(links.MissingAttachment), string(links.MissingHeading)}

// BrokenInput asks for links that lead nowhere.
type BrokenInput struct {
	MinReferences  int      // distinct notes that name a target, 1 to 1000
	Limit          int      // rows of each list, 1 to 200
	Kinds          []string // note, attachment, heading; empty means all
	IncludeOrphans bool     // also list the notes without a link either way
	Folder         []string // only links that stand in notes below one of these; empty means everywhere
}

// BrokenOutput is the answer of broken_links.
type BrokenOutput struct {
	Broken       []broken       `json:"broken"`
	Total        map[string]int `json:"total"`            // missing targets by kind, also those with fewer references
	Orphans      []string       `json:"orphans,omitzero"` // nil unless they were asked for
	OrphansCount *int           `json:"orphans_count,omitempty"`
	Reason       string         `json:"reason,omitempty"` // why Broken is empty
	Warning      string         `json:"warning,omitempty"`
	Truncated    bool           `json:"truncated,omitempty"`
	NextStep     string         `json:"next_step,omitempty"`
}

// broken is a target that does not exist.
type broken struct {
	Target     string   `json:"target"` // as most links spell it
	Kind       string   `json:"kind"`
	Notes      int      `json:"notes"`      // distinct notes that link to it
	References int      `json:"references"` // links to it
	Examples   []string `json:"examples"`   // "path:line", one in each note
}

func brokenLinks() tool {
	return tool{
		name:        "broken_links",
		title:       "Find broken links",
		description: `Lists link targets of the vault that do not exist, those that most notes name first. Use it to check links; if min_references (distinct notes) hides all, pass 1. include_orphans: notes without links either way. folder: where the links stand.`,
		input:       brokenInputSchema,
		output:      brokenOutputSchema,
		arguments:   []string{"min_references", "limit", "kinds", "include_orphans", "folder"},
		run: func(ctx context.Context, s *Server, a *args) (any, error) {
			in := defaultBroken()
			a.integer("min_references", &in.MinReferences)
			a.integer("limit", &in.Limit)
			a.texts("kinds", &in.Kinds)
			a.boolean("include_orphans", &in.IncludeOrphans)
			a.texts("folder", &in.Folder)
			if err := a.err(); err != nil {
				return nil, err
			}
			return s.BrokenLinks(ctx, in)
		},
	}
}

func defaultBroken() BrokenInput {
	return BrokenInput{MinReferences: defaultReferred, Limit: defaultLinks}
}

func (in BrokenInput) check() error {
	wrong := []error{between("min_references", in.MinReferences, 1, maxReferences), between("limit", in.Limit, 1, maxLinks)}
	for _, kind := range in.Kinds {
		if !slices.Contains(missingKinds, kind) {
			wrong = append(wrong, fmt.Errorf("kinds has %q: pass %s", shorten(kind, 40), strings.Join(missingKinds, ", ")))
		}
	}
	return errors.Join(wrong...)
}

// BrokenLinks lists the targets of links that do not exist. The error is for the
// caller to mend, or says what cannot be read.
func (s *Server) BrokenLinks(ctx context.Context, in BrokenInput) (BrokenOutput, error) {
	if err := in.check(); err != nil {
		return BrokenOutput{}, err
	}
	g, err := s.graph(ctx)
	if err != nil {
		return BrokenOutput{}, err
	}
	folders, err := s.linkedFolders(g, in.Folder)
	if err != nil {
		return BrokenOutput{}, err
	}
	out := BrokenOutput{Broken: []broken{}, Total: map[string]int{}, Warning: unreadLinks(g)}
	for _, kind := range missingKinds {
		out.Total[kind] = 0
	}
	few := 0 // targets of these kinds that too few notes name
	for _, m := range g.Missing() {
		row, ok := brokenRow(m, folders)
		if !ok {
			continue
		}
		out.Total[row.Kind]++
		switch {
		case len(in.Kinds) > 0 && !slices.Contains(in.Kinds, row.Kind):
		case row.Notes < in.MinReferences:
			few++
		default:
			out.Broken = append(out.Broken, row)
		}
	}
	slices.SortStableFunc(out.Broken, func(a, b broken) int {
		return cmp.Or(cmp.Compare(b.Notes, a.Notes), cmp.Compare(a.Target, b.Target))
	})
	out.Reason = out.emptyReason(in, len(folders) > 0, few)
	if in.IncludeOrphans {
		out.Orphans = slices.DeleteFunc(append([]string{}, g.Orphans()...), func(path string) bool { return !below(path, folders) })
		n := len(out.Orphans)
		out.OrphansCount = &n
	}
	out.fit(in.Limit)
	return out, nil
}

// brokenRow describes a missing target by those of its links that stand in notes
// below the folders; false when there are none.
func brokenRow(m links.Missing, folders []string) (row broken, ok bool) {
	row = broken{Target: shorten(m.Name, maxShown), Kind: string(m.Kind), Examples: []string{}}
	last := ""
	for _, r := range m.Links {
		if !below(r.From.Path, folders) {
			continue
		}
		row.References++
		if r.From.Path == last {
			continue
		}
		last = r.From.Path
		row.Notes++
		if len(row.Examples) < maxExamples {
			row.Examples = append(row.Examples, fmt.Sprintf("%s:%d", r.From.Path, r.Link.Line))
		}
	}
	return row, row.References > 0
}

// linkedFolders resolves folder names against the notes that were read, so that no
// index is needed.
func (s *Server) linkedFolders(g *links.Graph, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	read := &smartenv.Snapshot{Sources: make([]smartenv.Source, len(g.Notes))}
	for i := range g.Notes {
		read.Sources[i].Path = g.Notes[i].Path
	}
	return s.folders(read, names)
}

// below says whether a note lies below one of the folders, of which none means all,
// and "" the root alone.
func below(notePath string, folders []string) bool {
	return len(folders) == 0 || search.Within(notePath, folders)
}

// emptyReason says why nothing is listed, few being the targets with too few
// references; "" when something is.
func (o *BrokenOutput) emptyReason(in BrokenInput, scoped bool, few int) string {
	where := ""
	if scoped {
		where = " in the folder"
	}
	switch kinds := strings.Join(in.Kinds, ", "); {
	case len(o.Broken) > 0:
		return ""
	case few > 0:
		return fmt.Sprintf("nothing that is missing is named by %d or more notes%s; %d targets by fewer: pass min_references 1", in.MinReferences, where, few)
	case kinds != "":
		return fmt.Sprintf("no link%s names a missing target of kind %s; total counts the others", where, kinds)
	}
	return fmt.Sprintf("every link%s leads to something that exists", where)
}

// fit keeps at most limit rows of each list, and fewer when the answer would be
// longer than maxAnswer bytes.
func (o *BrokenOutput) fit(limit int) {
	whole := *o
	longest := max(len(o.Broken), len(o.Orphans))
	fitRows(min(limit, longest), func(k int) int {
		o.Broken, o.Orphans = atMost(whole.Broken, k), atMost(whole.Orphans, k)
		if k < longest {
			o.Truncated, o.NextStep = true, moreLinks(k, limit, longest, "pass folder, kinds or a higher min_references to see others")
		}
		return size(o)
	})
}

const brokenInputSchema = `{
  "type": "object",
  "properties": {
    "min_references": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 3},
    ` + linkLimitProperty + `,
    "kinds": {"type": "array", "items": {"type": "string", "enum": ["note", "attachment", "heading"]}},
    "include_orphans": {"type": "boolean", "default": false},
    "folder": {"type": "array", "items": {"type": "string"}}
  },
  "additionalProperties": false
}`

const brokenOutputSchema = `{
  "type": "object",
  "properties": {
    "broken": ` + objectArray + `,
    "total": ` + object + `
  },
  "required": ["broken", "total"]
}`
