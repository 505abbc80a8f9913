package tools

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	offered     = 3           // candidates that an error names
	listingTime = time.Second // for what is only to be proposed
	maxEdits    = 8           // up to which a name may be meant by another
	wordsOnly   = 1000        // rank of a name that has but the words; above all numbers of edits
)

// instead proposes what to do about a path that is not there: the notes whose
// names are nearest to it, from the vault itself, since the index may not be
// loaded, or be behind.
func (s *Server) instead(ctx context.Context, asked string) string {
	ctx, cancel := context.WithTimeout(ctx, listingTime)
	defer cancel()
	var near []string
	if paths, err := s.onDisk(ctx); err == nil {
		near = nearestNotes(paths, asked)
	}
	if len(near) == 0 {
		return "pass a path as search_notes returns it, such as Folder/Note.md"
	}
	return "did you mean " + strings.Join(quoted(near), " or ") + "?"
}

func quoted(names []string) []string {
	names = slices.Clone(names)
	for i := range names {
		names[i] = strconv.Quote(names[i])
	}
	return names
}

// nearestNotes returns the paths that may have been meant by one that is not
// there, nearest first: by the note's name, and among equals by the folder.
func nearestNotes(paths []string, asked string) []string {
	asked = strings.ReplaceAll(asked, `\`, "/")
	name, folder := newWanted(stem(asked)), newWanted(folded(path.Dir(asked)))
	type near struct {
		path         string
		name, folder int
	}
	var found []near
	for _, p := range paths {
		if rank, ok := name.rank(stem(p)); ok {
			apart := distance([]rune(folded(path.Dir(p))), folder.runes, maxEdits)
			found = append(found, near{p, rank, apart})
		}
	}
	slices.SortFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.folder, b.folder), strings.Compare(a.path, b.path))
	})
	var best []string
	for _, n := range found[:min(offered, len(found))] {
		best = append(best, n.path)
	}
	return best
}

// stem is a note's name without folder and extension, folded.
func stem(notePath string) string {
	return strings.TrimSuffix(folded(path.Base(notePath)), ".md")
}

// folded is a name as it is compared: without regard to case, to the form in
// which accents are stored, and to repeated blanks.
func folded(s string) string {
	return strings.Join(strings.Fields(strings.ToLower(norm.NFC.String(s))), " ")
}

// A wanted is a name to be looked for among others, folded as they are.
type wanted struct {
	folded string
	runes  []rune
	words  []string
	edits  int // up to which another name is near
}

func newWanted(name string) wanted {
	w := wanted{folded: name, runes: []rune(name)}
	w.edits = min(maxEdits, (len(w.runes)+2)/3, max(0, len(w.runes)-1)) // something is to remain
	if len(w.runes) <= 4 {                                              // "Nope" is not near "Home"
		w.edits = min(w.edits, 1)
	}
	w.words = strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	// A single letter is in every name; in Chinese one is a word, and has three bytes.
	if !slices.ContainsFunc(w.words, func(word string) bool { return len(word) > 2 }) {
		w.words = nil
	}
	return w
}

// rank says how far a name is from the one wanted: the edits between them, or, when
// they are too many, wordsOnly and more if it has all the words; else it is not near.
func (w wanted) rank(name string) (rank int, ok bool) {
	runes := []rune(name)
	if edits := distance(runes, w.runes, w.edits); edits <= w.edits {
		return edits, true
	}
	for _, word := range w.words {
		if !strings.Contains(name, word) {
			return 0, false
		}
	}
	return wordsOnly + len(runes), len(w.words) > 0
}

// distance is how many characters must be put in, taken out or exchanged to make
// b of a; where that is more than limit, it is limit+1. It looks only at places
// of a and b that are at most limit apart.
func distance(a, b []rune, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1) // row[j]: from the first i of a to the first j of b
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		first, last := max(1, i-limit), min(len(b), i+limit)
		before := row[first-1] // of the row above, left of j
		row[first-1] = limit + 1
		if first == 1 {
			row[0] = i
		}
		least := row[first-1]
		for j := first; j <= last; j++ {
			above := row[j] // where the row above ends left of j this is still j, which is above limit
			change := before
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, above+1, row[j-1]+1)
			before, least = above, min(least, row[j])
		}
		if least > limit {
			return limit + 1
		}
	}
	return min(row[len(b)], limit+1)
}
