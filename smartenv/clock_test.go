package smartenv

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// oddTimes are what clocks that are wrong, are put back or come from another zone
// leave on files, beside the time of the plugin's import.
func oddTimes(imported time.Time) map[string]time.Time {
	return map[string]time.Time{
		"the import's":             imported,
		"1970":                     time.UnixMilli(0),
		"before 1970":              time.UnixMilli(-86_400_000),
		"1980, as FAT begins":      time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC),
		"an hour later, summer":    imported.Add(time.Hour),
		"an hour earlier, winter":  imported.Add(-time.Hour),
		"a second earlier":         imported.Add(-time.Second),
		"seconds only, as FAT has": imported.Truncate(2 * time.Second),
		"tomorrow":                 time.Now().Add(24 * time.Hour),
		"2099":                     time.Date(2099, 12, 31, 0, 0, 0, 0, time.UTC),
	}
}

// P10: whatever time a note bears, it counts as stale when its text has changed,
// and only then. With size and time as at the import it is not read at all, which
// TestUnchangedFilesAreNotRead tells of.
func TestP10StaleCountsWhateverTheClock(t *testing.T) {
	imported := time.UnixMilli(1_790_000_000_123)
	for name, at := range oddTimes(imported) {
		v := newFakeVault(t)
		for i, now := range []string{"text", "tex2", "text and more"} {
			path := fmt.Sprintf("n%d.md", i)
			v.write(path, now)
			line := strings.Replace(v.record(path, "text", v.vectors(noteRows, i), nil), `"mtime":1,`, fmt.Sprintf(`"mtime":%d,`, imported.UnixMilli()), 1)
			v.log(line)
			if err := os.Chtimes(v.path(path), at, at); err != nil {
				t.Fatal(err)
			}
		}
		want := 2
		if at.Equal(imported) {
			want = 1 // the first two have the import's time and size
		}
		snap := loadFake(t, v)
		if got := snap.Status.Notes; got.Stale != want || got.Live != 3 || got.WithVector != 3 || got.Missing+got.Unreadable+got.Unknown > 0 {
			t.Errorf("%s: %+v, want 3 with vectors, %d stale", name, got, want)
		}
	}
}

// P10: a change is noticed although the file's time stays, goes back or is odd: of
// the index at the next look, of a note at the next rescan.
func TestP10ChangesAreNoticedWhateverTheClock(t *testing.T) {
	begun := time.UnixMilli(1_790_000_000_123)
	for name, at := range oddTimes(begun) {
		v := newFakeVault(t)
		set := func(name string, at time.Time) {
			if err := os.Chtimes(v.path(name), at, at); err != nil {
				t.Fatal(err)
			}
		}
		v.addNote("a.md", "text", 1)
		set("a.md", begun)
		set(shardZero, begun)
		x := openIndex(t, v.dir, Options{Recheck: 1})
		if _, err := x.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		v.addNote("b.md", "text", 2)
		set(shardZero, at)
		snap, err := x.Snapshot(t.Context())
		if err != nil || len(snap.Notes.Items) != 2 {
			t.Errorf("%s: a record that was appended is not noticed: %v, %d notes", name, err, len(snap.Notes.Items))
		}
		v.write("a.md", "another text")
		set("a.md", at)
		x.loader.rescanAt = time.Time{}
		if snap, err = x.Snapshot(t.Context()); err != nil || snap.Status.Notes.Stale != 1 {
			t.Errorf("%s: a note that was edited is not noticed: %v, %+v", name, err, snap.Status.Notes)
		}
		v.write("a.md", "text")
		set("a.md", begun.Add(-time.Minute))
		x.loader.rescanAt = time.Time{}
		if snap, err = x.Snapshot(t.Context()); err != nil || snap.Status.Notes.Stale != 0 {
			t.Errorf("%s: a note whose text came back is not noticed: %v, %+v", name, err, snap.Status.Notes)
		}
	}
}
