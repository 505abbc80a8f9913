package links

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Match is how a text was found to name a note or attachment.
type Match string

// The ways of matching, in the order in which they are tried.
const (
	ByPath     Match = "path"      // exact path, with or without ".md"
	ByFilename Match = "filename"  // name, or end of the path
	ByAlias    Match = "alias"     // one of the note's aliases
	ByLinkText Match = "link_text" // notes link to it under this text
)

// A Resolution is what a text leads to.
type Resolution struct {
	Target     Target
	MatchedBy  Match    // "" when nothing was found
	Candidates []string // when several fit equally well: their paths, sorted, Target.Path among them

	Name, Subpath string // of Find: what the text names, as Target and Subpath of a Link
}

// Resolve follows a link text as Obsidian does for a note at from ("" for none):
// of the files whose path ends in target, the one at exactly that path, else the one
// in the fewest folders, else the one in the folder of from. Upper and lower case
// and Unicode normalisation make no difference, unless two files differ in nothing
// else. "./", "../" and "/" at the beginning count from the folder of from and from the
// vault's root. Target and subpath are as in Link.
func (g *Graph) Resolve(target, subpath, from string) Resolution {
	return g.resolve(target, subpath, from, outlines{})
}

func (g *Graph) resolve(target, subpath, from string, known outlines) Resolution {
	r := Resolution{Target: Target{Kind: ToNothing}}
	if target == "" {
		if i, ok := g.file(from); ok {
			r = Resolution{Target: g.target(i, subpath, known), MatchedBy: ByPath}
		}
		return r
	}
	if g.files == nil {
		return r
	}
	best, whole := g.files.find(target, parent(from))
	if best == nil {
		return r
	}
	if r.MatchedBy = ByFilename; whole {
		r.MatchedBy = ByPath
	}
	r.Target = g.target(best[0], subpath, known)
	if len(best) > 1 && r.Target.Kind != ToExcluded {
		for _, i := range best {
			if f := &g.files.all[i]; f.kind != ToExcluded {
				r.Candidates = append(r.Candidates, f.path)
			}
		}
	}
	if len(r.Candidates) == 1 {
		r.Candidates = nil
	}
	return r
}

// target is what a link to a file and a place in it leads to. Places in files that are not
// read are not known, so that none is missing.
func (g *Graph) target(i int32, subpath string, known outlines) Target {
	f := &g.files.all[i]
	if f.kind == ToExcluded {
		return Target{Kind: ToExcluded}
	}
	t := Target{Kind: f.kind, Path: f.path}
	if subpath == "" || g.notes[i] < 0 {
		return t
	}
	if known[i] == nil {
		known[i] = newOutline(&g.Notes[g.notes[i]])
	}
	line, ok := known[i].find(subpath)
	t.Line, t.MissingSubpath = line, !ok
	return t
}

// outlines are the outlines of notes, by file.
type outlines map[int32]*outline

// An outline is the headings and blocks of a note for the links to them.
type outline struct {
	note  *Note
	names []string       // of the headings, as step has them
	first map[string]int // by name: the first heading that has it
}

func newOutline(n *Note) *outline {
	o := &outline{n, make([]string, len(n.Headings)), make(map[string]int, len(n.Headings))}
	for i := len(n.Headings) - 1; i >= 0; i-- {
		o.names[i] = PlainHeading(n.Headings[i].Text)
		o.first[o.names[i]] = i
	}
	return o
}

// find returns the line of a heading, 0 for a block, and whether it is there. As in
// Obsidian, each heading of "A#B" is the first after and below the one before.
func (o *outline) find(subpath string) (line int, ok bool) {
	if id, block := strings.CutPrefix(subpath, "^"); block {
		return 0, slices.ContainsFunc(o.note.BlockIDs, func(b string) bool { return strings.EqualFold(b, id) })
	}
	steps := steps(subpath)
	if len(steps) == 0 {
		return 0, true
	}
	i, ok := o.first[steps[0]]
	for _, s := range steps[1:] {
		if !ok {
			break
		}
		level := o.note.Headings[i].Level
		for i++; i < len(o.names) && (o.names[i] != s || o.note.Headings[i].Level <= level); i++ {
		}
		ok = i < len(o.names)
	}
	if !ok {
		return 0, false
	}
	return o.note.Headings[i].Line, true
}

// steps are the headings that a subpath names, each as PlainHeading has it.
func steps(subpath string) (names []string) {
	for name := range strings.SplitSeq(subpath, "#") {
		if name != "" {
			names = append(names, PlainHeading(name))
		}
	}
	return names
}

// PlainHeading makes equal what Obsidian takes for the same heading: it sets blanks for
// punctuation, which a link cannot hold, and counts several as one. Case does not matter.
func PlainHeading(heading string) string {
	spaced := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && unlinkable[r] {
			return ' '
		}
		return r
	}, fold(heading))
	return squeeze(spaced)
}

var unlinkable = func() (set [utf8.RuneSelf]bool) {
	for _, r := range "!\"#$%&()*+,.:;<=>?@^`{|}~/[]\\" {
		set[r] = true
	}
	return set
}()

// Find resolves what a person or model writes: "[[Note#Heading|text]]", "![[…]]", a
// Markdown link, bare text or a path; when no file fits, the aliases of notes and the
// texts under which notes are linked are tried.
func (g *Graph) Find(text, from string) Resolution {
	text = strings.TrimSpace(text)
	for _, l := range Scan(from, text).Links { // a picture may stand in the text of a link
		if l.Raw == text {
			return g.search(l.Target, l.Subpath, from)
		}
	}
	if uri, ok := cutScheme(text); ok {
		target, subpath, _ := strings.Cut(uri, "#")
		return g.search(decode(target), decode(subpath), from)
	}
	text = slashes.ReplaceAllString(text, "/")
	if r := g.search(text, "", from); r.MatchedBy != "" {
		return r
	}
	target, subpath, _ := strings.Cut(text, "#")
	return g.search(strings.TrimSpace(target), strings.TrimSpace(subpath), from)
}

// slashes are what separates folders, as it is written in this system or that.
var slashes = regexp.MustCompile(`[/\\]+`)

// cutScheme cuts "note://", the resource scheme of the server, off.
func cutScheme(text string) (rest string, ok bool) {
	const scheme = "note://"
	if len(text) < len(scheme) || !strings.EqualFold(text[:len(scheme)], scheme) {
		return text, false
	}
	return text[len(scheme):], true
}

// decode undoes percent-encoding; what is none stays as it is.
func decode(s string) string {
	if decoded, err := url.PathUnescape(s); err == nil {
		return decoded
	}
	return s
}

// search is Resolve, then by alias, then by link text.
func (g *Graph) search(target, subpath, from string) Resolution {
	r := g.Resolve(target, subpath, from)
	r.Name, r.Subpath = target, subpath
	if r.MatchedBy != "" || target == "" {
		return r
	}
	match, paths := ByAlias, g.names.alias(target)
	if len(paths) == 0 {
		match, paths = ByLinkText, g.linkedAs(target)
	}
	if len(paths) == 0 {
		return r
	}
	i, _ := g.file(paths[0])
	r.Target, r.MatchedBy = g.target(i, subpath, outlines{}), match
	if len(paths) > 1 {
		r.Candidates = slices.Sorted(slices.Values(paths))
	}
	return r
}
