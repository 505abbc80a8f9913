package note

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv/disk"
)

// pathCorpus holds what a hostile or careless client may send. The rules are
// lexical and the same on every system. A case without a reason must resolve to
// want, or to nothing when want is "".
var pathCorpus = []struct {
	path, reason, want string
}{
	{"Note.md", "", "Note.md"},
	{"Folder/Sub/Deep.md", "", "Folder/Sub/Deep.md"},
	{"./Note.md", "", "Note.md"},
	{"././Folder/Sub/Deep.md", "", "Folder/Sub/Deep.md"},
	{`Folder\Sub\Deep.md`, "", "Folder/Sub/Deep.md"},
	{`Folder\\Sub\\Deep.md`, "", "Folder/Sub/Deep.md"},
	{`.\Folder/Sub\Deep.md`, "", "Folder/Sub/Deep.md"},
	{"Folder//Sub///Deep.md", "", "Folder/Sub/Deep.md"},
	{"note.md", "", "Note.md"},
	{"FOLDER/sub/DEEP.MD", "", "Folder/Sub/Deep.md"},
	{"Note", "", "Note.md"},
	{"folder/sub/deep", "", "Folder/Sub/Deep.md"},
	{"100% sure – ü 😀.md", "", "100% sure – ü 😀.md"},
	{"non\u00A0breaking.md", "", "non\u00A0breaking.md"},
	{"etc..md", "", "etc..md"},
	{"console.md", "", "console.md"},
	{"com10.md", "", "com10.md"},

	{"Missing.md", "", ""},
	{"Folder", "", ""},
	{"Note.md/x.md", "", ""},
	{"line\nbreak.md", "", ""},
	{"\u202Edm.etoN", "", ""},
	{"%2e%2e/Note.md", "", ""},
	{"PROGRA~1/x.md", "", ""},
	{"OBSIDI~1/data.json", "", ""},
	{"FOLDER~1/Sub/Deep.md", "", ""},
	{strings.Repeat("é", 200) + ".md", "", ""},

	{"", reasonEmpty, ""},
	{".", reasonParent, ""},
	{"./", reasonEmpty, ""},
	{"..", reasonParent, ""},
	{"../Note.md", reasonParent, ""},
	{"Folder/../Note.md", reasonParent, ""},
	{"Folder/./Sub/Deep.md", reasonParent, ""},
	{"Folder/Sub/../../../etc/passwd", reasonParent, ""},
	{`..\Note.md`, reasonParent, ""},
	{`Folder\..\..\Note.md`, reasonParent, ""},
	{`Folder/..\\..//Note.md`, reasonParent, ""},
	{"Note.md/.", reasonParent, ""},
	{"Note.md/..", reasonParent, ""},
	{"....//Note.md", reasonHidden, ""},
	{"..%2fNote.md", reasonHidden, ""},
	{"/etc/passwd", reasonAbsolute, ""},
	{"//etc/passwd", reasonAbsolute, ""},
	{`\etc\passwd`, reasonAbsolute, ""},
	{`\\srv\share\x.md`, reasonAbsolute, ""},
	{`\\?\C:\x.md`, reasonAbsolute, ""},
	{`\\.\pipe\x`, reasonAbsolute, ""},
	{`\??\C:\x.md`, reasonAbsolute, ""},
	{"C:x.md", reasonColon, ""},
	{"C:/x.md", reasonColon, ""},
	{`C:\Users\x\Vault\Note.md`, reasonColon, ""},
	{"file:///etc/passwd", reasonColon, ""},
	{"Note.md:stream", reasonColon, ""},
	{"Note.md::$DATA", reasonColon, ""},
	{".obsidian/plugins/x/data.json", reasonHidden, ""},
	{"./.obsidian/app.json", reasonHidden, ""},
	{`.obsidian\app.json`, reasonHidden, ""},
	{"Folder/.hidden/x.md", reasonHidden, ""},
	{"Folder/.x.md", reasonHidden, ""},
	{".smart-env/smart_env.json", reasonHidden, ""},
	{".git/config", reasonHidden, ""},
	{".OBSIDIAN/app.json", reasonHidden, ""},
	{"\u200C.obsidian/app.json", reasonHidden, ""},
	{"\uFEFF.obsidian/app.json", reasonHidden, ""},
	{"...", reasonHidden, ""},
	{"CON", reasonReserved, ""},
	{"con.md", reasonReserved, ""},
	{"Folder/NUL", reasonReserved, ""},
	{"aux.tar.gz", reasonReserved, ""},
	{"nul .md", reasonReserved, ""},
	{"PRN.txt/x.md", reasonReserved, ""},
	{"COM1", reasonReserved, ""},
	{"lpt9.md", reasonReserved, ""},
	{"COM¹.md", reasonReserved, ""},
	{"CONIN$", reasonReserved, ""},
	{"conout$.md", reasonReserved, ""},
	{"Note.md.", reasonTrailing, ""},
	{"Note.md ", reasonTrailing, ""},
	{"Folder./Note.md", reasonTrailing, ""},
	{"Folder /Note.md", reasonTrailing, ""},
	{"Note.md/", reasonFolder, ""},
	{`Folder\`, reasonFolder, ""},
	{"Note.md\x00.txt", reasonNUL, ""},
	{"\x00", reasonNUL, ""},
	{"caf\xe9.md", reasonUTF8, ""},
	{"\xc0\xae\xc0\xae/Note.md", reasonUTF8, ""},
	{strings.Repeat("a", 256) + ".md", reasonLong, ""},
	{strings.Repeat("a/", 3000) + "x.md", reasonLong, ""},
}

func TestResolvePathCorpus(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir,
		"Note.md", "Folder/Sub/Deep.md", "100% sure – ü 😀.md", "non\u00A0breaking.md",
		"etc..md", "console.md", "com10.md", ".obsidian/app.json", ".obsidian/plugins/x/data.json",
		"Folder/.hidden/x.md", "Folder/.x.md", ".git/config", ".smart-env/smart_env.json")
	v := openVault(t, dir)
	for _, c := range pathCorpus {
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
