package note

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv/disk"
)

// places are names that a vault's folder can have: 54, 55 and 61, and paths
// longer than the 260 characters that Windows once allowed.
var places = map[string]string{
	"Japanese":   "名前/ノート",
	"NFC":        "Ren\u00E9e/Caf\u00E9",
	"NFD":        "Rene\u0301e/Cafe\u0301",
	"emoji":      "😀/👩‍👩‍👧‍👦 vault",
	"spaces":     "Program Files/my  vault",
	"signs":      "100% sure – ü #1 [x] {y} 'z' & co~1",
	"long":       strings.Repeat("a folder of a hundred characters "+strings.Repeat("0123456789", 7)+"/", 4) + "vault",
	"very long":  strings.Repeat("名前のフォルダー0123456789/", 20) + "vault",
	"RTL":        "שלום/كتاب",
	"NBSP":       "a\u00A0b/vault",
	"with a dot": ".hidden/vault", // above the vault nothing is closed
}

// A vault is read wherever it lies, by absolute and relative paths, also with "/"
// on Windows.
func TestVaultAnywhere(t *testing.T) {
	base := t.TempDir()
	t.Chdir(base)
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(base, filepath.FromSlash(place))
			writeFiles(t, dir, "Note.md", "sub/100% sure – ü 😀.md", ".smart-env/smart_env.json")
			for _, given := range []string{dir, filepath.ToSlash(dir), place, "./" + place + "/"} {
				v := openVault(t, given)
				for _, path := range []string{"Note.md", "sub/100% sure – ü 😀.md"} {
					text, err := v.Read(path)
					info, statErr := v.Stat(path)
					if text != path || err != nil || info.Size != int64(len(path)) || statErr != nil {
						t.Errorf("%s: Read(%q) = %q, %v; Stat = %+v, %v", given, path, text, err, info, statErr)
					}
				}
				if got, unreadable, err := v.List(); len(got) != 2 || unreadable != 0 || err != nil {
					t.Errorf("%s: List() = %q, %d, %v", given, got, unreadable, err)
				}
				readIndexFile(t, filepath.Join(v.Root(), ".smart-env"), "smart_env.json")
				readIndexFile(t, given+"/.smart-env", "smart_env.json")
				v.Close()
			}
		})
	}
}

// readIndexFile reads a file as the index's are read.
func readIndexFile(t *testing.T, dir, name string) {
	t.Helper()
	f, err := disk.System{}.Open(dir + string(os.PathSeparator) + name)
	if err != nil {
		t.Errorf("Open: %v", err)
		return
	}
	defer f.Close()
	if data, err := io.ReadAll(f); len(data) == 0 || err != nil {
		t.Errorf("reading %s in %s: %q, %v", name, dir, data, err)
	}
	folder, err := disk.System{}.OpenFolder(dir)
	if err != nil {
		t.Errorf("OpenFolder: %v", err)
		return
	}
	defer folder.Close()
	if entries, err := folder.ReadDir(-1); len(entries) != 1 || err != nil {
		t.Errorf("ReadDir: %v, %v", entries, err)
	}
}
