package note

import "syscall"

// mknod makes a device that gives zeros without end.
func mknod(path string) error { return syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|5) }
