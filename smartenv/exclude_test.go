package smartenv

import "testing"

func TestExclusions(t *testing.T) {
	excluded := excluder(exclusionGlobs(
		[]string{"Untitled", " ", "/", "**", "Draft", "Draft"},
		[]string{"Private", "Archive/**", "Log*", "a.b"},
		[]string{"dist/**", "*.tmp.md", "exact.md", "[ab]?.md", "x{1,2}.md", "bad[", "[!c]z.md"},
	))
	for path, want := range map[string]bool{
		"Note.md":                     false,
		"Untitled.md":                 true,
		"Untitled 2.md":               true,
		"Untitled folder/a.md":        true,
		"Sub/Untitled.md":             false,
		"untitled.md":                 false,
		"Draft of a letter.md":        true,
		"Private/a.md":                true,
		"Private/deep/a.md":           true,
		"Private.md":                  false,
		"Private notes/a.md":          false,
		"Archive/a.md":                true,
		"Log 2026/a.md":               true,
		"Log 2026/deep/a.md":          true,
		"Logbook.md":                  false,
		"a.b/c.md":                    true,
		"aXb/c.md":                    false,
		"dist/a.md":                   true,
		"a.tmp.md":                    true,
		"sub/a.tmp.md":                false,
		"exact.md":                    true,
		"exact.md.md":                 false,
		"a1.md":                       true,
		"c1.md":                       false,
		"x2.md":                       true,
		"x3.md":                       false,
		"bad[":                        true,
		"bz.md":                       true,
		"cz.md":                       false,
		".hidden.md":                  true,
		".trash/a.md":                 true,
		"sub/.hidden/a.md":            true,
		"sub/.a.md":                   true,
		"sub/a.ajson":                 true,
		"a.ajson":                     false,
		".smart-env/x.md":             true,
		"Notes on C#/Threat model.md": false,
		"two\nlines.md":               false,
		"Private/two\nlines.md":       true,
	} {
		if got := excluded(path); got != want {
			t.Errorf("excluded(%q) = %v, want %v", path, got, want)
		}
	}
}

// Excluded notes keep their records but are neither ranked nor counted as missing
// or not indexed; a path with "#" that has a record is served.
func TestExcludedNotes(t *testing.T) {
	v := newFakeVault(t)
	v.write(".smart-env/smart_env.json", `{"smart_sources":{"folder_exclusions":"Private"},"embedding_models":{"default_model_key":"m#1"}}`)
	v.addNote("Private/a.md", "text", 1)
	v.addNote("Open/C#.md", "text", 2)
	v.write("Private/not indexed.md", "text")
	v.write("Untitled.md", "text")
	v.write("Open/D#.md", "text")
	v.write("Open/new.md", "text")
	snap := loadFake(t, v)
	excluded := snap.Settings.Excludes()
	for path, want := range map[string]bool{"Private/not indexed.md": true, "Untitled.md": true, "Open/D#.md": true, "Open/new.md": false} {
		if got := excluded(path); got != want {
			t.Errorf("Excludes()(%q) = %v, want %v", path, got, want)
		}
	}
	src, ok := snap.Source("Private/a.md")
	if !ok || src.State != Excluded || src.Row != -1 || src.Reason != reasonExcluded {
		t.Errorf("Private/a.md = %+v, want it excluded", src)
	}
	if n := &snap.Status.Notes; len(snap.Notes.Items) != 1 || snap.Notes.Items[0].Path != "Open/C#.md" || n.Excluded != 1 || n.NotIndexed != 1 || n.Missing != 0 {
		t.Errorf("items %+v, counts %+v", snap.Notes.Items, *n)
	}
}
