package weights

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A disk that fills up while the weights come: the error says so, and the disk
// is not left full.
func TestFullDisk(t *testing.T) {
	for _, files := range bothForms(t) {
		h := newFakeHub(t, files)
		s := h.source(t)
		mount(t, s.CacheDir, 0, "size=192k")
		_, err := s.Load(t.Context(), testModel)
		dir, _ := s.modelDir(testModel)
		expect(t, "full disk", err, h.weights(), "no space is left", dir, "SMART_MODEL_CACHE")
		if got, want := names(t, s), "config.json tokenizer.json"; got != want {
			t.Errorf("after a full disk the cache holds %s, want %s", got, want)
		}
		if err := os.WriteFile(filepath.Join(dir, "more"), make([]byte, 64<<10), 0o644); err != nil {
			t.Errorf("the disk is still full: %v", err)
		}
	}
}

// mount puts a small disk of its own at dir until the test ends.
func mount(t *testing.T, dir string, flags uintptr, data string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, data); err != nil {
		t.Skipf("a disk of the test's own needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, 0) })
}

func TestReadOnlyDisk(t *testing.T) {
	h := newFakeHub(t, model(t, nil))
	s := h.source(t)
	mount(t, s.CacheDir, syscall.MS_RDONLY, "")
	_, err := s.Load(t.Context(), testModel)
	expect(t, "read-only disk", err, s.CacheDir, "read-only", "SMART_MODEL_CACHE", "SMART_MODEL_PATH")
}

// A disk that cannot be written serves what it holds, this program's own copy
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
