// Package hostile runs the program as clients and systems run it when all goes
// wrong: rubbish on stdin, a stdout nobody reads, signals, no network, hundreds
// of calls at once, hours of use. Names of tests begin with what they are called
// in the plan of issue 6 (P1, R3 …).
//
// HOSTILE is a duration: tests that are bound by time run that long, and the
// others in their full counts. Without it all of them together take seconds.
package hostile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"smart-connections-mcp/testdata/session"
)

// program is the binary under test, compiled once for all tests.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "hostile-")
	if err == nil {
		program, err = session.Build(context.Background(), dir)
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// edgeMini is a vault of the repository whose model is built in.
const edgeMini = "../vaults/edge-mini"

// hostile is how long a test that is bound by time runs, and whether tests that
// are bound by counts run in full.
func hostile(t testing.TB) (long time.Duration, full bool) {
	value := os.Getenv("HOSTILE")
	if value == "" {
		return time.Second, false
	}
	long, err := time.ParseDuration(value)
	if err != nil {
		t.Fatalf("HOSTILE is %q: set it to a duration such as 30s", value)
	}
	return long, true
}

// serve starts the server on a vault and opens the session.
func serve(t testing.TB, vault string) *session.Client {
	t.Helper()
	return begin(t, session.Prepare(t.Context(), program, "serve", "--vault", vault))
}

// begin starts a server and opens the session. It is killed at the end of the test
// if it is still there.
func begin(t testing.TB, p *session.Process) *session.Client {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Cmd.Process.Kill(); _ = p.Cmd.Wait() })
	c := &session.Client{Process: p}
	if err := c.Initialize(); err != nil {
		t.Fatal(err)
	}
	return c
}

// copyVault puts a vault of the repository where a test may change it.
func copyVault(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "vault")
	if err := os.CopyFS(dir, os.DirFS(name)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A server that is asked and then left answers and ends with code 0.
func TestSession(t *testing.T) {
	c := serve(t, copyVault(t, edgeMini))
	answer, err := c.Call("search_notes", map[string]any{"query": "upper case extension", "min_score": -1})
	if err != nil || answer.IsError {
		t.Fatalf("search_notes: %v, %s", err, answer.Text())
	}
	if rest, err := c.End(); err != nil || len(rest) > 0 {
		t.Errorf("the end: %v, %q on stdout; want exit code 0 and nothing\n%s", err, rest, c.Said())
	}
}
