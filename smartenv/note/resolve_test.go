package note

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestResolveFallbacks(t *testing.T) {
	const nfc, nfd = "Caf\u00E9.md", "Cafe\u0301.md"
	cases := []struct {
		name      string
		files     []string
		ask, want string
		ambiguous []string
	}{
		{"NFD on disk", []string{nfd}, nfc, nfd, nil},
		{"NFC on disk", []string{nfc}, nfd, nfc, nil},
		{"both, NFC asked", []string{nfc, nfd}, nfc, nfc, nil},
		{"both, NFD asked", []string{nfc, nfd}, nfd, nfd, nil},
		{"both, case differs", []string{nfc, nfd}, "cafe\u0301.md", "", []string{nfd, nfc}},
		{"case and form differ", []string{nfd}, "CAF\u00C9.MD", nfd, nil},
		{"exact before case", []string{"a.md", "A.md"}, "A.md", "A.md", nil},
		{"form before case", []string{nfd, "caf\u00E9.md"}, nfc, nfd, nil},
		{"case is ambiguous", []string{"note.md", "Note.md"}, "NOTE.md", "", []string{"Note.md", "note.md"}},
		{"folder case is ambiguous", []string{"F/a.md", "f/a.md"}, "F/A.md", "", []string{"F/a.md", "f/a.md"}},
		{"other folder has it", []string{"F/b.md", "f/a.md"}, "F/a.md", "f/a.md", nil},
		{"exact folder wins", []string{"F/a.md", "f/a.md"}, "F/a.md", "F/a.md", nil},
		{"extension added", []string{"F/a.md"}, "f/A", "F/a.md", nil},
		{"no extension needed", []string{"a", "a.md"}, "a", "a", nil},
		{"folder note", []string{"F/x.md", "F.md"}, "F", "F.md", nil},
		{"space, dash and underscore differ", []string{"a b.md", "a_b.md", "a-b.md"}, "A_b.md", "a_b.md", nil},
		{"Greek final sigma", []string{"ΟΔΟΣ.md"}, "οδος.md", "ΟΔΟΣ.md", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			writeFiles(t, dir, c.files...)
			if held := filesIn(t, dir); !slices.Equal(held, slices.Sorted(slices.Values(c.files))) {
				t.Skipf("this disk, which ignores case or form, holds %q as %q", c.files, held)
			}
			got, err := openVault(t, dir).Resolve(c.ask)
			var ambiguous *AmbiguousError
			if errors.As(err, &ambiguous) {
				if !reflect.DeepEqual(ambiguous.Candidates, c.ambiguous) {
					t.Errorf("Resolve(%q): candidates %q, want %q", c.ask, ambiguous.Candidates, c.ambiguous)
				}
			} else if got != c.want || err != nil || c.ambiguous != nil {
				t.Errorf("Resolve(%q) = %q, %v, want %q%q", c.ask, got, err, c.want, c.ambiguous)
			}
		})
	}
}

func TestAmbiguousErrorNamesAll(t *testing.T) {
	err := &AmbiguousError{Path: "A.md", Candidates: []string{"a.md", "á.md"}}
	want := `"A.md" could be any of "a.md", "á.md": pass one of these`
	if err.Error() != want {
		t.Errorf("Error() = %s, want %s", err, want)
	}
}

// filesIn returns the paths of the files below dir, sorted.
func filesIn(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			paths = append(paths, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	return paths
}

// FuzzResolve checks that no path leads out of the vault or into a dot folder.
// Read takes the exact path, but a disk that ignores case, as on Windows, gives
// Note.md for note.md too.
func FuzzResolve(f *testing.F) {
	base := f.TempDir()
	dir := filepath.Join(base, "vault")
	writeFiles(f, dir, "Note.md", "Folder/Deep.md", ".obsidian/Note.md", "Folder/.x/Deep.md")
	writeFiles(f, base, "canary.md", "Note.md")
	if err := os.WriteFile(filepath.Join(base, "canary.md"), []byte(canary), 0o644); err != nil {
		f.Fatal(err)
	}
	for name, target := range map[string]string{"out.md": "../canary.md", "up": "..", "in": "Folder"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil && runtime.GOOS != "windows" {
			f.Fatal(err) // Windows may have none; the other paths are worth it
		}
	}
	_, err := os.Stat(filepath.Join(dir, "NOTE.MD"))
	ignoresCase := err == nil
	v := openVault(f, dir)
	allowed := map[string]string{
		"Note.md": "Note.md", "Folder/Deep.md": "Folder/Deep.md", "in/Deep.md": "Folder/Deep.md",
	}
	right := func(path, text string) bool {
		for name, want := range allowed {
			if (name == path || ignoresCase && strings.EqualFold(name, path)) && want == text {
				return true
			}
		}
		return false
	}
	for _, c := range pathCorpus(f) {
		f.Add(c.path)
	}
	for _, path := range []string{"up/canary.md", "out.md", "in/Deep.md", "up/vault/Note.md"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if got, err := v.Resolve(path); err == nil {
			text, readErr := v.Read(got)
			if want, ok := allowed[got]; !ok || text != want || readErr != nil {
				t.Errorf("Resolve(%q) = %q, which reads %q, %v", path, got, text, readErr)
			}
		} else {
			checkDiscreet(t, base, err)
		}
		text, err := v.Read(path)
		if err == nil && !right(path, text) {
			t.Errorf("Read(%q) = %q", path, text)
		}
		checkDiscreet(t, base, err)
	})
}
