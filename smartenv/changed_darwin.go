package smartenv

import (
	"io/fs"
	"syscall"
	"time"
)

// changed returns when a file or what is known of it was last changed, the zero
// time when the system does not tell.
func changed(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctimespec.Unix())
	}
	return time.Time{}
}
