package links

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"unicode/utf8"
)

// names find notes by what their own properties and the links to them call them.
type names struct {
	aliases map[string][]string // by phrase: paths, sorted, each once
	seed    maphash.Seed
	texts   []linkText // sorted by hash, then as the notes and links are
}

// A linkText is the text of a link to a note. There is one for almost every link of the
// vault, so it is not kept but found again in its place.
type linkText struct {
	hash uint64 // of the phrase
	ref
}

func newNames(notes []Note) names {
	n := names{aliases: map[string][]string{}, seed: maphash.MakeSeed()}
	for i := range notes {
		for _, alias := range notes[i].Aliases {
			key := phrase(alias)
			if paths := n.aliases[key]; key != "" && !slices.Contains(paths, notes[i].Path) {
				n.aliases[key] = append(paths, notes[i].Path)
			}
		}
		for j := range notes[i].Links {
			if l := &notes[i].Links[j]; l.Text != "" && l.To.Kind == ToNote && !l.Code {
				n.texts = append(n.texts, linkText{maphash.String(n.seed, phrase(l.Text)), ref{int32(i), int32(j)}})
			}
		}
	}
	slices.SortFunc(n.texts, func(a, b linkText) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.note, b.note), cmp.Compare(a.link, b.link))
	})
	return n
}

// alias returns the paths of the notes with this alias.
func (n *names) alias(text string) []string { return n.aliases[phrase(text)] }

// linkedAs returns the paths of the notes that are linked under a text, those first
// to which most notes link so, then by path.
func (g *Graph) linkedAs(text string) (paths []string) {
	key := phrase(text)
	if key == "" || len(g.names.texts) == 0 {
		return nil
	}
	hash := maphash.String(g.names.seed, key)
	at, _ := slices.BinarySearchFunc(g.names.texts, hash, func(t linkText, hash uint64) int { return cmp.Compare(t.hash, hash) })
	notes, last := map[string]int{}, map[string]*Note{}
	for _, t := range g.names.texts[at:] {
		r := g.reference(t.ref)
		if t.hash != hash {
			break
		}
		if path := r.Link.To.Path; phrase(r.Link.Text) == key && last[path] != r.From {
			notes[path]++
			last[path] = r.From
		}
	}
	for path := range notes {
		paths = append(paths, path)
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(notes[b], notes[a]), strings.Compare(a, b))
	})
	return paths
}

// phrase makes texts equal that differ in case, normalisation or blanks.
func phrase(text string) string { return squeeze(fold(text)) }

// squeeze leaves one blank of several, and none at the ends.
func squeeze(s string) string {
	after := byte(' ')
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' || c == ' ' && after == ' ' {
			return strings.Join(strings.Fields(s), " ")
		}
		after = s[i]
	}
	return strings.TrimSuffix(s, " ")
}
