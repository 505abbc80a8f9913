package smartenv

import (
	"regexp"
	"slices"
	"strings"
)

// builtInExclusions are globs of paths the plugin never indexes.
var builtInExclusions = []string{".**", "**/.**", "**/.*/**", "**/*.ajson", ".smart-env/**"}

// exclusionGlobs turns the three kinds of exclusions of the settings into globs
// anchored at the vault's root (format section 10): a file entry excludes every
// path that begins with it, a folder entry all below it, a .gitignore line what
// it matches as a glob.
func exclusionGlobs(files, folders, gitignore []string) []string {
	globs := slices.Clone(builtInExclusions)
	for _, entry := range files {
		globs = addGlob(globs, entry, entry+"**")
	}
	globs = addFolders(globs, folders)
	for _, entry := range gitignore {
		globs = addGlob(globs, entry, entry)
	}
	return globs
}

func addFolders(globs, folders []string) []string {
	for _, entry := range folders {
		globs = addGlob(globs, entry, strings.TrimSuffix(entry, "/**")+"/**")
	}
	return globs
}

// addGlob adds what an entry of the settings means, unless it would be everything.
func addGlob(globs []string, entry, glob string) []string {
	if strings.Trim(entry, `/*\`) == "" || slices.Contains(globs, glob) {
		return globs
	}
	return append(globs, glob)
}

// Excludes returns a function that says whether the plugin leaves a note out that
// it has no record of: by these settings, or because its path has a "#" (format
// section 10).
func (s Settings) Excludes() func(path string) bool {
	excluded := excluder(s.exclusions)
	return func(path string) bool { return strings.Contains(path, "#") || excluded(path) }
}

// Closes says whether path lies in a folder that the user has excluded as a whole,
// from which nothing is to be shown. Other exclusions only keep notes out of the
// index: by default those that are called Untitled.
func (s Settings) Closes(path string) bool { return s.Closer()(path) }

// Closer is Closes for many paths.
func (s Settings) Closer() func(path string) bool { return excluder(addFolders(nil, s.closed)) }

// excluder returns a function that says whether a path matches one of the globs.
// A path with a "#" may have a record all the same, from before it was excluded.
func excluder(globs []string) func(path string) bool {
	type matcher struct {
		literal string // a path that matches has it
		pattern *regexp.Regexp
	}
	var matchers []matcher
	for _, glob := range globs {
		matchers = append(matchers, matcher{literalOf(glob), compileGlob(glob)})
	}
	return func(path string) bool {
		return slices.ContainsFunc(matchers, func(m matcher) bool {
			return strings.Contains(path, m.literal) && m.pattern.MatchString(path)
		})
	}
}

// literalOf returns the longest part of a glob that every path it matches has as
// it is written. Looking for that first spares most paths the pattern, which
// takes a microsecond.
func literalOf(glob string) (longest string) {
	if strings.ContainsAny(glob, "[{") {
		return ""
	}
	for _, part := range strings.FieldsFunc(glob, func(r rune) bool { return r == '*' || r == '?' }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// compileGlob translates a glob: ** is anything, * anything without a slash, ?
// one character but a slash, [..] a class, {a,b} a choice. What makes no valid
// pattern is taken literally.
func compileGlob(glob string) *regexp.Regexp {
	m, err := regexp.Compile(`(?s)\A` + globPattern(glob) + `\z`)
	if err != nil {
		m = regexp.MustCompile(`\A` + regexp.QuoteMeta(glob) + `\z`)
	}
	return m
}

func globPattern(glob string) string {
	var b strings.Builder
	choices := 0
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; {
		case strings.HasPrefix(glob[i:], "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '[' && strings.IndexByte(glob[i+1:], ']') > 0:
			end := i + 1 + strings.IndexByte(glob[i+1:], ']')
			class := glob[i+1 : end]
			if strings.HasPrefix(class, "!") {
				class = "^" + class[1:]
			}
			b.WriteString("[" + strings.ReplaceAll(class, `\`, `\\`) + "]")
			i = end
		case c == '{' && strings.IndexByte(glob[i:], '}') > 0:
			b.WriteString("(?:")
			choices++
		case c == '}' && choices > 0:
			b.WriteString(")")
			choices--
		case c == ',' && choices > 0:
			b.WriteString("|")
		default:
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		}
	}
	return b.String()
}
