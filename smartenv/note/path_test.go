package note

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv/disk"
)

// verdicts are the words that testdata/paths.tsv has for the reasons.
var verdicts = map[string]string{
	"empty": reasonEmpty, "absolute": reasonAbsolute, "parent": reasonParent, "hidden": reasonHidden,
	"colon": reasonColon, "reserved": reasonReserved, "trailing": reasonTrailing, "folder": reasonFolder,
	"nul": reasonNUL, "utf8": reasonUTF8, "missing": "",
}

// A corpusPath without a reason must resolve to want, or to nothing when want is
// "".
type corpusPath struct{ path, reason, want string }

// pathCorpus reads what a hostile or careless client may send.
func pathCorpus(t testing.TB) []corpusPath {
	t.Helper()
	data, err := os.ReadFile(projectRoot + "/testdata/paths.tsv")
	if err != nil {
		t.Fatal(err)
	}
	corpus := []corpusPath{
		{strings.Repeat("é", 200) + ".md", "", ""},
		{strings.Repeat("a", 256) + ".md", reasonLong, ""},
		{strings.Repeat("a/", 3000) + "x.md", reasonLong, ""},
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		quoted, verdict, _ := strings.Cut(strings.TrimSpace(line), "\t")
		c := corpusPath{}
		reason, isVerdict := verdicts[verdict]
		if c.path, err = strconv.Unquote(quoted); err == nil && !isVerdict {
			c.want, err = strconv.Unquote(verdict)
		}
		if err != nil {
			t.Fatalf("paths.tsv: %s: %v", line, err)
		}
		c.reason = reason
		corpus = append(corpus, c)
	}
	if len(corpus) < 140 {
		t.Fatalf("%d paths, want at least 140", len(corpus))
	}
	return corpus
}

// V4: every path of the corpus, to be resolved and to be read as it is.
func TestResolvePathCorpus(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir,
		"Note.md", "Folder/Sub/Deep.md", "100% sure – ü 😀.md", "non\u00A0breaking.md",
		"Caf\u00e9.md", "Proj/x.md", "Project/x.md", "etc..md", "console.md", "com10.md", ".obsidian/app.json", ".obsidian/plugins/x/data.json",
		"Folder/.hidden/x.md", "Folder/.x.md", ".git/config", ".smart-env/smart_env.json")
	v := openVault(t, dir)
	for _, c := range pathCorpus(t) {
		got, err := v.Resolve(c.path)
		var refused *RefusedError
		switch {
		case c.reason != "":
			if !errors.As(err, &refused) || refused.Reason != c.reason {
				t.Errorf("Resolve(%.60q) = %q, %v, want it refused: %s", c.path, got, err, c.reason)
			}
		case c.want == "":
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Resolve(%.60q) = %q, %v, want fs.ErrNotExist", c.path, got, err)
			}
		case got != c.want || err != nil:
			t.Errorf("Resolve(%.60q) = %q, %v, want %q", c.path, got, err, c.want)
		}
		if _, err := v.Read(got); got != "" && err != nil {
			t.Errorf("Read(%q), which Resolve returned: %v", got, err)
		}
		checkDiscreet(t, dir, err)
		if c.reason != "" { // nor may it be read without Resolve
			_, err := v.Read(c.path)
			if !errors.As(err, &refused) {
				t.Errorf("Read(%.60q): %v, want it refused", c.path, err)
			}
			checkDiscreet(t, dir, err)
		}
	}
}

// TestErrorsAreDiscreet asks for files of the host by their full paths.
func TestErrorsAreDiscreet(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, "Note.md")
	v := openVault(t, dir)
	for _, path := range []string{filepath.Join(dir, "Note.md"), dir, filepath.ToSlash(dir) + "/x/"} {
		for _, read := range []func(string) (string, error){v.Resolve, v.Read} {
			_, err := read(path)
			if err == nil {
				t.Errorf("%q is not refused", path)
			}
			checkDiscreet(t, dir, err)
		}
	}
	_, err := OpenVault(filepath.Join(dir, "missing"))
	checkDiscreet(t, dir, err)
	_, err = OpenVault(filepath.Join(dir, "Note.md"))
	checkDiscreet(t, dir, err)
	if err == nil {
		t.Error("OpenVault takes a file for a vault")
	}
	_, err = (disk.System{}).Open(filepath.Join(dir, "missing"))
	checkDiscreet(t, dir, err)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of a missing file: %v, want fs.ErrNotExist", err)
	}
}

// checkDiscreet fails when an error names the place of the vault on the host.
func checkDiscreet(t *testing.T, dir string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, form := range []string{dir, filepath.ToSlash(dir), strings.ReplaceAll(dir, `\`, `\\`)} {
		if strings.Contains(err.Error(), form) {
			t.Errorf("error names a place on the host: %v", err)
		}
	}
}

// writeFiles creates files below dir; each holds its own path.
func writeFiles(t testing.TB, dir string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(path), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// link makes a symbolic link or skips the test where that needs a privilege.
func link(t testing.TB, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		if runtime.GOOS == "windows" {
			t.Skipf("no links here: %v", err)
		}
		t.Fatal(err)
	}
	if _, err := os.Lstat(name); err != nil {
		t.Skipf("the system said that it made a link, and did not, as Wine does: %v", err)
	}
}
