//go:build !unix

package stdio

import "io"

// unread cannot be known here: a Write must tell.
func unread(io.Writer) bool { return false }
