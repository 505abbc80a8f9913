package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The samples of a length in one slice of ours: as many as there are runs of the
// peer at least, each a few runs long where a run is short.
const samples = 15

// duel is one row of embed: a text length, and the times of both sides.
type duel struct {
	tokens     int
	ours, peer times
}

// bout is one table of embed.
type bout struct {
	name    string
	model   model
	threads int
	level   string // of our kernels, as the benchmark tells
	duels   []*duel
}

// embed times texts of each length on both sides, in turn.
func (b *bench) embed(ctx context.Context) error {
	var bouts []*bout
	for _, name := range b.models {
		m, err := readModel(name)
		if err != nil {
			return err
		}
		for _, threads := range b.threads {
			o := &bout{name: name, model: m, threads: threads}
			for _, tokens := range b.lengths {
				o.duels = append(o.duels, &duel{tokens: tokens})
			}
			bouts = append(bouts, o)
		}
	}
	for round := range b.rounds {
		if b.canProbe() {
			if err := b.probe(ctx); err != nil {
				return err
			}
		}
		for _, o := range bouts {
			b.progress("embed, round %d of %d: %s, threads %d", round+1, b.rounds, o.name, o.threads)
			if err := b.fight(ctx, o, round%2 == 1); err != nil {
				return err
			}
		}
	}
	for _, o := range bouts {
		b.showBout(o)
	}
	b.say("\nA minimum of the peer's is its fastest single run; one of ours is the fastest mean of samples of %s or", (b.slice / samples).Round(time.Millisecond))
	b.say("one run, so a ratio of minima flatters the peer. The limit is the layers' operations at the FMA peak, or")
	b.say("their weights read once at the rate of a working set of their size, whichever is longer.")
	return nil
}

// fight runs one round of a table, a few lengths at a time. Who begins changes
// from round to round.
func (b *bench) fight(ctx context.Context, o *bout, peerFirst bool) error {
	sides := []func(context.Context, *bout, []*duel) error{b.oursSlice, b.peerTurn}
	if peerFirst {
		slices.Reverse(sides)
	}
	for some := range slices.Chunk(o.duels, 4) {
		for _, side := range sides {
			if err := side(ctx, o, some); err != nil {
				return err
			}
		}
	}
	return nil
}

// oursSlice runs our benchmark on some lengths, in a process of its own.
func (b *bench) oursSlice(ctx context.Context, o *bout, some []*duel) error {
	var tokens []string
	for _, d := range some {
		tokens = append(tokens, strconv.Itoa(d.tokens))
	}
	pattern := fmt.Sprintf("^BenchmarkEmbed$/^model=%s$/./^tokens=(%s)$", o.name, strings.Join(tokens, "|"))
	results, err := b.goBench(ctx, pattern, o.threads)
	if err != nil {
		return err
	}
	for _, d := range some {
		n := 0
		for _, r := range results {
			if r.tokens() == d.tokens && r.of(o.name) {
				o.level = r.level()
				n++
				d.ours.add(r.metrics["ns/op"]/1e6, r.metrics["ns/op"]/1e6)
			}
		}
		if n == 0 {
			return fmt.Errorf("BenchmarkEmbed of bert has no case model=%s with tokens=%d: see -lengths and -models", o.name, d.tokens)
		}
	}
	return nil
}

// goBench runs benchmarks of bert that match a pattern.
func (b *bench) goBench(ctx context.Context, pattern string, threads int) ([]result, error) {
	out, err := b.sliceOf(ctx, "bert", b.workPath("bert.test"), "-test.run=^$", "-test.bench="+pattern,
		"-test.benchtime="+(b.slice/samples).String(), "-test.count="+strconv.Itoa(samples), "-test.cpu="+strconv.Itoa(threads))
	return parseBench(out), err
}

// peerTurn runs onnxruntime on some lengths, in a process of its own.
func (b *bench) peerTurn(ctx context.Context, o *bout, some []*duel) error {
	var lengths []int
	for _, d := range some {
		lengths = append(lengths, d.tokens)
	}
	rows, err := b.peerSlice(ctx, "raw", o.name, o.threads, lengths)
	if err != nil {
		return err
	}
	for _, d := range some {
		i := slices.IndexFunc(rows, func(r peerRow) bool { return r.Kind == "raw" && r.Tokens == d.tokens && r.Threads == o.threads })
		if i < 0 {
			return fmt.Errorf("ref_bench.mjs gave no row of %d tokens", d.tokens)
		}
		d.peer.add(rows[i].Min, rows[i].Median)
	}
	return nil
}

// bar is the share of the peer's time that a text may take.
func bar(threads int) float64 {
	if threads == 1 {
		return 0.6
	}
	return 0.7
}

// showBout prints one table of embed.
func (b *bench) showBout(o *bout) {
	t := newTable("tokens", "ours ms min", "median", "onnxruntime ms min", "median", "ratio of minima", "of medians",
		"GFLOP/s", "of FMA peak", "limit ms", "ours/limit", "≤ "+num(bar(o.threads)))
	worst := 0.0
	for _, d := range o.duels {
		ours, limit := d.ours.min(), o.model.limit(d.tokens, o.threads, o.level, b.peak)
		rate := 1e3 * o.model.flops(d.tokens) / ours
		share := ratio(rate, b.peak.rate(o.level, o.threads))
		if d.tokens >= 64 && (worst == 0 || share < worst) {
			worst = share
		}
		t.add(d.tokens, ours, d.ours.median(), d.peer.min(), d.peer.median(), ratio(ours, d.peer.min()), ratio(d.ours.median(), d.peer.median()),
			rate/1e9, percent(share), limit, ratio(ours, limit), verdict(&d.ours, &d.peer, bar(o.threads), limit))
	}
	t.write(b.out, fmt.Sprintf("One text: %s, threads %d, kernels %s", o.name, o.threads, o.level))
	if worst != 0 {
		b.say("\nLeast share of the FMA peak from 64 tokens on: %s; 85 %% reached: %s.", percent(worst), yes(worst >= 0.85))
	}
}
