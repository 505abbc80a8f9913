package note

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"smart-connections-mcp/smartenv/disk"
)

// What follows does to files what Obsidian does, with the system's own calls and
// as Node opens files: sharing everything. A refusal is then for what we hold.

func plainOpen(path string, access, how uint32) (windows.Handle, error) {
	return windows.CreateFile(wide(path), access,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE,
		nil, how, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
}

func wide(path string) *uint16 {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		panic(err)
	}
	return name
}

func plainWrite(path, text string, how uint32) error {
	h, err := plainOpen(path, windows.GENERIC_WRITE, how)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	if how == windows.OPEN_EXISTING {
		if _, err := windows.SetFilePointer(h, 0, nil, windows.FILE_END); err != nil {
			return err
		}
	}
	_, err = windows.Write(h, []byte(text))
	return err
}

func plainAppend(path string) error   { return plainWrite(path, "more", windows.OPEN_EXISTING) }
func plainTruncate(path string) error { return plainWrite(path, "", windows.TRUNCATE_EXISTING) }
func plainDelete(path string) error   { return windows.DeleteFile(wide(path)) }
func plainRename(path string) error   { return plainMove(path, path+".moved") }

func plainMove(from, to string) error {
	return windows.MoveFileEx(wide(from), wide(to), windows.MOVEFILE_REPLACE_EXISTING)
}

// While we hold a file open, in each way in which the program opens one, others
// may do with it what they like.
func TestSharedFile(t *testing.T) {
	holders := map[string]func(t *testing.T, dir string) io.Closer{
		"disk.Open": func(t *testing.T, dir string) io.Closer {
			return must(disk.System{}.Open(filepath.Join(dir, "note.md")))
		},
		"Vault.Read": func(t *testing.T, dir string) io.Closer {
			root := must(openVault(t, dir).current(0))
			return must(root.Open("note.md")) // as readFile does
		},
	}
	acts := map[string]func(path string) error{
		"append": plainAppend, "truncate": plainTruncate, "rename": plainRename, "delete": plainDelete,
	}
	for holder, hold := range holders {
		for act, do := range acts {
			dir := t.TempDir()
			writeFiles(t, dir, "note.md")
			held := hold(t, dir)
			if err := do(filepath.Join(dir, "note.md")); err != nil {
				t.Errorf("%s while %s has the file open: %v", act, holder, err)
			}
			held.Close()
		}
	}
}

// The same for folders, of which one, the vault's, is open for as long as the
// server runs.
func TestSharedFolder(t *testing.T) {
	holders := map[string]func(t *testing.T, dir string) io.Closer{
		"disk.OpenFolder": func(t *testing.T, dir string) io.Closer {
			f := must(disk.System{}.OpenFolder(dir))
			must(f.ReadDir(1))
			return f
		},
		"Vault": func(t *testing.T, dir string) io.Closer {
			v := openVault(t, dir)
			must(v.Read("note.md"))
			if _, _, err := v.ListStat(t.Context()); err != nil {
				t.Fatal(err)
			}
			return v
		},
	}
	acts := map[string]func(dir string) error{
		"rename of the folder": plainRename,
		"rename of a file":     func(dir string) error { return plainRename(filepath.Join(dir, "note.md")) },
		"a new file": func(dir string) error {
			return plainWrite(filepath.Join(dir, "new.md"), "new", windows.CREATE_NEW)
		},
		"delete of the folder": func(dir string) error {
			return errors.Join(plainDelete(filepath.Join(dir, "note.md")), windows.RemoveDirectory(wide(dir)))
		},
	}
	for holder, hold := range holders {
		for act, do := range acts {
			dir := filepath.Join(t.TempDir(), "folder")
			writeFiles(t, dir, "note.md")
			held := hold(t, dir)
			if err := do(dir); err != nil {
				t.Errorf("%s while %s has the folder open: %v", act, holder, err)
			}
			held.Close()
		}
	}
}

// A vault that is deleted while it is open can be made anew at once.
func TestDeletedVaultComesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vault")
	writeFiles(t, dir, "note.md")
	v := openVault(t, dir)
	must(v.Read("note.md"))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	v.checked = time.Time{} // instead of waiting a second
	if _, err := v.Read("note.md"); err == nil {
		t.Error("Read of a deleted vault gives its note")
	}
	writeFiles(t, dir, "new.md")
	if text, err := v.Read("new.md"); text != "new.md" || err != nil {
		t.Errorf("Read of the new vault = %q, %v", text, err)
	}
}

// A writer that truncates, renames, deletes and replaces files which are read
// without a pause is never refused for the way in which they are open. Two things
// Windows refuses with any handle open, until it is closed: to replace the file,
// and to make one of the name of a deleted one; these a writer tries again.
func TestWriterIsNotBlocked(t *testing.T) {
	rounds := 200
	if os.Getenv("HOSTILE") != "" {
		rounds = 5000
	}
	dir := t.TempDir()
	path, other := filepath.Join(dir, "note.md"), filepath.Join(dir, "other.md")
	if err := plainWrite(path, "text", windows.CREATE_ALWAYS); err != nil {
		t.Fatal(err)
	}
	v := openVault(t, dir)
	var reads atomic.Int64
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- readOn(v, dir, stop, &reads) }()

	begun, tries := time.Now(), 0
	for round := range rounds {
		// As Obsidian saves, and as the plugin appends.
		check(t, "truncate", plainTruncate(path))
		check(t, "append", plainAppend(path))
		// As a sync tool replaces a file.
		check(t, "write the new file", plainWrite(other, "text", windows.CREATE_ALWAYS))
		tries += again(t, "rename over", func() error { return plainMove(other, path) })
		// As the plugin's Optimize moves the old file away.
		old := fmt.Sprintf("%s.%d", path, round)
		check(t, "rename", plainMove(path, old))
		check(t, "write anew", plainWrite(path, "text", windows.CREATE_NEW))
		check(t, "delete", plainDelete(old))
		check(t, "delete", plainDelete(path))
		tries += again(t, "write anew", func() error { return plainWrite(path, "text", windows.CREATE_NEW) })
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
	t.Logf("%d rounds of 9 changes in %v, %d of them tried again, during %d reads", rounds, time.Since(begun).Round(time.Millisecond), tries, reads.Load())
	if reads.Load() < int64(rounds/20) {
		t.Errorf("only %d reads in %d rounds: nothing was tried", reads.Load(), rounds)
	}
}

// readOn reads path in all ways until stop, and returns what is no answer to a
// file that comes and goes.
func readOn(v *Vault, dir string, stop <-chan struct{}, reads *atomic.Int64) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		text, err := v.Read("note.md")
		if f, openErr := (disk.System{}).Open(filepath.Join(dir, "note.md")); openErr == nil {
			io.Copy(io.Discard, f)
			f.Close()
		}
		_, unreadable, listErr := v.ListStat(context.Background())
		gone := err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) // of a file that is being deleted
		if !gone || strings.Trim(text, "texmor") != "" || unreadable > 0 || listErr != nil {
			return fmt.Errorf("Read = %q, %v; ListStat: %d unreadable, %v", text, err, unreadable, listErr)
		}
		reads.Add(1)
	}
}

// again tries until it works, for 20 seconds at most, and returns how often it did
// not.
func again(t *testing.T, what string, try func() error) (refused int) {
	t.Helper()
	for begun := time.Now(); ; refused++ {
		err := try()
		if err == nil {
			return refused
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("%s: refused %d times: %v", what, refused, err)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
