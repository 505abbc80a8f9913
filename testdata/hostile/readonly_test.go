package hostile

import (
	"testing"

	"smart-connections-mcp/testdata/session"
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
		before := session.Picture(t, g.dir)
		for range 20 {
			if err := v.call(); err != nil {
				t.Fatal(err)
			}
		}
		if after := session.Picture(t, g.dir); after != before {
			t.Errorf("the vault was\n%s\nand is now\n%s", before, after)
		}
		g.work(day)
		before = session.Picture(t, g.dir)
		if err := v.arrives(); err != nil {
			t.Fatal(err)
		}
		if day == 6 {
			if _, err := c.End(); err != nil {
				t.Error(err)
			}
		}
		if after := session.Picture(t, g.dir); after != before {
			t.Errorf("after a reload the vault was\n%s\nand is now\n%s", before, after)
		}
	}
	if v.reloads == 0 {
		t.Error("the index was never loaded anew")
	}
}
