package note

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	slashpath "path"
	"slices"
	"strings"

	"smart-connections-mcp/smartenv/disk"
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
	notes, unreadable, err := v.ListStat(context.Background())
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
// each by its path. When ctx ends no further folder is read.
func (v *Vault) ListStat(ctx context.Context) (notes []Listed, unreadable int, err error) {
	l, err := v.walk(ctx, false)
	return l.notes, l.unreadable, err
}

// ListAll is ListStat that also tells, of the same walk, the exact paths of all
// files that are no notes, sorted. Those that cannot be used as a path are left out
// silently.
func (v *Vault) ListAll(ctx context.Context) (notes []Listed, others []string, unreadable int, err error) {
	l, err := v.walk(ctx, true)
	return l.notes, l.others, l.unreadable, err
}

// walk lists the vault, with others than notes when it is asked to.
func (v *Vault) walk(ctx context.Context, others bool) (all listing, err error) {
	root, err := v.current(rootDoubt)
	if err != nil {
		return listing{}, err
	}
	for folders := []string{""}; len(folders) > 0; {
		found := make([]listing, len(folders))
		parallel.Do(listers, len(folders), 1, func(i, _ int) {
			if ctx.Err() == nil {
				found[i] = v.list(root, folders[i], others)
			}
		})
		if err := ctx.Err(); err != nil {
			return listing{}, err
		}
		if folders[0] == "" && found[0].err != nil {
			return listing{}, &LostError{disk.Cause(found[0].err)}
		}
		folders = nil
		for _, l := range found {
			all.notes, all.others = append(all.notes, l.notes...), append(all.others, l.others...)
			all.unreadable += l.unreadable
			folders = append(folders, l.folders...)
		}
	}
	slices.SortFunc(all.notes, func(a, b Listed) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(all.others)
	return all, nil
}

// A listing is what stands in one folder, or in the vault.
type listing struct {
	notes      []Listed
	others     []string // paths of files that are no notes, when they are asked for
	folders    []string
	unreadable int
	err        error
}

// list lists one folder, "" being the vault itself.
func (v *Vault) list(root *disk.Root, folder string, others bool) (l listing) {
	entries, infos, err := v.readDir(root, folder)
	if l.err = err; err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.unreadable++
	}
	for i, entry := range entries {
		path := slashpath.Join(folder, entry.Name())
		isNote := !entry.IsDir() && isMarkdown(path)
		isOther := !entry.IsDir() && !isNote
		switch reason := checkPath(path); {
		case reason == reasonHidden || isOther && (!others || reason != ""):
		case reason != "":
			l.unreadable++
		case entry.IsDir():
			l.folders = append(l.folders, path)
		case isOther:
			if disk.IsRegular(entry.Type()) || v.reaches(path) {
				l.others = append(l.others, path)
			}
		case disk.IsRegular(entry.Type()):
			l.notes = append(l.notes, Listed{path, infos[i]})
		default:
			var refused *RefusedError
			info, err := v.Stat(path)
			switch {
			case err == nil: // a link to a note
				l.notes = append(l.notes, Listed{path, info})
			case !errors.As(err, &refused) && !errors.Is(err, fs.ErrNotExist):
				l.unreadable++
			}
		}
	}
	return l
}

// reaches says whether path leads to a file that Read would read.
func (v *Vault) reaches(path string) bool {
	_, err := v.Stat(path)
	return err == nil
}

// readDir lists a folder below root, "" being root itself, and examines what is
// Markdown. On an error it returns what it could read.
func (v *Vault) readDir(root *disk.Root, folder string) ([]fs.DirEntry, []Info, error) {
	name := cmp.Or(folder, ".")
	f, err := openPlain(root, name)
	if err != nil {
		return nil, nil, disk.PathError("open", name, err)
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		err = disk.PathError("read", name, err)
	}
	infos := make([]Info, len(entries))
	for i, entry := range entries {
		if !disk.IsRegular(entry.Type()) || !isMarkdown(entry.Name()) {
			continue
		}
		if info, err := v.disk.Info(entry); err == nil {
			infos[i] = Info{Size: info.Size(), ModTime: info.ModTime()}
		}
	}
	return entries, infos, err
}

func isMarkdown(path string) bool {
	return strings.EqualFold(slashpath.Ext(path), ".md")
}
