package links

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"smart-connections-mcp/smartenv/disk"
	"smart-connections-mcp/smartenv/fault"
	"smart-connections-mcp/smartenv/note"
)

// writeVault writes a vault of files, given as path and text in turn.
func writeVault(t testing.TB, pathsAndTexts ...string) (dir string) {
	dir = t.TempDir()
	for i := 0; i < len(pathsAndTexts); i += 2 {
		write(t, dir, pathsAndTexts[i], pathsAndTexts[i+1])
	}
	return dir
}

// picture is all that a graph tells, as text.
func picture(g *Graph) string {
	var b strings.Builder
	for i := range g.Notes {
		n := &g.Notes[i]
		fmt.Fprintf(&b, "%s:", n.Path)
		for _, l := range n.Links {
			fmt.Fprintf(&b, " %s>%s%s", l.Raw, l.To.Kind, l.To.Path)
			if l.To.MissingSubpath {
				b.WriteByte('!')
			}
		}
		for _, r := range g.To(n.Path) {
			fmt.Fprintf(&b, " <%s", r.From.Path)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%q %q %d", g.Attachments, g.Unreadable, g.Unlisted)
	return b.String()
}

// watched opens a vault and counts by path how often a file in it is opened.
func watched(t *testing.T, dir string) (v *note.Vault, opened func() map[string]int) {
	var mu sync.Mutex
	counts := map[string]int{}
	v, err := note.OpenVaultOn(disk.Tapped(func(call, path string, want int) (int, error) {
		if call == "open" && strings.Contains(filepath.Base(path), ".") && path != "." {
			mu.Lock()
			counts[filepath.Base(path)]++
			mu.Unlock()
		}
		return want, nil
	}), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v, func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		was := counts
		counts = map[string]int{}
		return was
	}
}

func graphOf(t testing.TB, x *Index) *Graph {
	t.Helper()
	g, err := x.Graph(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Notes are read once, then those that have changed; the graph is always the one that
// an Index without a past would make. What nobody asks for is not read.
func TestIndexFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeVault(t, "A.md", "[[B]] [[C#Part]] [[New]]", "B.md", "[[A]]", "F/C.md", "# Part\n\n[[A#Late]] ![[p.png]]")
		v, opened := watched(t, dir)
		x := Open(v, allOpen)
		if x.Peek() != nil || len(opened()) != 0 {
			t.Error("an Index has read before it was asked")
		}
		steps := []struct {
			name string
			do   func()
			read string // notes that are read for it
		}{
			{"first", func() {}, "A.md B.md C.md"},
			{"nothing", func() {}, ""},
			{"changed", func() { write(t, dir, "B.md", "[[A]] and [[C]]") }, "B.md"},
			{"a heading more", func() { write(t, dir, "A.md", "[[B]] [[C#Part]] [[New]]\n# Late\n") }, "A.md"},
			{"a heading less", func() { write(t, dir, "F/C.md", "[[A#Late]] ![[p.png]]") }, "C.md"},
			{"new", func() { write(t, dir, "F/New.md", "[[#X]]") }, "New.md"},
			{"shadowed", func() { write(t, dir, "New.md", "[[F/New]]") }, "New.md"},
			{"attachment", func() { write(t, dir, "F/p.png", "") }, ""},
			{"attachment gone", func() { os.Remove(filepath.Join(dir, "F/p.png")) }, ""},
			{"deleted", func() { os.Remove(filepath.Join(dir, "B.md")) }, ""},
			{"moved", func() { os.Rename(filepath.Join(dir, "F/C.md"), filepath.Join(dir, "C.md")) }, "C.md"},
			{"same size, other time", func() {
				write(t, dir, "A.md", "[[C]] [[C#Part]] [[New]]\n# Lat3\n")
				os.Chtimes(filepath.Join(dir, "A.md"), time.Time{}, time.Unix(1, 0))
			}, "A.md"},
			{"folder gone", func() { os.RemoveAll(filepath.Join(dir, "F")) }, ""},
		}
		for _, s := range steps {
			older := x.Peek()
			var picked string
			if older != nil {
				picked = picture(older)
			}
			s.do()
			time.Sleep(recheck + time.Millisecond)
			got := graphOf(t, x)
			var read []string
			for name, n := range opened() {
				read = append(read, name)
				if n != 1 {
					t.Errorf("%s: %s is opened %d times", s.name, name, n)
				}
			}
			if slices.Sort(read); strings.Join(read, " ") != s.read {
				t.Errorf("%s: %q are read, want %q", s.name, read, s.read)
			}
			if want := picture(graphOf(t, Open(v, allOpen))); picture(got) != want {
				t.Errorf("%s: the graph is\n%s\nwant\n%s", s.name, picture(got), want)
			}
			opened()
			if older != nil && picture(older) != picked {
				t.Errorf("%s: the graph before has changed to\n%s\nfrom\n%s", s.name, picture(older), picked)
			}
			if s.name == "nothing" && got != older {
				t.Errorf("%s: a graph is made anew", s.name)
			}
			if again := graphOf(t, x); again != got || x.Peek() != got || len(opened()) != 0 {
				t.Errorf("%s: the vault is looked at again at once", s.name)
			}
		}
	})
}

// A note that may have been written again in the same tick of the disk's clock is
// read again, until it is old enough.
func TestIndexYoung(t *testing.T) {
	dir := writeVault(t, "A.md", "[[B]]", "Old.md", "")
	os.Chtimes(filepath.Join(dir, "Old.md"), time.Time{}, time.Now().Add(-time.Hour))
	v, opened := watched(t, dir)
	r := reader{vault: v, known: map[string]*entry{}}
	g, _, err := r.read(t.Context(), nil, allOpen())
	if err != nil {
		t.Fatal(err)
	}
	info, _ := os.Stat(filepath.Join(dir, "A.md"))
	write(t, dir, "A.md", "[[C]]")
	os.Chtimes(filepath.Join(dir, "A.md"), time.Time{}, info.ModTime())
	opened()
	if g, _, err = r.read(t.Context(), g, allOpen()); err != nil || g.Notes[0].Links[0].Target != "C" {
		t.Errorf("a note of the same size and time as a moment ago is not read again: %v, %v", g, err)
	}
	if read := opened(); read["Old.md"] != 0 || read["A.md"] != 1 {
		t.Errorf("%v are read, want A.md", read)
	}
}

// What is closed is never opened, but known to exist; when the settings change the
// next graph follows them.
func TestIndexClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeVault(t, "A.md", "[[Secret]] [[Shut/Secret#X|x]] ![[s.png]] [[Both]]", "Shut/Secret.md", "[[A]]", "Shut/s.png", "",
			"Both.md", "", "Shut/Both.md", "")
		v, opened := watched(t, dir)
		shut := "Shut/"
		x := Open(v, func() func(string) bool {
			now := shut
			return func(path string) bool { return now != "" && strings.HasPrefix(path, now) }
		})
		for range 2 {
			shut = "Shut/"
			time.Sleep(recheck + 1)
			g := graphOf(t, x)
			want := "A.md: [[Secret]]>excluded [[Shut/Secret#X|x]]>excluded ![[s.png]]>excluded [[Both]]>noteBoth.md\nBoth.md: <A.md\n[] [] 0"
			if got := picture(g); got != want {
				t.Errorf("the graph is\n%s\nwant\n%s", got, want)
			}
			if read := opened(); read["Secret.md"] > 0 {
				t.Errorf("%v are opened", read)
			}
			if _, known := g.Note("Shut/Secret.md"); known || len(g.To("Shut/Secret.md")) > 0 {
				t.Error("a closed note is known")
			}
			for _, text := range []string{"Secret", "[[Shut/Secret]]", "x", "Both"} {
				if r := g.Find(text, "Shut/Secret.md"); strings.Contains(fmt.Sprint(r.Target, r.Candidates), "Shut") {
					t.Errorf("Find(%q) = %+v, which names what is closed", text, r)
				}
			}
			shut = ""
			time.Sleep(recheck + 1)
			g = graphOf(t, x)
			if got := g.Neighbours("Shut/Secret.md"); !slices.Equal(got, []string{"A.md"}) || opened()["Secret.md"] != 1 {
				t.Errorf("after it was opened, Neighbours = %q, want A.md", got)
			}
		}
	})
}

// Calls at one time share a reading, and the end of one is not that of the others.
func TestIndexShares(t *testing.T) {
	dir := writeVault(t)
	for i := range 100 {
		path := fmt.Sprintf("%d.md", i)
		write(t, dir, path, "[[0]]")
		os.Chtimes(filepath.Join(dir, path), time.Time{}, time.Unix(1, 0)) // else it is so young that it is read again
	}
	ctx, cancel := context.WithCancel(t.Context())
	var reads atomic.Int32
	v, err := note.OpenVaultOn(disk.Tapped(func(call, path string, want int) (int, error) {
		if call == "open" && strings.HasSuffix(path, ".md") && reads.Add(1) == 50 {
			cancel()
			time.Sleep(10 * time.Millisecond)
		}
		return want, nil
	}), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	x := Open(v, allOpen)
	first := make(chan error)
	go func() {
		_, err := x.Graph(ctx)
		first <- err
	}()
	for len(x.turn) == 0 {
		time.Sleep(time.Microsecond)
	}
	var wait sync.WaitGroup
	graphs := make([]*Graph, 8)
	for i := range graphs {
		wait.Go(func() {
			g, err := x.Graph(context.Background())
			if graphs[i] = g; err != nil || len(g.Notes) != 100 || len(g.To("0.md")) != 99 {
				t.Errorf("call %d: %v, %v", i, g, err)
			}
		})
	}
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the call that ended early: %v", err)
	}
	wait.Wait()
	for _, g := range graphs {
		if g != graphs[0] {
			t.Error("calls at one time have different graphs")
		}
	}
	if n := reads.Load(); n > 110 {
		t.Errorf("%d notes were read, want 100: what was read before a call ended is read again", n)
	}
	late, end := context.WithCancel(t.Context())
	end()
	if g, err := Open(v, allOpen).Graph(late); !errors.Is(err, context.Canceled) {
		t.Errorf("Graph of an ended context = %v, %v", g, err)
	}
}

// A panic comes back to who asked, and the next call works.
func TestIndexPanic(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	v, err := note.OpenVaultOn(disk.Tapped(func(call, path string, want int) (int, error) {
		if broken.Load() && call == "open" && filepath.Base(path) == "B.md" {
			panic("broken")
		}
		return want, nil
	}), writeVault(t, "A.md", "[[B]]", "B.md", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	x := Open(v, allOpen)
	func() {
		defer func() {
			if p := recover(); p != "broken" {
				t.Errorf("recovered %v, want the panic", p)
			}
		}()
		x.Graph(t.Context())
	}()
	broken.Store(false)
	if g := graphOf(t, x); len(g.To("B.md")) != 1 {
		t.Errorf("after a panic the graph is\n%s", picture(g))
	}
}

// D, V1 (faults): whatever call fails, a graph that is returned is the right one, or
// says what is missing in it; nothing that cannot be read is taken for gone; and the
// next graph is right.
func TestIndexFaults(t *testing.T) {
	dir := writeVault(t, "A.md", "[[B]] [[F/C#Part]]", "B.md", "[[A]]", "F/C.md", "# Part\n[[A]] [[p.png]]", "F/p.png", "", "F/G/D.md", "[[C]]")
	if err := os.Symlink("B.md", filepath.Join(dir, "link.md")); err != nil {
		t.Skip(err)
	}
	for _, f := range fault.All {
		for _, how := range []fault.How{fault.Once, fault.Lasts, fault.Sticks} {
			for _, first := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/first=%t", f.Name, how, first), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						in := &fault.Injector{Fault: f, How: how, Dir: dir}
						v, err := note.OpenVaultOn(disk.Tapped(in.Tap), dir)
						if err != nil {
							t.Fatal(err)
						}
						defer v.Close()
						want := picture(graphOf(t, Open(v, allOpen)))
						for k := 1; ; k++ {
							x := Open(v, allOpen)
							if !first {
								graphOf(t, x)
								x.reader.known["A.md"].again, x.reader.known["F/C.md"].again = true, true
							}
							time.Sleep(2 * recheck) // as little is known as at the beginning
							in.From(k)
							g, err := x.Graph(t.Context())
							hit, _ := in.From(0)
							if wrong := wrongUnder(f, g, want, err, first); wrong != "" {
								t.Errorf("call %d, %q: %s: %v\n%s", k, hit, wrong, err, want)
							}
							time.Sleep(2 * recheck)
							if got := picture(graphOf(t, x)); got != want || graphOf(t, x).Behind != "" {
								t.Errorf("after call %d, %q, had failed, the graph is\n%s\nwant\n%s", k, hit, got, want)
							}
							if len(hit) == 0 {
								return
							}
						}
					})
				})
			}
		}
	}
}

// wrongUnder says what is wrong with a graph that was made while f was at work.
func wrongUnder(f fault.Fault, g *Graph, want string, err error, first bool) string {
	var lost *note.LostError
	gone := errors.Is(f.Err, os.ErrNotExist)
	switch {
	case err != nil && (!first || !errors.As(err, &lost)):
		return "an error"
	case err != nil:
		return ""
	case g.Behind != "" && first:
		return "behind what?"
	case !first && !gone && strings.Split(picture(g), "[")[0] != strings.Split(want, "[")[0] && g.Behind == "":
		return "what was known is forgotten: " + picture(g)
	case picture(g) != want && len(g.Unreadable)+g.Unlisted == 0 && !gone:
		return "nothing tells that it is not whole: " + picture(g)
	}
	return ""
}
