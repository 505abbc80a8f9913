package main

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
)

// peak is what one core, or two, of this machine can do, as ../shared's peak.c
// measures it. The zero peak knows nothing.
type peak struct {
	fma   map[fma]float64 // operations a second, by the clock on the wall
	reads map[int]float64 // bytes a second of one thread, by working set in bytes
}

// fma is a width of multiply-adds and the number of threads that do them.
type fma struct {
	width   string // as peak.c prints it
	threads int
}

var (
	fmaLine  = regexp.MustCompile(`(?m)^FMA (\S+), (\d+) threads?: \S+ GFLOP/s by CPU time, (\S+) by wall time`)
	readLine = regexp.MustCompile(`(?m)^read, +(\S+) MiB: (\S+) GB/s`)
)

// add takes the output of one run of peak.c; the best of all runs stays.
func (p *peak) add(out string) error {
	if p.fma == nil {
		p.fma, p.reads = map[fma]float64{}, map[int]float64{}
	}
	rates, reads := fmaLine.FindAllStringSubmatch(out, -1), readLine.FindAllStringSubmatch(out, -1)
	if len(rates) == 0 || len(reads) == 0 {
		return fmt.Errorf("peak printed neither rates nor reads: %q", out)
	}
	for _, m := range rates {
		threads, err := strconv.Atoi(m[2])
		rate, err2 := strconv.ParseFloat(m[3], 64)
		if err != nil || err2 != nil {
			return fmt.Errorf("peak printed %q", m[0])
		}
		key := fma{m[1], threads}
		p.fma[key] = max(p.fma[key], 1e9*rate)
	}
	for _, m := range reads {
		size, err := strconv.ParseFloat(m[1], 64)
		read, err2 := strconv.ParseFloat(m[2], 64)
		if err != nil || err2 != nil {
			return fmt.Errorf("peak printed %q", m[0])
		}
		key := int(size * (1 << 20))
		p.reads[key] = max(p.reads[key], 1e9*read)
	}
	return nil
}

// rate is the peak in operations a second for the kernels of a level, or 0. What
// has no width of its own is measured against AVX2, which the machine has.
func (p peak) rate(level string, threads int) float64 {
	width := "AVX2"
	if level == "avx512" {
		width = "AVX-512"
	}
	return p.fma[fma{width, threads}]
}

// read is the rate in bytes a second at which one thread reads a working set of
// the measured size nearest to bytes, or 0.
func (p peak) read(bytes int) float64 {
	nearest, distance := 0.0, math.Inf(1)
	for size, rate := range p.reads {
		if d := math.Abs(math.Log(float64(size) / float64(bytes))); d < distance {
			nearest, distance = rate, d
		}
	}
	return nearest
}

// needPeak compiles peak.c.
func (b *bench) needPeak(ctx context.Context) error { return b.compilePeak(ctx) }

// probe runs peak.c once and keeps the best of all its runs.
func (b *bench) probe(ctx context.Context) error {
	out, err := b.sliceOf(ctx, "", b.workPath("peak"))
	if err != nil {
		return err
	}
	return b.peak.add(out)
}

// showPeak prints the peaks.
func (b *bench) showPeak(ctx context.Context) error {
	b.progress("peak of the machine")
	if err := b.probe(ctx); err != nil {
		return err
	}
	t := newTable("what", "rate")
	for _, width := range []string{"AVX2", "AVX-512"} {
		for threads := 1; threads <= 2; threads++ {
			if rate := b.peak.fma[fma{width, threads}]; rate != 0 {
				t.add(fmt.Sprintf("FMA %s, threads %d", width, threads), num(rate/1e9)+" GFLOP/s")
			}
		}
	}
	var sizes []int
	for size := range b.peak.reads {
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	for _, size := range sizes {
		t.add(fmt.Sprintf("read of %s MiB, threads 1", num(float64(size)/(1<<20))), num(b.peak.reads[size]/1e9)+" GB/s")
	}
	t.write(b.out, "The machine: best of all runs of peak.c, by the clock on the wall")
	return nil
}
