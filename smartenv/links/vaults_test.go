package links

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// shared returns the path of reference data that is too large or not ours to commit.
// Without it the test is skipped, but never in CI.
func shared(t *testing.T, path string) string {
	t.Helper()
	full := filepath.Join("../../../shared", path)
	if _, err := os.Stat(full); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("reference data is missing: %v", err)
		}
		t.Skipf("reference data is missing: %v", err)
	}
	return full
}

// In Obsidian's own documentation every link resolves, but for those to pictures and
// sounds, which are not in this copy of it, and for these.
func TestObsidianHelp(t *testing.T) {
	judged := map[string]string{
		"Example": "an example of how a link is shown; there never was such a note",
		"Obsidian Sync/Collaborate on a shared vault.md#^version-history-image": `the id stands at "]]" without a blank before it`,
	}
	g := graphOf(t, Open(openVault(t, shared(t, "vaults/obsidian-help-en")), allOpen))
	attachments, names := 0, 0
	for _, m := range g.Missing() {
		switch {
		case m.Kind == MissingAttachment:
			names, attachments = names+1, attachments+len(m.Links)
		case judged[m.Name] == "":
			t.Errorf("%s %q is missing, at %q", m.Kind, m.Name, places(m.Links))
		}
		delete(judged, m.Name)
	}
	for name, why := range judged {
		t.Errorf("%q is found, although %s", name, why)
	}
	kinds := map[Kind]int{}
	for i := range g.Notes {
		for _, l := range g.Notes[i].Links {
			if !l.Code {
				kinds[l.To.Kind]++
			}
		}
	}
	if len(g.Notes) != 173 || len(g.Attachments) != 0 || names != 113 || kinds[ToNothing] != attachments+6 || kinds[ToNote] < 1500 {
		t.Errorf("%d notes, %d missing files, links %v (%d to missing files), want 173, 113, 6 more to nothing", len(g.Notes), names, kinds, attachments)
	}
	if got, want := g.Orphans(), []string{"Editing and formatting/Multiple cursors.md"}; !slices.Equal(got, want) {
		t.Errorf("Orphans() = %q, want %q", got, want)
	}
}

// What notes of that documentation are linked under leads to them.
func TestAnchors(t *testing.T) {
	judged := map[string]string{
		"local vault": "an alias of two notes: the one that is not meant comes first in the alphabet",
		"tab groups":  "the text of a link to each of two notes, once",
	}
	g := graphOf(t, Open(openVault(t, shared(t, "vaults/obsidian-help-en")), allOpen))
	file, err := os.Open(shared(t, "eval/obsidian-help/auto.anchors.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var first, among int
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var q struct {
			Query string
			Gold  []struct{ Path string }
		}
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		r := g.Find(q.Query, "")
		isGold := func(path string) bool {
			return slices.ContainsFunc(q.Gold, func(gold struct{ Path string }) bool { return gold.Path == path })
		}
		switch {
		case isGold(r.Target.Path):
			first++
		case slices.ContainsFunc(r.Candidates, isGold) && judged[q.Query] != "":
			among++
		default:
			t.Errorf("Find(%q) = %s, want %v", q.Query, short(r), q.Gold)
		}
	}
	if first != 223 || among != 2 {
		t.Errorf("%d anchors lead to their note and %d have it among the candidates, want 223 and 2", first, among)
	}
}

// The other vaults are read whole, and lead where one can expect.
func TestSharedVaults(t *testing.T) {
	entries, err := os.ReadDir(shared(t, "vaults"))
	if err != nil {
		t.Fatal(err)
	}
	links := map[string]int{ // to notes: counted from the graph and looked at
		"control-pt-crlf": 58, "dataeng-en-tiny": 1, "datasci-es": 948, "edge-mini": 0, "edge-synth": 0, "ml-en-mit-inline": 2,
		"ml-en-mit-packed-derived": 478, "obsidian-help-en": 1562, "obsidian-help-minilm": 1562, "obsidian-help-synth": 1562,
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		g := graphOf(t, Open(openVault(t, shared(t, "vaults/"+e.Name())), allOpen))
		n := 0
		for i := range g.Notes {
			for _, l := range g.Notes[i].Links {
				if l.To.Kind == ToNote {
					n++
				}
			}
		}
		if want, known := links[e.Name()]; known && n != want || len(g.Notes) == 0 || len(g.Unreadable)+g.Unlisted > 0 {
			t.Errorf("%s: %d notes, %d links to notes, %q unreadable, want %d", e.Name(), len(g.Notes), n, g.Unreadable, want)
		}
	}
}
