package cli

import (
	"path/filepath"
	"testing"
)

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
