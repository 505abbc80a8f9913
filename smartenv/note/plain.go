package note

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"smart-connections-mcp/smartenv/disk"
)

// errMoved says that something else was opened than what had been looked at.
var errMoved = errors.New("it was replaced while it was opened: try again")

// openPlain opens the file or folder at place, which was found to be reached
// without links. Each element is looked at in the open folder above it, and what
// is opened must be the same; so whoever swaps one for a link meanwhile gains
// nothing. The root by itself would let a link lead into a dot folder.
func openPlain(root *disk.Root, place string) (*disk.File, error) {
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
		opened, err := folder.Stat(".")
		if err == nil && !os.SameFile(seen, opened) {
			err = errMoved
		}
		if err != nil {
			return nil, err
		}
		above, place = folder, rest
	}
}

// openSeen opens the file or folder in a folder that a look at its name has told of.
func openSeen(folder *disk.Root, name string, seen fs.FileInfo) (*disk.File, error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(seen, opened) {
		err = errMoved
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
