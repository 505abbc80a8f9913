package disk

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

const openFlags = os.O_RDONLY

// openShared opens path so that Obsidian may rename over and delete the file
// meanwhile, which os.Open would forbid.
func openShared(path string) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	handle, err := windows.CreateFile(name, windows.GENERIC_READ,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE,
		nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(handle), path), nil
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
