package disk

import (
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The packages that read a vault leave all calls of the system to this one, so that
// what holds when they fail is tested for all of them, and so that files are opened in
// the one way that is no hindrance to Obsidian.
func TestNoOtherCalls(t *testing.T) {
	calls := strings.Fields("Open OpenFile OpenRoot OpenInRoot ReadFile ReadDir Stat Lstat Readlink DirFS EvalSymlinks WalkDir Walk Glob CreateFile")
	for _, dir := range []string{"..", "../note", "../search", "../verify", "../measure"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range parsed.Unresolved { // packages among them
				if !slices.Contains([]string{"os", "filepath", "syscall", "windows", "unix"}, name.Name) {
					continue
				}
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				call, _, _ := strings.Cut(string(text[int(name.End()):]), "(")
				if slices.Contains(calls, call) {
					t.Errorf("%s calls %s.%s: let disk.System do it", file, name.Name, call)
				}
			}
		}
	}
}

// A Tap sees every call that there is, by its name.
func TestTap(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	var seen []string
	broken := errors.New("broken")
	var fail string
	s := Tapped(func(call, path string, want int) (int, error) {
		seen = append(seen, call)
		if call == fail {
			return min(1, want), broken
		}
		return want, nil
	})
	buffer := make([]byte, 4)
	calls := []struct {
		want string
		call func(root *Root, f, folder *File) error
	}{
		{"open stat", func(*Root, *File, *File) error { f, err := s.Open(path); closeAll(f); return err }},
		{"open", func(*Root, *File, *File) error { f, err := s.OpenFolder(dir); closeAll(f); return err }},
		{"open", func(*Root, *File, *File) error {
			r, err := s.OpenRoot(dir)
			if err == nil {
				r.Close()
			}
			return err
		}},
		{"stat", func(*Root, *File, *File) error { _, err := s.Stat(path); return err }},
		{"stat", func(*Root, *File, *File) error { _, err := s.Lstat(path); return err }},
		{"readlink", func(*Root, *File, *File) error { _, err := s.EvalSymlinks(path); return err }},
		{"open", func(r *Root, _, _ *File) error { f, err := r.Open("f"); closeAll(f); return err }},
		{"stat", func(r *Root, _, _ *File) error { _, err := r.Stat("f"); return err }},
		{"stat", func(r *Root, _, _ *File) error { _, err := r.Lstat("f"); return err }},
		{"readlink", func(r *Root, _, _ *File) error { _, _ = r.Readlink("f"); return nil }},
		{"stat", func(_ *Root, f, _ *File) error { _, err := f.Stat(); return err }},
		{"read", func(_ *Root, f, _ *File) error { _, err := f.Read(buffer); return err }},
		{"readat", func(_ *Root, f, _ *File) error { _, err := f.ReadAt(buffer, 0); return err }},
		{"readdir stat", func(_ *Root, _, folder *File) error {
			entries, err := folder.ReadDir(-1)
			if len(entries) == 1 {
				_, infoErr := s.Info(entries[0])
				err = errors.Join(err, infoErr)
			}
			return err
		}},
	}
	for i, c := range calls {
		for _, fail = range append([]string{""}, strings.Fields(c.want)...) {
			var plain System
			root, err := plain.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			root.system = s
			f, folder := &File{must(t, path), s}, &File{must(t, dir), s}
			seen = nil
			err = c.call(root, f, folder)
			got := strings.Join(seen, " ")
			if fail == "" && (err != nil || got != c.want) {
				t.Errorf("call %d: %v, seen %q, want %q", i, err, got, c.want)
			}
			if fail != "" && fail != "readlink" && (!errors.Is(err, broken) || !strings.HasPrefix(c.want, got)) {
				t.Errorf("call %d with %s broken: %v, seen %q", i, fail, err, got)
			}
			root.Close()
			f.Close()
			folder.Close()
		}
	}
}

func closeAll(f *File) {
	if f != nil {
		f.Close()
	}
}

func must(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Bug 62: EPERM, which is what macOS gives where the privacy settings forbid it, is
// told from a file's own permissions.
func TestHint(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EPERM}, "Full Disk Access"},
		{syscall.EACCES, "check its permissions"},
		{fs.ErrNotExist, "connect that"},
		{syscall.EIO, "check that its disk is connected"},
	}
	for _, test := range tests {
		if got := Hint(test.err); !strings.Contains(got, test.want) {
			t.Errorf("Hint(%v) = %q, want %q in it", test.err, got, test.want)
		}
	}
	if got := Hint(syscall.EACCES); strings.Contains(got, "Full Disk Access") {
		t.Errorf("Hint(EACCES) = %q, want no word of macOS", got)
	}
}
