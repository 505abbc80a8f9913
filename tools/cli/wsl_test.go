package cli

import "testing"

func TestMountedPath(t *testing.T) {
	tests := []struct {
		path string
		wsl  bool
		want string
		ok   bool
	}{
		{`C:\Users\x\Vault`, true, "/mnt/c/Users/x/Vault", true},
		{`C:\\Users\\x\\My Vault\`, true, "/mnt/c/Users//x//My Vault", true},
		{"d:/Notes/名前", true, "/mnt/d/Notes/名前", true},
		{`C:\`, true, "/mnt/c", true},
		{`C:\Users\x\Vault`, false, `C:\Users\x\Vault`, false},
		{"/mnt/c/Users/x", true, "/mnt/c/Users/x", false},
		{"C:relative", true, "C:relative", false},
		{"vault", true, "vault", false},
	}
	for _, test := range tests {
		if got, ok := mountedPath(test.path, test.wsl); got != test.want || ok != test.ok {
			t.Errorf("mountedPath(%q, %v) = %q, %v, want %q, %v", test.path, test.wsl, got, ok, test.want, test.ok)
		}
	}
}
