package links

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkScan reads plain Markdown: prose with a link in every other paragraph, lists,
// headings and a block of code; and what the fixture makes of hard cases.
func BenchmarkScan(b *testing.B) {
	const words = "The quick brown fox jumps over the lazy dog, and then it rests for a while beside the old stone wall.\n"
	plain := "---\ntags: [a, b]\n---\n" + strings.Repeat("# Heading\n\n"+strings.Repeat(words, 5)+"See [[Some note|this]] and #tag.\n\n"+
		"- one item of a list\n- another with `code` in it\n\n"+strings.Repeat(words, 6)+"\n```go\nfor i := range a[1:] { f(a[i]) }\n```\n\n", 8)
	texts := map[string]string{"plain": plain}
	for _, name := range []string{"Forms.md", "Code.md"} {
		text, err := os.ReadFile(filepath.Join(fixture, name))
		if err != nil {
			b.Fatal(err)
		}
		texts[name] = string(text)
	}
	for name, text := range texts {
		b.Run("text="+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Scan("a.md", text)
			}
		})
	}
}
