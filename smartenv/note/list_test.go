package note

import (
	"path/filepath"
	"slices"
	"testing"
)

// ListAll tells the other files of the same walk, and of notes what ListStat does.
func TestListAll(t *testing.T) {
	dir := linkedVault(t)
	writeFiles(t, dir, "Folder/b.png", "a.canvas", "Folder/no extension", ".hidden.png", "Folder/.trash/x.png", "CON.png")
	link(t, "Folder/b.png", filepath.Join(dir, "in.png"))
	link(t, "../secret/canary.md", filepath.Join(dir, "out.png"))
	link(t, "Folder", filepath.Join(dir, "Folder.png"))
	link(t, ".obsidian/data.json", filepath.Join(dir, "data.json"))
	v := openVault(t, dir)
	notes, others, unreadable, err := v.ListAll(t.Context())
	if want := []string{"Folder/b.png", "Folder/no extension", "a.canvas", "in.png"}; !slices.Equal(others, want) || err != nil {
		t.Errorf("ListAll() = %q, %v, want %q", others, err, want)
	}
	wantNotes, want, err := v.ListStat(t.Context())
	if !slices.Equal(notes, wantNotes) || unreadable != want || err != nil || len(notes) == 0 {
		t.Errorf("ListAll() = %v, %d, ListStat() = %v, %d, %v", notes, unreadable, wantNotes, want, err)
	}
}
