package smartenv

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"smart-connections-mcp/smartenv/disk"
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

func (sh shard) path() string { return sourcesCollection + "/" + sh.name }

// A listing is what stands in the index's folders at one moment.
type listing struct {
	shards     []shard             // in numeric order
	multifiles map[string][]string // collection → names
	ignored    []string            // other files, as "smart_sources/NAME"
	rewriting  []string            // *.optimize.tmp: the plugin renumbers rows just now
	rewritten  time.Time           // when these, or the folders they are in, were last changed
	infos      fileInfos           // of shards, multifiles and settings
	isInline   bool                // the index is of the generation before the packed one: multi/
	inline     []inlineStat        // its files then
	took       time.Duration       // to list these
}

// fileInfos tells what stood in the index's folder, by path below it, with "/".
type fileInfos map[string]fs.FileInfo

// add examines a file and keeps what it finds; of a file that cannot be opened there
// is nothing to compare, so that it is looked at anew when it can be. It goes
// through a handle, because on Windows the identity of a file that was examined by
// path is looked up later, when the path may already name another file.
func (f fileInfos) add(in folder, name string) {
	if info, err := in.stat(name); err == nil {
		f[name] = info
	}
}

// same says whether nothing changed between two listings: the same names, and the
// same files with the same sizes and times.
func (l *listing) same(other *listing) bool {
	return slices.Equal(l.ignored, other.ignored) && slices.EqualFunc(l.inline, other.inline, inlineStat.same) && maps.EqualFunc(l.infos, other.infos, untouched)
}

// untouched says whether a file is the same between two looks at it; nil is none.
func untouched(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && sameTimes(a, b)
}

// busy names a file that tells that the plugin is replacing others just now, or
// that a crash cut that short; "" when there is none. It is the mark of Optimize,
// or a multifile that has stepped aside for the next one.
func (l *listing) busy() string {
	if len(l.rewriting) > 0 {
		return l.rewriting[0]
	}
	for _, name := range l.ignored {
		file, aside := strings.CutSuffix(name, ".bak")
		if collection, file, _ := strings.Cut(file, "/"); aside && multifileName.MatchString(file) && !slices.Contains(l.multifiles[collection], file) {
			return name
		}
	}
	return ""
}

// list finds the index's files, examined one by one. The error is a
// *GenerationError when there is no index.
func list(ctx context.Context, in folder) (listing, error) {
	l, err := listFew(in)
	if l.isInline && err == nil {
		start := time.Now()
		l.inline, err = inlineStats(ctx, in)
		l.took = time.Since(start)
	}
	return l, err
}

// listFew is list without the files of multi/, of which there is one for each
// note.
func listFew(in folder) (listing, error) {
	l := listing{multifiles: map[string][]string{}, infos: fileInfos{}}
	for _, collection := range []string{sourcesCollection, blocksCollection} {
		entries, err := in.entries(collection)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return l, unread(err)
		}
		for _, entry := range entries {
			l.add(in, collection, entry.Name())
		}
	}
	for _, name := range []string{settingsFile, modelsFile} {
		l.infos.add(in, name)
	}
	slices.SortFunc(l.shards, func(a, b shard) int { return a.number - b.number })
	return l, l.generation(in)
}

func (l *listing) add(in folder, collection, name string) {
	if strings.HasSuffix(name, ".optimize.tmp") {
		l.rewriting = append(l.rewriting, collection+"/"+name)
		for _, path := range []string{in.path(collection), in.path(collection + "/" + name)} {
			if info, err := in.disk.Stat(path); err == nil && info.ModTime().After(l.rewritten) {
				l.rewritten = info.ModTime()
			}
		}
	}
	if match := shardName.FindStringSubmatch(name); match != nil && collection == sourcesCollection {
		number, _ := strconv.Atoi(match[1])
		l.shards = append(l.shards, shard{number: number, name: name})
		l.infos.add(in, collection+"/"+name)
		return
	}
	if multifileName.MatchString(name) {
		l.multifiles[collection] = append(l.multifiles[collection], name)
		l.infos.add(in, collection+"/"+name)
		return
	}
	l.ignored = append(l.ignored, collection+"/"+name)
}

// generation returns nil when the files are an index. Shard 0 is the commit mark
// of a packed one, and multi/ beside it is a leftover; without any shard, multi/
// is the index (format section 1).
func (l *listing) generation(in folder) (err error) {
	switch {
	case len(l.shards) > 0 && l.shards[0].number == 0:
		return nil
	case len(l.shards) > 0:
		return &GenerationError{Generation: "uncommitted"}
	}
	if l.isInline, err = hasInline(in); l.isInline || err != nil {
		return err
	}
	switch _, err := in.disk.Stat(in.path("../.smart-connections")); {
	case err == nil:
		return &GenerationError{Generation: "ancient"}
	case !errors.Is(err, fs.ErrNotExist):
		return unread(disk.PathError("open", ".smart-connections", err))
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
func newestInline(ctx context.Context, in folder) (newest time.Time) {
	stats, _ := inlineStats(ctx, in)
	for _, stat := range stats {
		if stat.modTime.After(newest) {
			newest = stat.modTime
		}
	}
	return newest
}

// A retryError says that the index is being rewritten: the same attempt a
// moment later may succeed.
type retryError struct{ reason string }

func (e *retryError) Error() string { return e.reason + ": try again in a moment" }

// vanished is the error of a load in which a file could not be opened that was there
// before: it may be back in a moment, but only if it is gone.
func vanished(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &retryError{name + " vanished while the index was read"}
	}
	return unread(err)
}

// unmoved compares a file before and after reading. Growth is harmless, since
// the plugin appends and what was read stays valid; another file under the
// name, a shorter one, or new contents of the same size are not.
func unmoved(name string, before, after fs.FileInfo) error {
	switch {
	case !os.SameFile(before, after):
		return &retryError{name + " was replaced while it was read"}
	case after.Size() < before.Size():
		return &retryError{name + " shrank while it was read"}
	case after.Size() == before.Size() && !sameTimes(before, after):
		return &retryError{name + " was rewritten while it was read"}
	}
	return nil
}

// sameTimes says whether a file was left alone between two looks at it. The time
// of writing can be set back, as some sync tools do; that of the last change of
// anything about the file cannot. Windows does not tell that one, so there a file
// that is overwritten in place with contents of the same size and given its former
// time passes for unchanged. So does, where the clock of the file system is coarse,
// one that is overwritten within the same tick (4 ms on most older kernels).
func sameTimes(a, b fs.FileInfo) bool {
	return a.ModTime().Equal(b.ModTime()) && changed(a).Equal(changed(b))
}

// recent is how young a file is that may still be in the middle of being written.
const recent = 2 * time.Second

// young says whether a time is that of a moment ago, give or take a clock that is
// not ours.
func young(at time.Time) bool {
	age := time.Since(at)
	return -recent < age && age < recent
}
