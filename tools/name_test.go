package tools

import (
	"runtime"
	"testing"
)

// 53: a vault can be a whole drive or share. What lies before it is not told.
func TestFolderName(t *testing.T) {
	names := map[string]string{"/home/x/My Vault": "My Vault", "/": "/", "/home/名前": "名前"}
	if runtime.GOOS == "windows" {
		names = map[string]string{
			`C:\Users\x\My Vault`: "My Vault", `M:\`: "M:", `\\server\share\名前`: "名前",
			`\\server\Notes\`: "Notes", `\\wsl.localhost\Debian`: "Debian", `\\?\C:\`: "C:",
		}
	}
	for dir, want := range names {
		if got := folderName(dir); got != want {
			t.Errorf("folderName(%q) = %q, want %q", dir, got, want)
		}
	}
}
