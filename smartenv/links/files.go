package links

import (
	slashpath "path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A file is one file of the vault, read or not.
type file struct {
	path   string
	folded string // path as fold has it
	kind   Kind   // ToNote, ToAttachment or ToExcluded
}

// files find the files of a vault by what a link calls them.
type files struct {
	all   []file           // sorted by path
	at    map[string]int32 // by path: the place in all
	first map[string]int32 // by folded name, extension included: the first file that has it
	next  []int32          // by file: the next one of that name, -1 at the end
}

// newFiles takes over all, sorted by path.
func newFiles(all []file) *files {
	fs := &files{all, make(map[string]int32, len(all)), make(map[string]int32, len(all)), make([]int32, len(all))}
	for i := len(all) - 1; i >= 0; i-- {
		fs.at[all[i].path] = int32(i)
		all[i].folded = fold(all[i].path)
		name := lastName(all[i].folded)
		next, ok := fs.first[name]
		if !ok {
			next = -1
		}
		fs.first[name], fs.next[i] = int32(i), next
	}
	return fs
}

// same says whether these are the files of all.
func (fs *files) same(all []file) bool {
	return slices.EqualFunc(fs.all, all, func(a, b file) bool { return a.path == b.path && a.kind == b.kind })
}

// find returns the files that fit a target best, sorted by path, and whether it is
// the whole path of them. folder is that of the note the link stands in, "" being
// the vault itself.
func (fs *files) find(target, folder string) (best []int32, whole bool) {
	if target == "" || strings.HasSuffix(target, "/") {
		return nil, false
	}
	rooted := target[0] == '/'
	target = strings.TrimLeft(target, "/")
	if first, _, _ := strings.Cut(target, "/"); !rooted && (first == "." || first == "..") {
		if target, rooted = join(folder, target); !rooted {
			return nil, false
		}
	}
	folded := fold(target)
	forms := [2]string{".md", ""}
	if ext := extension(folded); ext == "md" || isAttachment[ext] {
		forms = [2]string{"", ".md"}
	}
	for _, form := range forms {
		if best, whole = fs.fitting(target+form, folded+form, folder, rooted); best != nil {
			return best, whole
		}
	}
	return nil, false
}

// fitting is find for a path or the end of one with its extension.
func (fs *files) fitting(end, folded, folder string, rooted bool) (best []int32, whole bool) {
	i, ok := fs.first[lastName(folded)]
	if !ok {
		return nil, false
	}
	folder = fold(folder)
	var least rank
	for ; i >= 0; i = fs.next[i] {
		path := fs.all[i].folded
		if !endsIn(path, folded) || rooted && len(path) != len(folded) {
			continue
		}
		r := rank{partial: path != folded, folders: strings.Count(path, "/"), elsewhere: !below(path, folder)}
		if best == nil || r.less(least) {
			best, least = append(best[:0], i), r
		} else if r == least {
			best = append(best, i)
		}
	}
	if len(best) > 1 {
		best = fs.asSpelt(best, end)
	}
	return best, best != nil && !least.partial
}

// A rank says how well a file fits.
type rank struct {
	partial   bool // more of its path than the target names
	folders   int
	elsewhere bool // than in the folder of the link
}

func (r rank) less(s rank) bool {
	if r.folders != s.folders { // the file at exactly the path named lies in the fewest
		return r.folders < s.folders
	}
	return !r.elsewhere && s.elsewhere
}

// asSpelt leaves out the files beside which there is one that differs in nothing but
// case or normalisation and is spelt more as end is.
func (fs *files) asSpelt(ids []int32, end string) (kept []int32) {
	unlike := func(i int32) int {
		path := fs.all[i].path
		for n, end := range []string{end, lastName(end)} {
			switch {
			case strings.HasSuffix(path, end):
				return 2 * n
			case strings.HasSuffix(norm.NFC.String(path), norm.NFC.String(end)):
				return 2*n + 1
			}
		}
		return 4
	}
	for _, i := range ids {
		if !slices.ContainsFunc(ids, func(j int32) bool {
			return fs.all[j].folded == fs.all[i].folded && unlike(j) < unlike(i)
		}) {
			kept = append(kept, i)
		}
	}
	return kept
}

// fold makes texts equal that name the same thing: what differs in case,
// normalisation or the kind of blank.
func fold(s string) string {
	ascii := true
	for i := 0; i < len(s) && ascii; i++ {
		ascii = s[i] < utf8.RuneSelf
	}
	if !ascii {
		s = nonBreaking.Replace(norm.NFC.String(s))
	}
	return strings.ToLower(s)
}

// nonBreaking are the blanks that Obsidian takes for spaces in a path.
var nonBreaking = strings.NewReplacer("\u00A0", " ", "\u202F", " ")

// endsIn says whether the last elements of path are those of end.
func endsIn(path, end string) bool {
	rest, ok := strings.CutSuffix(path, end)
	return ok && (rest == "" || rest[len(rest)-1] == '/')
}

// below says whether path lies in folder or below it.
func below(path, folder string) bool {
	return folder == "" || len(path) > len(folder) && path[len(folder)] == '/' && path[:len(folder)] == folder
}

// join makes of a target that begins with "./" or "../" a path from the vault's root;
// it is false when that leads out of the vault.
func join(folder, target string) (path string, ok bool) {
	path = slashpath.Join(folder, target)
	return path, path != "." && path != ".." && !strings.HasPrefix(path, "../")
}

func lastName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// parent is the folder of a path, "" being the vault itself.
func parent(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

// extension is that of a path, in lower case and without the dot.
func extension(path string) string {
	name := lastName(path)
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return ""
	}
	return fold(name[dot+1:])
}

// isAttachment has the extensions that make a target one of a file and not of a
// note with a dot in its name: what Obsidian opens, and documents that are often
// kept beside notes.
var isAttachment = map[string]bool{
	"canvas": true, "base": true, "pdf": true,
	"avif": true, "bmp": true, "gif": true, "jpeg": true, "jpg": true, "png": true, "svg": true, "webp": true,
	"flac": true, "m4a": true, "mp3": true, "ogg": true, "wav": true, "webm": true, "3gp": true,
	"mkv": true, "mov": true, "mp4": true, "ogv": true,
	"csv": true, "docx": true, "epub": true, "heic": true, "pptx": true, "tiff": true, "txt": true, "xlsx": true, "zip": true,
}
