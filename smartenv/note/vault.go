package note

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	slashpath "path"
	"path/filepath"
	"sync"
	"time"
)

// Vault is the folder of an Obsidian vault, opened for reading. It is safe for
// concurrent use. Nothing outside the folder and nothing in a dot folder can be
// reached through it. When the folder is replaced by another of the same name,
// or comes back after it was gone, the Vault follows within a second.
type Vault struct {
	dir string // absolute, as given

	mu      sync.Mutex
	root    *os.Root
	checked time.Time       // when root was last seen to be what dir names
	plain   map[string]bool // folders found to be no links since then
	closed  bool
}

// Info is what Stat tells about a file.
type Info struct {
	Size    int64 // bytes
	ModTime time.Time
}

const (
	rootRecheck = time.Second
	maxFile     = 64 << 20 // bytes; a larger file is no note
	readRetries = 3        // for a file that changes while it is read
)

// OpenVault opens the vault at dir, which must be a folder. Its error does not
// name dir: the caller, who knows whether it may be shown, adds it.
func OpenVault(dir string) (*Vault, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, pathError("open", "vault", err)
	}
	v := &Vault{dir: abs}
	if _, err := v.current(); err != nil {
		return nil, err
	}
	return v, nil
}

// Root returns the vault's folder as an absolute path of the host, for the
// plugin's own files. Never show it to a client.
func (v *Vault) Root() string { return v.dir }

// Close releases the folder. Reads that are under way end well.
func (v *Vault) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	if v.root == nil {
		return nil
	}
	err := v.root.Close()
	v.root = nil
	return err
}

// current returns the open root, replacing it when dir has become another
// folder. A Root that is replaced stays usable for those who have it until the
// garbage collector finds it.
func (v *Vault) current() (*os.Root, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil, pathError("open", "vault", fs.ErrClosed)
	}
	if v.root != nil && time.Since(v.checked) < rootRecheck {
		return v.root, nil
	}
	now, err := os.Stat(v.dir)
	if err != nil {
		return nil, pathError("open", "vault", err)
	}
	if !now.IsDir() {
		return nil, pathError("open", "vault", errors.New("it is not a folder"))
	}
	v.plain = map[string]bool{}
	if v.root != nil {
		if held, err := v.root.Stat("."); err == nil && os.SameFile(held, now) {
			v.checked = time.Now()
			return v.root, nil
		}
	}
	root, err := os.OpenRoot(v.dir)
	if err != nil {
		return nil, pathError("open", "vault", err)
	}
	v.root, v.checked = root, time.Now()
	return root, nil
}

// Read returns the bytes of a regular file, as they are, by its exact path
// below the vault: "/" between folders, names as they are on disk (see Resolve).
// Symbolic links are followed while they stay in the vault and out of dot
// folders; anything else is a *RefusedError. The error is fs.ErrNotExist when
// nothing has that path, and ErrNotDownloaded when iCloud has it. A file that
// changes while it is read is read again.
//
// What is mounted in the vault belongs to it, and so does a file with further
// hard links: these have no direction, tools that back up, sync or deduplicate
// make them of ordinary notes, and who may make one could as well copy the file.
func (v *Vault) Read(path string) (string, error) {
	for try := 1; ; try++ {
		text, steady, err := v.readOnce(path)
		moved := errors.Is(err, errMoved)
		if err != nil && !moved || steady || try == readRetries {
			return text, err
		}
		if moved {
			v.forgetPlain()
		}
		time.Sleep(time.Duration(try) * 10 * time.Millisecond)
	}
}

func (v *Vault) readOnce(path string) (text string, steady bool, err error) {
	root, place, _, err := v.locate(path)
	if err != nil {
		return "", false, err
	}
	return readFile(root, path, place)
}

// readFile reads the file at place and reports whether it stayed the same
// meanwhile; path is its name in errors.
func readFile(root *os.Root, path, place string) (text string, steady bool, err error) {
	f, err := openPlain(root, place)
	if err != nil {
		return "", false, pathError("open", path, err)
	}
	defer f.Close()
	before, err := f.Stat()
	switch {
	case err != nil:
		return "", false, pathError("stat", path, err)
	case !isRegular(before.Mode()):
		return "", false, refuse(path, reasonIrregular)
	case before.Size() > maxFile:
		return "", false, refuse(path, reasonHuge)
	}
	var b bytes.Buffer
	b.Grow(int(before.Size()) + bytes.MinRead)
	if _, err := b.ReadFrom(io.LimitReader(f, maxFile)); err != nil {
		return "", false, pathError("read", path, err)
	}
	after, err := f.Stat()
	steady = err == nil && after.Size() == before.Size() && after.ModTime().Equal(before.ModTime())
	return b.String(), steady, nil
}

// Stat tells size and time of a regular file without opening it. Path and
// errors are as in Read. It is made for asking after all notes of a vault: most
// calls are a single one of the system.
func (v *Vault) Stat(path string) (Info, error) {
	info, ok := v.quickStat(path)
	if !ok {
		var err error
		if _, _, info, err = v.locate(path); err != nil {
			return Info{}, err
		}
	}
	return Info{Size: info.Size(), ModTime: info.ModTime()}, nil
}

// quickStat asks by the path on the host, where the folder is known to be
// reached without links. If someone makes it a link within the second for which
// that is known, the size and time of a file outside are all that can be seen.
func (v *Vault) quickStat(path string) (info fs.FileInfo, ok bool) {
	if checkPath(path) != "" || shortName(slashpath.Base(path)) {
		return nil, false
	}
	if _, err := v.current(); err != nil || !v.isPlain(slashpath.Dir(path)) {
		return nil, false
	}
	info, err := os.Lstat(filepath.Join(v.dir, filepath.FromSlash(path)))
	return info, err == nil && isRegular(info.Mode())
}
