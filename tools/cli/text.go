package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"smart-connections-mcp/smartenv/verify"
	"smart-connections-mcp/tools"
)

// excerptLines bounds what is printed of a passage.
const (
	excerptLines = 4
	excerptWidth = 100
)

// JSON prints an answer as one object, which a terminal may show.
func JSON(out io.Writer, answer any) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(answer); err != nil {
		return err
	}
	_, err := io.WriteString(out, tools.Visible(b.String()))
	return err
}

// Search prints a ranking: a line a note, and the beginning of its passage.
func Search(out io.Writer, answer tools.SearchOutput) {
	fmt.Fprintf(out, "%s\n\n", Clean(answer.Query))
	for _, row := range answer.Results {
		fmt.Fprintf(out, "%.4f  %s%s%s\n", row.Score, Clean(row.Path), place(row.Section, row.Lines), mark(row.Stale))
		for _, line := range beginning(row.Excerpt) {
			fmt.Fprintf(out, "        %s\n", line)
		}
		if row.ExcerptMissing != "" {
			fmt.Fprintf(out, "        (no excerpt: %s)\n", Clean(row.ExcerptMissing))
		}
		for _, more := range row.MoreSections {
			fmt.Fprintf(out, "%.4f    also%s\n", more.Score, place(more.Section, more.Lines))
		}
	}
	if answer.Reason != "" {
		fmt.Fprintf(out, "no results: %s\n", Clean(answer.Reason))
	}
	footer(out, answer.Coverage, answer.ScopedOut, answer.Warning)
}

// Related prints the notes near a note.
func Related(out io.Writer, answer tools.RelatedOutput) {
	fmt.Fprintf(out, "related to %s\n\n", Clean(answer.Path))
	for _, row := range answer.Related {
		fmt.Fprintf(out, "%.4f  %s%s%s\n", row.Score, Clean(row.Path), place(row.Section, row.Lines), mark(row.Stale))
	}
	if answer.Reason != "" {
		fmt.Fprintf(out, "no results: %s\n", Clean(answer.Reason))
	}
	footer(out, answer.Coverage, answer.ScopedOut, answer.Warning)
}

// footer says what was searched, what filters hid, and what to mistrust.
func footer(out io.Writer, c tools.Coverage, hidden *tools.ScopedOut, warning string) {
	fmt.Fprintf(out, "\nsearched %d note and %d block vectors", c.NotesSearched, c.BlocksSearched)
	for _, part := range []struct {
		n    int
		text string
	}{{c.Stale, "stale"}, {c.Missing, "missing on disk"}, {c.Unreadable, "unreadable"}, {c.NotIndexed, "not indexed"}} {
		if part.n > 0 {
			fmt.Fprintf(out, ", %d notes %s", part.n, part.text)
		}
	}
	fmt.Fprintln(out)
	if hidden != nil && hidden.BestHidden != nil {
		left := 0
		for _, n := range hidden.HiddenBy {
			left += n
		}
		fmt.Fprintf(out, "left out by filters: %d notes, the best %.4f %s\n", left, hidden.BestHidden.Score, Clean(hidden.BestHidden.Path))
	}
	if warning != "" {
		fmt.Fprintln(out, "warning:", Clean(warning))
	}
}

// Verify prints how far stored and rebuilt vectors agree.
func Verify(out io.Writer, r verify.Report) {
	fmt.Fprintf(out, "verify: %s (%s), seed %d\n", Clean(r.Model), r.Fingerprint, r.Seed)
	group(out, "notes", r.Notes)
	group(out, "blocks", r.Blocks)
	if r.Passed {
		fmt.Fprintln(out, "passed: queries are embedded in the vault's own vector space")
		return
	}
	fmt.Fprintln(out, "failed:", Clean(r.Reason))
}

func group(out io.Writer, name string, g verify.Group) {
	fmt.Fprintf(out, "  %-6s %d of %d compared", name, g.Compared, g.Embedded)
	if g.SkippedStale > 0 {
		fmt.Fprintf(out, ", %d skipped as changed since", g.SkippedStale)
	}
	if g.Compared > 0 {
		fmt.Fprintf(out, ": worst %.6f, p1 %.6f, median %.6f; %s at 0.999 or more, %s at 0.95",
			g.Worst, g.P1, g.Median, percent(g.ShareExact), percent(g.ShareFloor))
	}
	fmt.Fprintln(out)
	for _, item := range g.Below {
		fmt.Fprintf(out, "    %.6f  %s\n", item.Cosine, Clean(item.Key))
	}
	for _, item := range g.Failed {
		fmt.Fprintf(out, "    could not be rebuilt: %s: %s\n", Clean(item.Key), Clean(item.Unreadable))
	}
}

// percent rounds down, so that 100 % means all.
func percent(share float64) string {
	return strconv.FormatFloat(float64(int(share*1000))/10, 'f', -1, 64) + " %"
}

// Status prints what the index holds; --json has every field.
func Status(out io.Writer, s tools.StatusOutput) {
	fmt.Fprintf(out, "vault       %s (%s index)\n", Clean(s.Vault), s.Generation)
	fmt.Fprintf(out, "model       %s, %d dimensions, %s\n", Clean(s.Model), s.Dims, s.Fingerprint)
	if s.ConfiguredModel != s.Model {
		fmt.Fprintf(out, "configured  %s\n", Clean(s.ConfiguredModel))
	}
	fmt.Fprintf(out, "notes       %d with vector, %d stale, %d missing on disk, %d not indexed\n", s.EmbeddedNotes, s.StaleNotes, s.MissingNotes, s.NotIndexed)
	fmt.Fprintf(out, "blocks      %d of %d with vector, %d stale\n", s.EmbeddedBlocks, s.BlocksTotal, s.StaleBlocks)
	files, kind := len(s.Shards), "shards"
	if s.InlineFiles > 0 {
		files, kind = s.InlineFiles, "files"
	}
	fmt.Fprintf(out, "log         %d records in %d %s, %d tombstones, %d damaged lines\n", s.Records, files, kind, s.Tombstones, s.Skipped.Count)
	for _, collection := range slices.Sorted(maps.Keys(s.Refused)) {
		for _, reason := range slices.Sorted(maps.Keys(s.Refused[collection])) {
			fmt.Fprintf(out, "refused     references of %s, %s: %d\n", collection, reason, s.Refused[collection][reason])
		}
	}
	if s.Refusal != "" {
		fmt.Fprintln(out, "refused:", Clean(s.Refusal))
	}
	for _, w := range s.Warnings {
		fmt.Fprintln(out, "warning:", Clean(w))
	}
}

// place shows where in a note a passage stands.
func place(section string, lines []int) string {
	text := ""
	if section != "" {
		text = "  " + Clean(section)
	}
	if len(lines) == 2 {
		text += fmt.Sprintf("  [%d-%d]", lines[0], lines[1])
	}
	return text
}

func mark(stale bool) string {
	if stale {
		return "  (changed since it was embedded)"
	}
	return ""
}

// beginning returns the first lines of an excerpt, each cut to a terminal's width.
func beginning(excerpt string) []string {
	var shown []string
	for line := range strings.SplitSeq(excerpt, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if len(shown) == excerptLines {
			return append(shown, "…")
		}
		runes := []rune(Clean(line))
		if len(runes) > excerptWidth {
			runes = append(runes[:excerptWidth-1], '…')
		}
		shown = append(shown, string(runes))
	}
	return shown
}
