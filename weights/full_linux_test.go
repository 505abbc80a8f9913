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
	h := newFakeHub(t, model(t, nil))
	s := h.source(t)
	if err := syscall.Mount("tmpfs", s.CacheDir, "tmpfs", 0, "size=192k"); err != nil {
		t.Skipf("a small disk needs the right to mount one: %v", err)
	}
	defer syscall.Unmount(s.CacheDir, 0)
	_, err := s.Load(t.Context(), testModel)
	dir, _ := s.modelDir(testModel)
	expect(t, "full disk", err, "model.safetensors", "no space is left", dir, "SMART_MODEL_CACHE")
	if got, want := names(t, s), "config.json tokenizer.json"; got != want {
		t.Errorf("after a full disk the cache holds %s, want %s", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "more"), make([]byte, 64<<10), 0o644); err != nil {
		t.Errorf("the disk is still full: %v", err)
	}
}

func TestReadOnlyDisk(t *testing.T) {
	h := newFakeHub(t, model(t, nil))
	s := h.source(t)
	if err := syscall.Mount("tmpfs", s.CacheDir, "tmpfs", syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("a read-only disk needs the right to mount one: %v", err)
	}
	defer syscall.Unmount(s.CacheDir, 0)
	_, err := s.Load(t.Context(), testModel)
	expect(t, "read-only disk", err, s.CacheDir, "read-only", "SMART_MODEL_CACHE", "SMART_MODEL_PATH")
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
