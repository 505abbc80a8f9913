package main

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

var cpuName = regexp.MustCompile(`(?m)^model name\s*: (.+)$`)

// showMachine prints what the figures are figures of.
func (b *bench) showMachine(ctx context.Context) {
	cpu := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if m := cpuName.FindSubmatch(info); m != nil {
			cpu = string(m[1])
		}
	}
	b.say("Measured %s by `go run ./testdata/bench %s`", time.Now().UTC().Format("2006-01-02 15:04 MST"), strings.Join(os.Args[1:], " "))
	b.say("on %s, %d cores, %s/%s, load average %s;", cpu, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, loadAverage())
	b.say("ours at %s%s, %s;", cmp.Or(quiet(ctx, "git", "rev-parse", "--short", "HEAD"), "no commit"), dirty(ctx), runtime.Version())
	b.say("the peer: node %s, onnxruntime-node %s, transformers.js %s.", cmp.Or(quiet(ctx, "node", "--version"), "not installed"),
		b.packageVersion("onnxruntime-node"), b.packageVersion("@huggingface/transformers"))
	b.say("\nThe machine may be shared: compare ratios, which come of slices that took turns, not times, and minima")
	b.say("before medians. How far a median lies above its minimum tells how much else was going on.")
}

// dirty marks a tree that differs from its commit.
func dirty(ctx context.Context) string {
	if quiet(ctx, "git", "status", "--porcelain", "--untracked-files=no") != "" {
		return " with changes"
	}
	return ""
}

// quiet is the output of a command, or "" when it fails.
func quiet(ctx context.Context, name string, args ...string) string {
	out, err := command(ctx, "", name, args...)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// packageVersion is the version of a Node package in the work folder.
func (b *bench) packageVersion(name string) string {
	var p struct{ Version string }
	data, err := os.ReadFile(b.workPath("node", "node_modules", filepath.FromSlash(name), "package.json"))
	if err != nil || json.Unmarshal(data, &p) != nil {
		return "not installed"
	}
	return p.Version
}

// loadAverage is the first three numbers of /proc/loadavg.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	fields := strings.Fields(string(data))
	return strings.Join(fields[:min(3, len(fields))], " ")
}
