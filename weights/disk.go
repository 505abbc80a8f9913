package weights

import (
	"io/fs"
	"os"
)

// disk is the file system that the cache lies on. The zero disk is the
// system's. In tests, fault is asked before each operation whether it fails
// and, of one that reads or writes n bytes, how many of them come before that.
type disk struct {
	fault func(op, path string, n int) (done int, err error)
	files func(dir string) fs.FS // what a folder is read through; nil = os.DirFS
}

func (d disk) check(op, path string, n int) (done int, err error) {
	if d.fault == nil {
		return 0, nil
	}
	return d.fault(op, path, n)
}

// do is an operation that is done or not, with nothing between.
func (d disk) do(op, path string, operation func() error) error {
	if _, err := d.check(op, path, 0); err != nil {
		return err
	}
	return operation()
}

// dir is a folder to read from.
func (d disk) dir(path string) fs.FS {
	if d.files != nil {
		return d.files(path)
	}
	return os.DirFS(path)
}

func (d disk) mkdir(path string) error {
	return d.do("mkdir", path, func() error { return os.MkdirAll(path, 0o755) })
}

func (d disk) rename(from, to string) error {
	return d.do("rename", to, func() error { return rename(from, to) })
}

func (d disk) remove(path string) error {
	return d.do("remove", path, func() error { return os.Remove(path) })
}

func (d disk) syncDir(path string) error {
	return d.do("sync folder", path, func() error { return syncDir(path) })
}

func (d disk) readFile(path string) (data []byte, err error) {
	err = d.do("read state", path, func() error { data, err = os.ReadFile(path); return err })
	return data, err
}

func (d disk) writeFile(path string, data []byte) error {
	n, fault := d.check("write state", path, len(data))
	if fault != nil {
		data = data[:n]
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return err
	}
	return fault
}

// open opens a file to read and write, and makes it if need be.
func (d disk) open(path string) (f diskFile, err error) {
	f.disk = d
	err = d.do("open", path, func() error { f.File, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644); return err })
	return f, err
}

// createTemp is os.CreateTemp.
func (d disk) createTemp(dir, pattern string) (f diskFile, err error) {
	f.disk = d
	err = d.do("create", dir, func() error { f.File, err = os.CreateTemp(dir, pattern); return err })
	return f, err
}

// diskFile is an open file of a disk.
type diskFile struct {
	*os.File
	disk disk
}

func (f diskFile) WriteAt(b []byte, at int64) (int, error) {
	done, fault := f.disk.check("write", f.Name(), len(b))
	if fault != nil {
		b = b[:done]
	}
	n, err := f.File.WriteAt(b, at)
	if err == nil {
		err = fault
	}
	return n, err
}

func (f diskFile) ReadAt(b []byte, at int64) (int, error) {
	done, fault := f.disk.check("read back", f.Name(), len(b))
	if fault != nil {
		b = b[:done]
	}
	n, err := f.File.ReadAt(b, at)
	if err == nil {
		err = fault
	}
	return n, err
}

func (f diskFile) Truncate(size int64) error {
	return f.disk.do("truncate", f.Name(), func() error { return f.File.Truncate(size) })
}

func (f diskFile) Sync() error { return f.disk.do("sync", f.Name(), f.File.Sync) }

// Close closes the file also when that is said to fail.
func (f diskFile) Close() error {
	_, fault := f.disk.check("close", f.Name(), 0)
	if err := f.File.Close(); err != nil {
		return err
	}
	return fault
}
