package smartenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"smart-connections-mcp/smartenv/note"
)

func TestFreshness(t *testing.T) {
	const text = "# A\nfirst line\nsecond line\n"
	crlf := strings.ReplaceAll(text, "\n", "\r\n")
	long := strings.Repeat("a line of a very long note\n", 12000) // over 300 kB
	for _, c := range []struct {
		name, indexed, onDisk string
		want                  State
	}{
		{"same", text, text, Fresh},
		{"indexed as CRLF", crlf, text, Fresh},
		{"indexed as LF", text, crlf, Fresh},
		{"BOM gained", text, "\ufeff" + text, Fresh},
		{"BOM and CRLF gained", text, "\ufeff" + crlf, Fresh},
		{"invalid UTF-8 as the plugin decodes it", "a\ufffdb", "a\xffb", Fresh},
		{"changed", text, text + "x", Stale},
		{"same size changed", text, strings.Replace(text, "first", "fifth", 1), Stale},
		{"emptied", text, "", Stale},
		{"long", long, long, Fresh},
	} {
		v := newFakeVault(t)
		v.write("n.md", c.onDisk)
		line := v.record("n.md", c.indexed, v.vectors(noteRows, 1), nil)
		if c.name == "long" { // the plugin never imports such a note, but embeds it
			line = strings.Replace(line, `"last_import":{"at":1,`, `"last_import":{"at":0,`, 1)
			line = strings.NewReplacer(`"mtime":1,`, `"mtime":0,`, `"size":324000`, `"size":0`).Replace(line)
		}
		v.log(line)
		snap := loadFake(t, v)
		src, _ := snap.Source("n.md")
		if src.State != c.want || len(snap.Notes.Items) != 1 || snap.Notes.Items[0].Stale != (c.want == Stale) {
			t.Errorf("%s: state = %v, items %+v, want %v", c.name, src.State, snap.Notes.Items, c.want)
		}
		if c.want == Fresh && len(snap.Warnings) > 0 {
			t.Errorf("%s: warnings = %q, want none", c.name, snap.Warnings)
		}
	}
}

// A hash of a kind that cannot be compared leaves the note ranked and unmarked.
func TestUnknownFreshness(t *testing.T) {
	sha := strings.Repeat("0123456789abcdef", 4)
	fp := fakeModel.Fingerprint()
	v := newFakeVault(t)
	v.vectors(noteRows, 1)
	v.write("old.md", "text")
	v.log(`"smart_sources:old.md": {"last_read":{"hash":"` + sha + `"},"embedding":{"default":{"` + fp + `":{"file":"` + fp + `","file_i":0,"read_hash":"` + sha + `"}}}},`)
	v.write("none.md", "text")
	v.log(`"smart_sources:none.md": {}`)
	snap := loadFake(t, v)
	for _, path := range []string{"old.md", "none.md"} {
		if src, _ := snap.Source(path); src.State != Unknown {
			t.Errorf("%s is %v, want unknown", path, src.State)
		}
	}
	if len(snap.Notes.Items) != 1 || snap.Notes.Items[0].Stale || snap.Status.Notes.Unknown != 2 || snap.Status.Notes.Stale != 0 {
		t.Errorf("items %+v, counts %+v", snap.Notes.Items, snap.Status.Notes)
	}
}

// A file with the size and time of the plugin's last import is not read at all.
func TestUnchangedFilesAreNotRead(t *testing.T) {
	v := newFakeVault(t)
	v.write("n.md", "other")
	at := time.UnixMilli(1786000000123)
	if err := os.Chtimes(v.path("n.md"), at, at); err != nil {
		t.Fatal(err)
	}
	line := v.record("n.md", "texts", v.vectors(noteRows, 1), nil)
	line = strings.Replace(line, `"mtime":1,`, `"mtime":1786000000123,`, 1)
	v.log(line)
	if src, _ := loadFake(t, v).Source("n.md"); src.State != Fresh {
		t.Errorf("state = %v, want fresh: the filter is size and time", src.State)
	}
	importOf := func(text string) string { return `"last_import":{"at":1,"hash":"` + note.Hash(text) + `"` }
	v.log(strings.Replace(line, importOf("texts"), importOf("other"), 1))
	if src, _ := loadFake(t, v).Source("n.md"); src.State != Stale {
		t.Errorf("state = %v, want stale: the plugin read another text after the import", src.State)
	}
	v.log(line)
	at = at.Add(time.Second)
	if err := os.Chtimes(v.path("n.md"), at, at); err != nil {
		t.Fatal(err)
	}
	if src, _ := loadFake(t, v).Source("n.md"); src.State != Stale {
		t.Errorf("state = %v, want stale once the time differs", src.State)
	}
}

func TestBlocksOfChangedNotes(t *testing.T) {
	const text = "# A\none\n# B\ntwo\n# C\nthree"
	blocks := func(v *fakeVault, text string) map[string]any {
		first := v.vectors(blockRows, 0, 1, 2, 3)
		lines := strings.Split(text, "\n")
		return map[string]any{
			"#A": fakeBlock(1, 2, strings.Join(lines[0:2], "\n"), first),
			"#B": fakeBlock(3, 4, strings.Join(lines[2:4], "\n"), first+1),
			"#C": fakeBlock(5, 6, strings.Join(lines[4:6], "\n"), first+2),
			"#D": map[string]any{"lines": []any{1, nil}, "last_read": map[string]any{"hash": "0"}, "embedding": fakeRef(first+3, "0")},
		}
	}
	for _, c := range []struct {
		name, indexed, onDisk string
		stale                 string // keys of stale blocks
	}{
		{"unchanged", text, text, ""},
		{"unchanged but for line ends", strings.ReplaceAll(text, "\n", "\r\n"), text, ""},
		{"one changed", text, strings.Replace(text, "two", "2", 1), "#B"},
		{"one changed, line ends too", strings.ReplaceAll(text, "\n", "\r\n"), strings.Replace(text, "two", "2", 1), "#B"},
		{"one changed, BOM too", text, "\ufeff" + strings.Replace(text, "two", "2", 1), "#B"},
		{"line inserted", text, strings.Replace(text, "# B", "new\n# B", 1), "#B#C"},
		{"end cut off", text, "# A\none\n# B", "#B#C"},
		{"emptied", text, "", "#A#B#C"},
	} {
		v := newFakeVault(t)
		v.write("n.md", c.onDisk)
		v.log(v.record("n.md", c.indexed, -1, blocks(v, c.indexed)))
		snap := loadFake(t, v)
		stale := ""
		for i := range snap.Blocks.Items {
			if snap.Blocks.Items[i].Stale {
				stale += snap.Blocks.Items[i].Key
			}
		}
		if stale != c.stale || len(snap.Blocks.Items) != 4 {
			t.Errorf("%s: %d blocks, stale %q, want 4, %q", c.name, len(snap.Blocks.Items), stale, c.stale)
		}
		if src, _ := snap.Source("n.md"); src.BlockRows != [2]int{0, 4} {
			t.Errorf("%s: block rows = %v, want [0 4]", c.name, src.BlockRows)
		}
	}
}

// A note whose text is the one read last, but not the one imported last, may have
// blocks of the earlier text.
func TestBlocksOfAnEarlierImport(t *testing.T) {
	const old, now = "# A\nold\n# B\nsame", "# A\nnew\n# B\nsame"
	v := newFakeVault(t)
	row := v.vectors(blockRows, 1)
	v.write("n.md", now)
	line := v.record("n.md", now, -1, map[string]any{"#A": fakeBlock(1, 2, "# A\nold", row), "#B": fakeBlock(3, 4, "# B\nsame", row)})
	v.log(strings.Replace(line, `"last_import":{"at":1,"hash":"`+note.Hash(now), `"last_import":{"at":1,"hash":"`+note.Hash(old), 1))
	snap := loadFake(t, v)
	src, _ := snap.Source("n.md")
	if src.State != Fresh || len(snap.Blocks.Items) != 2 || !snap.Blocks.Items[0].Stale || snap.Blocks.Items[1].Stale {
		t.Errorf("n.md is %v, blocks %+v, want it fresh and only #A stale", src.State, snap.Blocks.Items)
	}
}

// The lines of a drawing's blocks count in the text that the plugin extracts.
func TestBlocksOfDrawings(t *testing.T) {
	v := newFakeVault(t)
	const file = "---\na: b\n---\n# Text Elements\nhello world ^abc\n\n%%\n# Drawing\nx"
	body := note.Body("d.excalidraw.md", file)
	if body == file || body == "" {
		t.Skipf("note.Body = %q", body)
	}
	row := v.vectors(blockRows, 1)
	v.write("d.excalidraw.md", file+" changed below")
	v.log(v.record("d.excalidraw.md", file, -1, map[string]any{"#": fakeBlock(1, 1, strings.Split(body, "\n")[0], row)}))
	if snap := loadFake(t, v); len(snap.Blocks.Items) != 1 || snap.Blocks.Items[0].Stale {
		t.Errorf("blocks = %+v, want one that is not stale", snap.Blocks.Items)
	}
}

func TestComparisonsAreKept(t *testing.T) {
	v := newFakeVault(t)
	v.addNote("a.md", "text", 1)
	v.addNote("b.md", "text", 2)
	v.addNote("c.md", "text", 3)
	x := openIndex(t, v.dir, Options{Recheck: 1})
	if _, err := x.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := x.loader.fresh.seen
	a, b := seen["a.md"], seen["b.md"]
	v.write("b.md", "other")
	v.log(v.record("c.md", "text", 2, nil), `"smart_sources:c.md": null,`)
	snap, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if a == nil || seen["a.md"] != a {
		t.Error("a.md was read again, though it did not change")
	}
	if src, _ := snap.Source("b.md"); seen["b.md"] == b || src.State != Stale {
		t.Errorf("b.md is %v, want it read again and stale", src.State)
	}
	if seen["c.md"] != nil {
		t.Error("c.md is remembered without a record")
	}
}

func TestMissingNotes(t *testing.T) {
	v := newFakeVault(t)
	v.addNote("here.md", "text", 1)
	v.addNote("gone.md", "text", 2)
	v.addNote("a/b.md", "text", 3)
	v.remove("gone.md")
	if err := os.RemoveAll(v.path("a")); err != nil {
		t.Fatal(err)
	}
	v.write("a", "now a file")
	v.log(simpleLine("../outside.md", 1), simpleLine("/etc/passwd", 1), simpleLine("a/../here.md", 1), simpleLine("", 1), simpleLine("dir.md", 1))
	if err := os.Mkdir(v.path("dir.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	snap := loadFake(t, v)
	for path, want := range map[string]State{
		"here.md": Fresh, "gone.md": Missing, "a/b.md": Missing,
		"../outside.md": Excluded, "/etc/passwd": Excluded, "a/../here.md": Excluded, "": Excluded, "dir.md": Excluded,
	} {
		if src, ok := snap.Source(path); !ok || src.State != want {
			t.Errorf("%q is %v, want %v", path, src.State, want)
		}
	}
	if len(snap.Notes.Items) != 1 || snap.Status.Notes.Missing != 2 {
		t.Errorf("items %+v, counts %+v", snap.Notes.Items, snap.Status.Notes)
	}
}

// A link that leaves the vault is not followed, and the note behind it not ranked.
func TestNotesBehindLinks(t *testing.T) {
	v := newFakeVault(t)
	outside := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(outside, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	v.addNote("link.md", "text", 1)
	v.remove("link.md")
	if err := os.Symlink(outside, v.path("link.md")); err != nil {
		t.Skip(err)
	}
	if _, err := os.Lstat(v.path("link.md")); err != nil {
		t.Skipf("the system said that it made a link, and did not, as Wine does: %v", err)
	}
	snap := loadFake(t, v)
	if src, _ := snap.Source("link.md"); src.State != Excluded || len(snap.Notes.Items) != 0 || !hasWarning(snap, "leads out of the vault") {
		t.Errorf("link.md is %v, warnings %q", src.State, snap.Warnings)
	}
}

// On a disk that ignores case, the old spelling of a renamed note still finds the
// file; the record with the directory's spelling is the one that counts.
func TestRespelled(t *testing.T) {
	v := newFakeVault(t)
	v.write("Ünïcode Note.md", "text")
	x := openIndex(t, v.dir, Options{})
	both := map[string]*record{"Ünïcode Note.md": {}, "ünïcode note.md": {}, "other.md": {}}
	for _, c := range []struct {
		path    string
		records map[string]*record
		want    bool
	}{
		{"ünïcode note.md", both, true},
		{"U\u0308ni\u0308code Note.md", both, true},
		{"Ünïcode Note.md", both, false},
		{"ünïcode note.md", map[string]*record{"ünïcode note.md": {}}, false},
		{"other.md", both, false},
	} {
		if got := respelled(x.loader.vault, c.path, c.records); got != c.want {
			t.Errorf("respelled(%q) = %v, want %v", c.path, got, c.want)
		}
	}
}
