package search

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
)

// vaultWith writes one note into a new vault.
func vaultWith(t *testing.T, text string) *note.Vault {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "n.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	v, err := note.OpenVault(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

// blockItem is the item of the block with this key in an earlier text.
func blockItem(t *testing.T, text, key string) smartenv.Item {
	t.Helper()
	for _, b := range note.Parse("n.md", text, note.Rules{}).Blocks {
		if b.Key == key {
			return smartenv.Item{Path: "n.md", Key: key, Start: b.Start, End: b.End, Hash: b.Hash}
		}
	}
	t.Fatalf("no block %s in %q", key, text)
	return smartenv.Item{}
}

const indexed = "---\ntags: [x]\n---\n\n# One\nfirst words\n\n# Two\nsecond words\n"

func TestPassage(t *testing.T) {
	tests := []struct {
		name, now, key string
		start, end     int
		text, missing  string
		stale          bool
	}{
		{"unchanged", indexed, "#Two", 8, 10, "# Two\nsecond words", "", false},
		{"line ends changed", strings.ReplaceAll(indexed, "\n", "\r\n"), "#Two", 8, 10, "# Two\nsecond words", "", false},
		{"byte order mark added", "\uFEFF" + indexed, "#One", 5, 7, "# One\nfirst words", "", false},
		{"moved down unchanged", strings.Replace(indexed, "# One", "# Zero\nnew\n\n# One", 1), "#Two", 11, 13, "# Two\nsecond words", "", false},
		{"changed in place", strings.Replace(indexed, "second", "other", 1), "#Two", 8, 10, "# Two\nother words", "", true},
		{"gone, other text at its lines", strings.Replace(indexed, "# Two", "# Three", 1), "#Two", 0, 0, "", "no longer in the note", true},
		{"note shrank", "# One\nfirst words\n", "#Two", 0, 0, "", "no longer in the note", true},
		{"note emptied", "", "#Two", 0, 0, "", "no longer in the note", true},
		{"beginning skips frontmatter", indexed, "", 5, 10, "# One\nfirst words\n\n# Two\nsecond words", "", false},
		{"beginning of nothing but frontmatter", "---\na: b\n---\n", "", 1, 3, "---\na: b\n---", "", true},
		{"beginning of an empty note", "", "", 0, 0, "", "the note is empty", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			item := smartenv.Item{Path: "n.md", Hash: note.Hash(indexed)}
			if test.key != "" {
				item = blockItem(t, indexed, test.key)
			}
			got := Hit{Path: "n.md", item: item, passage: item}.Passages(vaultWith(t, test.now), 1200)[0]
			if got.Start != test.start || got.End != test.end || got.Text != test.text || got.Stale != test.stale ||
				(test.missing == "") != (got.Missing == "") || !strings.Contains(got.Missing, test.missing) {
				t.Errorf("Passage = %+v, want lines %d-%d, text %q, missing %q, stale %v", got, test.start, test.end, test.text, test.missing, test.stale)
			}
		})
	}
}

func TestPassageOfGoneNote(t *testing.T) {
	got := Hit{Path: "gone.md"}.Passages(vaultWith(t, "x"), 1200)[0]
	if got.Text != "" || !strings.Contains(got.Missing, "no longer on disk") {
		t.Errorf("Passage of a deleted note = %+v, want no text and the reason", got)
	}
}

func TestPassageOfNoteInICloud(t *testing.T) {
	v := vaultWith(t, "x")
	if err := os.WriteFile(filepath.Join(v.Root(), ".away.md.icloud"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := (Hit{Path: "away.md"}).Passages(v, 1200)[0]; got.Text != "" || !strings.Contains(got.Missing, "not downloaded") {
		t.Errorf("Passage of a note in iCloud = %+v, want no text and the reason", got)
	}
}

// A block that an older plugin cut under another key is quoted where its text
// stands.
func TestPassageUnderAnOldKey(t *testing.T) {
	item := blockItem(t, indexed, "#Two")
	item.Key = "#Section two"
	got := Hit{Path: "n.md", item: item, passage: item}.Passages(vaultWith(t, indexed), 1200)[0]
	if got.Text != "# Two\nsecond words" || got.Stale || got.Section != "#Section two" {
		t.Errorf("Passage = %+v, want the unchanged text", got)
	}
}

// A hash of the old kind cannot be compared: the freshness stays as indexed.
func TestPassageOfUnknownHash(t *testing.T) {
	item := smartenv.Item{Path: "n.md", Hash: strings.Repeat("0f", 32)}
	if got := (Hit{Path: "n.md", item: item, passage: item}).Passages(vaultWith(t, indexed), 1200)[0]; got.Stale {
		t.Errorf("Passage with a SHA-256 hash = %+v, want it not called stale", got)
	}
}
