package links

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"smart-connections-mcp/smartenv/note"
)

// generate writes a vault of n notes of about 5 kB with ten links each, of which some
// lead nowhere and one to a note that many know.
func generate(t testing.TB, n int) (dir string) {
	dir = t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	path := func(i int) string { return fmt.Sprintf("Area %d/Topic %d/Note %d", i%10, i%200, i) }
	words := strings.Fields("a note of the vault says what its author had in mind about things that grow over years and are seldom read again")
	for i := range n {
		var b strings.Builder
		fmt.Fprintf(&b, "---\naliases: [Alias %d]\ntags: [area/%d]\n---\n# Note %d\n\n", i, i%10, i)
		for j := range 10 {
			fmt.Fprintf(&b, "## Part %d\n\n", j)
			for range 95 {
				b.WriteString(words[rng.IntN(len(words))])
				b.WriteByte(' ')
			}
			to := rng.IntN(n)
			if j == 9 {
				to %= 20
			}
			switch rng.IntN(20) {
			case 0:
				fmt.Fprintf(&b, "[[Missing %d]]\n\n", rng.IntN(2000))
			case 1, 2, 3:
				fmt.Fprintf(&b, "[[%s#Part %d|text %d]]\n\n", path(to), rng.IntN(11), to)
			case 4, 5:
				fmt.Fprintf(&b, "[label %d](%s.md)\n\n", to, strings.ReplaceAll(path(to), " ", "%20"))
			case 6:
				fmt.Fprintf(&b, "![[image %d.png]]\n\n", rng.IntN(200))
			default:
				fmt.Fprintf(&b, "[[Note %d]] ^block-%d\n\n", to, j)
			}
		}
		write(t, dir, path(i)+".md", b.String())
		os.Chtimes(filepath.Join(dir, path(i)+".md"), time.Time{}, time.Unix(1, 0)) // else it is so young that it is read again
	}
	for i := range 100 {
		write(t, dir, fmt.Sprintf("files/image %d.png", i), "png")
	}
	return dir
}

func write(t testing.TB, dir, path, text string) {
	t.Helper()
	full := filepath.Join(dir, filepath.FromSlash(path))
	err := os.MkdirAll(filepath.Dir(full), 0o755)
	if err == nil {
		err = os.WriteFile(full, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func openVault(t testing.TB, dir string) *note.Vault {
	t.Helper()
	v, err := note.OpenVault(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

func allOpen() func(string) bool { return func(string) bool { return false } }

const many = 20_000

// BenchmarkGraph builds the graph of a large vault, warm, and brings it up to date.
func BenchmarkGraph(b *testing.B) {
	dir := generate(b, many)
	v := openVault(b, dir)
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			if _, err := Open(v, allOpen).Graph(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	})
	x := Open(v, allOpen)
	if _, err := x.Graph(b.Context()); err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name string
		do   func(i int)
	}{
		{"unchanged", func(int) {}},
		{"one changed", func(i int) { write(b, dir, "Area 0/Topic 0/Note 0.md", strings.Repeat("[[Note 1]]", i%100)) }},
		{"one new", func(i int) { write(b, dir, fmt.Sprintf("New %d.md", i), "[[Note 1]]") }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				bench.do(i)
				if _, err := x.refresh(context.Background(), x.current.Load()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAsk asks the graph of a large vault.
func BenchmarkAsk(b *testing.B) {
	v := openVault(b, generate(b, many))
	var empty, full runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&empty)
	x := Open(v, allOpen)
	g, err := x.Graph(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&full)
	hub, leaf := "Area 1/Topic 1/Note 1.md", "Area 1/Topic 1/Note 12001.md"
	for _, bench := range []struct {
		name string
		ask  func() bool
	}{
		{"To", func() bool { return len(g.To(hub)) > 100 }},
		{"Resolve", func() bool { return g.Resolve("Note 12001", "Part 3", hub).Target.Line > 0 }},
		{"Neighbours", func() bool { return len(g.Neighbours(hub)) > 100 }},
		{"Linked", func() bool { return !g.Linked(hub, leaf) || g.Linked(leaf, hub) }},
		{"Find=path", func() bool { return g.Find("[["+leaf+"#Part 3|x]]", "").MatchedBy == ByPath }},
		{"Find=alias", func() bool { return g.Find("alias 12001", "").MatchedBy == ByAlias }},
		{"Find=text", func() bool { return g.Find("label 1", "").MatchedBy == ByLinkText }},
		{"Find=nothing", func() bool { return g.Find("no such thing", "").MatchedBy == "" }},
		{"Missing", func() bool { return len(g.Missing()) > 1000 }},
		{"Orphans", func() bool { return len(g.Orphans()) < many }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				if !bench.ask() {
					b.Fatal("a wrong answer")
				}
			}
			b.ReportMetric(float64(full.HeapAlloc-empty.HeapAlloc)/1e6, "MB-heap")
		})
	}
	runtime.KeepAlive(x)
}
