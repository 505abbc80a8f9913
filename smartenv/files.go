package smartenv

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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

// The names of the index's files are matched exactly, so that leftovers of a
// rewrite and conflict copies of sync tools are never taken for data.
var (
	shardName     = regexp.MustCompile(`^smart_sources(?:_([1-9][0-9]{0,8}))?\.ajson$`)
	multifileName = regexp.MustCompile(`^mf_[0-9a-z]+$`)
)

// A GenerationError says that the vault holds no index this program reads.
type GenerationError struct {
	// Generation is what is there instead: "none", "ancient" (.smart-connections,
	// 2.0 and older), or "uncommitted" (a migration to the packed form that has
	// not ended).
	Generation string
}

func (e *GenerationError) Error() string {
	switch e.Generation {
	case "ancient":
		return "the vault's index (.smart-connections) was written by a Smart Connections version that is too old: update the plugin to 4.7 or later and let it index the vault"
	case "uncommitted":
		return "the vault's index has numbered log files but no smart_sources.ajson, so a migration has not ended: open the vault in Obsidian and wait until Smart Connections is done"
	}
	return "the vault has no Smart Connections index (.smart-env/smart_sources/smart_sources.ajson): install the plugin in Obsidian and let it embed the vault"
}

// A shard is one file of the packed log. Shard 0 is smart_sources.ajson.
type shard struct {
	number int
	name   string
}

// A listing is what stands in the index's folders at one moment.
type listing struct {
	shards     []shard             // in numeric order
	multifiles map[string][]string // collection → names
	ignored    []string            // other files, as "smart_sources/NAME"
	rewriting  []string            // *.optimize.tmp: the plugin renumbers rows just now
	infos      fileInfos           // of shards, multifiles and settings
	isInline   bool                // the index is of the generation before the packed one: multi/
	inline     []inlineStat        // its files then
	took       time.Duration       // to list these
}

// fileInfos tells what stood in the index's folder, by path below it, with "/".
type fileInfos map[string]fs.FileInfo

// add examines a file and keeps what it finds; a file that cannot be opened counts
// as absent. It goes through a handle, because on Windows the identity of a file
// that was examined by path is looked up later, when the path may already name
// another file.
func (f fileInfos) add(dir, name string) {
	if info, err := statShared(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
		f[name] = info
	}
}

// same says whether nothing changed between two listings: the same names, and the
// same files with the same sizes and times.
func (l *listing) same(other *listing) bool {
	return slices.Equal(l.ignored, other.ignored) && slices.EqualFunc(l.inline, other.inline, inlineStat.same) && maps.EqualFunc(l.infos, other.infos, func(a, b fs.FileInfo) bool {
		return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
	})
}

// list finds the index's files below dir, examined one by one. The error is a
// *GenerationError when there is no index.
func list(dir string) (listing, error) {
	l, err := listFew(dir)
	if l.isInline {
		start := time.Now()
		l.inline = inlineStats(dir)
		l.took = time.Since(start)
	}
	return l, err
}

// listFew is list without the files of multi/, of which there is one for each
// note.
func listFew(dir string) (listing, error) {
	l := listing{multifiles: map[string][]string{}, infos: fileInfos{}}
	for _, collection := range []string{sourcesCollection, blocksCollection} {
		entries, err := readDir(filepath.Join(dir, collection))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return l, fmt.Errorf("reading the index: %w", err)
		}
		for _, entry := range entries {
			l.add(dir, collection, entry.Name())
		}
	}
	for _, name := range []string{settingsFile, modelsFile} {
		l.infos.add(dir, name)
	}
	slices.SortFunc(l.shards, func(a, b shard) int { return a.number - b.number })
	return l, l.generation(dir)
}

func (l *listing) add(dir, collection, name string) {
	if strings.HasSuffix(name, ".optimize.tmp") {
		l.rewriting = append(l.rewriting, collection+"/"+name)
	}
	if match := shardName.FindStringSubmatch(name); match != nil && collection == sourcesCollection {
		number, _ := strconv.Atoi(match[1])
		l.shards = append(l.shards, shard{number: number, name: name})
		l.infos.add(dir, collection+"/"+name)
		return
	}
	if multifileName.MatchString(name) {
		l.multifiles[collection] = append(l.multifiles[collection], name)
		l.infos.add(dir, collection+"/"+name)
		return
	}
	l.ignored = append(l.ignored, collection+"/"+name)
}

// generation returns nil when the files are an index. Shard 0 is the commit mark
// of a packed one, and multi/ beside it is a leftover; without any shard, multi/
// is the index (format section 1).
func (l *listing) generation(dir string) error {
	switch {
	case len(l.shards) > 0 && l.shards[0].number == 0:
		return nil
	case len(l.shards) > 0:
		return &GenerationError{Generation: "uncommitted"}
	}
	if l.isInline = hasInline(dir); l.isInline {
		return nil
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(dir), ".smart-connections")); err == nil {
		return &GenerationError{Generation: "ancient"}
	}
	return &GenerationError{Generation: "none"}
}

// swapping says whether the folder holds leftovers of a rewrite of shard 0,
// so that its absence may last for a moment only.
func (l *listing) swapping() bool {
	return slices.ContainsFunc(l.ignored, func(name string) bool {
		return strings.HasPrefix(name, sourcesCollection+"/smart_sources.ajson.")
	})
}

// newestInline returns when the newest file of multi/ was written, or the zero
// time when there is none. A migration leaves thousands of files there, so this
// is for a load, not for every look at the files.
func newestInline(dir string) (newest time.Time) {
	for _, stat := range inlineStats(dir) {
		if stat.modTime.After(newest) {
			newest = stat.modTime
		}
	}
	return newest
}

// readDir lists a folder, sorted by name, and does not keep the plugin from
// renaming and deleting it meanwhile.
func readDir(path string) ([]fs.DirEntry, error) {
	folder, err := note.OpenFolder(path)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	entries, err := folder.ReadDir(-1)
	var inner *fs.PathError
	if errors.As(err, &inner) {
		inner.Path = filepath.Base(path) // no place on the host
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// statShared examines a regular file through a handle.
func statShared(path string) (fs.FileInfo, error) {
	f, err := note.OpenShared(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// A retryError says that the index is being rewritten: the same attempt a
// moment later may succeed.
type retryError struct{ reason string }

func (e *retryError) Error() string { return e.reason + ": try again in a moment" }

// unmoved compares a file before and after reading. Growth is harmless, since
// the plugin appends and what was read stays valid; another file under the
// name, a shorter one, or new contents of the same size are not.
func unmoved(name string, before, after fs.FileInfo) error {
	switch {
	case !os.SameFile(before, after):
		return &retryError{name + " was replaced while it was read"}
	case after.Size() < before.Size():
		return &retryError{name + " shrank while it was read"}
	case after.Size() == before.Size() && !after.ModTime().Equal(before.ModTime()):
		return &retryError{name + " was rewritten while it was read"}
	}
	return nil
}
