package hostile

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Bug 14: a process that answered every tool, and loaded the index anew after the
// plugin had rewritten it, leaves every byte, time and name below the vault as it
// found it.
func TestBug14ReadOnly(t *testing.T) {
	t.Parallel()
	g := newGardener(t, 10)
	c := serve(t, g.dir)
	v := newVisitor(t, c, g)
	for day := 5; day < 7; day++ { // Optimize, then all kinds at once
		before := picture(t, g.dir)
		for range 20 {
			if err := v.call(); err != nil {
				t.Fatal(err)
			}
		}
		if after := picture(t, g.dir); after != before {
			t.Errorf("the vault was\n%s\nand is now\n%s", before, after)
		}
		g.work(day)
		before = picture(t, g.dir)
		if err := v.arrives(); err != nil {
			t.Fatal(err)
		}
		if day == 6 {
			if _, err := c.End(); err != nil {
				t.Error(err)
			}
		}
		if after := picture(t, g.dir); after != before {
			t.Errorf("after a reload the vault was\n%s\nand is now\n%s", before, after)
		}
	}
	if v.reloads == 0 {
		t.Error("the index was never loaded anew")
	}
}

// picture describes every file and folder below dir.
func picture(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var data []byte
		if info.Mode().IsRegular() {
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		fmt.Fprintln(&b, path, info.Mode(), info.ModTime().UnixNano(), info.Size(), sha256.Sum256(data))
		return nil
	})
	if err != nil || strings.Count(b.String(), "\n") < 10 {
		t.Fatalf("picture of %s: %v\n%s", dir, err, b.String())
	}
	return b.String()
}
