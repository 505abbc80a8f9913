//go:build linux || darwin

package smartenv

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
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
	if os.Geteuid() == 0 { // root may read everything: be somebody else for a moment
		if err := syscall.Seteuid(65534); err != nil {
			t.Skip(err)
		}
		defer syscall.Seteuid(0)
	}
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
	if os.Geteuid() == 0 {
		if err := syscall.Seteuid(65534); err != nil {
			t.Skip(err)
		}
		defer syscall.Seteuid(0)
	}
	x := openIndex(t, v.dir, Options{Recheck: time.Nanosecond})
	snap, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if checkAxesOf(t, "unreadable", snap, "a.md:1"); !hasWarning(snap, "b_md.ajson") {
		t.Errorf("warnings %q, want the file's name", snap.Warnings)
	}
	syscall.Seteuid(0)
	os.Chmod(file, 0o644)
	if snap, err = x.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkAxesOf(t, "readable again", snap, "a.md:1 b.md:2")
	v.age(".smart-env/multi/b_md.ajson") // changed, and closed again
	os.Chmod(file, 0)
	if err := syscall.Seteuid(65534); err != nil {
		t.Skip(err)
	}
	if snap, err = x.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkAxesOf(t, "unreadable after all", snap, "a.md:1 b.md:2")
}
