package note

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// OpenShared opens a regular file of the plugin's own for reading, by its path
// on the host, so that the plugin can write, rename and delete it meanwhile (on
// Windows os.Open would make these fail). It never waits for the other end of a
// FIFO. Read the file at once and close it. Errors name the file without its
// folder.
func OpenShared(path string) (*os.File, error) {
	f, err := openShared(path)
	if err != nil {
		return nil, pathError("open", filepath.Base(path), err)
	}
	info, err := f.Stat()
	if err == nil && !isRegular(info.Mode()) {
		err = errors.New(reasonIrregular)
	}
	if err != nil {
		f.Close()
		return nil, pathError("open", filepath.Base(path), err)
	}
	return f, nil
}

// errMoved says that something else was opened than what had been looked at.
var errMoved = errors.New("it was replaced while it was opened: try again")

// openPlain opens the file or folder at place, which was found to be reached
// without links. Each element is looked at in the open folder above it, and what
// is opened must be the same; so whoever swaps one for a link meanwhile gains
// nothing. The root by itself would let a link lead into a dot folder.
func openPlain(root *os.Root, place string) (*os.File, error) {
	above := root
	for {
		name, rest, deeper := strings.Cut(place, "/")
		seen, err := above.Lstat(name)
		if err != nil {
			return nil, err
		}
		if !deeper {
			return openSeen(above, name, seen)
		}
		folder, err := above.OpenRoot(name)
		if err != nil {
			return nil, err
		}
		defer folder.Close()
		if opened, err := folder.Stat("."); err != nil || !os.SameFile(seen, opened) {
			return nil, errMoved
		}
		above, place = folder, rest
	}
}

// openSeen opens the file or folder in a folder that a look at its name has told of.
func openSeen(folder *os.Root, name string, seen fs.FileInfo) (*os.File, error) {
	f, err := folder.OpenFile(name, openFlags, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(seen, opened) {
		f.Close()
		return nil, errMoved
	}
	return f, nil
}

// pathError says about path what err says about whatever path it names.
func pathError(op, path string, err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}
