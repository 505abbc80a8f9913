package weights

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// R3: a model in the cache is loaded without the network: where there is none,
// without one try to dial, and, where strace can look, without a socket. That
// the test would see a try, the empty cache shows.
func TestNoNetwork(t *testing.T) {
	h := newFakeHub(t, model(t, nil))
	s := h.source(t)
	if _, err := s.Load(t.Context(), testModel); err != nil {
		t.Fatal(err)
	}
	h.Close()
	s.Endpoint = "" // the public hub's
	alone := func(s Source) *exec.Cmd {
		cmd := child(t, s)
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		}
		return cmd
	}
	if err := loadInChild(t, alone(s)); err != nil {
		t.Errorf("without a network: %v", err)
	}
	empty := s
	empty.CacheDir = t.TempDir()
	err := loadInChild(t, alone(empty))
	expect(t, "nothing in the cache", err, "dialled huggingface.co:443", "no answer from huggingface.co")

	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skipf("sockets are not looked at: %v", err)
	}
	calls := filepath.Join(t.TempDir(), "calls")
	cmd := child(t, s)
	cmd.Args = append([]string{strace, "-f", "-e", "trace=network,openat", "-o", calls, "--"}, cmd.Args...)
	cmd.Path = strace
	if err := loadInChild(t, cmd); err != nil {
		t.Skipf("strace: %v", err)
	}
	seen, err := os.ReadFile(calls)
	if err != nil || !strings.Contains(string(seen), weightsFile) {
		t.Fatalf("strace saw no file of the model (%v)", err)
	}
	for line := range strings.Lines(string(seen)) {
		if strings.Contains(line, "socket(") || strings.Contains(line, "connect(") || strings.Contains(line, "sendto(") {
			t.Errorf("a model in the cache is loaded with %s", line)
		}
	}
}
