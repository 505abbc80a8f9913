package note

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// OpenShared opens a regular file of the plugin's own for reading, by its path
// on the host, so that the plugin can write, rename and delete it meanwhile (on
// Windows os.Open would make these fail). It never waits for the other end of a
// FIFO. Read the file at once and close it. Errors name the file without its
// folder.
func OpenShared(path string) (*os.File, error) {
	f, err := openShared(path)
	if err != nil {
		return nil, pathError("open", filepath.Base(path), err)
	}
	info, err := f.Stat()
	if err == nil && !isRegular(info.Mode()) {
		err = errors.New(reasonIrregular)
	}
	if err != nil {
		f.Close()
		return nil, pathError("open", filepath.Base(path), err)
	}
	return f, nil
}

// OpenFolder opens a folder for listing as OpenShared opens a file.
func OpenFolder(path string) (*os.File, error) {
	f, err := openShared(path)
	if err != nil {
		return nil, pathError("open", filepath.Base(path), err)
	}
	return f, nil
}

// pathError says about path what err says about whatever path it names.
func pathError(op, path string, err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}
