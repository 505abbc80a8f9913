//go:build !windows

package note

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"smart-connections-mcp/smartenv/disk"
)

// V1: TestIrregularFiles would hang if one of them were opened without care.
func TestIrregularFiles(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, "Note.md", "folder.md/x.md")
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo.md"), 0o644); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", filepath.Join(dir, "socket.md"))
	if err != nil {
		t.Skipf("no sockets here: %v", err)
	}
	defer socket.Close()
	link(t, "fifo.md", filepath.Join(dir, "link.md"))
	link(t, "/dev/zero", filepath.Join(dir, "zero.md"))
	irregular := []string{"fifo.md", "socket.md", "link.md", "folder.md", "zero.md"}
	if mknod(filepath.Join(dir, "device.md")) == nil {
		irregular = append(irregular, "device.md")
	} else {
		t.Log("no device node: only root may make one")
	}
	v := openVault(t, dir)

	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, path := range irregular {
			var refused *RefusedError
			if _, err := v.Read(path); !errors.As(err, &refused) {
				t.Errorf("Read(%q): %v, want it refused", path, err)
			}
			if _, err := v.Resolve(path); err == nil {
				t.Errorf("Resolve(%q) finds it", path)
			}
		}
		if _, err := (disk.System{}).Open(filepath.Join(dir, "fifo.md")); err == nil {
			t.Error("Open opens a FIFO")
		}
		got, _, err := v.List()
		if len(got) != 2 || err != nil {
			t.Errorf("List() = %q, %v, want two notes", got, err)
		}
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("an irregular file blocks")
	}
}

// V3: a note that is swapped for a FIFO, whose open would wait for a writer, while
// it is read.
func TestReadWhileFIFOFlips(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, "Note.md")
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(at("fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	v := openVault(t, dir)
	done := make(chan int)
	go func() {
		read := 0
		for deadline := time.Now().Add(time.Second / 2); time.Now().Before(deadline); {
			if text, err := v.Read("Note.md"); err == nil {
				if read++; text != "Note.md" {
					t.Errorf("Read = %q", text)
				}
			}
		}
		done <- read
	}()
	for timeout := time.After(10 * time.Second); ; {
		for _, move := range [][2]string{{"Note.md", "aside"}, {"fifo", "Note.md"}, {"Note.md", "fifo"}, {"aside", "Note.md"}} {
			os.Rename(at(move[0]), at(move[1]))
		}
		select {
		case read := <-done:
			if read == 0 {
				t.Error("nothing was read between the flips")
			}
			return
		case <-timeout:
			t.Fatal("a reader waits for the other end of a FIFO")
		default:
		}
	}
}

// V1, bug 41: what may not be read is there all the same.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, "Note.md", "Closed/x.md", "closed.md")
	for _, name := range []string{"Closed", "closed.md"} {
		if err := os.Chmod(filepath.Join(dir, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(filepath.Join(dir, "Closed"), 0o755)
	if os.Geteuid() == 0 { // root may read everything: be somebody else for a moment
		for _, dir := range []string{filepath.Dir(dir), dir} {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Seteuid(65534); err != nil {
			t.Fatal(err)
		}
		defer syscall.Seteuid(0)
	}
	v := openVault(t, dir)
	for _, path := range []string{"Closed/x.md", "closed.md"} {
		if _, err := v.Read(path); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("Read(%q): %v, want fs.ErrPermission", path, err)
		}
	}
	if _, err := v.Resolve("Closed/x.md"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Resolve below a closed folder: %v, want fs.ErrPermission", err)
	}
	got, unreadable, err := v.List()
	if len(got) != 2 || unreadable != 1 || err != nil {
		t.Errorf("List() = %q, %d, %v, want two notes and one closed folder", got, unreadable, err)
	}
}

// TestUnusableNames lists names that Linux allows and no path can have.
func TestUnusableNames(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, "Note.md")
	made := 0
	for _, name := range []string{"latin\xe9.md", `back\slash.md`, "co:lon.md", "trailing ./x.md"} {
		full := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(full), 0o755)
		if os.WriteFile(full, nil, 0o644) == nil {
			made++
		}
	}
	v := openVault(t, dir)
	got, unreadable, err := v.List()
	if len(got) != 1 || unreadable != made || err != nil {
		t.Errorf("List() = %q, %d, %v, want Note.md and %d names left out", got, unreadable, err, made)
	}
}
