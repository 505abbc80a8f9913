package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

var errIrregular = errors.New("it is not a regular file")

// Open opens a regular file for reading, by its path on the host, so that its owner
// can write, rename and delete it meanwhile (on Windows os.Open would make these
// fail). It never waits for the other end of a FIFO. Read the file at once and
// close it. Errors name the file without its folder.
func (s System) Open(path string) (*File, error) {
	f, err := s.open(path, openShared)
	if err != nil {
		return nil, PathError("open", filepath.Base(path), err)
	}
	info, err := f.Stat()
	if err == nil && !IsRegular(info.Mode()) {
		err = errIrregular
	}
	if err != nil {
		f.Close()
		return nil, PathError("open", filepath.Base(path), err)
	}
	return f, nil
}

// OpenFolder opens a folder, by its path on the host, for ReadDir. Like Open it
// keeps nobody from renaming and deleting it.
func (s System) OpenFolder(path string) (*File, error) { return s.open(path, openShared) }

func (s System) open(path string, open func(path string) (*os.File, error)) (*File, error) {
	if _, err := s.before("open", path, 0); err != nil {
		return nil, err
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	return &File{f, s}, nil
}

// PathError says about path what err says about whatever path it names.
func PathError(op, path string, err error) error {
	return &fs.PathError{Op: op, Path: path, Err: Cause(err)}
}

// Cause is what err says without the path it names, which may be nobody's business.
func Cause(err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		return inner.Err
	}
	return err
}
