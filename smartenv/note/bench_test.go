package note

import (
	"fmt"
	"strings"
	"testing"
)

func benchVault(b *testing.B, notes int) (*Vault, []string) {
	dir := b.TempDir()
	var paths []string
	for i := range notes {
		paths = append(paths, fmt.Sprintf("Area %d/Topic %d/Note %d.md", i%7, i%31, i))
	}
	writeFiles(b, dir, paths...)
	return openVault(b, dir), paths
}

func BenchmarkList(b *testing.B) {
	v, paths := benchVault(b, 5000)
	for b.Loop() {
		if got, _, err := v.List(); len(got) != len(paths) || err != nil {
			b.Fatal(len(got), err)
		}
	}
}

func BenchmarkStat(b *testing.B) {
	v, paths := benchVault(b, 1000)
	for i := 0; b.Loop(); i++ {
		if _, err := v.Stat(paths[i%len(paths)]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	v, paths := benchVault(b, 1000)
	for i := 0; b.Loop(); i++ {
		if _, err := v.Read(paths[i%len(paths)]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	v, paths := benchVault(b, 5000)
	for i := 0; b.Loop(); i++ {
		if _, err := v.Resolve(strings.ToLower(paths[i%len(paths)])); err != nil {
			b.Fatal(err)
		}
	}
}

// benchText is about 20 kB of headings, lists and text.
var benchText = strings.Repeat("# Heading\n\nSome text of a paragraph, über alles.\n- item one\n- item two\n", 280)

func BenchmarkHash(b *testing.B) {
	b.SetBytes(int64(len(benchText)))
	for b.Loop() {
		Hash(benchText)
	}
}

func BenchmarkParse(b *testing.B) {
	b.SetBytes(int64(len(benchText)))
	b.ReportAllocs()
	for b.Loop() {
		Parse("a.md", benchText, Rules{MinChars: 200, MaxTokens: 512})
	}
}

func BenchmarkExcerpt(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Excerpt(benchText, 100, 500, 1200); err != nil {
			b.Fatal(err)
		}
	}
}
