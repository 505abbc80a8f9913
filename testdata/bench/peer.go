package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// peerRow is a row that ref_bench.mjs writes with --json; times in milliseconds.
type peerRow struct {
	Kind    string  `json:"kind"` // raw, batch
	Threads int     `json:"th"`
	Tokens  int     `json:"seq"`
	Batch   int     `json:"batch"`
	Min     float64 `json:"min"`
	Median  float64 `json:"p50"`
}

// peerSlice runs onnxruntime in Node on a model.
func (b *bench) peerSlice(ctx context.Context, kind, model string, threads int, lengths []int) ([]peerRow, error) {
	to := b.workPath("peer.json")
	var tokens []string
	for _, n := range lengths {
		tokens = append(tokens, strconv.Itoa(n))
	}
	_, err := b.sliceOf(ctx, b.workPath("node"), "node", "ref_bench.mjs", "--models", b.workPath("onnx"), "--model", model, "--only", kind,
		"--threads", strconv.Itoa(threads), "--seq", strings.Join(tokens, ","), "--secs", fmt.Sprint(b.slice.Seconds()), "--json", to)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(to)
	if err != nil {
		return nil, err
	}
	var rows []peerRow
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, fmt.Errorf("ref_bench.mjs wrote %s: %w", to, err)
	}
	return rows, nil
}
