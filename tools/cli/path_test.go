package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// 47: a vault on Windows for a client in WSL, and the other way round.
func TestLocalPath(t *testing.T) {
	tests := []struct {
		path string
		wsl  bool
		want string
	}{
		{`C:\Users\x\Vault`, true, "/mnt/c/Users/x/Vault"},
		{`C:\\Users\\x\\My Vault\`, true, "/mnt/c/Users/x/My Vault"},
		{"d:/Notes/名前", true, "/mnt/d/Notes/名前"},
		{`C:\`, true, "/mnt/c"},
		{`C:\Users\x\Vault`, false, `C:\Users\x\Vault`},
		{`\\wsl.localhost\Debian\home\x\My Vault`, true, "/home/x/My Vault"},
		{`\\wsl$\Ubuntu-24.04\home\名前`, true, "/home/名前"},
		{`\\\\WSL$\\Debian\\home\\x`, true, "/home/x"},
		{"//wsl.localhost/Debian/", true, "/"},
		{`\\wsl$\Debian\home\x`, false, `\\wsl$\Debian\home\x`},
		{`\\server\share\x`, true, `\\server\share\x`},
		{"/mnt/c/Users/x", true, "/mnt/c/Users/x"},
		{"C:relative", true, "C:relative"},
		{"vault", true, "vault"},
		{"~/Library/Mobile Documents/com~apple~CloudDocs/V", false, "/home/x/Library/Mobile Documents/com~apple~CloudDocs/V"},
		{"~", false, "/home/x"},
		{"~other/V", false, "~other/V"},
		{"a/~/b", false, "a/~/b"},
	}
	for _, test := range tests {
		if got := filepath.ToSlash(localPath(test.path, "/home/x", test.wsl)); got != filepath.ToSlash(test.want) {
			t.Errorf("localPath(%q, wsl %v) = %q, want %q", test.path, test.wsl, got, test.want)
		}
	}
	if got := localPath("~/V", "", false); got != "~/V" {
		t.Errorf("localPath(~/V) without a home = %q, want it as it is", got)
	}
}

// 47: a path from inside WSL, or from a Unix shell, given to the program for
// Windows.
func TestVaultAdvice(t *testing.T) {
	const usual = "pass --vault DIR or set SMART_VAULT_PATH"
	tests := []struct{ dir, goos, want string }{
		{"/mnt/c/Users/x/My Vault", "windows", `on Windows that folder is C:\Users\x\My Vault: pass this`},
		{"/c/Users/名前", "windows", `is C:\Users\名前: pass this`},
		{"/cygdrive/d/", "windows", `is D:\: pass this`},
		{"/mnt/e", "windows", `is E:\: pass this`},
		{"/home/x/V", "windows", `on Windows a folder inside WSL is \\wsl.localhost\DISTRIBUTION\home\x\V: pass this`},
		{`C:\Users\x`, "windows", usual},
		{`\\server\share\V`, "windows", usual},
		{"//server/share/V", "windows", usual},
		{"vault", "windows", usual},
		{"/mnt/c/Users/x", "linux", usual},
		{"/home/x/V", "darwin", usual},
	}
	for _, test := range tests {
		if got := vaultAdvice(test.dir, test.goos); !strings.Contains(got, test.want) {
			t.Errorf("vaultAdvice(%q, %s) = %q, want %q", test.dir, test.goos, got, test.want)
		}
	}
}
