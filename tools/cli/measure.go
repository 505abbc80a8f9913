package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/measure"
	"smart-connections-mcp/tools"
)

// Steps are what a client waits for: the tools, as measure times them.
func Steps(server *tools.Server, snap *smartenv.Snapshot) []measure.Step {
	plain := tools.DefaultSearch("what did I write about this, and where does it go on")
	plain.MinScore, plain.IncludeText = -1, false
	quoting := plain
	quoting.IncludeText = true
	near := tools.DefaultRelated("")
	if n := len(snap.Notes.Items); n > 0 {
		near.Path = snap.Notes.Items[n/2].Path
	}
	const runs = 20
	return []measure.Step{
		{Name: "search, 10 notes", Runs: runs, Warm: true, NeedsModel: true, Do: func(ctx context.Context) error {
			_, err := server.Search(ctx, plain)
			return err
		}},
		{Name: "search, 10 notes with excerpts", Runs: runs, Warm: true, NeedsModel: true, Do: func(ctx context.Context) error {
			_, err := server.Search(ctx, quoting)
			return err
		}},
		{Name: "related, 10 notes", Runs: runs, Warm: true, Do: func(ctx context.Context) error {
			_, err := server.Related(ctx, near)
			return err
		}},
		{Name: "status", Runs: runs, Warm: true, Do: func(ctx context.Context) error {
			_, err := server.Status(ctx)
			return err
		}},
	}
}

// Measure prints the three tables of a measurement, each at most 100 columns
// wide but for paths and sentences.
func Measure(out io.Writer, r measure.Report) {
	m := r.Machine
	fmt.Fprintf(out, "measure: %s (%s, %s index)\n", Clean(r.Model), r.Fingerprint, r.Generation)
	fmt.Fprintf(out, "machine: %s, %s, kernels %s, %s\n", m.Platform, counted(m.Processors, "processor"), m.SIMD, m.Go)
	if r.NoModel != "" {
		fmt.Fprintf(out, "no model at hand: %s\n", Clean(r.NoModel))
	}
	coverageTable(out, r.Coverage)
	recallTable(out, r.Recall)
	timingTable(out, r.Timings)
	for i, remark := range r.Remarks {
		if i == 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, "remark:", Clean(remark))
	}
}

func coverageTable(out io.Writer, c measure.Coverage) {
	ends := "at the plugin's token loop"
	if !c.TokenLoop {
		ends = "at the plugin's cap in characters"
	}
	fmt.Fprintf(out, "\ncoverage of %d characters (UTF-16 units) in %s\n", c.Characters, counted(c.Notes, "note"))
	fmt.Fprintf(out, "  %-14s %8s %11s %8s %8s %6s %6s %6s\n", "", "vectors", "characters", "share", "whole", "gaps", "tail", "none")
	for _, row := range []struct {
		name string
		measure.Reach
	}{{"note vectors", c.NoteVectors}, {"with blocks", c.WithBlocks}} {
		fmt.Fprintf(out, "  %-14s %8d %11d %8s %8d %6d %6d %6d\n", row.name, row.Vectors, row.Characters, percent(row.Share), row.Whole, row.Gaps, row.Tail, row.None)
	}
	fmt.Fprintf(out, "  windows end %s; notes are counted by where text is in none:\n", ends)
	fmt.Fprintln(out, "  nowhere (whole), between windows (gaps), after the last one (tail), everywhere (none)")
	fmt.Fprintf(out, "  without a record: %s; without a vector: %s\n", notes(c.NoRecord), notes(c.NoVector))
	var left []string
	for _, part := range []struct {
		n          int
		noun, what string
	}{
		{c.Blank, "note", "blank"},
		{c.StaleNotes, "note vector", "of an earlier text"},
		{c.StaleBlocks, "block vector", "of an earlier text"},
		{c.Unreadable, "note", "unreadable"},
		{c.Excluded, "note", "excluded"},
	} {
		if part.n > 0 {
			left = append(left, counted(part.n, part.noun)+" "+part.what)
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(out, "  left out: %s\n", strings.Join(left, ", "))
	}
	if len(c.Most) > 0 {
		fmt.Fprintln(out, "  most characters in no window:")
	}
	for _, gap := range c.Most {
		fmt.Fprintf(out, "  %8d of %8d  %s\n", gap.Uncovered, gap.Characters, Clean(gap.Path))
	}
}

func recallTable(out io.Writer, r measure.Recall) {
	if r.NotMeasured != "" {
		fmt.Fprintf(out, "\nrecall not measured: %s\n", Clean(r.NotMeasured))
		return
	}
	fmt.Fprintf(out, "\nrecall of %s out of %d from beyond the note vectors' windows, seed %d\n", counted(r.Asked, "quote"), r.Eligible, r.Seed)
	fmt.Fprintf(out, "  %-8s %8s %8s %8s %12s %10s\n", "scope", "rank 1", "first 5", "first 10", "median rank", "not found")
	for _, s := range r.Scopes {
		fmt.Fprintf(out, "  %-8s %8d %8d %8d %12.1f %10d\n", s.Scope, s.First, s.Within5, s.Within10, s.MedianRank, s.NotFound)
	}
	fmt.Fprintf(out, "  auto ranks the note worse than notes does: %d of %d\n", r.AutoWorse, r.Asked)
	for _, w := range r.Worse {
		fmt.Fprintf(out, "    rank %d instead of %d  %s\n", w.Auto, w.Notes, Clean(w.Path))
	}
}

func timingTable(out io.Writer, timings []measure.Timing) {
	fmt.Fprintf(out, "\n%-34s %6s %10s %10s %10s\n", "timings in ms", "runs", "min", "median", "max")
	for _, t := range timings {
		if t.NotMeasured != "" {
			fmt.Fprintf(out, "  %-32s not measured: %s\n", t.Name, Clean(t.NotMeasured))
			continue
		}
		fmt.Fprintf(out, "  %-32s %6d %10s %10s %10s\n", t.Name, t.Runs, shortMS(t.Min), shortMS(t.Median), shortMS(t.Max))
	}
}

// shortMS shows microseconds where there is nothing else to see.
func shortMS(ms float64) string {
	if ms < 1 {
		return fmt.Sprintf("%.4f", ms)
	}
	return fmt.Sprintf("%.1f", ms)
}

// counted returns "1 note" or "3 notes".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func notes(g measure.Group) string {
	return fmt.Sprintf("%s of %d characters", counted(g.Notes, "note"), g.Characters)
}

// Progress returns what shows on a terminal how far a stage is, in a line that
// is gone at the end. Elsewhere it shows nothing.
func Progress(out io.Writer) func(stage string, done, total int) {
	if !IsTerminal(out) {
		return nil
	}
	return progress(out)
}

func progress(out io.Writer) func(stage string, done, total int) {
	shown := ""
	return func(stage string, done, total int) {
		line := fmt.Sprintf("%s %d %%", stage, 100*done/max(total, 1))
		switch {
		case done == total:
			fmt.Fprintf(out, "%s\r", strings.Repeat(" ", len(shown)))
			shown = ""
		case line != shown:
			fmt.Fprintf(out, "%s\r", line) // what comes next, if an error, overwrites it
			shown = line
		}
	}
}
