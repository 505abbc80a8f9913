package main

import (
	"context"
	"fmt"
)

// The peer's batch that many of our texts at once are compared with.
const (
	batchSize    = 8
	batchTokens  = 128
	batchThreads = 2
)

// batch compares the texts a second of many callers with those of the peer's
// batches.
func (b *bench) batch(ctx context.Context) error {
	t := newTable("model", "ours texts/s best", "median", "onnxruntime texts/s best", "median", "ratio of best", "of medians", "≥ 1.5")
	for _, name := range b.models {
		ours, peer, err := b.batchRounds(ctx, name)
		if err != nil {
			return err
		}
		if ours.min() == 0 {
			b.progress("batch: BenchmarkEmbedBatch of bert has no case of %s with %d threads; the row is left out", name, batchThreads)
			continue
		}
		best, middle := ratio(peer.min(), ours.min()), ratio(peer.median(), ours.median())
		t.add(name, 1e3/ours.min(), 1e3/ours.median(), 1e3/peer.min(), 1e3/peer.median(), best, middle, yes(best >= 1.5 && middle >= 1.5))
	}
	if len(t.rows) > 0 {
		t.write(b.out, fmt.Sprintf("Many texts of %d tokens, threads %d, the peer's in batches of %d", batchTokens, batchThreads, batchSize))
	}
	return nil
}

// batchRounds lets both sides take turns on one model: milliseconds a text. It
// ends at once when ours has no such benchmark.
func (b *bench) batchRounds(ctx context.Context, name string) (ours, peer times, err error) {
	for round := range b.rounds {
		b.progress("batch, round %d of %d: %s", round+1, b.rounds, name)
		if err := b.oursBatch(ctx, name, &ours); err != nil || ours.min() == 0 {
			return ours, peer, err
		}
		if err := b.peerBatch(ctx, name, &peer); err != nil {
			return ours, peer, err
		}
	}
	return ours, peer, nil
}

// oursBatch runs our benchmark of many texts, whose cases tell texts a second.
func (b *bench) oursBatch(ctx context.Context, name string, to *times) error {
	results, err := b.goBench(ctx, fmt.Sprintf("^BenchmarkEmbedBatch$/./././threads=%d", batchThreads), batchThreads)
	for _, r := range results {
		if rate := r.metrics["texts/s"]; rate > 0 && r.of(name) && r.tokens() == batchTokens {
			to.add(1e3/rate, 1e3/rate)
		}
	}
	return err
}

// peerBatch runs onnxruntime on batches.
func (b *bench) peerBatch(ctx context.Context, name string, to *times) error {
	rows, err := b.peerSlice(ctx, "batch", name, batchThreads, []int{batchTokens})
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Kind == "batch" && r.Batch == batchSize {
			to.add(r.Min/batchSize, r.Median/batchSize)
			return nil
		}
	}
	return fmt.Errorf("ref_bench.mjs gave no row of batch %d", batchSize)
}
