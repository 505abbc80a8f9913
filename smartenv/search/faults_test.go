package search

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"smart-connections-mcp/smartenv/disk"
	"smart-connections-mcp/smartenv/fault"
	"smart-connections-mcp/smartenv/note"
)

// D, bug 41 (faults): whatever call fails while a passage is read, it is the right one
// or it is said why there is none, and the next one is right.
func TestPassageFaults(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "n.md"), []byte(indexed), 0o644); err != nil {
		t.Fatal(err)
	}
	item := blockItem(t, indexed, "#Two")
	hit := Hit{Path: "n.md", item: item, passage: item}
	const want = "# Two\nsecond words"
	for _, f := range fault.All {
		for _, how := range []fault.How{fault.Once, fault.Lasts, fault.Sticks} {
			t.Run(fmt.Sprintf("%s/%s", f.Name, how), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { // time passes at once
					in := &fault.Injector{Fault: f, How: how, Dir: dir}
					v, err := note.OpenVaultOn(disk.Tapped(in.Tap), dir)
					if err != nil {
						t.Fatal(err)
					}
					defer v.Close()
					for k, more := 1, true; more; k++ {
						time.Sleep(time.Minute)
						in.From(k)
						p := hit.Passages(v, 1000)[0]
						calls, _ := in.From(0)
						more = len(calls) > 0
						if wrong := wrongUnder(f, p, want, dir); wrong != "" {
							t.Errorf("call %d, %q: %s: %+v", k, calls, wrong, p)
						}
						if p := hit.Passages(v, 1000)[0]; p.Text != want || p.Missing != "" || p.Stale {
							t.Errorf("after call %d, %q, had failed: %+v", k, calls, p)
						}
					}
				})
			})
		}
	}
}

// wrongUnder says what is wrong with a passage that was read while f was at work.
func wrongUnder(f fault.Fault, p Passage, want, dir string) string {
	cause := "unexpected EOF"
	if f.Err != nil && f.Err != io.EOF {
		cause = f.Err.Error()
	}
	switch {
	case p.Text == want && p.Missing == "" && !p.Stale:
		return ""
	case p.Text != "" || f.Err == nil:
		return "a wrong passage"
	case p.Stale:
		return "a note that cannot be read is called stale"
	case strings.Contains(p.Missing, dir):
		return "a place on the host is told"
	case errors.Is(f.Err, fs.ErrNotExist):
		return ""
	case !strings.Contains(p.Missing, cause) || !strings.Contains(p.Missing, "check "):
		return "the cause and the way out are not told"
	}
	return ""
}
