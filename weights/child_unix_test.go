//go:build !windows

package weights

import "syscall"

// become makes this process another user's.
func become(user int) error {
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setgid(user); err != nil {
		return err
	}
	return syscall.Setuid(user)
}
