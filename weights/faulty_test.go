package weights

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// faulty is a disk of which one operation fails, or all from one on.
type faulty struct {
	at      int // the one that fails, from 1; 0 = none
	lasting bool
	err     error
	half    bool // a read or write does half of its work before it fails

	mu    sync.Mutex
	trace []string // "op path" of all operations so far
}

func (f *faulty) disk() disk {
	return disk{fault: f.fault, files: func(dir string) fs.FS { return faultyFS{os.DirFS(dir), f} }}
}

func (f *faulty) fault(op, path string, n int) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trace = append(f.trace, op+" "+filepath.ToSlash(path))
	if now := len(f.trace); f.at == 0 || now < f.at || now > f.at && !f.lasting {
		return 0, nil
	}
	if !f.half {
		n = 0
	}
	return n / 2, &fs.PathError{Op: op, Path: path, Err: f.err}
}

func (f *faulty) lock(file *os.File) (lockState, error) {
	if _, err := f.fault("lock", file.Name(), 0); err != nil {
		return lockUnsupported, err
	}
	return tryLock(file)
}

// failed is the operation that did not succeed, "" when there was none.
func (f *faulty) failed() string {
	if f.at == 0 || f.at > len(f.trace) {
		return ""
	}
	return f.trace[f.at-1]
}

// faultyFS is a folder on a faulty disk.
type faultyFS struct {
	fs.FS
	faulty *faulty
}

func (f faultyFS) Open(name string) (fs.File, error) {
	if _, err := f.faulty.fault("look at", name, 0); err != nil {
		return nil, err
	}
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return faultyFile{file, name, f.faulty}, nil
}

type faultyFile struct {
	fs.File
	name   string
	faulty *faulty
}

func (f faultyFile) Read(b []byte) (int, error) {
	done, fault := f.faulty.fault("read", f.name, len(b))
	if fault != nil {
		b = b[:done]
	}
	n, err := f.File.Read(b)
	if fault != nil {
		err = fault
	}
	return n, err
}

func (f faultyFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if _, err := f.faulty.fault("list", f.name, 0); err != nil {
		return nil, err
	}
	return f.File.(fs.ReadDirFile).ReadDir(n)
}
