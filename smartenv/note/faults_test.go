package note

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"smart-connections-mcp/smartenv/disk"
	"smart-connections-mcp/smartenv/fault"
)

// asked are questions to the vault of faultyVault, with their right answers.
var asked = []struct {
	name string
	ask  func(v *Vault) (string, error)
	want string
}{
	{"Read", func(v *Vault) (string, error) { return v.Read("Folder/Sub/Deep.md") }, "Folder/Sub/Deep.md"},
	{"Read short name", func(v *Vault) (string, error) { return v.Read("NOTE~1.md") }, "NOTE~1.md"},
	{"Read link", func(v *Vault) (string, error) { return v.Read("link.md") }, "Folder/Sub/Deep.md"},
	{"Read absolute link", func(v *Vault) (string, error) { return v.Read("absolute.md") }, "Folder/Sub/Deep.md"},
	{"Stat", func(v *Vault) (string, error) {
		info, err := v.Stat("Folder/Sub/Deep.md")
		return fmt.Sprint(info.Size), err
	}, "18"},
	{"Resolve", func(v *Vault) (string, error) { return v.Resolve("Folder/Sub/Deep.md") }, "Folder/Sub/Deep.md"},
	{"Resolve case", func(v *Vault) (string, error) { return v.Resolve("folder/sub/deep") }, "Folder/Sub/Deep.md"},
	{"Resolve one of two", func(v *Vault) (string, error) { return v.Resolve("T/Twin.md") }, "T/Twin.md"},
	{"Resolve the other", func(v *Vault) (string, error) { return v.Resolve("T/twin.md") }, "T/twin.md"},
	{"List", func(v *Vault) (string, error) {
		paths, unreadable, err := v.List()
		if unreadable > 0 {
			err = errors.Join(err, fmt.Errorf("%w: %d", errUnlisted, unreadable))
		}
		return strings.Join(paths, " "), err
	}, "Folder/Sub/Deep.md NOTE~1.md T/Twin.md T/twin.md absolute.md link.md"},
}

var errUnlisted = errors.New("unlisted")

// faultyVault is a vault that is opened by way of a link.
func faultyVault(t *testing.T) (dir string) {
	base := t.TempDir()
	real := filepath.Join(base, "real")
	writeFiles(t, real, "Folder/Sub/Deep.md", "NOTE~1.md", "T/Twin.md", "T/twin.md", ".smart-env/x")
	dir = filepath.Join(base, "vault")
	link(t, "real", dir)
	link(t, "Folder/Sub/Deep.md", filepath.Join(real, "link.md"))
	link(t, filepath.Join(real, "Folder/Sub/Deep.md"), filepath.Join(real, "absolute.md"))
	if text, _ := os.ReadFile(filepath.Join(real, "T/Twin.md")); string(text) != "T/Twin.md" {
		t.Skip("this disk ignores case")
	}
	return dir
}

// D, V1 (faults): whatever call fails while a note is read, found, examined or listed,
// the answer is right or an error with the cause, and the next one is right.
func TestFaults(t *testing.T) {
	dir := faultyVault(t)
	for _, a := range asked {
		for _, f := range fault.All {
			for _, how := range []fault.How{fault.Once, fault.Lasts, fault.Sticks} {
				t.Run(fmt.Sprintf("%s/%s/%s", a.name, f.Name, how), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { // time passes at once
						in := &fault.Injector{Fault: f, How: how, Dir: dir}
						v, err := OpenVaultOn(disk.Tapped(in.Tap), dir)
						if err != nil {
							t.Fatal(err)
						}
						defer v.Close()
						for k := 1; ; k++ {
							time.Sleep(2 * rootRecheck) // as little is known as at the beginning
							in.From(k)
							got, err := a.ask(v)
							hit, _ := in.From(0)
							checkDiscreet(t, dir, err)
							if wrong := wrongUnder(f, got, a.want, err); wrong != "" {
								t.Errorf("call %d, %q: %s: %q, %v", k, hit, wrong, got, err)
							}
							if got, err := a.ask(v); got != a.want || err != nil {
								t.Errorf("after call %d, %q, had failed: %q, %v", k, hit, got, err)
							}
							if len(hit) == 0 {
								return
							}
						}
					})
				})
			}
		}
	}
}

// wrongUnder says what is wrong with an answer that was given while f was at work.
func wrongUnder(f fault.Fault, got, want string, err error) string {
	gone := errors.Is(f.Err, fs.ErrNotExist)
	var lost *LostError
	var refused *RefusedError
	switch {
	case err == nil && got == want, errors.Is(err, errUnlisted):
		return ""
	case err == nil && gone && len(got) < len(want) && strings.Contains(want, " "):
		return "" // of a folder that is gone meanwhile nothing is listed
	case err == nil && gone && strings.EqualFold(got, want):
		return "" // when a file has gone, one of the other case answers
	case err == nil:
		return "a wrong answer"
	case f.Err == nil:
		return "a read that the system has cut short is no reason for anything"
	case errors.Is(err, fs.ErrNotExist) && !gone:
		return "what cannot be read is taken for gone"
	case errors.As(err, &refused):
		return "what cannot be read is refused"
	case f.Err != io.EOF && !strings.Contains(err.Error(), f.Err.Error()) && !errors.Is(err, f.Err) && !gone:
		return "the cause is not told"
	case f.Err == io.EOF && !errors.Is(err, io.ErrUnexpectedEOF):
		return "it is not told that the file ends early"
	case errors.As(err, &lost) && !strings.Contains(err.Error(), ": "):
		return "the way out is not told"
	}
	return ""
}

// V8: while the vault is away that is the error, and never that a note is gone; when
// it is back, or another stands in its place, that is read, all by itself.
func TestVaultLost(t *testing.T) {
	rename := func(t *testing.T, from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Skipf("an open folder cannot be moved here: %v", err)
		}
	}
	tests := []struct {
		name       string
		lose, find func(t *testing.T, dir string)
	}{
		{"renamed", func(t *testing.T, dir string) { rename(t, dir, dir+"-away") },
			func(t *testing.T, dir string) { rename(t, dir+"-away", dir) }},
		{"unmounted", func(t *testing.T, dir string) {
			rename(t, dir, dir+"-away")
			writeFiles(t, dir)
			os.Mkdir(dir, 0o755) // what a drive is mounted on
		}, func(t *testing.T, dir string) {
			os.Remove(dir)
			rename(t, dir+"-away", dir)
		}},
		{"deleted and made anew", func(t *testing.T, dir string) {
			if os.RemoveAll(dir); exists(dir) {
				t.Skip("an open folder cannot be deleted here")
			}
		},
			func(t *testing.T, dir string) { writeFiles(t, dir, "Note.md", "Folder/x.md") }},
		{"a file in its place", func(t *testing.T, dir string) {
			rename(t, dir, dir+"-away")
			os.WriteFile(dir, nil, 0o644)
		}, func(t *testing.T, dir string) {
			os.Remove(dir)
			rename(t, dir+"-away", dir)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "vault")
			writeFiles(t, dir, "Note.md", "Folder/x.md")
			v := openVault(t, dir)
			readNote := func(v *Vault) error {
				text, err := v.Read("Folder/x.md")
				if err == nil && text != "Folder/x.md" {
					err = fmt.Errorf("%q was read", text)
				}
				return err
			}
			calls := map[string]func(v *Vault) error{
				"Read":    readNote,
				"Stat":    func(v *Vault) error { _, err := v.Stat("Folder/x.md"); return err },
				"Resolve": func(v *Vault) error { _, err := v.Resolve("folder/X"); return err },
				"List": func(v *Vault) error {
					paths, unreadable, err := v.List()
					if err == nil && (!slices.Equal(paths, []string{"Folder/x.md", "Note.md"}) || unreadable > 0) {
						err = fmt.Errorf("%q, %d were listed", paths, unreadable)
					}
					return err
				},
			}
			for round := range 3 {
				time.Sleep(2 * rootDoubt)
				test.lose(t, dir)
				for _, known := range []bool{true, false} { // what was known of the root a moment ago
					if !known {
						v.checked = time.Time{}
					}
					for name, call := range calls {
						var lost *LostError
						err := call(v)
						stillOpen := known && (name == "Read" || name == "Stat") && err == nil // through the folder that was open
						if !errors.As(err, &lost) && !stillOpen || errors.Is(err, fs.ErrNotExist) {
							t.Errorf("round %d, %s while the vault is away: %v, want a LostError", round, name, err)
						}
						checkDiscreet(t, dir, err)
					}
				}
				time.Sleep(2 * rootDoubt)
				test.find(t, dir)
				for name, call := range calls {
					if err := call(v); err != nil {
						t.Errorf("round %d, %s when the vault is back: %v", round, name, err)
					}
				}
			}
		})
	}
}

// Bug 62: what macOS forbids is told as such, with the place where it is allowed.
func TestForbidden(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, "Note.md")
	in := &fault.Injector{Fault: fault.Fault{Calls: "open readdir", Err: syscall.EPERM}, How: fault.Lasts, Dir: dir}
	in.From(1)
	_, err := OpenVaultOn(disk.Tapped(in.Tap), dir)
	var lost *LostError
	if !errors.As(err, &lost) || !strings.Contains(err.Error(), "Files & Folders or Full Disk Access") {
		t.Errorf("OpenVault where the system forbids it: %v, want a LostError that names Full Disk Access", err)
	}
	checkDiscreet(t, dir, err)
	in.From(0)
	v, err := OpenVaultOn(disk.Tapped(in.Tap), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	in.From(1)
	if _, _, err := v.List(); !errors.As(err, &lost) || !strings.Contains(err.Error(), "Full Disk Access") {
		t.Errorf("List where the system forbids it: %v, want a LostError that names Full Disk Access", err)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
