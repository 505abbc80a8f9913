//go:build !linux && !windows

package note

import "errors"

func mknod(string) error { return errors.ErrUnsupported }
