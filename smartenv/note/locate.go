package note

import (
	"errors"
	"io/fs"
	"os"
	slashpath "path"
	"path/filepath"
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
// stays guarded, for every step is made through it: if someone swaps a folder
// for a link between two steps, the root refuses to leave the vault.
func (v *Vault) follow(root *os.Root, path string) (place string, info fs.FileInfo, err error) {
	rest := strings.Split(path, "/")
	for links := 0; len(rest) > 0; {
		next := slashpath.Join(place, rest[0])
		info, err = root.Lstat(filepath.FromSlash(next))
		if err != nil {
			return "", nil, pathError("open", path, tooLongIsMissing(err))
		}
		if info.Mode().Type() != fs.ModeSymlink {
			place, rest = next, rest[1:]
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
			return "", nil, refuse(path, "its link leads astray: "+reason)
		}
		place, rest = "", append(strings.Split(inside, "/"), rest[1:]...)
	}
	return place, info, nil
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

// tooLongIsMissing turns the system's complaint about a name longer than any it
// can hold into fs.ErrNotExist.
func tooLongIsMissing(err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) && isNameTooLong(inner.Err) {
		return fs.ErrNotExist
	}
	return err
}
