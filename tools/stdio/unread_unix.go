//go:build unix

package stdio

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// unread reports whether to is a pipe or a socket whose other end is closed, as
// it is when the client was killed. Only a Write would tell else, and there may
// be nothing to write yet.
func unread(to io.Writer) bool {
	file, ok := to.(*os.File)
	if !ok {
		return false
	}
	ends := []unix.PollFd{{Fd: int32(file.Fd())}}
	n, err := unix.Poll(ends, 0)
	return err == nil && n > 0 && ends[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
