package smartenv

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// T3: while *.optimize.tmp stands, vectors and log may not fit each other, so nobody
// answers from them, unless it has stood for so long that a crash has left it.
func TestOptimizeInProgress(t *testing.T) {
	const mark = shardZero + ".optimize.tmp"
	v := newFakeVault(t)
	v.addNote("a.md", "text", 1)
	x := openIndex(t, v.dir, Options{Recheck: 1})
	if _, err := x.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.write(mark, "")
	v.addNote("b.md", "text", 2)
	snap, err := x.Snapshot(t.Context())
	if err != nil || snap.Behind == "" || len(snap.Notes.Items) != 1 {
		t.Errorf("during Optimize: %v, behind %q, %d items, want the snapshot before", err, snap.Behind, len(snap.Notes.Items))
	}
	var retry *retryError
	if _, err := openIndex(t, v.dir, Options{}).Snapshot(t.Context()); !errors.As(err, &retry) {
		t.Errorf("first load during Optimize: %v, want a retryError", err)
	}
	for _, name := range []string{"", "/smart_sources.ajson.optimize.tmp"} {
		old := time.Now().Add(-2 * stuckAfter)
		if files, err := list(t.Context(), v.index()); err != nil || (&loader{}).checkBusy(&files, true) == nil {
			t.Errorf("a young mark, or a folder in which a file was just replaced, lets a first load pass: %v", err)
		}
		if err := os.Chtimes(v.path(".smart-env/smart_sources"+name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if first := loadFake(t, v); len(first.Notes.Items) != 2 || !hasWarning(first, "Optimize") {
		t.Errorf("first load with an old mark: %d items, warnings %q", len(first.Notes.Items), first.Warnings)
	}
	snap, err = x.Snapshot(t.Context())
	if err != nil || snap.Behind != "" || len(snap.Notes.Items) != 2 || !hasWarning(snap, "Optimize") {
		t.Errorf("with an old mark: %v, behind %q, %d items, warnings %q", err, snap.Behind, len(snap.Notes.Items), snap.Warnings)
	}
	v.remove(mark)
	snap, err = x.Snapshot(t.Context())
	if err != nil || snap.Behind != "" || hasWarning(snap, "Optimize") {
		t.Errorf("after Optimize: %v, behind %q, warnings %q", err, snap.Behind, snap.Warnings)
	}
}

// T4, T6: between the two renames by which the plugin replaces a multifile the last
// good snapshot answers. A crash may leave it so: then a first load goes on without.
func TestMultifileStepsAside(t *testing.T) {
	v := newFakeVault(t)
	v.addNote("a.md", "text", 1)
	x := openIndex(t, v.dir, Options{Recheck: 1})
	if _, err := x.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	name := v.path(noteRows + fakeModel.Fingerprint())
	if err := os.Rename(name, name+".bak"); err != nil {
		t.Fatal(err)
	}
	snap, err := x.Snapshot(t.Context())
	if err != nil || snap.Behind == "" || len(snap.Notes.Items) != 1 {
		t.Errorf("without the multifile: %v, behind %q, %d items, want the snapshot before", err, snap.Behind, len(snap.Notes.Items))
	}
	if first := loadFake(t, v); len(first.Notes.Items) != 0 || !hasWarning(first, "a crash has left it") || hasWarning(first, "Optimize") {
		t.Errorf("first load: %d items, warnings %q", len(first.Notes.Items), first.Warnings)
	}
	x.loader.busy = time.Now().Add(-2 * stuckAfter)
	if snap, err = x.Snapshot(t.Context()); err != nil || snap.Behind != "" || len(snap.Notes.Items) != 0 {
		t.Errorf("for long without: %v, behind %q, %d items", err, snap.Behind, len(snap.Notes.Items))
	}
	if err := os.Rename(name+".bak", name); err != nil {
		t.Fatal(err)
	}
	if snap, err = x.Snapshot(t.Context()); err != nil || snap.Behind != "" || len(snap.Notes.Items) != 1 {
		t.Errorf("with the multifile back: %v, behind %q, %d items", err, snap.Behind, len(snap.Notes.Items))
	}
}

// T3, T6: a file that a sync tool is writing anew in place looks like a shorter one
// for a while. The last good snapshot answers until it is whole, or was left alone.
func TestShorterForAMoment(t *testing.T) {
	fp := fakeModel.Fingerprint()
	for _, c := range []struct {
		name string
		cut  func(text string) string
		left int // notes, when it stays so
	}{
		{shardZero, func(string) string { return "" }, 0},
		{shardZero, func(text string) string { return text[:strings.IndexByte(text, '\n')] }, 1},
		{shardZero, func(text string) string { return text[:len(text)-9] }, 1},
		{noteRows + fp, func(text string) string { return text[:4*fakeModel.Dims+7] }, 1},
		{noteRows + fp, func(string) string { return "" }, 0},
	} {
		v := newFakeVault(t)
		v.addNote("a.md", "text", 1)
		v.addNote("b.md", "text", 2)
		x := openIndex(t, v.dir, Options{Recheck: 1})
		if _, err := x.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(v.path(c.name))
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string, notes int, behind bool) {
			t.Helper()
			snap, err := x.Snapshot(t.Context())
			if err != nil || (snap.Behind != "") != behind || len(snap.Notes.Items) != notes {
				t.Errorf("%s, %s: %v, behind %q, %d notes, want %d", c.name, when, err, snap.Behind, len(snap.Notes.Items), notes)
			}
		}
		v.write(c.name, c.cut(string(whole)))
		check("cut", 2, true)
		check("still cut", 2, true)
		v.write(c.name, string(whole))
		check("whole", 2, false)
		v.write(c.name, c.cut(string(whole)))
		check("cut again", 2, true)
		v.age(c.name)
		check("left alone", c.left, false)
	}
}

// A 18: shards replay in the order of their numbers, and one that appears or
// vanishes between two calls is noticed at the next.
func TestShardsComeAndGo(t *testing.T) {
	v := newFakeVault(t)
	v.vectors(noteRows, 0, 1, 2, 3)
	v.write("a.md", "text")
	v.log(v.record("a.md", "text", 0, nil))
	x := openIndex(t, v.dir, Options{Recheck: 1})
	shard := func(n int) string { return fmt.Sprintf(".smart-env/smart_sources/smart_sources_%d.ajson", n) }
	for _, step := range []struct {
		what   string
		change func()
		want   int // axis
	}{
		{"one shard", func() {}, 0},
		{"10 appears", func() { v.write(shard(10), v.record("a.md", "text", 3, nil)) }, 3},
		{"9 appears", func() { v.write(shard(9), v.record("a.md", "text", 2, nil)) }, 3},
		{"10 vanishes", func() { v.remove(shard(10)) }, 2},
		{"9 vanishes", func() { v.remove(shard(9)) }, 0},
	} {
		step.change()
		for _, x := range []*Index{x, openIndex(t, v.dir, Options{})} {
			if snap, err := x.Snapshot(t.Context()); err != nil || snap.Behind != "" || len(snap.Notes.Items) != 1 || snap.Notes.Row(0)[step.want] != 1 {
				t.Errorf("%s: %v, %+v, want axis %d", step.what, err, snap, step.want)
			}
		}
	}
}

// T5: contents of the same size under the same time are noticed, in another file
// and, where the system tells when a file was last changed, in the same one.
func TestSameSizeAndTime(t *testing.T) {
	fp := fakeModel.Fingerprint()
	for _, c := range []struct {
		name  string
		write func(v *fakeVault, name, text string)
		inode bool // the file stays the same
	}{{"renamed over", (*fakeVault).replace, false}, {"in place", (*fakeVault).write, true}} {
		packed, inline := newFakeVault(t), newInlineVault(t)
		packed.addNote("a.md", "text", 1)
		packed.vectors(noteRows, 2)
		inline.addInline("a.md", "text", 1)
		for _, change := range []struct {
			*fakeVault
			file      string
			from, to  string
			axis, was int
		}{
			{packed, shardZero, `"file_i":0`, `"file_i":1`, 2, 1},
			{packed, noteRows + fp, string(packRows(1, 2)), string(packRows(1, 3)), 3, 2},
			{inline, ".smart-env/multi/a_md.ajson", "[0,1,", "[1,0,", 0, 1},
		} {
			info, err := os.Stat(change.path(change.file))
			if err != nil {
				t.Fatal(err)
			}
			if c.inode && changed(info).IsZero() {
				t.Skip("the system does not tell when a file was changed")
			}
			x := openIndex(t, change.dir, Options{Recheck: 1})
			snap, err := x.Snapshot(t.Context())
			if err != nil || len(snap.Notes.Items) != 1 || snap.Notes.Row(0)[change.was] != 1 {
				t.Fatal(err)
			}
			text, err := os.ReadFile(change.path(change.file))
			if err != nil {
				t.Fatal(err)
			}
			c.write(change.fakeVault, change.file, strings.Replace(string(text), change.from, change.to, 1))
			if err := os.Chtimes(change.path(change.file), info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
			if snap, err = x.Snapshot(t.Context()); err != nil || snap.Behind != "" || snap.Notes.Row(0)[change.axis] != 1 {
				t.Errorf("%s, %s: %v, behind %q, vector %v, want axis %d", change.file, c.name, err, snap.Behind, snap.Notes.Row(0), change.axis)
			}
		}
	}
}
