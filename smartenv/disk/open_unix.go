//go:build !windows

package disk

import (
	"io/fs"
	"os"
	"syscall"
)

// openFlags keep an open from waiting for the other end of a FIFO.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_CLOEXEC

func openShared(path string) (*os.File, error) { return os.OpenFile(path, openFlags, 0) }

// IsRegular says whether something of that mode can be read as a file.
func IsRegular(mode fs.FileMode) bool { return mode.IsRegular() }

// IsNameTooLong says whether err is the system's complaint about a name longer than
// any it can hold.
func IsNameTooLong(err error) bool { return err == syscall.ENAMETOOLONG }

func openRoot(dir string) (*os.Root, error) { return os.OpenRoot(dir) }
