package links

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"smart-connections-mcp/smartenv/disk"
	"smart-connections-mcp/smartenv/note"
)

// V8: while the vault is away the last graph is used and says so, or there is an error;
// when it is back all is as it was.
func TestIndexLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "vault")
		write(t, dir, "A.md", "[[B]]")
		write(t, dir, "F/B.md", "")
		v := openVault(t, dir)
		x := Open(v, allOpen)
		want := graphOf(t, x)
		for round := range 2 {
			if err := os.Rename(dir, dir+"-away"); err != nil {
				t.Skipf("an open folder cannot be moved here: %v", err)
			}
			time.Sleep(recheck + 1)
			g := graphOf(t, x)
			if picture(g) != picture(want) || !strings.Contains(g.Behind, "the vault's folder cannot be read") || want.Behind != "" {
				t.Errorf("round %d, while the vault is away: %q\n%s", round, g.Behind, picture(g))
			}
			var lost *note.LostError
			if g, err := Open(v, allOpen).Graph(t.Context()); !errors.As(err, &lost) {
				t.Errorf("round %d: Graph = %v, %v, want a LostError", round, g, err)
			}
			os.Rename(dir+"-away", dir)
			time.Sleep(recheck + 1)
			if g := graphOf(t, x); picture(g) != picture(want) || g.Behind != "" {
				t.Errorf("round %d, when the vault is back: %q\n%s", round, g.Behind, picture(g))
			}
		}
	})
}

// Bug 41: what cannot be read for want of rights stays as it was last known; what was
// never read is listed as unreadable, and links to it are not broken.
func TestIndexForbidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeVault(t, "A.md", "[[B#Part]] [[C]] [[p.png]]", "F/B.md", "# Part\n[[A]]", "C.md", "[[A]]", "F/p.png", "")
		var forbidden atomic.Pointer[[]string]
		none := []string{}
		forbidden.Store(&none)
		v, err := note.OpenVaultOn(disk.Tapped(func(call, path string, want int) (int, error) {
			if slices.Contains(*forbidden.Load(), filepath.Base(path)) {
				return 0, &os.PathError{Op: call, Path: path, Err: os.ErrPermission}
			}
			return want, nil
		}), dir)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		old := Open(v, allOpen)
		want := graphOf(t, old)
		shut := []string{"F", "C.md", "B.md", "p.png"}
		forbidden.Store(&shut)
		time.Sleep(recheck + 1)
		g := graphOf(t, old)
		if !reflect.DeepEqual(g.Notes, want.Notes) || !slices.Equal(g.Attachments, want.Attachments) || g.Unlisted != 1 || len(g.Missing()) != 0 {
			t.Errorf("the graph is\n%s\nwant\n%s", picture(g), picture(want))
		}
		g = graphOf(t, Open(v, allOpen))
		if !slices.Equal(g.Unreadable, []string{"C.md"}) || len(g.To("C.md")) != 1 || g.Unlisted != 1 {
			t.Errorf("without a past the graph is\n%s", picture(g))
		}
		if r := g.Resolve("C", "No such part", ""); r.Target != (Target{Kind: ToNote, Path: "C.md"}) {
			t.Errorf("Resolve(C) = %+v, want the note that cannot be read", r)
		}
	})
}
