package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

const benchOutput = `goos: linux
cpu: AMD EPYC
BenchmarkEmbed/model=synth-bge-micro-3l/simd=avx2/tokens=8           	       7	   3378559 ns/op	      2368 tok/s	  102321 B/op	       8 allocs/op
BenchmarkEmbed/model=all-MiniLM-L6-v2/impl=avx512/tokens=512-2       	       1	 109673252 ns/op
BenchmarkEmbedBatch/model=synth/impl=avx2/tokens=128/threads=2-2     	      40	    500 ns/op	        61.5 texts/s
BenchmarkEmbed/model=synth-bge-micro-3l
    bench_test.go:20: BenchmarkEmbed 1 2 said something
BenchmarkEmbed/model=torn/simd=avx2/tokens=8 	       7	   3378559 ns/op	      23
PASS
`

func TestParseBench(t *testing.T) {
	got := parseBench(benchOutput)
	want := []struct {
		name, level string
		tokens      int
		procs       int
		unit        string
		value       float64
	}{
		{"BenchmarkEmbed", "avx2", 8, 1, "ns/op", 3378559},
		{"BenchmarkEmbed", "avx512", 512, 2, "ns/op", 109673252},
		{"BenchmarkEmbedBatch", "avx2", 128, 2, "texts/s", 61.5},
	}
	if len(got) != len(want) {
		t.Fatalf("parseBench = %d results %+v, want %d", len(got), got, len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.name != w.name || g.level() != w.level || g.tokens() != w.tokens || g.procs != w.procs || g.metrics[w.unit] != w.value {
			t.Errorf("result %d = %+v, want %+v", i, g, w)
		}
	}
	if m := got[0].metrics; len(m) != 4 || m["tok/s"] != 2368 || m["allocs/op"] != 8 {
		t.Errorf("metrics = %v, want all four", m)
	}
}

// A benchmark may call a model by the beginning of its name.
func TestOf(t *testing.T) {
	for _, test := range []struct {
		model, name string
		want        bool
	}{
		{"synth", "synth-bge-micro-3l", true},
		{"synth-bge-micro-3l", "synth-bge-micro-3l", true},
		{"synth", "all-MiniLM-L6-v2", false},
		{"", "all-MiniLM-L6-v2", false},
	} {
		if got := (result{params: map[string]string{"model": test.model}}).of(test.name); got != test.want {
			t.Errorf("model=%s of %s = %v, want %v", test.model, test.name, got, test.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 3}, 3}, {[]float64{8, 1, 2, 4}, 3},
	} {
		if got := median(test.values); got != test.want {
			t.Errorf("median(%v) = %v, want %v", test.values, got, test.want)
		}
	}
}

func TestTimes(t *testing.T) {
	var none, some times
	if none.min() != 0 || none.median() != 0 {
		t.Errorf("times of no slice = %v, %v, want 0", none.min(), none.median())
	}
	for _, slice := range [][2]float64{{5, 9}, {3, 7}, {4, 30}} {
		some.add(slice[0], slice[1])
	}
	if some.min() != 3 || some.median() != 9 {
		t.Errorf("times = %v, %v, want the least of the fastest 3 and the median of the middles 9", some.min(), some.median())
	}
}

func TestVerdict(t *testing.T) {
	of := func(fastest, middle float64) *times { return &times{[]float64{fastest}, []float64{middle}} }
	for _, test := range []struct {
		ours, peer *times
		limit      float64
		want       string
	}{
		{of(6, 60), of(10, 100), 0, "yes"},
		{of(6.1, 60), of(10, 100), 0, "median only"},
		{of(6, 61), of(10, 100), 0, "minimum only"},
		{of(6.1, 61), of(10, 100), 0, "no"},
		{of(6.9, 90), of(10, 100), 6.05, "yes: limit"},
		{of(6.3, 90), of(10, 100), 5.99, "no"}, // the limit does not forbid the bar
		{of(7.1, 90), of(10, 100), 6.05, "no"}, // more than 15 % above it
	} {
		if got := verdict(test.ours, test.peer, 0.6, test.limit); got != test.want {
			t.Errorf("verdict(%v, %v, 0.6, %v) = %q, want %q", test.ours, test.peer, test.limit, got, test.want)
		}
	}
}

// The wanted numbers were computed by the function flops of ref_bench.mjs.
func TestFlops(t *testing.T) {
	synth, mini := model{Layers: 3, Hidden: 384, Intermediate: 1536}, model{Layers: 2, Hidden: 128, Intermediate: 512}
	for _, test := range []struct {
		m      model
		tokens int
		want   float64
	}{
		{synth, 8, 85229568}, {synth, 128, 1434451968}, {synth, 512, 6643777536}, {mini, 8, 6356992}, {mini, 512, 671088640},
	} {
		if got := test.m.flops(test.tokens); got != test.want {
			t.Errorf("flops(%d) of %+v = %v, want %v", test.tokens, test.m, got, test.want)
		}
	}
}

const peakOutput = `FMA AVX2, 1 thread: 92.5 GFLOP/s by CPU time, 90.0 by wall time
FMA AVX2, 2 threads: 183.0 GFLOP/s by CPU time, 180.0 by wall time
FMA AVX-512, 1 thread: 175.0 GFLOP/s by CPU time, 170.0 by wall time
read,    4.00 MiB: 60.0 GB/s
read,   16.00 MiB: 24.0 GB/s
read,   34.00 MiB: 10.5 GB/s
`

func TestPeak(t *testing.T) {
	var p peak
	if p.rate("avx2", 1) != 0 || p.read(1<<20) != 0 {
		t.Error("the zero peak knows something")
	}
	slower := strings.NewReplacer("90.0", "80.0", "24.0", "25.0", "60.0", "50.0").Replace(peakOutput)
	for _, out := range []string{peakOutput, slower} {
		if err := p.add(out); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		level   string
		threads int
		want    float64
	}{
		{"avx2", 1, 90e9}, {"avx2", 2, 180e9}, {"generic", 1, 90e9}, {"avx512", 1, 170e9}, {"avx512", 2, 0}, {"avx2", 3, 0},
	} {
		if got := p.rate(test.level, test.threads); got != test.want {
			t.Errorf("rate(%s, %d) = %v, want %v", test.level, test.threads, got, test.want)
		}
	}
	for bytes, want := range map[int]float64{1 << 20: 60e9, 10_617_600: 25e9, 42 << 20: 10.5e9} {
		if got := p.read(bytes); got != want {
			t.Errorf("read(%d) = %v, want %v", bytes, got, want)
		}
	}
	if err := p.add("peak: this CPU has no AVX2 with FMA"); err == nil {
		t.Error("add took what tells no rate")
	}
}

// Short texts are limited by reading the weights, long ones by arithmetic.
func TestLimit(t *testing.T) {
	var p peak
	m := model{Layers: 1, Hidden: 384, Intermediate: 1536, weights: 16 << 20}
	if got := m.limit(8, 1, "avx2", p); got != 0 {
		t.Errorf("limit without a peak = %v, want 0", got)
	}
	if err := p.add(peakOutput); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		tokens, threads int
		want            float64
	}{
		{8, 1, 1e3 * (16 << 20) / 24e9}, {8, 2, 1e3 * (16 << 20) / 48e9}, {512, 1, 1e3 * m.flops(512) / 90e9}, {512, 2, 1e3 * m.flops(512) / 180e9},
	} {
		if got := m.limit(test.tokens, test.threads, "avx2", p); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("limit(%d, %d) = %v ms, want %v", test.tokens, test.threads, got, test.want)
		}
	}
}

func TestLayerBytes(t *testing.T) {
	header := `{"__metadata__":{"format":"pt"},"embeddings.word_embeddings.weight":{"dtype":"F32","data_offsets":[0,4000]},` +
		`"encoder.layer.0.output.dense.bias":{"dtype":"F16","data_offsets":[4000,4096]},"encoder.layer.1.output.dense.bias":{"data_offsets":[4096,4100]}}`
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	if got, err := layerBytes(bytes.NewReader(append(file, "values"...))); err != nil || got != 100 {
		t.Errorf("layerBytes = %d, %v, want 100", got, err)
	}
	if _, err := layerBytes(bytes.NewReader(file[:20])); err == nil {
		t.Error("layerBytes of a torn header gives no error")
	}
}

func TestTable(t *testing.T) {
	table := newTable("tokens", "ms", "ratio")
	table.add(8, 0.684, percent(0.854))
	table.add(512, 123.4, percent(0))
	table.add("none", 0.0, 12.34)
	var out strings.Builder
	table.write(&out, "Times")
	want := "\n### Times\n\n| tokens | ms | ratio |\n| --- | --- | --- |\n| 8 | 0.68 | 85 % |\n| 512 | 123 | – |\n| none | – | 12.3 |\n"
	if out.String() != want {
		t.Errorf("table = %q, want %q", out.String(), want)
	}
}

func TestBusyTime(t *testing.T) {
	for stat, want := range map[string]time.Duration{
		"cpu  100 20 3 99999 88888 4 5 6 70 0\ncpu0 1 1 1 1 1 1 1 1\n": 1380 * time.Millisecond,
		"intr 100 20 3 4 5 6 7 8 9 10":                                 0,
		"":                                                             0,
	} {
		if got := busyTime(stat); got != want {
			t.Errorf("busyTime(%q) = %v, want %v", stat, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	o, err := parseOptions([]string{"-quick", "-rounds", "4", "-only", "peak,embed"}, io.Discard)
	if err != nil || o.rounds != 4 || o.cold != 3 || !slices.Equal(o.lengths, []int{8, 32, 128, 512}) || !slices.Equal(o.only, []string{"peak", "embed"}) {
		t.Errorf("parseOptions = %+v, %v, want quick values but for the rounds given", o, err)
	}
	for arg, says := range map[string]string{
		"-only=embed,nap": `"nap" is none of them`,
		"-lengths=8,0":    `"0" is no number above 0`,
		"-rounds=0":       "-rounds must be above 0",
		"-slice=-1s":      "-slice must be above 0",
		"embed":           `unexpected argument "embed"`,
	} {
		if _, err := parseOptions([]string{arg}, io.Discard); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("parseOptions(%s) = %v, want an error with %q", arg, err, says)
		}
	}
	flags := slices.Sorted(maps.Keys(quickly))
	if _, err := parseOptions([]string{"-quick"}, io.Discard); err != nil {
		t.Errorf("-quick sets %v: %v", flags, err)
	}
}
