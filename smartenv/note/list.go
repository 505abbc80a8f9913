package note

import (
	"errors"
	"io/fs"
	"os"
	slashpath "path"
	"path/filepath"
	"slices"
	"strings"
)

// List returns the exact paths of all notes (*.md in any case) of the vault,
// sorted, and how many folders and notes it had to leave out because they
// cannot be read or their names cannot be used as a path. Dot folders are left
// out silently. Links to folders are not followed, so that the walk ends; links
// to notes are listed when Read would follow them.
func (v *Vault) List() (paths []string, unreadable int, err error) {
	root, err := v.current()
	if err != nil {
		return nil, 0, err
	}
	folders := []string{""}
	for len(folders) > 0 {
		folder := folders[len(folders)-1]
		folders = folders[:len(folders)-1]
		entries, err := readDir(root, folder)
		if err != nil && folder == "" {
			return nil, 0, err
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			unreadable++
		}
		for _, entry := range entries {
			path := slashpath.Join(folder, entry.Name())
			isNote := !entry.IsDir() && isMarkdown(path)
			switch reason := checkPath(path); {
			case reason == reasonHidden || !entry.IsDir() && !isNote:
			case reason != "":
				unreadable++
			case entry.IsDir():
				folders = append(folders, path)
			case isRegular(entry.Type()) || v.leadsToNote(path):
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	return paths, unreadable, nil
}

// leadsToNote reports whether path, which is no regular file itself, is a link
// to one that may be read.
func (v *Vault) leadsToNote(path string) bool {
	_, err := v.Stat(path)
	return err == nil
}

// readDir lists a folder below root, "" being root itself. On an error it
// returns what it could read.
func readDir(root *os.Root, folder string) ([]fs.DirEntry, error) {
	name := "."
	if folder != "" {
		name = filepath.FromSlash(folder)
	}
	f, err := root.OpenFile(name, openFlags, 0)
	if err != nil {
		return nil, pathError("open", folder, err)
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		err = pathError("read", folder, err)
	}
	return entries, err
}

func isMarkdown(path string) bool {
	return strings.EqualFold(slashpath.Ext(path), ".md")
}
