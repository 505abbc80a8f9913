package bert

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"smart-connections-mcp/simd"
)

// The time of one text by its length in tokens, on the level SMART_SIMD names.
func BenchmarkEmbed(b *testing.B) {
	for _, f := range fixtures {
		if _, err := os.Stat(f.model); err != nil {
			continue // the large models are not in the repository
		}
		m := f.load(b)
		for _, tokens := range []int{8, 16, 32, 64, 128, 256, 512} {
			text := strings.TrimSpace(strings.Repeat("a ", tokens-2))
			if n := len(m.Tokens(text)); n != tokens {
				b.Fatalf("the text has %d tokens, want %d", n, tokens)
			}
			b.Run(fmt.Sprintf("model=%s/impl=%s/tokens=%d", f.name, simd.Active(), tokens), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := m.Embed(context.Background(), text); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(tokens*b.N)/b.Elapsed().Seconds(), "tok/s")
			})
		}
	}
}

// The rate of many texts of 128 tokens, each processor taking one after the
// other.
func BenchmarkEmbedBatch(b *testing.B) {
	for _, f := range fixtures {
		if _, err := os.Stat(f.model); err != nil {
			continue
		}
		m := f.load(b)
		text := strings.TrimSpace(strings.Repeat("a ", 126))
		b.Run(fmt.Sprintf("model=%s/impl=%s/tokens=128/threads=%d", f.name, simd.Active(), runtime.GOMAXPROCS(0)), func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := m.Embed(context.Background(), text); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "texts/s")
		})
	}
}

// Text to ids: prose, and the goldens' mix of hard texts.
func BenchmarkTokenize(b *testing.B) {
	f := fixtures[1]
	m := f.load(b)
	var mix strings.Builder
	for _, g := range f.goldens(b) {
		mix.WriteString(g.Text)
		mix.WriteByte('\n')
	}
	for _, bb := range []struct{ name, text string }{
		{"prose", strings.Repeat("## Pruning\n\nThe roses by the wall were cut back hard in *March*; new shoots, about ten, came within a week. ", 100)},
		{"goldens", mix.String()},
	} {
		b.Run("text="+bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.text)))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n = len(m.tokenizer.ids(bb.text))
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "tok/s")
		})
	}
}
