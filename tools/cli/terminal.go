package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
)

// Clean makes text from a vault safe to print on a terminal: control characters
// and those that change the direction of text are shown as escapes, so that a
// note's name cannot pass for output of this program.
func Clean(text string) string {
	if strings.IndexFunc(text, hostile) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hostile(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hostile(r rune) bool {
	return r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 || r == 0x2029)
}

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
