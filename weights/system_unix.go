//go:build !windows

package weights

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the advisory lock on f, which the system gives back when the
// process ends, however it ends.
func tryLock(f *os.File) (lockState, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return lockHeld, nil
	case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
		return lockBusy, nil
	}
	return lockUnsupported, err // some network file systems
}

func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// syncDir makes a rename in dir survive a power cut. File systems that cannot
// sync a folder need not.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
