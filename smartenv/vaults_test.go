package smartenv

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vaultExpectation is what independent code found in a real vault.
type vaultExpectation struct {
	Multifiles map[string]int64
	Counts     struct {
		Records    int   `json:"records"`
		Tombstones int   `json:"tombstone_records"`
		Live       int   `json:"live_sources"`
		Bytes      int64 `json:"ajson_bytes"`
		Files      int   `json:"files"` // of an inline index
		Ghosts     int   `json:"block_records_no_longer_in_source.blocks (ghosts)"`
		Orphans    int   `json:"block_records_of_dead_sources (orphans)"`
	}
	Refs       map[string]int
	Sources    map[string]int
	Blocks     map[string]int
	NotIndexed int `json:"md_not_in_index"`
}

// The members that hold neighbours; their names have commas, so no tag can.
const (
	relatedMember    = "related_notes_top5 (note vectors only, notes on disk, self excluded)"
	neighboursMember = "block_neighbours_top3 (block vectors only)"
)

// expectedNeighbours maps an item to its nearest: score and item.
func expectedNeighbours(t *testing.T, path, member string) map[string][][2]any {
	t.Helper()
	var all map[string]json.RawMessage
	readJSON(t, path, &all)
	var neighbours map[string][][2]any
	if err := json.Unmarshal(all[member], &neighbours); err != nil || len(neighbours) == 0 {
		t.Fatalf("%s: %q: %v, %d items", path, member, err, len(neighbours))
	}
	return neighbours
}

var realVaults = []string{"dataeng-en-tiny", "control-pt-crlf", "datasci-es", "spec-pt-emoji", "ml-en-mit-packed-derived", "ml-en-mit-inline"}

func TestRealVaults(t *testing.T) {
	for _, name := range realVaults {
		t.Run(name, func(t *testing.T) {
			dir := shared(t, "vaults", name)
			var want vaultExpectation
			readJSON(t, dir+".expected.json", &want)
			x := openIndex(t, dir, Options{})
			snap, err := x.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if snap.Refusal != nil {
				t.Errorf("refusal %v, want none", snap.Refusal)
			}
			checkCounts(t, snap, &want)
			checkBlocks(t, snap, x.loader.records, dir, want.Blocks)
			checkNeighbours(t, &snap.Notes, expectedNeighbours(t, dir+".expected.json", relatedMember), 5)
			checkNeighbours(t, &snap.Blocks, expectedNeighbours(t, dir+".expected.json", neighboursMember), 3)
		})
	}
}

func checkCounts(t *testing.T, snap *Snapshot, want *vaultExpectation) {
	t.Helper()
	st := &snap.Status
	var bytes int64
	for _, sh := range st.Shards {
		bytes += sh.Size
	}
	rows := map[string]int64{}
	for _, f := range st.Multifiles {
		rows[f.Name] = f.Rows
	}
	for name, n := range want.Multifiles {
		if rows[name] != n {
			t.Errorf("rows of %s = %d, want %d", name, rows[name], n)
		}
	}
	if snap.Generation == "inline" { // counted without bytes and references
		want.Counts.Bytes = bytes
		want.Refs = map[string]int{"smart_sources:resolvable refs": want.Sources["with vector"], "smart_blocks:resolvable refs": want.Blocks["with vector"]}
	}
	fresh := 0
	for i := range snap.Sources {
		if src := &snap.Sources[i]; src.Row >= 0 && src.State == Fresh {
			fresh++
		}
	}
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"records", st.Records, want.Counts.Records},
		{"tombstones", st.Tombstones, want.Counts.Tombstones},
		{"live notes", st.Notes.Live, want.Counts.Live},
		{"log bytes", int(bytes), int(want.Counts.Bytes)},
		{"skipped lines", st.SkippedLines, 0},
		{"files", st.InlineFiles, want.Counts.Files},
		{"block records without a place", st.Ghosts, want.Counts.Ghosts + want.Counts.Orphans},
		{"note references", st.Notes.Referenced, want.Refs["smart_sources:resolvable refs"]},
		{"notes with vector", st.Notes.Referenced, want.Sources["with vector"]},
		{"notes without vector", st.Notes.Live - st.Notes.Referenced, want.Sources["no vector"]},
		{"fresh notes", fresh, want.Sources["vector vs disk: exact"]},
		{"stale notes", st.Notes.Stale, want.Sources["vector vs disk: changed"]},
		{"missing notes", st.Notes.Missing, want.Sources["missing on disk"]},
		{"notes not indexed", st.Notes.NotIndexed, want.NotIndexed},
		{"block references", st.Blocks.Referenced, want.Refs["smart_blocks:resolvable refs"]},
		{"blocks", st.Blocks.Total, want.Blocks["total"]},
		{"blocks with vector", st.Blocks.Referenced, want.Blocks["with vector"]},
		{"blocks without vector", st.Blocks.Total - st.Blocks.Referenced, want.Blocks["no vector"]},
	} {
		if c.got != c.want {
			t.Errorf("%s = %d, want %d", c.what, c.got, c.want)
		}
	}
}

// checkBlocks compares the freshness of blocks: those with a vector, and how many
// of all blocks have lines that the file no longer has.
func checkBlocks(t *testing.T, snap *Snapshot, records map[string]*record, dir string, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	lines := map[string]int{}
	for path, rec := range records {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil {
			continue
		}
		lines[path] = strings.Count(string(data), "\n") + 1
		for i := range rec.blocks {
			switch b := &rec.blocks[i]; {
			case b.end == 0:
				got["lines unusable (null end or absent)"]++
			case b.end > lines[path]:
				got["lines beyond end of file"]++
			}
		}
	}
	for i := range snap.Blocks.Items {
		switch it := &snap.Blocks.Items[i]; {
		case !it.Stale:
			got["vector vs disk: exact"]++
		case it.End <= lines[it.Path]:
			got["vector vs disk: changed"]++
		}
	}
	for _, class := range []string{"vector vs disk: exact", "vector vs disk: changed", "lines beyond end of file", "lines unusable (null end or absent)"} {
		if got[class] != want[class] {
			t.Errorf("blocks %q = %d, want %d", class, got[class], want[class])
		}
	}
}

// checkNeighbours compares the k nearest of some items, scores to four decimals.
func checkNeighbours(t *testing.T, c *Collection, want map[string][][2]any, k int) {
	t.Helper()
	for id, neighbours := range want {
		self := find(t, c, id)
		hits := c.Nearest(c.Row(self), k, func(row int) bool { return row != self })
		if len(hits) != len(neighbours) {
			t.Errorf("Nearest(%q) = %d hits, want %d", id, len(hits), len(neighbours))
			continue
		}
		for i, hit := range hits {
			score := math.Round(float64(hit.Score)*1e4) / 1e4
			if got := c.Items[hit.Row].id(); got != neighbours[i][1] || score != neighbours[i][0] {
				t.Errorf("Nearest(%q)[%d] = %.4f %q, want %v", id, i, score, got, neighbours[i])
			}
		}
	}
}
