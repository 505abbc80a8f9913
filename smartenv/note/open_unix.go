//go:build !windows

package note

import (
	"io/fs"
	"os"
	"syscall"
)

// openFlags keep an open from waiting for the other end of a FIFO.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_CLOEXEC

func openShared(path string) (*os.File, error) { return os.OpenFile(path, openFlags, 0) }

func openRoot(dir string) (*os.Root, error) { return os.OpenRoot(dir) }

func isRegular(mode fs.FileMode) bool { return mode.IsRegular() }

func isNameTooLong(err error) bool { return err == syscall.ENAMETOOLONG }
