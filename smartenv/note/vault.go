package note

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	slashpath "path"
	"path/filepath"
	"sync"
	"time"

	"smart-connections-mcp/smartenv/disk"
)

// Vault is the folder of an Obsidian vault, opened for reading. It is safe for
// concurrent use. Nothing outside the folder and nothing in a dot folder can be
// reached through it. When the folder is replaced by another of the same name,
// or comes back after it was gone, the Vault follows within a second.
type Vault struct {
	dir  string // absolute, as given
	disk disk.System

	mu      sync.Mutex
	root    *disk.Root
	checked time.Time       // when root was last seen to be what dir names
	plain   map[string]bool // folders found to be no links
	since   time.Time       // since when plain is gathered, less than rootRecheck ago
	closed  bool
}

// Info is what Stat tells about a file.
type Info struct {
	Size    int64 // bytes
	ModTime time.Time
}

const (
	rootRecheck = time.Second
	rootDoubt   = 10 * time.Millisecond // where something is missing that may be missing with the vault
	maxFile     = 64 << 20              // bytes; a larger file is no note
	readRetries = 3                     // for a file that changes while it is read
)

// A LostError says that the vault's folder cannot be reached itself, so that nothing
// is known of what is in it. It is no fs.ErrNotExist, which would say that a note is
// gone. The vault is used again as soon as it is back.
type LostError struct{ cause error }

func (e *LostError) Error() string {
	return "the vault's folder cannot be read (" + e.cause.Error() + "): " + disk.Hint(e.cause)
}

var (
	errNoFolder = errors.New("it is not a folder")
	errEmptied  = errors.New("it is empty all of a sudden")
)

// OpenVault opens the vault at dir, which must be a folder. Its error does not
// name dir: the caller, who knows whether it may be shown, adds it.
func OpenVault(dir string) (*Vault, error) { return OpenVaultOn(disk.System{}, dir) }

// OpenVaultOn is OpenVault with all calls of the system made through sys.
func OpenVaultOn(sys disk.System, dir string) (*Vault, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, &LostError{err}
	}
	v := &Vault{dir: abs, disk: sys}
	if err := v.Check(); err != nil {
		return nil, err
	}
	return v, nil
}

// Root returns the vault's folder as an absolute path of the host, for the
// plugin's own files. Never show it to a client.
func (v *Vault) Root() string { return v.dir }

// Disk is what the plugin's own files are to be read through.
func (v *Vault) Disk() disk.System { return v.disk }

// Check returns a *LostError while the vault's folder cannot be reached.
func (v *Vault) Check() error {
	_, err := v.current(rootDoubt)
	return err
}

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
// folder, for which it looks when that was last done longer ago than recheck. A Root
// that is replaced stays usable for those who have it until the garbage collector
// finds it.
func (v *Vault) current(recheck time.Duration) (*disk.Root, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil, disk.PathError("open", "vault", fs.ErrClosed)
	}
	start := time.Now()
	if v.root != nil && start.Sub(v.checked) < recheck && start.Sub(v.since) < rootRecheck {
		return v.root, nil
	}
	now, err := v.disk.Stat(v.dir)
	if err != nil {
		return nil, &LostError{disk.Cause(err)}
	}
	if !now.IsDir() {
		return nil, &LostError{errNoFolder}
	}
	if v.root != nil {
		if held, err := v.root.Stat("."); err == nil && os.SameFile(held, now) {
			if v.checked = start; start.Sub(v.since) >= rootRecheck {
				v.plain, v.since = map[string]bool{}, start
			}
			return v.root, nil
		}
	}
	root, err := v.disk.OpenRoot(v.dir)
	if err != nil {
		return nil, &LostError{disk.Cause(err)}
	}
	if v.root != nil { // a drive that is not mounted leaves an empty folder
		if entries, _, err := v.readDir(root, ""); err != nil || len(entries) == 0 {
			root.Close()
			return nil, &LostError{cmp.Or(disk.Cause(err), errEmptied)}
		}
	}
	v.root, v.checked, v.plain, v.since = root, start, map[string]bool{}, start
	return root, nil
}

// Read returns the bytes of a regular file, as they are, by its exact path
// below the vault: "/" between folders, names as they are on disk (see Resolve).
// Symbolic links are followed while they stay in the vault and out of dot
// folders; anything else is a *RefusedError. The error is fs.ErrNotExist when
// nothing has that path, ErrNotDownloaded when iCloud has it, and a *LostError
// when the vault is not there either. A file that changes while it is read is read
// again; one of which less can be had than it is long is io.ErrUnexpectedEOF.
//
// What is mounted in the vault belongs to it, and so does a file with further
// hard links: these have no direction, tools that back up, sync or deduplicate
// make them of ordinary notes, and who may make one could as well copy the file.
func (v *Vault) Read(path string) (string, error) {
	for try := 1; ; try++ {
		text, steady, err := v.readOnce(path)
		moved := errors.Is(err, errMoved)
		if steady || try == readRetries || err != nil && !moved && !errors.Is(err, io.ErrUnexpectedEOF) {
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
	if text, steady, err = readFile(root, path, place); err != nil {
		if lost := v.Check(); lost != nil {
			err = lost
		}
	}
	return text, steady, err
}

// readFile reads the file at place and reports whether it stayed the same
// meanwhile; path is its name in errors.
func readFile(root *disk.Root, path, place string) (text string, steady bool, err error) {
	f, err := openPlain(root, place)
	if err != nil {
		return "", false, disk.PathError("open", path, err)
	}
	defer f.Close()
	before, err := f.Stat()
	switch {
	case err != nil:
		return "", false, disk.PathError("stat", path, err)
	case !disk.IsRegular(before.Mode()):
		return "", false, refuse(path, reasonIrregular)
	case before.Size() > maxFile:
		return "", false, refuse(path, reasonHuge)
	}
	var b bytes.Buffer
	b.Grow(int(before.Size()) + bytes.MinRead)
	if _, err := b.ReadFrom(io.LimitReader(f, maxFile)); err != nil {
		return "", false, disk.PathError("read", path, err)
	}
	after, err := f.Stat()
	if err == nil && int64(b.Len()) < min(before.Size(), after.Size()) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return "", false, disk.PathError("read", path, err)
	}
	return b.String(), after.Size() == before.Size() && after.ModTime().Equal(before.ModTime()), nil
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
	if _, err := v.current(rootRecheck); err != nil || !v.isPlain(slashpath.Dir(path)) {
		return nil, false
	}
	info, err := v.disk.Lstat(filepath.Join(v.dir, filepath.FromSlash(path)))
	return info, err == nil && disk.IsRegular(info.Mode())
}
