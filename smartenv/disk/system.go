package disk

import (
	"io/fs"
	"os"
	"path/filepath"
)

// A System makes the calls. The zero value makes them as they are.
type System struct{ tap Tap }

// A Tap is asked before each call: "open", "stat", "read", "readat", "readdir" or
// "readlink". It may wait, and with an error it fails the call. want is how many
// bytes or names are asked for, -1 being all of a folder; n is how many of them are
// delivered in spite of the error. A "read" may deliver fewer without any, as
// systems do. A Tap may be asked by several goroutines at once.
type Tap func(call, path string, want int) (n int, err error)

// Tapped returns a System that asks tap before each call. It is for tests.
func Tapped(tap Tap) System { return System{tap} }

// before asks the tap, if there is one.
func (s System) before(call, path string, want int) (n int, err error) {
	if s.tap == nil {
		return want, nil
	}
	return s.tap(call, path, want)
}

// Stat examines what path names, at the end of all links.
func (s System) Stat(path string) (fs.FileInfo, error) {
	if _, err := s.before("stat", path, 0); err != nil {
		return nil, err
	}
	return os.Stat(path)
}

// Lstat examines what stands at path itself.
func (s System) Lstat(path string) (fs.FileInfo, error) {
	if _, err := s.before("stat", path, 0); err != nil {
		return nil, err
	}
	return os.Lstat(path)
}

// Info examines an entry of a folder.
func (s System) Info(entry fs.DirEntry) (fs.FileInfo, error) {
	if _, err := s.before("stat", entry.Name(), 0); err != nil {
		return nil, err
	}
	return entry.Info()
}

// EvalSymlinks returns the path to which the links of path lead.
func (s System) EvalSymlinks(path string) (string, error) {
	if _, err := s.before("readlink", path, 0); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// A File is open for reading.
type File struct {
	file   *os.File
	system System
}

// Stat examines the file that is open, whatever has its name by now.
func (f *File) Stat() (fs.FileInfo, error) {
	if _, err := f.system.before("stat", f.file.Name(), 0); err != nil {
		return nil, err
	}
	return f.file.Stat()
}

// Read is that of io.Reader.
func (f *File) Read(p []byte) (int, error) {
	return f.read("read", p, f.file.Read)
}

// ReadAt is that of io.ReaderAt.
func (f *File) ReadAt(p []byte, at int64) (int, error) {
	return f.read("readat", p, func(p []byte) (int, error) { return f.file.ReadAt(p, at) })
}

func (f *File) read(call string, p []byte, read func(p []byte) (int, error)) (int, error) {
	n, fault := f.system.before(call, f.file.Name(), len(p))
	n, err := read(p[:n])
	if err == nil {
		err = fault
	}
	return n, err
}

// ReadDir is that of os.File.
func (f *File) ReadDir(n int) ([]fs.DirEntry, error) {
	most, fault := f.system.before("readdir", f.file.Name(), n)
	entries, err := f.file.ReadDir(n)
	if fault != nil {
		return entries[:min(len(entries), max(0, most))], fault
	}
	return entries, err
}

// Close is that of os.File.
func (f *File) Close() error { return f.file.Close() }

// A Root is an open folder out of which no path leads. Errors name what they are
// about by its path below it.
type Root struct {
	root   *os.Root
	system System
}

// OpenRoot opens the folder at path, which may be renamed and deleted meanwhile.
func (s System) OpenRoot(path string) (*Root, error) {
	if _, err := s.before("open", path, 0); err != nil {
		return nil, err
	}
	root, err := openRoot(path)
	if err != nil {
		return nil, err
	}
	return &Root{root, s}, nil
}

// OpenRoot opens the folder at name.
func (r *Root) OpenRoot(name string) (*Root, error) {
	if _, err := r.system.before("open", name, 0); err != nil {
		return nil, err
	}
	root, err := r.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Root{root, r.system}, nil
}

// Open opens a file or folder for reading. Like System.Open it never waits.
func (r *Root) Open(name string) (*File, error) {
	return r.system.open(name, func(name string) (*os.File, error) { return r.root.OpenFile(name, openFlags, 0) })
}

// Stat examines what name names, at the end of all links.
func (r *Root) Stat(name string) (fs.FileInfo, error) {
	if _, err := r.system.before("stat", name, 0); err != nil {
		return nil, err
	}
	return r.root.Stat(name)
}

// Lstat examines what stands at name itself.
func (r *Root) Lstat(name string) (fs.FileInfo, error) {
	if _, err := r.system.before("stat", name, 0); err != nil {
		return nil, err
	}
	return r.root.Lstat(name)
}

// Readlink returns where the link at name points to.
func (r *Root) Readlink(name string) (string, error) {
	if _, err := r.system.before("readlink", name, 0); err != nil {
		return "", err
	}
	return r.root.Readlink(name)
}

// Close is that of os.Root.
func (r *Root) Close() error { return r.root.Close() }
