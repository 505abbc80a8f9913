package weights

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"smart-connections-mcp/bert"
)

// cacheName is the program's folder in the user's cache.
const cacheName = "smart-connections-mcp"

// sumsFile records the sha256 of each file of a cached model, in the format of
// the sha256sum command. It is written last: a folder without it is not a model
// yet, whatever else it holds.
const sumsFile = "SHA256SUMS"

// errNotCached says that the cache does not hold the model, or not all of it.
var errNotCached = errors.New("not in the cache")

// errUnreadable ends the errors about a cache that the system does not let us
// read: nothing tells that what it holds is bad, so it is not fetched again.
var errUnreadable = errors.New("set SMART_MODEL_CACHE to a folder that can be read and written, or " + wayOut)

// DefaultCacheDir is where models are kept unless SMART_MODEL_CACHE says
// otherwise: smart-connections-mcp below $XDG_CACHE_HOME, on Windows
// %LOCALAPPDATA%, or the home folder's .cache. The folder need not exist.
func DefaultCacheDir(getenv func(string) string) (string, error) {
	return cacheDir(runtime.GOOS, getenv)
}

func cacheDir(goos string, getenv func(string) string) (string, error) {
	places := []struct{ variable, below string }{{"XDG_CACHE_HOME", ""}, {"HOME", ".cache"}}
	if goos == "windows" {
		places = []struct{ variable, below string }{
			{"XDG_CACHE_HOME", ""}, {"LOCALAPPDATA", ""}, {"USERPROFILE", ".cache"},
		}
	}
	var tried []string
	for _, p := range places {
		// A relative path would mean another folder at each start.
		if dir := getenv(p.variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, p.below, cacheName), nil
		}
		tried = append(tried, p.variable)
	}
	return "", fmt.Errorf("no folder for the model cache: none of %s is an absolute path: set SMART_MODEL_CACHE to a folder",
		strings.Join(tried, ", "))
}

// loadCached loads a model from its folder in the cache and checks on the way
// that every file is still what was fetched.
func loadCached(d disk, dir string) (bert.Checkpoint, error) {
	sums, err := cachedSums(d, dir)
	if err != nil {
		return bert.Checkpoint{}, err
	}
	c, err := folder{files: d.dir(dir), sums: sums}.load()
	switch _, system := errors.AsType[syscall.Errno](err); {
	case system:
		return c, fmt.Errorf("%s in %s: %w", err, dir, errUnreadable)
	case err != nil:
		return c, fmt.Errorf("%w: delete the folder %s, and the model is fetched again at the next start", err, dir)
	}
	return c, nil
}

// cachedSums reads the recorded digests of a complete model. The error is
// errNotCached when the record or a file in it is not there.
func cachedSums(d disk, dir string) (map[string]string, error) {
	files := d.dir(dir)
	data, err := fs.ReadFile(files, sumsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNotCached
	}
	if err != nil {
		return nil, fmt.Errorf("%s in %s: %w: %w", sumsFile, dir, bare(err), errUnreadable)
	}
	sums := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		if sum, name, found := strings.Cut(lines.Text(), "  "); found && isHex(sum, 64) && filepath.IsLocal(filepath.FromSlash(name)) {
			sums[name] = sum
		}
	}
	if sums[configFile] == "" || sums[weightsFile] == "" && sums[onnxFile] == "" {
		return nil, errNotCached
	}
	for name := range sums {
		if _, err := fs.Stat(files, name); errors.Is(err, fs.ErrNotExist) {
			return nil, errNotCached
		}
	}
	return sums, nil
}

// writeSums makes the folder a complete model. Where it came from stands in a
// comment, for people.
func writeSums(d disk, dir, origin string, sums map[string]string, shared bool) error {
	text := fmt.Appendf(nil, "# %s\n", origin)
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		text = fmt.Appendf(text, "%s  %s\n", sums[name], name)
	}
	p, err := openPart(d, dir, sumsFile, shared)
	if err != nil {
		return err
	}
	if _, err = p.Write(text); err == nil {
		err = p.publish(filepath.Join(dir, sumsFile))
	}
	if err != nil {
		p.remove()
	}
	return err
}

func isHex(s string, length int) bool {
	return len(s) == length && strings.Trim(s, "0123456789abcdef") == ""
}
