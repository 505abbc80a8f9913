package weights

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// The environment of a child: a process that only loads testModel.
const (
	childCache    = "WEIGHTS_TEST_CACHE"    // where from; only children have it
	childEndpoint = "WEIGHTS_TEST_ENDPOINT" // the hub
	childKill     = "WEIGHTS_TEST_KILL"     // the operation on the disk that it is killed before
	childHalf     = "WEIGHTS_TEST_HALF"     // kill it in the middle of that operation instead
	childUser     = "WEIGHTS_TEST_USER"     // who it is to be
)

const childPatience = 30 * time.Second // ends a child whose parent has died

// The test binary is its own child.
func TestMain(m *testing.M) {
	if os.Getenv(childCache) == "" {
		os.Exit(m.Run())
	}
	if err := beChild(); err != nil {
		fmt.Println(err)
		os.Exit(4)
	}
	os.Exit(0)
}

func beChild() error {
	ctx, cancel := context.WithTimeout(context.Background(), childPatience)
	defer cancel()
	time.AfterFunc(childPatience+time.Second, func() { os.Exit(3) })
	if user, err := strconv.Atoi(os.Getenv(childUser)); err == nil {
		if err := become(user); err != nil {
			return err
		}
	}
	endpoint := os.Getenv(childEndpoint)
	if endpoint == "" { // then the network is not to be touched
		http.DefaultTransport.(*http.Transport).DialContext = func(_ context.Context, _, address string) (net.Conn, error) {
			fmt.Println("dialled", address)
			return nil, errors.New("no network")
		}
	}
	s := Source{CacheDir: os.Getenv(childCache), Endpoint: endpoint, limits: limits{wait: time.Millisecond}}
	if k, err := strconv.Atoi(os.Getenv(childKill)); err == nil {
		s.disk.fault = suicide(k, os.Getenv(childHalf) != "")
	}
	_, err := s.Load(ctx, testModel)
	return err
}

var errDying = errors.New("dying")

// suicide is a fault that kills the process before the k-th operation, or in
// the middle of it.
func suicide(k int, half bool) func(string, string, int) (int, error) {
	count := 0
	return func(_, _ string, n int) (int, error) {
		switch count++; {
		case count == k && half:
			return n / 2, errDying
		case count >= k:
			p, _ := os.FindProcess(os.Getpid())
			p.Kill()
			select {}
		}
		return 0, nil
	}
}

// child is a child that is not started yet. It dies with the test.
func child(t *testing.T, s Source, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childCache+"="+s.CacheDir, childEndpoint+"="+s.Endpoint)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = new(bytes.Buffer), t.Output()
	cmd.WaitDelay = time.Second
	return cmd
}

// loadInChild is what a child's Load says, nil for success.
func loadInChild(t *testing.T, cmd *exec.Cmd) error {
	t.Helper()
	err := cmd.Run()
	if text := cmd.Stdout.(*bytes.Buffer).String(); err != nil && text != "" {
		return errors.New(text)
	} else if text != "" {
		t.Errorf("a child that loads says %q", text)
	}
	return err
}

// hostile tells whether HOSTILE asks for the long forms of the tests of
// hostile conditions; what it gives as time, none of these here need.
func hostile(t *testing.T) bool {
	t.Helper()
	text := os.Getenv("HOSTILE")
	if _, err := time.ParseDuration(text); text != "" && err != nil {
		t.Fatalf("HOSTILE: %v", err)
	}
	return text != ""
}
