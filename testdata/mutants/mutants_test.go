// Package mutants breaks the program on purpose, one guard at a time, and sees
// to it that a named test notices. Every mutant in table_test.go is a mistake
// that somebody could make, and would give a wrong answer, not a crash: a guard
// that no test protects is a guard that the next change removes.
//
//	go test ./testdata/mutants
//
// A mutant is compiled with go test -overlay, so that nothing is written into
// the work tree. With -short only one of each package is tried.
package mutants

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A mutant is one wrong change of one file.
type mutant struct {
	guard    string // what is taken away
	file     string // below the project's root
	old, new string // old stands in the file exactly once
	test     string // what must fail, a subtest perhaps: "TestCases/01-append-log-last-wins"
	in       string // the folder of the test, when it is not the file's
	wrong    string // the answer that it would give
}

func (m *mutant) folder() string {
	if m.in != "" {
		return m.in
	}
	return path.Dir(m.file)
}

const (
	building = 5 * time.Minute // at most, of one test binary
	running  = "60s"           // at most, of one test
)

// Every mutant is noticed by its test, which passes without it.
func TestMutants(t *testing.T) {
	root := projectRoot(t)
	var folders []string
	of := map[string][]*mutant{}
	for i := range mutants {
		folder := mutants[i].folder()
		if of[folder] == nil {
			folders = append(folders, folder)
		}
		if of[folder] == nil || !testing.Short() {
			of[folder] = append(of[folder], &mutants[i])
		}
	}
	for _, folder := range folders {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			checkSound(t, root, folder, of[folder])
			for _, m := range of[folder] {
				t.Run(m.guard, func(t *testing.T) {
					t.Parallel()
					m.check(t, root)
				})
			}
		})
	}
}

// checkSound runs the tests as the program is.
func checkSound(t *testing.T, root, folder string, list []*mutant) {
	t.Helper()
	binary, said := build(t, root, folder, nil)
	if binary == "" {
		t.Fatalf("%s does not compile:\n%s", folder, said)
	}
	var names []string
	for _, m := range list {
		top, _, _ := strings.Cut(m.test, "/")
		names = append(names, top)
	}
	said = run(t, root, folder, binary, "^("+strings.Join(names, "|")+")$", "-test.v")
	for _, m := range list {
		if !strings.Contains(said, "--- PASS: "+m.test+" (") {
			t.Fatalf("%s does not pass as the program is (or is skipped):\n%s", m.test, end(said))
		}
	}
}

var died = regexp.MustCompile(`(?m)^(panic:|fatal error:|SIG[A-Z]+:)`)

// apply returns the mutant's file as it makes it.
func (m *mutant) apply(root string) (string, error) {
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.old); n != 1 || m.old == m.new {
		return "", fmt.Errorf("%s has %d times\n%s\nwant it once: the guard was rewritten, so rewrite its mutant", m.file, n, m.old)
	}
	return strings.Replace(string(source), m.old, m.new, 1), nil
}

// Every mutant has its place. TestMutants sees that too, but takes minutes.
func TestMutantsApply(t *testing.T) {
	root := projectRoot(t)
	for i := range mutants {
		if _, err := mutants[i].apply(root); err != nil {
			t.Errorf("%s: %v", mutants[i].guard, err)
		}
	}
}

// check applies the mutant and wants its test to fail.
func (m *mutant) check(t *testing.T, root string) {
	source, err := m.apply(root)
	if err != nil {
		t.Fatal(err)
	}
	binary, said := build(t, root, m.folder(), map[string]string{m.file: source})
	if binary == "" {
		t.Fatalf("the mutant does not compile, which proves nothing:\n%s", said)
	}
	said = run(t, root, m.folder(), binary, pattern(m.test))
	switch {
	case died.MatchString(said):
		t.Errorf("%s dies of the mutant, want it to notice the wrong answer:\n%s", m.test, end(said))
	case !strings.Contains(said, "--- FAIL: "+m.test+" ("):
		t.Errorf("%s survives %s with\n%s\nsince %s does not fail, though %s:\n%s", m.guard, m.file, m.new, m.test, m.wrong, end(said))
	}
}

// pattern matches one test or subtest.
func pattern(test string) string {
	var parts []string
	for part := range strings.SplitSeq(test, "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	return strings.Join(parts, "/")
}

// build compiles the tests of a folder, with other contents of some files. The
// binary is "" when that fails.
func build(t *testing.T, root, folder string, changed map[string]string) (binary, said string) {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for file, text := range changed {
		replace[filepath.Join(root, filepath.FromSlash(file))] = filepath.Join(dir, path.Base(file))
		if err := os.WriteFile(filepath.Join(dir, path.Base(file)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "mutant.exe") // Windows wants the ending
	said, err = command(t, root, building, "go", "test", "-c", "-vet=off", "-ldflags=-s -w",
		"-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, "./"+folder)
	if err != nil {
		return "", said
	}
	return binary, said
}

// run runs the tests of a binary in their own folder.
func run(t *testing.T, root, folder, binary, tests string, flags ...string) string {
	t.Helper()
	arguments := append([]string{"-test.run", tests, "-test.count=1", "-test.timeout", running}, flags...)
	said, _ := command(t, filepath.Join(root, filepath.FromSlash(folder)), 2*time.Minute, binary, arguments...)
	return said
}

// command returns what a program says. Its error is that the program did not end
// well; that it could not be run at all ends the test.
func command(t *testing.T, dir string, limit time.Duration, name string, arguments ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, arguments...)
	c.Dir, c.WaitDelay = dir, time.Second
	stop := time.AfterFunc(limit, func() { c.Process.Kill() })
	defer stop.Stop()
	said, err := c.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(said), err
}

// end is the end of what a program said.
func end(said string) string { return said[max(0, len(said)-2000):] }

// projectRoot returns the project's folder. It lists every folder below, so that
// go test does not take a result from before a change of any file for a new one.
func projectRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}
