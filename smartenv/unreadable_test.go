//go:build linux || darwin

package smartenv

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"smart-connections-mcp/smartenv/fault"
)

// A note or folder that may not be read is never taken for deleted: its vectors
// stay, and it is counted and warned of.
func TestUnreadableNotes(t *testing.T) {
	v := newFakeVault(t)
	v.addNote("open.md", "text", 1)
	v.addNote("closed.md", "text", 2)
	v.addNote("locked/a.md", "text", 3)
	for _, dir := range []string{filepath.Dir(v.dir), v.dir} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"closed.md", "locked"} {
		if err := os.Chmod(v.path(name), 0); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(v.path(name), 0o755)
	}
	defer beNobody(t)()
	snap := loadFake(t, v)
	for path, want := range map[string]State{"open.md": Fresh, "closed.md": Unreadable, "locked/a.md": Unreadable} {
		src, ok := snap.Source(path)
		if !ok || src.State != want || src.Row < 0 {
			t.Errorf("%s = %+v, want %v with a vector", path, src, want)
		}
	}
	if n := &snap.Status.Notes; n.Unreadable != 2 || n.Missing != 0 || n.Unlisted != 1 || !hasWarning(snap, "cannot be read") {
		t.Errorf("counts %+v, warnings %q", *n, snap.Warnings)
	}
}

// Bug 57: a note that iCloud keeps is ranked and counted, and is not taken for gone.
func TestNotDownloaded(t *testing.T) {
	v := newFakeVault(t)
	v.addNote("here.md", "text", 1)
	v.addNote("a/away.md", "text", 2)
	v.addNote("gone.md", "text", 3)
	for _, name := range []string{"a/away.md", "gone.md"} {
		if err := os.Remove(v.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	v.write("a/.away.md.icloud", "bplist00")
	snap := loadFake(t, v)
	if src, ok := snap.Source("a/away.md"); !ok || src.State != Unreadable || src.Row < 0 {
		t.Errorf("a/away.md = %+v, want it unreadable, with its vector", src)
	}
	if n := &snap.Status.Notes; n.NotDownloaded != 1 || n.Unreadable != 1 || n.Missing != 1 || n.NotIndexed != 0 ||
		!hasWarning(snap, `iCloud keeps it elsewhere ("a/away.md")`) || hasWarning(snap, "check the permissions") {
		t.Errorf("counts %+v, warnings %q", *n, snap.Warnings)
	}
}

// beNobody makes the process another user, whom permissions bind, when it is root,
// and returns how to become root again. It must not be called by parallel tests.
func beNobody(t *testing.T) (undo func()) {
	if os.Geteuid() != 0 {
		return func() {}
	}
	if err := syscall.Seteuid(65534); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Seteuid(0); err != nil {
			panic(err)
		}
	}
}

// D, V1 (EACCES): a file or folder of the index, or the vault itself, that may not be
// read costs no answer of a program that has read it, and is named by one that has
// not. When it may be read again, it is.
func TestUnreadableIndex(t *testing.T) {
	multifile := fakeModel.Fingerprint()
	for _, s := range settings {
		for _, name := range []string{"", ".smart-env", "sub", "a.md", ".smart-env/" + settingsFile, ".smart-env/" + modelsFile,
			".smart-env/smart_sources", shardZero, noteRows + multifile, ".smart-env/smart_blocks", blockRows + multifile,
			".smart-env/multi", ".smart-env/multi/a_md.ajson"} {
			for _, reload := range []bool{false, true} {
				vault := s.vault(t)
				if _, err := os.Stat(vault.path(name)); err != nil {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/reload=%v", s.name, name, reload), func(t *testing.T) {
					s.closed(t, vault, name, reload)
				})
			}
		}
	}
}

// closed takes the permissions of a file or folder away for one load or reload.
func (s setting) closed(t *testing.T, vault *fakeVault, name string, reload bool) {
	if err := os.Chmod(filepath.Dir(vault.dir), 0o755); err != nil {
		t.Fatal(err)
	}
	x := openTapped(t, vault, nil)
	takeAsNobody := func() answer {
		time.Sleep(2 * time.Millisecond)
		defer beNobody(t)()
		snap, err := x.Snapshot(t.Context())
		return answer{snap, err}
	}
	g, olders := 0, ""
	if reload {
		if a := takeAsNobody(); a.healed(s.holds(g)) != "" {
			t.Fatal(a.healed(s.holds(g)), a)
		}
		olders = s.holds(g)
		g++
		s.change(vault, g)
	}
	info, err := os.Stat(vault.path(name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(vault.path(name), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(vault.path(name), info.Mode())
	f := fault.Fault{Err: syscall.EACCES}
	a := takeAsNobody()
	if wrong := a.wrong(f, olders, s.holds(g), vault.dir); wrong != "" {
		t.Errorf("%s: %v", wrong, a)
	}
	if a.err == nil && a.axes() == s.holds(g) && len(a.said()) <= 1 {
		t.Errorf("it is not told that %s is closed: %v", name, a)
	}
	if err := os.Chmod(vault.path(name), info.Mode()); err != nil {
		t.Fatal(err)
	}
	x.loader.rescanAt = time.Time{} // ten seconds later
	if a := takeAsNobody(); a.healed(s.holds(g)) != "" {
		t.Errorf("open again: %s: %v", a.healed(s.holds(g)), a)
	}
}

// A file of an inline index that may not be read costs its own notes only, and
// these only until it can be read.
func TestUnreadableInlineFile(t *testing.T) {
	v := newInlineVault(t)
	v.addInline("a.md", "text", 1)
	v.addInline("b.md", "text", 2)
	file := v.path(".smart-env/multi/b_md.ajson")
	for _, dir := range []string{filepath.Dir(v.dir), v.dir} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(file, 0); err != nil {
		t.Fatal(err)
	}
	beRoot := beNobody(t)
	x := openIndex(t, v.dir, Options{Recheck: time.Nanosecond})
	snap, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if checkAxesOf(t, "unreadable", snap, "a.md:1"); !hasWarning(snap, "b_md.ajson") {
		t.Errorf("warnings %q, want the file's name", snap.Warnings)
	}
	beRoot()
	os.Chmod(file, 0o644)
	if snap, err = x.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkAxesOf(t, "readable again", snap, "a.md:1 b.md:2")
	v.age(".smart-env/multi/b_md.ajson") // changed, and closed again
	os.Chmod(file, 0)
	defer beNobody(t)()
	if snap, err = x.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkAxesOf(t, "unreadable after all", snap, "a.md:1 b.md:2")
}
