package links

import (
	"cmp"
	"slices"
	"strings"
)

// A Graph is what all notes of a vault say, with every link resolved. It is
// immutable.
type Graph struct {
	Notes       []Note   // sorted by path
	Attachments []string // exact paths of the files that are no notes, sorted
	Unreadable  []string // notes that could not be read, sorted: what they link to is unknown
	Unlisted    int      // folders and notes that could not be listed
	Behind      string   // why this may not be the present state of the vault; "" when it is

	files *files
	notes []int32 // by file: its place in Notes, -1 when it is not there
	names names
	refs  []ref   // by the file they lead to, then as To has them
	upto  []int32 // by file: the end of its refs; the first of them is where those of the file before end
}

// A ref is the place of a link: of its note in Notes, and in the note's Links.
type ref struct{ note, link int32 }

// A Reference is a link together with the note it stands in.
type Reference struct {
	From *Note
	Link *Link
}

// Note returns the note with exactly this path.
func (g *Graph) Note(path string) (*Note, bool) {
	i, ok := g.file(path)
	if !ok || g.notes[i] < 0 {
		return nil, false
	}
	return &g.Notes[g.notes[i]], true
}

// file returns the place in files of the file with exactly this path.
func (g *Graph) file(path string) (i int32, ok bool) {
	if g.files != nil {
		i, ok = g.files.at[path]
	}
	return i, ok
}

// To returns the links of other notes that lead to the note or attachment at path, by
// the path of the note they stand in, then by line; those in code too.
func (g *Graph) To(path string) []Reference {
	var to []Reference
	for _, r := range g.to(path) {
		to = append(to, g.reference(r))
	}
	return to
}

func (g *Graph) to(path string) []ref {
	i, ok := g.file(path)
	if !ok {
		return nil
	}
	from := int32(0)
	if i > 0 {
		from = g.upto[i-1]
	}
	return g.refs[from:g.upto[i]]
}

func (g *Graph) reference(r ref) Reference {
	return Reference{&g.Notes[r.note], &g.Notes[r.note].Links[r.link]}
}

// Linked says whether one of two notes links to the other (not in code).
func (g *Graph) Linked(a, b string) bool { return g.leads(a, b) || g.leads(b, a) }

func (g *Graph) leads(from, to string) bool {
	n, ok := g.Note(from)
	return ok && from != to && slices.ContainsFunc(n.Links, func(l Link) bool { return l.To.Path == to && !l.Code })
}

// Neighbours are the paths of all notes that the note at path links to or that link
// to it (not in code), each once, sorted.
func (g *Graph) Neighbours(path string) []string {
	var paths []string
	if n, ok := g.Note(path); ok {
		for i := range n.Links {
			if l := &n.Links[i]; l.To.Kind == ToNote && l.To.Path != path && !l.Code {
				paths = append(paths, l.To.Path)
			}
		}
	}
	for _, r := range g.to(path) {
		if from := g.reference(r); !from.Link.Code {
			paths = append(paths, from.From.Path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Orphans are the notes without a link either way (links in code and to itself do
// not count), sorted.
func (g *Graph) Orphans() []string {
	linked := make(map[string]bool, len(g.Notes))
	for i := range g.Notes {
		n := &g.Notes[i]
		for j := range n.Links {
			if l := &n.Links[j]; (l.To.Kind == ToNote || l.To.Kind == ToExcluded) && l.To.Path != n.Path && !l.Code {
				linked[n.Path], linked[l.To.Path] = true, true
			}
		}
	}
	var orphans []string
	for i := range g.Notes {
		if path := g.Notes[i].Path; !linked[path] {
			orphans = append(orphans, path)
		}
	}
	return orphans
}

// A Missing is a target that does not exist, with every link that names it.
type Missing struct {
	Kind  MissingKind
	Name  string      // as most links spell it: "Note", "img.png", "Folder/Note.md#Heading"
	Notes int         // distinct notes that link to it
	Links []Reference // sorted as in To
}

// A MissingKind says what is missing.
type MissingKind string

// The kinds of missing target.
const (
	MissingNote       MissingKind = "note"
	MissingAttachment MissingKind = "attachment"
	MissingHeading    MissingKind = "heading" // or block: the note exists, the place in it does not
)

// Missing lists the targets of links (not in code) that do not exist: those that
// most notes link to first, then by name.
func (g *Graph) Missing() []Missing {
	byName := map[string]*Missing{}
	for i := range g.Notes {
		n := &g.Notes[i]
		for j := range n.Links {
			kind, name := n.Links[j].missing(n.Path)
			if kind == "" || n.Links[j].Code {
				continue
			}
			m := byName[string(kind)+name]
			if m == nil {
				m = &Missing{Kind: kind}
				byName[string(kind)+name] = m
			}
			if len(m.Links) == 0 || m.Links[len(m.Links)-1].From != n {
				m.Notes++
			}
			m.Links = append(m.Links, Reference{n, &n.Links[j]})
		}
	}
	missing := make([]Missing, 0, len(byName))
	for _, m := range byName {
		m.Name = m.name()
		missing = append(missing, *m)
	}
	slices.SortFunc(missing, func(a, b Missing) int {
		return cmp.Or(cmp.Compare(b.Notes, a.Notes), strings.Compare(a.Name, b.Name), strings.Compare(string(a.Kind), string(b.Kind)))
	})
	return missing
}

// Missing is the kind of what the link lacks; "" when nothing.
func (l *Link) Missing() MissingKind {
	kind, _ := l.missing("") // only the name depends on where the link stands
	return kind
}

// missing says what a link of the note at path lacks, "" when nothing, under a name
// that is the same for all links that lack the same.
func (l *Link) missing(path string) (kind MissingKind, name string) {
	switch {
	case l.To.MissingSubpath:
		return MissingHeading, l.To.Path + "#" + strings.Join(steps(l.Subpath), "#")
	case l.To.Kind != ToNothing:
		return "", ""
	}
	name = l.Target
	if strings.HasPrefix(name, ".") {
		if joined, ok := join(parent(path), name); ok {
			name = "/" + joined
		}
	}
	if isAttachment[extension(name)] {
		return MissingAttachment, fold(name)
	}
	return MissingNote, strings.TrimSuffix(fold(name), ".md")
}

// name is what most of the links say, the first in the alphabet when several do.
func (m *Missing) name() string {
	says := func(l *Link) string {
		if m.Kind == MissingHeading {
			return l.To.Path + "#" + l.Subpath
		}
		return l.Target
	}
	name := says(m.Links[0].Link)
	counts := map[string]int{}
	for _, r := range m.Links {
		said := says(r.Link)
		counts[said]++
		if counts[said] > counts[name] || counts[said] == counts[name] && said < name {
			name = said
		}
	}
	return name
}
