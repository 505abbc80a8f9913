//go:build !windows

package tools

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// V1, bug 41: a note that may not be read is not taken for gone.
func TestNoteUnreadable(t *testing.T) {
	s := serverOf(t, nil)
	path := filepath.Join(s.vault.Root(), "locked.md")
	write(t, path, []byte("x"))
	lock(t, path)
	if _, err := s.Note(t.Context(), DefaultNote("locked.md")); err == nil || !strings.Contains(err.Error(), "may not be read") {
		t.Errorf("Note = %v, want advice about permissions", err)
	}
}

// V1: notes that cannot be read are told of where they may be missing.
func TestContentFiltersUnreadable(t *testing.T) {
	dir := writeVault(t, library())
	s := newTestServer(t, dir)
	lock(t, filepath.Join(dir, "B.md"))
	in := DefaultSearch("rose")
	in.MinScore, in.Tags = 0, []string{"done"}
	if out := mustSearch(t, s, in); !strings.Contains(out.Warning, "could not be read: 2;") {
		t.Errorf("warning %q, want the unreadable note counted", out.Warning)
	}
	near := DefaultRelated("A.md")
	near.UnlinkedOnly = true
	out, err := s.Related(t.Context(), near)
	if err != nil || !strings.Contains(out.Warning, "Not all notes could be read for links (1 not)") {
		t.Errorf("warning %q, %v", out.Warning, err)
	}
}

// lock makes a file unreadable for the rest of the test.
func lock(t *testing.T, path string) {
	t.Helper()
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		return
	}
	// Root may read everything: be somebody else for a while.
	for dir := filepath.Dir(path); dir != filepath.Clean(os.TempDir()); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Seteuid(65534); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Seteuid(0) })
}

// V8: while the vault is away no note of it is called gone; when it is back they are read.
func TestNoteOfLostVault(t *testing.T) {
	s := serverOf(t, nil)
	root := s.vault.Root()
	write(t, filepath.Join(root, "n.md"), []byte("text"))
	if err := os.Rename(root, root+"-away"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	for _, path := range []string{"n.md", "N", "gone.md"} {
		_, err := s.Note(t.Context(), DefaultNote(path))
		if err == nil || !strings.Contains(err.Error(), "the vault's folder cannot be read") || strings.Contains(err.Error(), root) {
			t.Errorf("Note(%s) while the vault is away: %v, want that told", path, err)
		}
	}
	if err := os.Rename(root+"-away", root); err != nil {
		t.Fatal(err)
	}
	if out, err := s.Note(t.Context(), DefaultNote("n.md")); out.Text != "text" || err != nil {
		t.Errorf("Note when the vault is back = %q, %v", out.Text, err)
	}
}
