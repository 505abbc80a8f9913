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

// The time from a checkpoint in memory to a model.
func BenchmarkNew(b *testing.B) {
	for _, f := range fixtures {
		if _, err := os.Stat(f.model); err != nil {
			continue
		}
		c := f.checkpoint(b)
		b.Run(fmt.Sprintf("model=%s/impl=%s", f.name, simd.Active()), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				build(b, c, Profile{})
			}
		})
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

var prose = strings.Repeat("## Pruning\n\nThe roses by the wall were cut back hard in *March*; new shoots, about ten, came within a week. ", 100)

// Text to ids: the notes of a real vault one by one, prose, and the goldens'
// mix of hard texts; by WordPiece and, as far as it goes, by Unigram.
func BenchmarkTokenize(b *testing.B) {
	f := fixtures[1]
	var mix strings.Builder
	for _, g := range f.goldens(b) {
		mix.WriteString(g.Text)
		mix.WriteByte('\n')
	}
	run := func(b *testing.B, tok *tokenizer, texts ...string) {
		size, n := 0, 0
		for _, text := range texts {
			size += len(text)
			n += len(tok.ids(text))
		}
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			for _, text := range texts {
				tok.ids(text)
			}
		}
		b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "tok/s")
		b.ReportMetric(float64(len(texts)), "texts/op")
	}
	b.Run("text=vault", func(b *testing.B) { run(b, patched(b, need(b, bigVocabulary), nil), vaultTexts(b)...) })
	b.Run("text=prose", func(b *testing.B) { run(b, f.load(b).tokenizer, prose) })
	b.Run("text=goldens", func(b *testing.B) { run(b, f.load(b).tokenizer, mix.String()) })
	b.Run("text=prose/model=unigram", func(b *testing.B) { run(b, patched(b, unigramFile, nil), prose) })
	b.Run("text=goldens/model=unigram", func(b *testing.B) { run(b, patched(b, unigramFile, nil), mix.String()) })
}
