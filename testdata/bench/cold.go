package main

import (
	"context"
	"path/filepath"

	"smart-connections-mcp/testdata/session"
)

// vaultOf are the vaults whose vectors a model made.
var vaultOf = map[string]string{"synth-bge-micro-3l": "obsidian-help-synth", "all-MiniLM-L6-v2": "obsidian-help-minilm"}

// The peer's pipelines: with its default of threads, and with one.
var pipelines = []struct{ name, threads string }{{"transformers.js, default threads", "0"}, {"transformers.js, 1 thread", "1"}}

const question = "how do I keep notes in sync between my phone and my computer"

// coldStart times both sides from process start to the first answer, in turn.
// Ours loads an index besides and searches it; the peer embeds one text only.
func (b *bench) coldStart(ctx context.Context) error {
	t := newTable("model", "compared with", "ours ms min", "median", "peer ms min", "median", "ratio of minima", "of medians", "≤ 0.25")
	for _, name := range b.models {
		vault := filepath.Join(shared, "vaults", vaultOf[name])
		if vaultOf[name] == "" || !exists(vault) {
			b.progress("cold: %s has no vault in ../shared/vaults; the row is left out", name)
			continue
		}
		var ours times
		peers := make([]times, len(pipelines))
		for i := range b.cold + 1 { // the first warms the page cache and does not count
			b.progress("cold, start %d of %d: %s", i, b.cold, name)
			if err := b.coldRound(ctx, name, vault, &ours, peers); err != nil {
				return err
			}
			if i == 0 {
				ours, peers = times{}, make([]times, len(pipelines))
			}
		}
		for i, p := range pipelines {
			peer := &peers[i]
			t.add(name, p.name, ours.min(), ours.median(), peer.min(), peer.median(),
				ratio(ours.min(), peer.min()), ratio(ours.median(), peer.median()), verdict(&ours, peer, 0.25, 0))
		}
	}
	t.write(b.out, "Process start to first semantic answer, page cache warm")
	return nil
}

// coldRound starts each side once.
func (b *bench) coldRound(ctx context.Context, name, vault string, ours *times, peers []times) error {
	release, err := b.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	took, err := b.coldOurs(ctx, vault, modelFolder(name))
	if err != nil {
		return err
	}
	ours.add(took, took)
	for i, p := range pipelines {
		if took, err = b.coldPeer(ctx, name, p.threads); err != nil {
			return err
		}
		peers[i].add(took, took)
	}
	return nil
}

// coldOurs starts our server and asks it a question, over stdio as a client does.
func (b *bench) coldOurs(ctx context.Context, vault, model string) (float64, error) {
	c, err := b.serve(ctx, vault, model)
	if err != nil {
		return 0, err
	}
	defer c.End()
	if err := c.Initialize(); err != nil {
		return 0, err
	}
	if err := search(c, question); err != nil {
		return 0, err
	}
	return c.Took(), nil
}

// coldPeer starts what ref_bench.mjs --only cold starts, and stops the clock at
// the line that it prints when the vector is there.
func (b *bench) coldPeer(ctx context.Context, model, threads string) (float64, error) {
	c := session.Prepare(ctx, "node", "ref_bench.mjs", "--child", "pipe", model, threads, "--models", b.workPath("onnx"))
	c.Cmd.Dir = b.workPath("node")
	if err := c.Start(); err != nil {
		return 0, err
	}
	defer c.End()
	_, err := c.Line()
	return c.Took(), err
}
