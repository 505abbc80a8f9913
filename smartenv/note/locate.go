package note

import (
	"errors"
	"io/fs"
	slashpath "path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"smart-connections-mcp/smartenv/disk"
)

const maxLinks = 40 // followed on one path, as Linux does

// locate is lookup for a regular file, the only kind that is ever opened.
func (v *Vault) locate(path string) (root *disk.Root, place string, info fs.FileInfo, err error) {
	root, place, info, err = v.lookup(path)
	if err == nil && !disk.IsRegular(info.Mode()) {
		err = refuse(path, reasonIrregular)
	}
	return root, place, info, err
}

// lookup checks path and follows its links to the place of whatever it names.
func (v *Vault) lookup(path string) (root *disk.Root, place string, info fs.FileInfo, err error) {
	if reason := checkPath(path); reason != "" {
		return nil, "", nil, refuse(path, reason)
	}
	if root, err = v.current(rootRecheck); err != nil {
		return nil, "", nil, err
	}
	place, info, err = v.follow(root, path)
	var refused *RefusedError
	if err == nil || errors.As(err, &refused) || errors.Is(err, ErrNotDownloaded) {
		return root, place, info, err
	}
	now, lost := v.current(rootDoubt) // is it the note that has gone or cannot be reached, or the vault?
	switch {
	case lost != nil:
		return nil, "", nil, lost
	case now != root:
		place, info, err = v.follow(now, path)
	}
	return now, place, info, err
}

// follow resolves the links of path by hand and returns the place they lead
// to, which has none. os.Root alone would not do: it refuses absolute links even
// into the vault, and follows links into dot folders. What it guards against
// stays guarded, for every step is made through it; what becomes of the place
// before it is opened is for openPlain to see.
func (v *Vault) follow(root *disk.Root, path string) (place string, info fs.FileInfo, err error) {
	rest := strings.Split(path, "/")
	folder := slashpath.Dir(path)
	known := folder != "." && v.isPlain(folder)
	if known {
		place, rest = folder, rest[len(rest)-1:]
	}
	for links := 0; len(rest) > 0; {
		if shortName(rest[0]) {
			if err := v.listed(root, place, rest[0]); err != nil {
				return "", nil, disk.PathError("open", path, err)
			}
		}
		next := slashpath.Join(place, rest[0])
		info, err = root.Lstat(filepath.FromSlash(next))
		if err == nil && len(rest) > 1 && disk.IsRegular(info.Mode()) {
			err = fs.ErrNotExist // below a file is nothing
		}
		if err != nil {
			err = missing(root, next, err)
			var said syscall.Errno
			if known && !errors.As(err, &said) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrNotDownloaded) {
				err = errMoved // not the system's word: the folder has become a link out of the vault
			}
			return "", nil, disk.PathError("open", path, err)
		}
		if info.Mode().Type() != fs.ModeSymlink {
			place, rest = next, rest[1:]
			if len(rest) == 1 {
				v.setPlain(place)
			}
			continue
		}
		if links++; links > maxLinks {
			return "", nil, refuse(path, reasonLoop)
		}
		target, err := root.Readlink(filepath.FromSlash(next))
		if err != nil {
			return "", nil, disk.PathError("open", path, err)
		}
		inside, ok, err := v.inside(place, target)
		if err != nil {
			return "", nil, disk.PathError("open", path, err)
		}
		if !ok {
			return "", nil, refuse(path, reasonOutside)
		}
		if reason := checkPath(inside); reason != "" {
			return "", nil, refuse(path, reasonAstray+reason)
		}
		place, rest = "", append(strings.Split(inside, "/"), rest[1:]...)
	}
	return place, info, nil
}

// isPlain reports whether folder was found within the last second to be
// reached without links. Many notes share a folder, and each element of a path
// costs several calls of the system.
func (v *Vault) isPlain(folder string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return folder == "." || v.plain[folder]
}

func (v *Vault) setPlain(folder string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.plain[folder] = true
}

func (v *Vault) forgetPlain() {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.plain)
}

// inside returns where below the vault a link in folder, itself free of links,
// points to. A link may name the vault by the path it was opened with or by its
// real one.
func (v *Vault) inside(folder, target string) (path string, ok bool, err error) {
	if path, ok = inside(v.dir, folder, target); ok {
		return path, true, nil
	}
	real, err := v.disk.EvalSymlinks(v.dir)
	if err == nil {
		path, ok = inside(real, folder, target)
	}
	return path, ok, err
}

func inside(base, folder, target string) (path string, ok bool) {
	if !filepath.IsAbs(target) {
		target = filepath.Join(base, filepath.FromSlash(folder), target)
	}
	rel, err := filepath.Rel(base, filepath.Clean(target))
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// shortName reports whether name looks like the second name, NOTESO~1.MD, that
// Windows gives to files. Such a name could be that of a dot folder, so it
// counts only when a listing has it.
func shortName(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	at := strings.LastIndexByte(stem, '~')
	return at >= 0 && len(stem) <= 8 && strings.Trim(stem[at+1:], "0123456789") == ""
}

// listed returns fs.ErrNotExist when the listing of folder does not have name.
func (v *Vault) listed(root *disk.Root, folder, name string) error {
	entries, _, err := v.readDir(root, folder)
	if err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name }) {
		err = fs.ErrNotExist
	}
	return err
}

// ErrNotDownloaded says that iCloud keeps a note elsewhere and a placeholder in
// its place.
var ErrNotDownloaded = errors.New("it lies in iCloud and is not downloaded to this computer")

// missing says what it means that place could not be looked at: a name longer
// than any that the system can hold is none, and a note may have its placeholder.
func missing(root *disk.Root, place string, err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) && disk.IsNameTooLong(inner.Err) {
		return fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) && isMarkdown(place) {
		folder, name := slashpath.Split(place)
		if _, err := root.Lstat(filepath.FromSlash(folder + "." + name + ".icloud")); err == nil {
			return ErrNotDownloaded
		}
	}
	return err
}
