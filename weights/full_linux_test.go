package weights

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// D3: a disk that fills up, whichever file it is that has no place any more: the
// error says so, nothing wrong has a name, the disk is not left full, and with
// more space the model comes. 64k are among the sizes.
func TestFullDisk(t *testing.T) {
	for i, files := range bothForms(t) {
		h := newFakeHub(t, files)
		s := h.source(t)
		s.Log = nil
		mount(t, s.CacheDir, 0, "size=4k")
		failed := 0
		for size := 4; ; size += 4 { // a page
			what := fmt.Sprintf("a disk of %dk", size)
			h.reset()
			remount(t, s.CacheDir, fmt.Sprintf("size=%dk", size))
			_, err := s.Load(t.Context(), testModel)
			checkNames(t, what, h, s)
			if err == nil {
				break
			}
			failed++
			dir, _ := s.modelDir(testModel)
			expect(t, what, err, testModel, "no space is left", dir, "free some", "SMART_MODEL_CACHE")
			checkLeftovers(t, what, names(t, s))
			if size == 192 {
				expect(t, what, err, h.weights())
				if got, want := names(t, s), "config.json tokenizer.json"; got != want {
					t.Errorf("after a full disk the cache holds %s, want %s", got, want)
				}
				more := filepath.Join(dir, "more")
				if err := os.WriteFile(more, make([]byte, 64<<10), 0o644); err != nil {
					t.Errorf("the disk is still full: %v", err)
				}
				os.Remove(more)
			}
		}
		if got := names(t, s); failed < 60 || got != h.complete() {
			t.Errorf("form %d: after %d full disks the cache holds %s, want %s", i, failed, got, h.complete())
		}
	}
}

// D3: a disk without a place for one more name.
func TestNoInodes(t *testing.T) {
	for _, files := range bothForms(t) {
		failed := 0
		for inodes := 2; ; inodes++ {
			h := newFakeHub(t, files)
			s := h.source(t)
			mount(t, s.CacheDir, 0, fmt.Sprintf("nr_inodes=%d", inodes))
			_, err := s.Load(t.Context(), testModel)
			what := fmt.Sprintf("a disk of %d names", inodes)
			checkNames(t, what, h, s)
			if err == nil {
				break
			}
			failed++
			expect(t, what, err, testModel, "no space is left", "SMART_MODEL_CACHE")
		}
		if failed < 6 {
			t.Errorf("%d disks were too small, want several", failed)
		}
	}
}

// mount puts a small disk of its own at dir until the test ends.
func mount(t *testing.T, dir string, flags uintptr, data string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, data); err != nil {
		t.Skipf("a disk of the test's own needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// remount changes the disk.
func remount(t *testing.T, dir, data string) {
	t.Helper()
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT, data); err != nil {
		t.Fatal(err)
	}
}

// D3: a disk that cannot be written.
func TestReadOnlyDisk(t *testing.T) {
	h := newFakeHub(t, model(t, nil))
	s := h.source(t)
	mount(t, s.CacheDir, syscall.MS_RDONLY, "")
	_, err := s.Load(t.Context(), testModel)
	expect(t, "read-only disk", err, s.CacheDir, "read-only", "SMART_MODEL_CACHE", "SMART_MODEL_PATH")
}

// D3: a disk that cannot be written serves what it holds, this program's own copy
// and the predecessor's.
func TestReadOnlyDiskWithModel(t *testing.T) {
	for _, own := range []bool{true, false} {
		h := newFakeHub(t, onnxModel(t, nil))
		s := h.source(t)
		mount(t, s.CacheDir, 0, "")
		if own {
			if _, err := s.Load(t.Context(), testModel); err != nil {
				t.Fatal(err)
			}
		} else {
			predecessor(t, s, onnxModel(t, nil))
		}
		if err := syscall.Mount("", s.CacheDir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		h.Close()
		if err := os.WriteFile(filepath.Join(s.CacheDir, "x"), nil, 0o644); err == nil {
			t.Fatal("the disk can be written")
		}
		m, err := s.Load(t.Context(), testModel)
		if err != nil {
			t.Errorf("own copy %v: %v", own, err)
			continue
		}
		checkShapes(t, m)
	}
}

// A pipe in a model folder is refused; opening it would wait for ever.
func TestPipe(t *testing.T) {
	dir := write(t, model(t, map[string]string{weightsFile: ""}))
	if err := syscall.Mkfifo(filepath.Join(dir, weightsFile), 0o644); err != nil {
		t.Skip(err)
	}
	_, err := Folder(dir)
	expect(t, "pipe", err, weightsFile, "not a regular file")
}
