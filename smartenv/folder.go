package smartenv

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"smart-connections-mcp/smartenv/disk"
	"smart-connections-mcp/smartenv/note"
)

// indexFolder is the plugin's folder below the vault's root. The other names are
// below it.
const (
	indexFolder  = ".smart-env"
	inlineFolder = "multi"
	settingsFile = "smart_env.json"
	modelsFile   = modelsCollection + "/embedding_models.ajson"
)

// A folder is the index's folder. What is in it goes by its path below it, with
// "/", in errors too: they are shown to clients.
type folder struct {
	disk disk.System
	dir  string
}

func folderOf(v *note.Vault) folder {
	return folder{v.Disk(), filepath.Join(v.Root(), indexFolder)}
}

func (in folder) path(name string) string { return filepath.Join(in.dir, filepath.FromSlash(name)) }

// open opens a regular file.
func (in folder) open(name string) (*disk.File, error) {
	f, err := in.disk.Open(in.path(name))
	if err != nil {
		return nil, disk.PathError("open", name, err)
	}
	return f, nil
}

// stat examines a regular file through a handle.
func (in folder) stat(name string) (fs.FileInfo, error) {
	f, err := in.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, disk.PathError("stat", name, err)
	}
	return info, nil
}

// read returns a whole regular file. One of which less can be had than it is long is
// io.ErrUnexpectedEOF.
func (in folder) read(name string) ([]byte, error) {
	f, err := in.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	info, unsure := f.Stat()
	if err = cmp.Or(err, unsure); err == nil && int64(len(data)) < info.Size() {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, disk.PathError("read", name, err)
	}
	return data, nil
}

// entries lists what is in a folder below, sorted by name.
func (in folder) entries(name string) ([]fs.DirEntry, error) {
	f, err := in.disk.OpenFolder(in.path(name))
	if err != nil {
		return nil, disk.PathError("open", name, err)
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, disk.PathError("read", name, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// unread is the error of a load that could not read what it needs.
func unread(err error) error {
	return fmt.Errorf("reading the index: %w: %s", err, disk.Hint(err))
}
