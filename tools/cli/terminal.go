package cli

import (
	"io"
	"os"

	"smart-connections-mcp/tools"
)

// Clean makes text from a vault safe to print on a terminal: control characters
// and those that nobody sees or that change the direction of text are shown as
// escapes, so that a note's name cannot pass for output of this program.
func Clean(text string) string { return tools.Printable(text, "\t") }

// IsTerminal reports whether out is a terminal, where progress may be shown.
func IsTerminal(out io.Writer) bool {
	if lossy, ok := out.(*Lossy); ok {
		out = lossy.to
	}
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
