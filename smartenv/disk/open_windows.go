package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

const openFlags = os.O_RDONLY

// openShared opens a file or folder so that Obsidian may rename and delete it
// meanwhile, which os.Open would forbid.
func openShared(path string) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(longPath(path))
	if err != nil {
		return nil, err
	}
	handle, err := windows.CreateFile(name, windows.GENERIC_READ,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE,
		nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0) // the flag is for folders
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(handle), path), nil
}

// longPath is path in the form in which every Windows takes it at any length.
// Go's own functions do the same with what they are given.
func longPath(path string) string {
	const short = 248 // from here on the oldest refuse
	full, err := filepath.Abs(path)
	switch {
	case err != nil || len(full) < short || strings.HasPrefix(full, `\\?\`) || strings.HasPrefix(full, `\\.\`):
		return path
	case strings.HasPrefix(full, `\\`):
		return `\\?\UNC` + full[1:]
	}
	return `\\?\` + full
}

// openRoot opens the vault's folder, which is held for as long as the server
// runs, so that it may be renamed and deleted meanwhile. os.OpenRoot would forbid
// that, but what is opened through a Root does not.
func openRoot(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenRoot(".")
}

// IsRegular says whether something of that mode can be read as a file. That holds
// also for what cloud drives (OneDrive and the like) put in a file's place, which Go
// reports as irregular.
func IsRegular(mode fs.FileMode) bool {
	return mode.IsRegular() || mode.Type() == fs.ModeIrregular
}

// IsNameTooLong says whether err is the system's complaint about a name longer than
// any it can hold.
func IsNameTooLong(err error) bool {
	return err == windows.ERROR_FILENAME_EXCED_RANGE || err == windows.ERROR_INVALID_NAME
}
