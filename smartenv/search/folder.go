package search

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
)

// Folder is a folder of the vault with the number of vectors below it.
type Folder struct {
	Path          string
	Notes, Blocks int
}

// UnknownFolderError says that no indexed note lies below the folder asked for.
type UnknownFolderError struct {
	Name  string
	Known []string // folders of the vault, those most like Name first
}

// shownFolders bounds the list in the error text.
const shownFolders = 30

func (e *UnknownFolderError) Error() string {
	name := note.Discreet(e.Name)
	if len(e.Known) == 0 {
		return fmt.Sprintf("folder %q is not in this vault: it has no folders, leave folder out", name)
	}
	shown, more := e.Known, ""
	if len(shown) > shownFolders {
		shown, more = shown[:shownFolders], fmt.Sprintf(" and %d more", len(e.Known)-shownFolders)
	}
	quoted := make([]string, len(shown))
	for i, name := range shown {
		quoted[i] = strconv.Quote(name)
	}
	return fmt.Sprintf("folder %q is not in this vault: pass one of %s%s", name, strings.Join(quoted, ", "), more)
}

// Folders lists the folders that hold live notes, sorted by path, down to
// depth levels (0 means all), with the searchable vectors below each.
func Folders(s *smartenv.Snapshot, depth int) []Folder {
	byPath := map[string]*Folder{}
	for i := range s.Sources {
		source := &s.Sources[i]
		if source.State == smartenv.Missing || source.State == smartenv.Excluded {
			continue // its folders may not be named
		}
		for _, dir := range parents(source.Path) {
			if depth > 0 && strings.Count(dir, "/") >= depth {
				continue
			}
			f := byPath[dir]
			if f == nil {
				f = &Folder{Path: dir}
				byPath[dir] = f
			}
			if source.Row >= 0 {
				f.Notes++
			}
			f.Blocks += source.BlockRows[1] - source.BlockRows[0]
		}
	}
	folders := make([]Folder, 0, len(byPath))
	for _, f := range byPath {
		folders = append(folders, *f)
	}
	sort.Slice(folders, func(i, j int) bool { return folders[i].Path < folders[j].Path })
	return folders
}

// parents returns the folders above a note, outermost first: a/b/c.md gives
// a and a/b.
func parents(notePath string) []string {
	var dirs []string
	for i, r := range notePath {
		if r == '/' {
			dirs = append(dirs, notePath[:i])
		}
	}
	return dirs
}

// ResolveFolders turns folder names as a person writes them into the vault's
// own spelling. A name is a path of whole segments from the vault's root; case,
// Unicode normalisation, slashes at the ends and \ for / make no difference.
// Two folders that differ only in case are both taken. "" is the root itself, for
// the notes that lie in no folder.
func ResolveFolders(s *smartenv.Snapshot, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	known := Folders(s, 0)
	var resolved []string
	for _, name := range names {
		want := foldPath(name)
		found := want == ""
		if found {
			resolved = append(resolved, "")
		}
		for _, f := range known {
			if foldPath(f.Path) == want {
				resolved, found = append(resolved, f.Path), true
			}
		}
		if !found {
			return nil, &UnknownFolderError{Name: name, Known: nearest(want, known)}
		}
	}
	return resolved, nil
}

// nearest lists all folder paths, those that share a last segment or contain
// the name first.
func nearest(want string, known []Folder) []string {
	var like, other []string
	for _, f := range known {
		folded := foldPath(f.Path)
		if want != "" && (strings.Contains(folded, want) || path.Base(folded) == path.Base(want)) {
			like = append(like, f.Path)
		} else {
			other = append(other, f.Path)
		}
	}
	return append(like, other...)
}

// foldPath is the form in which folder names are compared.
func foldPath(name string) string {
	name = strings.Trim(strings.ReplaceAll(strings.TrimSpace(name), `\`, "/"), "/")
	return Fold(strings.TrimPrefix(name, "./"))
}

// Fold is the form in which names are compared without regard to case and Unicode
// normalisation.
func Fold(name string) string { return norm.NFC.String(strings.ToLower(norm.NFC.String(name))) }

// Within says whether a note lies below one of folders, which come from
// ResolveFolders.
func Within(notePath string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		if f == "" {
			return !strings.Contains(notePath, "/")
		}
		return strings.HasPrefix(notePath, f) && len(notePath) > len(f) && notePath[len(f)] == '/'
	})
}
