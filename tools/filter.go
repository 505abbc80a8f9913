package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/links"
	"smart-connections-mcp/smartenv/search"
)

// Filters leave notes out before the others are ranked. The zero value leaves out none.
type Filters struct {
	Folder         []string       // only notes below one of these; "" is the vault's root without its folders, "/" everything
	ExcludeFolder  []string       // no notes below any of these; "" as in Folder
	Tags           []string       // only notes that have all of these, with or without "#"; a has also what is tagged a/b
	Properties     map[string]any // only notes whose properties equal all of these: a text, number or boolean, or a list of which one will do
	ModifiedAfter  string         // YYYY-MM-DD (local time) or RFC 3339; this moment counts
	ModifiedBefore string         // this moment does not count
}

// filterArguments are the names under which tools take Filters.
var filterArguments = [...]string{"folder", "exclude_folder", "tags", "filters", "modified_after", "modified_before"}

// The schema of Filters, once with what the names do not say, once for a tool that
// refers to the other.
const (
	filterProperties = `"folder": {"type": "array", "items": {"type": "string"}, "description": "Below one of these; \"\": only the root's own notes. Leave out unless the user names a folder."},
    "exclude_folder": ` + stringArray + `,
    "tags": {"type": "array", "items": {"type": "string"}, "description": "All of these; a also finds a/b."},
    "filters": {"type": "object", "description": "Properties, all of them; a list matches any, e.g. {\"status\": [\"draft\", \"done\"]}."},
    "modified_after": {"type": "string", "description": "YYYY-MM-DD or RFC 3339."},
    "modified_before": {"type": "string"}`

	bareFilterProperties = `"folder": ` + stringArray + `,
    "exclude_folder": ` + stringArray + `,
    "tags": ` + stringArray + `,
    "filters": {"type": "object"},
    "modified_after": {"type": "string"},
    "modified_before": {"type": "string"}`
)

// The names under which filters report what they hid.
const (
	byFolder        = "folder"
	byExcludeFolder = "exclude_folder"
	byTags          = "tags"
	byProperties    = "filters"
	byModified      = "modified"
	byLinks         = "unlinked_only"
)

func (f *Filters) decode(a *args) {
	a.places("folder", &f.Folder)
	a.places("exclude_folder", &f.ExcludeFolder)
	a.texts("tags", &f.Tags)
	a.object("filters", &f.Properties)
	a.text("modified_after", &f.ModifiedAfter)
	a.text("modified_before", &f.ModifiedBefore)
}

// check returns everything that cannot be a filter.
func (f Filters) check() error {
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(f.Properties)) {
		if wanted := anyOf(f.Properties[name]); len(wanted) == 0 || slices.ContainsFunc(wanted, notPlain) {
			wrong = append(wrong, fmt.Errorf(`filters has no value to compare for %q: pass a text, number or boolean, or a list of them, such as {"status": ["draft", "done"]}`, shorten(name, 60)))
		}
	}
	after, err := moment("modified_after", f.ModifiedAfter)
	before, err2 := moment("modified_before", f.ModifiedBefore)
	wrong = append(wrong, err, err2)
	if !after.IsZero() && !before.IsZero() && !after.Before(before) {
		wrong = append(wrong, errors.New("modified_after is not before modified_before: no note can lie between, swap them or leave one out"))
	}
	return errors.Join(wrong...)
}

// anyOf is a list, or the one value as a list.
func anyOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

func notPlain(v any) bool {
	switch v.(type) {
	case string, float64, bool:
		return false
	}
	return true
}

// moment reads a date, which begins at midnight here, or a time; the zero time for "".
func moment(name, text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("%s is %q: pass a date such as 2026-01-31, or a time such as 2026-01-31T18:00:00Z", name, shorten(text, 40))
	}
	return t, nil
}

// A narrowing is what Filters mean for one snapshot.
type narrowing struct {
	folders []string // as the vault spells them
	filters []search.Filter
	warning string // what the filters could not judge; "" for nothing
}

// narrow makes the filters of a ranking, in the order in which a note counts as hidden.
// unlinked is the note whose links either way leave notes out, "" for none. The notes
// are read only when a filter needs what they say.
func (s *Server) narrow(ctx context.Context, snap *smartenv.Snapshot, in Filters, unlinked string) (n narrowing, err error) {
	if err := n.addFolders(s, snap, in); err != nil {
		return n, err
	}
	tags := wantedTags(in.Tags)
	if len(tags)+len(in.Properties) > 0 || unlinked != "" {
		graph, err := s.graph(ctx)
		if err != nil {
			return n, err
		}
		before := n.filters
		if err := n.addContent(graph, tags, in.Properties); err != nil {
			return n, err
		}
		n.warning = strings.TrimSpace(oldLinks(graph) + " " + unjudged(snap, graph, before, n.filters[len(before):]))
		if unlinked != "" {
			defer n.addUnlinked(graph, unlinked) // the last of all
		}
	}
	after, _ := moment("modified_after", in.ModifiedAfter) // checked
	before, _ := moment("modified_before", in.ModifiedBefore)
	if !after.IsZero() || !before.IsZero() {
		n.add(byModified, func(source *smartenv.Source) bool {
			t := source.ModTime
			return !t.IsZero() && !t.Before(after) && (before.IsZero() || t.Before(before))
		})
	}
	return n, nil
}

func (n *narrowing) add(name string, keep func(source *smartenv.Source) bool) {
	n.filters = append(n.filters, search.Filter{Name: name, Keep: keep})
}

func (n *narrowing) addFolders(s *Server, snap *smartenv.Snapshot, in Filters) (err error) {
	if n.folders, err = s.folders(snap, in.Folder); err != nil {
		return err
	}
	if slices.ContainsFunc(in.ExcludeFolder, everywhere) {
		return errors.New(`exclude_folder names the whole vault: pass a folder, or "" for the notes in no folder`)
	}
	excluded, err := search.ResolveFolders(snap, in.ExcludeFolder)
	if err != nil {
		return fmt.Errorf("exclude_folder: %w", err)
	}
	if folders := n.folders; len(folders) > 0 {
		n.add(byFolder, func(source *smartenv.Source) bool { return search.Within(source.Path, folders) })
	}
	if len(excluded) > 0 {
		n.add(byExcludeFolder, func(source *smartenv.Source) bool { return !search.Within(source.Path, excluded) })
	}
	return nil
}

// addContent adds the filters by what the notes say. A tag or property that no note has
// is an error.
func (n *narrowing) addContent(graph *links.Graph, tags []string, properties map[string]any) error {
	var wrong []error
	for _, tag := range tags {
		if !slices.ContainsFunc(graph.Notes, func(note links.Note) bool { return hasTag(&note, tag) }) {
			wrong = append(wrong, unknownName("tag", tag, graph, func(note *links.Note) []string { return note.Tags }))
		}
	}
	names := slices.Sorted(maps.Keys(properties))
	for _, name := range names {
		if !slices.ContainsFunc(graph.Notes, func(note links.Note) bool { _, ok := note.Properties.Get(name); return ok }) {
			wrong = append(wrong, unknownName("property", name, graph, func(note *links.Note) []string { return slices.Collect(maps.Keys(note.Properties)) }))
		}
	}
	if len(tags) > 0 {
		n.add(byTags, func(source *smartenv.Source) bool {
			note, ok := graph.Note(source.Path)
			return ok && !slices.ContainsFunc(tags, func(tag string) bool { return !hasTag(note, tag) })
		})
	}
	if len(names) > 0 {
		n.add(byProperties, func(source *smartenv.Source) bool {
			note, ok := graph.Note(source.Path)
			return ok && !slices.ContainsFunc(names, func(name string) bool {
				return !slices.ContainsFunc(anyOf(properties[name]), func(v any) bool { return note.Properties.Matches(name, v) })
			})
		})
	}
	return errors.Join(wrong...)
}

// addUnlinked leaves out the notes that the note at path links to or that link to it.
func (n *narrowing) addUnlinked(graph *links.Graph, path string) {
	linked := graph.Neighbours(path)
	n.add(byLinks, func(source *smartenv.Source) bool { return !slices.Contains(linked, source.Path) })
	if lost := len(graph.Unreadable); lost > 0 {
		n.warning = sentences(n.warning, fmt.Sprintf("Not all notes could be read for links (%d not), so unlinked_only may show notes that are linked.", lost))
	}
}

// unjudged says how many of the notes that pass the filters before are left out by one
// of content only because what they say could not be read.
func unjudged(snap *smartenv.Snapshot, graph *links.Graph, before, content []search.Filter) string {
	lost := 0
	hides := func(source *smartenv.Source) func(search.Filter) bool {
		return func(f search.Filter) bool { return !f.Keep(source) }
	}
	for i := range snap.Sources {
		source := &snap.Sources[i]
		if source.Row < 0 && source.BlockRows[0] == source.BlockRows[1] {
			continue // it has no vector
		}
		if note, ok := graph.Note(source.Path); ok && note.BadYAML == "" {
			continue
		}
		if !slices.ContainsFunc(before, hides(source)) && slices.ContainsFunc(content, hides(source)) {
			lost++
		}
	}
	if lost == 0 {
		return ""
	}
	return fmt.Sprintf("Notes that tags or filters left out because their properties could not be read: %d; they may fit, and index_status lists them.", lost)
}

// wantedTags are tags in the form in which they are compared, without "#".
func wantedTags(tags []string) (wanted []string) {
	for _, tag := range tags {
		tag = search.Fold(strings.Trim(strings.TrimPrefix(strings.TrimSpace(tag), "#"), "/"))
		if tag != "" {
			wanted = append(wanted, tag)
		}
	}
	return wanted
}

// hasTag says whether the note has the tag, or one nested below it.
func hasTag(note *links.Note, tag string) bool {
	return slices.ContainsFunc(note.Tags, func(t string) bool {
		rest, ok := strings.CutPrefix(search.Fold(t), tag)
		return ok && (rest == "" || rest[0] == '/')
	})
}

// mostNames bounds the list of tags or properties in an error.
const mostNames = 30

// unknownName says that no note has a tag or property, and which there are: those like
// it first, then those that most notes have.
func unknownName(kind, wanted string, graph *links.Graph, of func(note *links.Note) []string) error {
	notes := map[string]int{} // that have the name
	spelt := map[string]string{}
	for i := range graph.Notes {
		for _, name := range of(&graph.Notes[i]) {
			folded := search.Fold(name)
			notes[folded]++
			if notes[folded] == 1 {
				spelt[folded] = name
			}
		}
	}
	unread := ""
	if lost := len(graph.Unreadable); lost > 0 {
		unread = fmt.Sprintf(" (notes that could not be read: %d)", lost)
	}
	if len(notes) == 0 {
		return fmt.Errorf("no note has the %s %q, nor any other%s: leave it out", kind, shorten(wanted, 60), unread)
	}
	folded := search.Fold(wanted)
	names := slices.SortedFunc(maps.Keys(notes), func(a, b string) int {
		return cmp.Or(-cmp.Compare(likeness(folded, a), likeness(folded, b)), -cmp.Compare(notes[a], notes[b]), strings.Compare(a, b))
	})
	var quoted []string
	for _, name := range names[:min(len(names), mostNames)] {
		quoted = append(quoted, strconv.Quote(shorten(spelt[name], 60)))
	}
	more := ""
	if left := len(names) - len(quoted); left > 0 {
		more = fmt.Sprintf(" and %d more", left)
	}
	return fmt.Errorf("no note has the %s %q%s: pass one of %s%s", kind, shorten(wanted, 60), unread, strings.Join(quoted, ", "), more)
}

// likeness is 2 when one name contains the other, 1 when they begin alike, else 0.
func likeness(a, b string) int {
	switch {
	case strings.Contains(a, b) || strings.Contains(b, a):
		return 2
	case len(a) >= 3 && strings.HasPrefix(b, a[:3]):
		return 1
	}
	return 0
}

// sentences joins those that are not empty.
func sentences(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " ")
}
