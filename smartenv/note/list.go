package note

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	slashpath "path"
	"slices"
	"strings"

	"smart-connections-mcp/smartenv/parallel"
)

// A Listed is a note that was found on disk.
type Listed struct {
	Path string // exact
	Info        // zero when the note could not be examined
}

// List returns the exact paths of all notes (*.md in any case) of the vault,
// sorted, and how many folders and notes it had to leave out because they
// cannot be read or their names cannot be used as a path. Dot folders are left
// out silently. Links to folders are not followed, so that the walk ends; links
// to notes are listed when Read would follow them.
func (v *Vault) List() (paths []string, unreadable int, err error) {
	notes, unreadable, err := v.ListStat()
	for i := range notes {
		paths = append(paths, notes[i].Path)
	}
	return paths, unreadable, err
}

// listers is how many folders are read at once: more than there are processors,
// since on slow disks it is waiting that takes the time.
const listers = 8

// ListStat is List with what Stat tells of each note. It asks for the notes of a
// folder together, while the folder is open, which costs a fraction of asking for
// each by its path.
func (v *Vault) ListStat() (notes []Listed, unreadable int, err error) {
	root, err := v.current()
	if err != nil {
		return nil, 0, err
	}
	for folders := []string{""}; len(folders) > 0; {
		found := make([]listing, len(folders))
		parallel.Do(listers, len(folders), 1, func(i, _ int) { found[i] = v.list(root, folders[i]) })
		if folders[0] == "" && found[0].err != nil {
			return nil, 0, found[0].err
		}
		folders = nil
		for i := range found {
			notes, folders = append(notes, found[i].notes...), append(folders, found[i].folders...)
			unreadable += found[i].unreadable
		}
	}
	slices.SortFunc(notes, func(a, b Listed) int { return strings.Compare(a.Path, b.Path) })
	return notes, unreadable, nil
}

// A listing is what stands in one folder.
type listing struct {
	notes      []Listed
	folders    []string
	unreadable int
	err        error
}

// list lists one folder, "" being the vault itself.
func (v *Vault) list(root *os.Root, folder string) (l listing) {
	entries, infos, err := readDir(root, folder)
	if l.err = err; err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.unreadable++
	}
	for i, entry := range entries {
		path := slashpath.Join(folder, entry.Name())
		isNote := !entry.IsDir() && isMarkdown(path)
		switch reason := checkPath(path); {
		case reason == reasonHidden || !entry.IsDir() && !isNote:
		case reason != "":
			l.unreadable++
		case entry.IsDir():
			l.folders = append(l.folders, path)
		case isRegular(entry.Type()):
			l.notes = append(l.notes, Listed{path, infos[i]})
		default:
			if info, err := v.Stat(path); err == nil { // a link to a note
				l.notes = append(l.notes, Listed{path, info})
			}
		}
	}
	return l
}

// readDir lists a folder below root, "" being root itself, and examines what is
// Markdown. On an error it returns what it could read.
func readDir(root *os.Root, folder string) ([]fs.DirEntry, []Info, error) {
	f, err := openPlain(root, cmp.Or(folder, "."))
	if err != nil {
		return nil, nil, pathError("open", folder, err)
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		err = pathError("read", folder, err)
	}
	infos := make([]Info, len(entries))
	for i, entry := range entries {
		if !isRegular(entry.Type()) || !isMarkdown(entry.Name()) {
			continue
		}
		if info, err := entry.Info(); err == nil {
			infos[i] = Info{Size: info.Size(), ModTime: info.ModTime()}
		}
	}
	return entries, infos, err
}

func isMarkdown(path string) bool {
	return strings.EqualFold(slashpath.Ext(path), ".md")
}
