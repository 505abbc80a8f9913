package smartenv

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A largeVault is a vault as large as the largest that people have: records of
// the usual length, ten blocks a note, and vectors of 384 values. Its notes are
// as the plugin left them, so that none has to be read.
type largeVault struct {
	*fakeVault
	model Model
	rng   *rand.Rand
	rows  int // notes' vectors so far; there are ten times as many of blocks
}

// newLargeVault writes n notes. It takes some seconds, so -short skips it.
func newLargeVault(b *testing.B, n int) *largeVault {
	if testing.Short() {
		b.Skip("a large index is not written under -short")
	}
	v := &largeVault{newFakeVault(b), defaultModel(), rand.New(rand.NewPCG(1, 2)), 0}
	v.write(".smart-env/embedding_models/embedding_models.ajson", fmt.Sprintf(
		`"embedding_models:m#1": {"provider_key":%q,"model_key":%q,"dims":%d,"max_tokens":%d,"created_at":1},`,
		v.model.Provider, v.model.Name, v.model.Dims, v.model.MaxTokens))
	v.save(b, 0, n)
	return v
}

// save writes the notes first up to but not including end with texts of their
// own, and appends their vectors and their records.
func (v *largeVault) save(b *testing.B, first, end int) {
	b.Helper()
	v.embed(b, noteRows, end-first)
	v.embed(b, blockRows, 10*(end-first))
	v.appendTo(b, shardZero, func(w *bufio.Writer) error {
		for i := first; i < end; i++ {
			path := fmt.Sprintf("Folder %d/Note number %d.md", i%97, i)
			v.write(path, strings.Repeat(fmt.Sprintf("text %d of the note %d\n", v.rows, i), 20))
			info, err := os.Stat(v.path(path))
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "\n%s", v.line(path, info))
			v.rows++
		}
		return nil
	})
}

// line is a record with the members and about the length that the plugin's have.
func (v *largeVault) line(path string, info os.FileInfo) []byte {
	hash := fmt.Sprintf("%x", v.rng.Uint32())
	out := fmt.Appendf(nil, `"smart_sources:%s": {"class_name":"SmartSource","last_read":{"hash":%q,"at":1790000000000},"embedding":%s,"path":%q,`+
		`"last_import":{"mtime":%d,"size":%d,"at":1790000000000,"hash":%q},"blocks_data":{`,
		path, hash, v.reference(v.rows, hash), path, info.ModTime().UnixMilli(), info.Size(), hash)
	for j := range 10 {
		key, hash := fmt.Sprintf("#Heading %d#Sub heading of some length#{%d}", j, j), fmt.Sprintf("%x", v.rng.Uint32())
		if j > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `%q:{"text":null,"length":0,"last_read":{"hash":%q,"at":1790000000000},"key":%q,"lines":[%d,%d],"size":400,"should_embed":true,"embedding":%s}`,
			key, hash, path+key, 2*j+1, 2*j+2, v.reference(10*v.rows+j, hash))
	}
	out = append(out, `},"outlinks":[`...)
	for k := range 5 {
		out = fmt.Appendf(out, `{"title":"title %d","target":"target %d","line":%d},`, k, k, k)
	}
	return append(out[:len(out)-1], `],"metadata":{"tags":["#a","#b"]}},`...)
}

func (v *largeVault) reference(row int, hash string) string {
	fp := v.model.Fingerprint()
	return fmt.Sprintf(`{"history":[],"default":{%q:{"file":%q,"file_i":%d,"read_hash":%q,"at":1790000000000}}}`, fp, fp, row, hash)
}

// embed appends n random unit vectors to a multifile.
func (v *largeVault) embed(b *testing.B, folder string, n int) {
	v.appendTo(b, folder+v.model.Fingerprint(), func(w *bufio.Writer) error {
		row, packed := make([]float64, v.model.Dims), make([]byte, 4*v.model.Dims)
		for range n {
			var sum float64
			for i := range row {
				row[i] = v.rng.Float64() - 0.5
				sum += row[i] * row[i]
			}
			for i, value := range row {
				binary.LittleEndian.PutUint32(packed[4*i:], math.Float32bits(float32(value/math.Sqrt(sum))))
			}
			if _, err := w.Write(packed); err != nil {
				return err
			}
		}
		return nil
	})
}

func (v *largeVault) appendTo(b *testing.B, name string, write func(w *bufio.Writer) error) {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(v.path(name)), 0o755); err != nil {
		b.Fatal(err)
	}
	f, err := os.OpenFile(v.path(name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err := write(w); err != nil {
		b.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkLoad reads an index of 115,000 blocks with nothing known of it, and
// its log alone.
func BenchmarkLoad(b *testing.B) {
	const notes = 11_500
	v := newLargeVault(b, notes)
	b.Run("index=115k", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			snap, err := openIndex(b, v.dir, Options{}).Snapshot(b.Context())
			if err != nil || len(snap.Blocks.Items) != 10*notes || snap.Status.Notes.Stale != 0 {
				b.Fatal(err, snap)
			}
		}
	})
	b.Run("log=115k", func(b *testing.B) { benchmarkReplay(b, v.fakeVault) })
	b.Run("index=ml-en-mit-packed-derived", func(b *testing.B) {
		dir := shared(b, "vaults", "ml-en-mit-packed-derived")
		b.ReportAllocs()
		for b.Loop() {
			if snap, err := openIndex(b, dir, Options{}).Snapshot(b.Context()); err != nil || len(snap.Blocks.Items) == 0 {
				b.Fatal(err, snap)
			}
		}
	})
}

// BenchmarkReload looks again after 100 notes of a large index were edited and
// embedded anew.
func BenchmarkReload(b *testing.B) {
	const notes, edited = 11_500, 100
	v := newLargeVault(b, notes)
	index := openIndex(b, v.dir, Options{Recheck: time.Nanosecond})
	if _, err := index.Snapshot(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Run(fmt.Sprintf("append=%d", edited), func(b *testing.B) {
		b.ReportAllocs()
		var worst time.Duration
		for b.Loop() {
			b.StopTimer()
			first := v.rows % notes
			v.save(b, first, min(first+edited, notes))
			runtime.GC()
			b.StartTimer()
			start := time.Now()
			snap, err := index.Snapshot(b.Context())
			worst = max(worst, time.Since(start))
			if err != nil || snap.Status.Records != v.rows || len(snap.Blocks.Items) != 10*notes || snap.Behind != "" {
				b.Fatal(err, snap.Status, snap.Behind)
			}
		}
		b.ReportMetric(worst.Seconds()*1e3, "worst-ms")
	})
}
