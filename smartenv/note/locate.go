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

const maxLinks = 40 // followed on one path, as Linux does

// locate is lookup for a regular file, the only kind that is ever opened.
func (v *Vault) locate(path string) (root *os.Root, place string, info fs.FileInfo, err error) {
	root, place, info, err = v.lookup(path)
	if err == nil && !isRegular(info.Mode()) {
		err = refuse(path, reasonIrregular)
	}
	return root, place, info, err
}

// lookup checks path and follows its links to the place of whatever it names.
func (v *Vault) lookup(path string) (root *os.Root, place string, info fs.FileInfo, err error) {
	if reason := checkPath(path); reason != "" {
		return nil, "", nil, refuse(path, reason)
	}
	if root, err = v.current(); err != nil {
		return nil, "", nil, err
	}
	place, info, err = v.follow(root, path)
	return root, place, info, err
}

// follow resolves the links of path by hand and returns the place they lead
// to, which has none. os.Root alone would not do: it refuses absolute links even
// into the vault, and follows links into dot folders. What it guards against
// stays guarded, for every step is made through it; what becomes of the place
// before it is opened is for openPlain to see.
func (v *Vault) follow(root *os.Root, path string) (place string, info fs.FileInfo, err error) {
	rest := strings.Split(path, "/")
	folder := slashpath.Dir(path)
	known := folder != "." && v.isPlain(folder)
	if known {
		place, rest = folder, rest[len(rest)-1:]
	}
	for links := 0; len(rest) > 0; {
		if shortName(rest[0]) && !listed(root, place, rest[0]) {
			return "", nil, pathError("open", path, fs.ErrNotExist)
		}
		next := slashpath.Join(place, rest[0])
		info, err = root.Lstat(filepath.FromSlash(next))
		if err == nil && len(rest) > 1 && isRegular(info.Mode()) {
			err = fs.ErrNotExist // below a file is nothing
		}
		if err != nil {
			err = missing(root, next, err)
			if known && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, ErrNotDownloaded) {
				err = errMoved // the folder has become a link
			}
			return "", nil, pathError("open", path, err)
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
			return "", nil, pathError("open", path, err)
		}
		inside, ok := v.inside(place, target)
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
func (v *Vault) inside(folder, target string) (path string, ok bool) {
	bases := []string{v.dir}
	if real, err := filepath.EvalSymlinks(v.dir); err == nil && real != v.dir {
		bases = append(bases, real)
	}
	for _, base := range bases {
		full := target
		if !filepath.IsAbs(full) {
			full = filepath.Join(base, filepath.FromSlash(folder), target)
		}
		rel, err := filepath.Rel(base, filepath.Clean(full))
		if err == nil && filepath.IsLocal(rel) && rel != "." {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

// shortName reports whether name looks like the second name, NOTESO~1.MD, that
// Windows gives to files. Such a name could be that of a dot folder, so it
// counts only when a listing has it.
func shortName(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	at := strings.LastIndexByte(stem, '~')
	return at >= 0 && len(stem) <= 8 && strings.Trim(stem[at+1:], "0123456789") == ""
}

func listed(root *os.Root, folder, name string) bool {
	entries, _, _ := readDir(root, folder)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
}

// ErrNotDownloaded says that iCloud keeps a note elsewhere and a placeholder in
// its place.
var ErrNotDownloaded = errors.New("it lies in iCloud and is not downloaded to this computer")

// missing says what it means that place could not be looked at: a name longer
// than any that the system can hold is none, and a note may have its placeholder.
func missing(root *os.Root, place string, err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) && isNameTooLong(inner.Err) {
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
