package disk

import (
	"errors"
	"io/fs"
	"syscall"
)

// Hint is the way out of an error that a call has given: the last part of a message
// for people.
func Hint(err error) string {
	switch {
	case errors.Is(err, syscall.EPERM): // not for want of a permission of the file's own
		return "the system does not let this program read it: on macOS allow the app that starts it under System Settings, Privacy & Security, Files & Folders or Full Disk Access, and start that app anew"
	case errors.Is(err, fs.ErrPermission):
		return "check its permissions"
	case errors.Is(err, fs.ErrNotExist):
		return "if it lies on another disk, connect that; if it was moved, name its new place"
	}
	return "check that its disk is connected and sound; it is tried again at the next call"
}
