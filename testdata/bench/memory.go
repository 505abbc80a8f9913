package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"smart-connections-mcp/testdata/session"
)

// indexModel is the model in whose space the vault of initialize and memory is.
const indexModel = "synth-bge-micro-3l"

// The reach of a start and of memory.
const (
	startBar = 20.0 // ms
	idleBar  = 30.0 // MB
	peakBase = 60.0 // MB, besides 1.3 times the vectors
	searches = 100
	idleTime = 3 * time.Second // for which memory must be steady
)

// needIndex sets up initialize and memory: our program and a large vault.
func (b *bench) needIndex(ctx context.Context) error {
	if slices.Contains(b.only, "memory") {
		if err := needShared(filepath.Join("models", indexModel)); err != nil {
			return err
		}
	}
	if err := b.compileServer(ctx); err != nil {
		return err
	}
	if b.index == "" {
		b.index = b.workPath(fmt.Sprintf("vault-%d", b.blocks))
		if !exists(b.index) {
			b.progress("generating a vault of %d blocks (once)", b.blocks)
			return generate(b.index, b.blocks)
		}
	}
	return needVectors(b.index)
}

// needVectors refuses a vault without packed vectors.
func needVectors(vault string) error {
	bytes, err := vectorBytes(vault)
	if err == nil && bytes == 0 {
		err = fmt.Errorf("%s has no packed vectors: -index takes a vault that Smart Connections 4.7 or later has indexed", vault)
	}
	return err
}

// vectorBytes is the size of a vault's vectors as they are stored.
func vectorBytes(vault string) (int64, error) {
	files, err := filepath.Glob(filepath.Join(vault, ".smart-env", "smart_*", "mf_*"))
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return 0, err
		}
		sum += info.Size()
	}
	return sum, nil
}

// initialize times our server from process start to its answer to initialize.
func (b *bench) initialize(ctx context.Context) error {
	b.progress("initialize: %d starts on %s", b.starts, b.index)
	release, err := b.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	var took []float64
	for i := range b.starts + 1 { // the first warms the page cache and does not count
		c, err := b.serve(ctx, b.index, "")
		if err != nil {
			return err
		}
		err = c.Initialize()
		ms := c.Took()
		c.End()
		if err != nil {
			return err
		}
		if i > 0 {
			took = append(took, ms)
		}
	}
	t := newTable("starts", "min ms", "median", "worst", "worst ≤ 20")
	t.add(len(took), slices.Min(took), median(took), slices.Max(took), yes(slices.Max(took) <= startBar))
	t.write(b.out, "Process start to the answer to initialize: "+b.vaultName())
	return nil
}

// vaultName describes the vault of initialize and memory.
func (b *bench) vaultName() string {
	bytes, _ := vectorBytes(b.index)
	return fmt.Sprintf("%s, %s MB of vectors", filepath.Base(b.index), num(float64(bytes)/1e6))
}

// memory reads what our server holds before the first question and at most held
// in the time of a hundred.
func (b *bench) memory(ctx context.Context) error {
	if runtime.GOOS != "linux" {
		return errors.New("memory is read from /proc, which only Linux has: leave memory out with -only")
	}
	b.progress("memory: %d searches on %s", searches, b.index)
	release, err := b.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	c, err := b.serve(ctx, b.index, modelFolder(indexModel))
	if err != nil {
		return err
	}
	defer c.End()
	idle, most, err := watch(ctx, c)
	if err != nil {
		return err
	}
	bytes, err := vectorBytes(b.index)
	if err != nil {
		return err
	}
	budget := 1.3*float64(bytes)/1e6 + peakBase
	t := newTable("what", "MB", "at most", "met")
	t.add("resident after initialize, once that is steady, before the first question", idle, idleBar, yes(idle <= idleBar))
	t.add(fmt.Sprintf("most ever resident, after %d searches", searches), most, budget, yes(most <= budget))
	t.write(b.out, "Memory: "+b.vaultName())
	return nil
}

// watch has the server answer questions and reads its memory in MB before and
// after.
func watch(ctx context.Context, c *session.Client) (idle, most float64, err error) {
	if err := c.Initialize(); err != nil {
		return 0, 0, err
	}
	if idle, err = settled(ctx, c); err != nil {
		return 0, 0, err
	}
	for i := range searches {
		if err := search(c, fmt.Sprintf("%s, for the %d. time", question, i+1)); err != nil {
			return 0, 0, err
		}
	}
	most, err = c.Megabytes("VmHWM")
	return idle, most, err
}

// settled is what the server holds once it has grown by less than a megabyte for
// idleTime, or after ten times that: what it loads ahead is in it.
func settled(ctx context.Context, c *session.Client) (float64, error) {
	before := 0.0
	for range 10 {
		select {
		case <-time.After(idleTime):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		now, err := c.Megabytes("VmRSS")
		if err != nil || now-before < 1 {
			return now, err
		}
		before = now
	}
	return before, nil
}
