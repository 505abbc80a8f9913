package smartenv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"smart-connections-mcp/smartenv/note"
)

// indexFolder is the plugin's folder below the vault's root.
const indexFolder = ".smart-env"

// The names of the index's files are matched exactly, so that leftovers of a
// rewrite and conflict copies of sync tools are never taken for data.
var (
	shardName     = regexp.MustCompile(`^smart_sources(?:_([1-9][0-9]{0,8}))?\.ajson$`)
	multifileName = regexp.MustCompile(`^mf_[0-9a-z]+$`)
)

// A GenerationError says that the vault holds no index this program reads.
type GenerationError struct {
	// Generation is what is there instead: "none", "inline" (the folder multi/
	// of plugin versions before 4.7), "ancient" (.smart-connections, 2.0 and
	// older), or "uncommitted" (a migration to the packed form that has not ended).
	Generation string
}

func (e *GenerationError) Error() string {
	switch e.Generation {
	case "inline":
		return "the vault's Smart Connections index is of the older inline kind (.smart-env/multi): update the plugin to 4.7 or later and open the vault once in Obsidian"
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
	signature  string              // changes when any name, size or time changes
	legacy     time.Time           // newest file of multi/; zero when there is none
}

// list reads the names, sizes and times of the index's files below dir. The
// error is a *GenerationError when there is no packed index.
func list(dir string) (listing, error) {
	l := listing{multifiles: map[string][]string{}}
	var sign strings.Builder
	for _, collection := range []string{sourcesCollection, blocksCollection} {
		entries, err := os.ReadDir(filepath.Join(dir, collection))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return l, fmt.Errorf("reading the index: %w", err)
		}
		for _, entry := range entries {
			l.add(collection, entry.Name())
			signFile(&sign, dir, collection+"/"+entry.Name())
		}
	}
	for _, name := range []string{"smart_env.json", modelsCollection + "/embedding_models.ajson"} {
		signFile(&sign, dir, name)
	}
	slices.SortFunc(l.shards, func(a, b shard) int { return a.number - b.number })
	l.signature = sign.String()
	l.legacy = newestInline(dir)
	return l, l.generation(dir)
}

func (l *listing) add(collection, name string) {
	if strings.HasSuffix(name, ".optimize.tmp") {
		l.rewriting = append(l.rewriting, collection+"/"+name)
	}
	if match := shardName.FindStringSubmatch(name); match != nil && collection == sourcesCollection {
		number, _ := strconv.Atoi(match[1])
		l.shards = append(l.shards, shard{number: number, name: name})
		return
	}
	if multifileName.MatchString(name) {
		l.multifiles[collection] = append(l.multifiles[collection], name)
		return
	}
	l.ignored = append(l.ignored, collection+"/"+name)
}

// signFile adds one file to a signature; a file that cannot be examined counts
// as absent.
func signFile(sign *strings.Builder, dir, name string) {
	if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
		fmt.Fprintf(sign, "%q %d %d\n", name, info.Size(), info.ModTime().UnixNano())
	}
}

// generation returns nil when the files are a packed index: shard 0 is its
// commit mark, and multi/ beside it is a leftover (format section 1).
func (l *listing) generation(dir string) error {
	switch {
	case len(l.shards) > 0 && l.shards[0].number == 0:
		return nil
	case len(l.shards) > 0:
		return &GenerationError{Generation: "uncommitted"}
	case !l.legacy.IsZero():
		return &GenerationError{Generation: "inline"}
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
// time when there is none.
func newestInline(dir string) (newest time.Time) {
	entries, err := os.ReadDir(filepath.Join(dir, "multi"))
	if err != nil {
		return newest
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".ajson") {
			continue
		}
		if info, err := entry.Info(); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest
}

// statShared examines a file through a handle, because on Windows the identity
// of a file that was examined by path is looked up later, when the path may
// already name another file.
func statShared(path string) (fs.FileInfo, error) {
	f, err := note.OpenShared(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// fileInfos tells what stood in the index's folders, by "collection/name".
type fileInfos map[string]fs.FileInfo

// statMultifiles examines all vector files of a listing.
func (l *listing) statMultifiles(dir string) (fileInfos, error) {
	infos := fileInfos{}
	for collection, names := range l.multifiles {
		for _, name := range names {
			info, err := statShared(filepath.Join(dir, collection, name))
			if errors.Is(err, fs.ErrNotExist) {
				return nil, &retryError{collection + "/" + name + " vanished while the index was read"}
			}
			if err != nil {
				return nil, fmt.Errorf("reading the index: %w", err)
			}
			infos[collection+"/"+name] = info
		}
	}
	return infos, nil
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
