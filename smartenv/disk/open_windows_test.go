package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// 58: what OneDrive and the like put in place of files and folders is no link out
// of the vault.
func TestCloudFiles(t *testing.T) {
	for mode, want := range map[fs.FileMode]bool{
		0o666: true, fs.ModeIrregular | 0o666: true,
		fs.ModeDir: false, fs.ModeDir | fs.ModeIrregular: false, fs.ModeSymlink: false, fs.ModeNamedPipe: false,
	} {
		if got := IsRegular(mode); got != want {
			t.Errorf("IsRegular(%v) = %v, want %v", mode, got, want)
		}
	}
}

func TestLongPath(t *testing.T) {
	long := strings.Repeat(`\folder`, 40)
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		`C:\short`:                         `C:\short`,
		`short/file`:                       `short/file`,
		`C:` + long:                        `\\?\C:` + long,
		filepath.ToSlash(`C:` + long):      `\\?\C:` + long,
		`C:\x\..` + long + `\.\a`:          `\\?\C:` + long + `\a`,
		long[1:]:                           `\\?\` + here + long,
		`\\server\share` + long:            `\\?\UNC\server\share` + long,
		`\\wsl.localhost\Debian` + long:    `\\?\UNC\wsl.localhost\Debian` + long,
		`\\?\C:` + long:                    `\\?\C:` + long,
		`C:\` + strings.Repeat("名前/", 100): `\\?\C:` + strings.Repeat(`\名前`, 100),
	} {
		if got := longPath(path); got != want {
			t.Errorf("longPath(%q) = %q, want %q", path, got, want)
		}
	}
}
