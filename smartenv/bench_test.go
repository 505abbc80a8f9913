package smartenv

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// bigVault writes a vault of n notes with ten blocks each.
func bigVault(t testing.TB, n int) *fakeVault {
	v := newFakeVault(t)
	var lines []string
	for i := range n {
		path := fmt.Sprintf("folder %d/note %d.md", i%100, i)
		var text strings.Builder
		blocks := map[string]any{}
		for b := range 10 {
			block := fmt.Sprintf("# Heading %d\n%s", b, strings.Repeat("some words of a note ", 12))
			blocks[fmt.Sprintf("#Heading %d", b)] = fakeBlock(2*b+1, 2*b+2, block, 10*i+b)
			text.WriteString(block + "\n")
		}
		v.write(path, text.String())
		lines = append(lines, v.record(path, text.String(), i, blocks))
	}
	v.log(lines...)
	axes := make([]int, n)
	v.vectors(noteRows, axes...)
	v.vectors(blockRows, make([]int, 10*n)...)
	return v
}

func BenchmarkReplay(b *testing.B) { benchmarkReplay(b, bigVault(b, 2000)) }

// benchmarkReplay reads the log of a vault.
func benchmarkReplay(b *testing.B, v *fakeVault) {
	files, err := list(b.Context(), v.index())
	if err != nil {
		b.Fatal(err)
	}
	info, err := (folder{dir: v.dir}).stat(shardZero)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (*replay)(nil).update(b.Context(), v.index(), files.shards); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstLoad reads an index whose notes all have to be hashed, as after a
// fresh checkout.
func BenchmarkFirstLoad(b *testing.B) {
	v := bigVault(b, 2000)
	b.ReportAllocs()
	for b.Loop() {
		loadFake(b, v)
	}
}

// BenchmarkNearest ranks 50,000 vectors of 384 values in one pass.
func BenchmarkNearest(b *testing.B) {
	const n, dims = 50_000, 384
	rng := rand.New(rand.NewPCG(9, 10))
	c := &Collection{Dims: dims, Items: make([]Item, n), Vectors: make([]float32, n*dims)}
	for i := range c.Vectors {
		c.Vectors[i] = rng.Float32() - 0.5
	}
	for _, k := range []int{10, 100} {
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			b.SetBytes(4 * n * dims)
			b.ReportAllocs()
			for b.Loop() {
				c.Nearest(c.Row(7), k, nil)
			}
		})
	}
}

// BenchmarkClosest compares 115,000 blocks with the sections of a note.
func BenchmarkClosest(b *testing.B) {
	const n, dims = 115_000, 384
	rng := rand.New(rand.NewPCG(13, 14))
	c := &Collection{Dims: dims, Items: make([]Item, n), Vectors: make([]float32, n*dims)}
	for i := range c.Vectors {
		c.Vectors[i] = rng.Float32() - 0.5
	}
	for _, asked := range []int{1, 4, 10, 64} {
		b.Run(fmt.Sprintf("sections=%d", asked), func(b *testing.B) {
			b.SetBytes(4 * n * dims)
			b.ReportAllocs()
			for b.Loop() {
				c.Closest(c.Vectors[:asked*dims])
			}
		})
	}
}

// BenchmarkInlineFirstLoad loads an inline index with real lengths: a vector of
// 384 values is about four kilobytes of text.
func BenchmarkInlineFirstLoad(b *testing.B) {
	v := newInlineVault(b)
	rng := rand.New(rand.NewPCG(1, 2))
	vec := func() string {
		text := make([]string, 384)
		for i := range text {
			text[i] = strconv.FormatFloat(rng.NormFloat64()/20, 'f', 8, 64)
		}
		return "[" + strings.Join(text, ",") + "]"
	}
	size := 0
	for i := range 300 {
		path := fmt.Sprintf("n%d.md", i)
		v.write(path, "text")
		var lines []string
		for j := range 11 {
			key := "smart_sources:" + path
			if j > 0 {
				key = fmt.Sprintf("smart_blocks:%s#%d", path, j)
			}
			lines = append(lines, fmt.Sprintf(`%q: {"last_read":{"hash":"h"},"embeddings":{"TaylorAI/bge-micro-v2":{"vec":%s,"last_embed":{"hash":"h"}}}},`, key, vec()))
			size += len(lines[j])
		}
		v.multi(inlineName(path), lines...)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		snap, err := openIndex(b, v.dir, Options{}).Snapshot(b.Context())
		if err != nil || len(snap.Blocks.Items) != 3000 {
			b.Fatal(err, len(snap.Blocks.Items))
		}
	}
}
