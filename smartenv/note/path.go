package note

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// RefusedError says why a path is not opened. It never names a place outside
// the vault.
type RefusedError struct {
	Path   string // as asked for; of an absolute path only the last element
	Reason string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%q is refused: %s", e.Path, e.Reason)
}

// The reasons of a refusal. Each ends with what to do where something can be
// done.
const (
	reasonEmpty     = "it is empty: pass the path of a note, such as Folder/Note.md"
	reasonAbsolute  = "it is absolute: pass a path below the vault, such as Folder/Note.md"
	reasonParent    = "it holds a \".\" or \"..\" element: pass a path below the vault, such as Folder/Note.md"
	reasonHidden    = "files and folders whose name begins with a dot are closed"
	reasonColon     = "it holds a colon (drive letter or stream)"
	reasonReserved  = "it holds a name that Windows reserves for a device"
	reasonTrailing  = "it holds a name that ends with a dot or a space"
	reasonFolder    = "it ends with a slash: pass the path of a note, not of a folder"
	reasonSlash     = "it holds a backslash or an empty element"
	reasonNUL       = "it holds a NUL character"
	reasonUTF8      = "it is not valid UTF-8"
	reasonLong      = "it is too long"
	reasonOutside   = "it leads out of the vault through a link"
	reasonAstray    = "it leads through a link to what is closed: "
	reasonLoop      = "its links lead in a circle"
	reasonIrregular = "it is not a regular file"
	reasonHuge      = "it is larger than 64 MiB"
)

const (
	maxPath = 4096 // bytes
	maxName = 255  // UTF-16 units, the limit of NTFS and APFS; others have it in bytes
)

// checkPath returns why an exact path below the vault root must not be opened,
// or "". The rules are the same on every system, so that a vault that is safe
// on one is safe on all: what means something special to Windows is refused on
// Linux too. Obsidian itself allows none of it in the name of a note, but for
// the reserved names.
func checkPath(path string) (reason string) {
	switch {
	case path == "":
		return reasonEmpty
	case len(path) > maxPath:
		return reasonLong
	case !utf8.ValidString(path):
		return reasonUTF8
	case strings.ContainsRune(path, 0):
		return reasonNUL
	case path[0] == '/':
		return reasonAbsolute
	case strings.Contains(path, ":"):
		return reasonColon
	case strings.HasSuffix(path, "/"):
		return reasonFolder
	}
	for name := range strings.SplitSeq(path, "/") {
		if reason := checkName(name); reason != "" {
			return reason
		}
	}
	return ""
}

// checkName is checkPath for one element.
func checkName(name string) (reason string) {
	switch {
	case name == "" || strings.Contains(name, `\`):
		return reasonSlash
	case name == "." || name == "..":
		return reasonParent
	case strings.TrimLeftFunc(name, ignorable) == "" || strings.TrimLeftFunc(name, ignorable)[0] == '.':
		return reasonHidden
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		return reasonTrailing
	case len(name) > maxName && Len16(name) > maxName:
		return reasonLong
	case reserved(name):
		return reasonReserved
	}
	return ""
}

// ignorable reports whether HFS+ leaves r out when it compares names, so that
// it could hide the dot of a dot folder.
func ignorable(r rune) bool {
	return r >= 0x200B && r <= 0x200F || r >= 0x202A && r <= 0x202E || r >= 0x206A && r <= 0x206F || r == 0xFEFF
}

// reserved reports whether Windows takes name for a device, whatever extension
// it has.
func reserved(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	digit, ok := strings.CutPrefix(stem, "COM")
	if !ok {
		digit, ok = strings.CutPrefix(stem, "LPT")
	}
	return ok && utf8.RuneCountInString(digit) == 1 && strings.ContainsAny(digit, "0123456789¹²³")
}

// cleanPath turns a path as a person or model writes it into the form that
// checkPath judges: "\" and "\\" become "/", leading "./" go.
func cleanPath(path string) string {
	path = strings.ReplaceAll(path, `\`, "/")
	if strings.HasPrefix(path, "//") {
		return path // a share or device of Windows, refused as absolute
	}
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	for strings.HasPrefix(path, "./") {
		path = path[2:]
	}
	return path
}

// refuse builds the error for a path.
func refuse(path, reason string) error {
	return &RefusedError{Path: Discreet(path), Reason: reason}
}

// Discreet is a path that was asked for as an error may repeat it. Of one that
// is absolute that is the last element only: where a vault lies on the host is
// nobody's business, and no guess at it is confirmed.
func Discreet(path string) string {
	slashed := strings.TrimRight(strings.ReplaceAll(path, `\`, "/"), "/")
	absolute := strings.HasPrefix(slashed, "/") || strings.HasPrefix(slashed, "~") || strings.Contains(slashed, ":")
	if at := strings.LastIndexByte(slashed, '/'); absolute && at >= 0 {
		path = "…" + slashed[at:]
	}
	if cut := Prefix16(path, maxName); cut != path {
		path = cut + "…"
	}
	return path
}
