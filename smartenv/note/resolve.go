package note

import (
	"errors"
	"fmt"
	"io/fs"
	slashpath "path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"smart-connections-mcp/smartenv/disk"
)

// AmbiguousError says that several files answer to a path, none of them
// exactly.
type AmbiguousError struct {
	Path       string
	Candidates []string // exact paths, sorted
}

func (e *AmbiguousError) Error() string {
	names := make([]string, len(e.Candidates))
	for i, c := range e.Candidates {
		names[i] = fmt.Sprintf("%q", c)
	}
	return fmt.Sprintf("%q could be any of %s: pass one of these", e.Path, strings.Join(names, ", "))
}

// Resolve turns a path as a person or model writes it into the exact path of a
// file, to be given to Read and Stat. "\" counts as "/", and a leading "./" is
// dropped. A file whose every name is the same as in the folder listing wins, on
// case-insensitive disks too; failing that, names are compared by NFC and then
// regardless of case; failing that, ".md" is added. Several such files are an
// *AmbiguousError. Refusals are as in Read; the error is fs.ErrNotExist when
// nothing fits, and ErrNotDownloaded when iCloud has what is spelt exactly so.
func (v *Vault) Resolve(path string) (string, error) {
	clean := cleanPath(path)
	if reason := checkPath(clean); reason != "" {
		return "", refuse(path, reason)
	}
	if err := v.Check(); err != nil {
		return "", err
	}
	w := walker{vault: v, listings: map[string][]string{}}
	wanted := []string{clean}
	if !isMarkdown(clean) {
		wanted = append(wanted, clean+".md")
	}
	for _, path := range wanted {
		for i, same := range []func(a, b string) bool{sameExactly, sameNFC, sameFolded} {
			found, err := w.match(path, same)
			switch {
			case err != nil:
				return "", err
			case len(found) > 0 && w.failed != nil && (i > 0 || path != clean): // what could not be read may hold a better one
				return "", w.failed
			case len(found) == 1:
				return found[0], nil
			case len(found) > 1:
				return "", &AmbiguousError{Path: path, Candidates: found}
			}
		}
	}
	if w.failed != nil {
		return "", w.failed
	}
	for _, path := range wanted {
		if _, _, _, err := v.lookup(path); errors.Is(err, ErrNotDownloaded) {
			return "", err
		}
	}
	return "", &fs.PathError{Op: "open", Path: clean, Err: fs.ErrNotExist}
}

func sameExactly(a, b string) bool { return a == b }
func sameNFC(a, b string) bool     { return norm.NFC.String(a) == norm.NFC.String(b) }
func sameFolded(a, b string) bool {
	return strings.EqualFold(norm.NFC.String(a), norm.NFC.String(b))
}

// walker looks for a path in folder listings, each read once.
type walker struct {
	vault    *Vault
	listings map[string][]string
	failed   error // the first folder that could not be read
}

// match returns the files whose every name is the same as in path, sorted. A
// refused file is an error when it is the only one.
func (w *walker) match(path string, same func(a, b string) bool) ([]string, error) {
	places := []string{""}
	for name := range strings.SplitSeq(path, "/") {
		var next []string
		for _, folder := range places {
			for _, entry := range w.list(folder) {
				if same(entry, name) {
					next = append(next, slashpath.Join(folder, entry))
				}
			}
		}
		places = next
	}
	var refused error
	var files []string
	for _, place := range places {
		_, _, info, err := w.vault.lookup(place)
		var refusal *RefusedError
		switch {
		case errors.As(err, &refusal):
			refused = err
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			files = append(files, place) // there, but not to be read
		case err == nil && disk.IsRegular(info.Mode()):
			files = append(files, place)
		case err == nil && !info.IsDir():
			refused = refuse(place, reasonIrregular)
		}
	}
	if len(files) == 0 && refused != nil {
		return nil, refused
	}
	slices.Sort(files)
	return files, nil
}

// list returns the visible names in a folder of the vault, "" being the root.
func (w *walker) list(folder string) []string {
	if names, ok := w.listings[folder]; ok {
		return names
	}
	var names []string
	for _, entry := range w.entries(folder) {
		if checkName(entry.Name()) == "" {
			names = append(names, entry.Name())
		}
	}
	w.listings[folder] = names
	return names
}

// entries reads a folder; one that is a file, or is gone, has none.
func (w *walker) entries(folder string) []fs.DirEntry {
	root, err := w.vault.current(rootRecheck)
	place := folder
	if err == nil && folder != "" {
		var info fs.FileInfo
		root, place, info, err = w.vault.lookup(folder)
		if err == nil && !info.IsDir() {
			return nil
		}
	}
	var entries []fs.DirEntry
	if err == nil {
		entries, _, err = w.vault.readDir(root, place)
	}
	if err != nil && w.failed == nil && !errors.Is(err, fs.ErrNotExist) {
		w.failed = err
	}
	return entries
}
