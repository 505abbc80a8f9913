package smartenv

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A 19: without shard 0 numbered shards are no index; A 15: multi/ beside one is none.
func TestGenerations(t *testing.T) {
	const line = `"smart_sources:a.md": {},`
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // GenerationError.Generation, or Snapshot.Generation when it loads
	}{
		{"nothing", nil, "none"},
		{"settings only", map[string]string{".smart-env/smart_env.json": "{}"}, "none"},
		{"vectors only", map[string]string{".smart-env/smart_sources/mf_a": "abcd"}, "none"},
		{"ancient", map[string]string{".smart-connections/embeddings-3.json": "{}"}, "ancient"},
		{"inline", map[string]string{".smart-env/multi/a_md.ajson": line}, "inline"},
		{"inline, and older still", map[string]string{".smart-env/multi/a_md.ajson": line, ".smart-connections/x": ""}, "inline"},
		{"multi without an index file", map[string]string{".smart-env/multi/readme.txt": ""}, "none"},
		{"migration not committed", map[string]string{".smart-env/smart_sources/smart_sources_1.ajson": line, ".smart-env/multi/a_md.ajson": line}, "uncommitted"},
		{"packed", map[string]string{".smart-env/smart_sources/smart_sources.ajson": line}, "packed"},
		{"packed and empty", map[string]string{".smart-env/smart_sources/smart_sources.ajson": ""}, "packed"},
		{"packed with a leftover multi", map[string]string{".smart-env/smart_sources/smart_sources.ajson": line, ".smart-env/multi/a_md.ajson": `"smart_sources:b.md": {},`}, "packed"},
	} {
		v := &fakeVault{t: t, dir: t.TempDir()}
		for name, text := range c.files {
			v.write(name, text)
		}
		snap, err := openIndex(t, v.dir, Options{}).Snapshot(t.Context())
		var generation *GenerationError
		switch {
		case c.want == "packed" || c.want == "inline":
			if err != nil || snap.Generation != c.want {
				t.Errorf("%s: %v, want it loaded", c.name, err)
			}
		case !errors.As(err, &generation) || generation.Generation != c.want || len(generation.Error()) < 40:
			t.Errorf("%s: error = %v, want generation %q", c.name, err, c.want)
		}
	}
}

// A 15: a multi/ left by a migration is ignored, and said to be, with its date.
func TestLeftoverMulti(t *testing.T) {
	v := newFakeVault(t)
	v.addNote("a.md", "text", 1)
	v.write(".smart-env/multi/b_md.ajson", simpleLine("b.md", 1))
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	if err := os.Chtimes(v.path(".smart-env/multi/b_md.ajson"), at, at); err != nil {
		t.Fatal(err)
	}
	snap := loadFake(t, v)
	if _, ok := snap.Source("b.md"); ok || !snap.Status.LegacyNewest.Equal(at) || !hasWarning(snap, "2026-03-04") {
		t.Errorf("b.md served %v, newest %v, warnings %q", ok, snap.Status.LegacyNewest, snap.Warnings)
	}
}

func TestConflictCopiesAreListed(t *testing.T) {
	v := newFakeVault(t)
	v.addNote("a.md", "text", 1)
	v.write(".smart-env/smart_sources/smart_sources-DESKTOP-AB12.ajson", simpleLine("ghost.md", 1))
	v.write(".smart-env/smart_blocks/mf_x.bak", "x")
	snap := loadFake(t, v)
	if len(snap.Sources) != 1 || len(snap.Status.IgnoredFiles) != 2 || !hasWarning(snap, "smart_sources-DESKTOP-AB12.ajson") || hasWarning(snap, "mf_x.bak") {
		t.Errorf("%d notes, ignored %q, warnings %q", len(snap.Sources), snap.Status.IgnoredFiles, snap.Warnings)
	}
}

func TestSnapshotIsSharedAndRefreshed(t *testing.T) {
	v := newFakeVault(t)
	v.addNote("a.md", "text", 1)
	x := openIndex(t, v.dir, Options{Recheck: time.Hour})

	var wait sync.WaitGroup
	got := make([]*Snapshot, 16)
	for i := range got {
		wait.Go(func() {
			snap, err := x.Snapshot(t.Context())
			if err != nil {
				t.Error(err)
			}
			got[i] = snap
		})
	}
	wait.Wait()
	for _, snap := range got {
		if snap == nil || snap != got[0] {
			t.Fatal("calls at the same time got different snapshots")
		}
	}

	v.addNote("b.md", "text", 2)
	if snap, _ := x.Snapshot(t.Context()); snap != got[0] {
		t.Error("the files were looked at before the recheck interval was over")
	}
	x.recheck = 1
	next, err := x.Snapshot(t.Context())
	if err != nil || len(next.Notes.Items) != 2 || !next.LoadedAt.After(got[0].LoadedAt) {
		t.Fatalf("after a change: %d notes, %v, want 2", len(next.Notes.Items), err)
	}
	if len(got[0].Notes.Items) != 1 || len(got[0].Sources) != 1 {
		t.Error("the older snapshot has changed")
	}
	if again, _ := x.Snapshot(t.Context()); again != next {
		t.Error("a new snapshot without a change")
	}
}

// A 18, T5: every kind of change of the files is noticed.
func TestChangesAreNoticed(t *testing.T) {
	fp := fakeModel.Fingerprint()
	for _, c := range []struct {
		name   string
		change func(v *fakeVault)
		check  func(*Snapshot) bool
	}{
		{"shard added", func(v *fakeVault) {
			v.write("b.md", "text")
			v.write(".smart-env/smart_sources/smart_sources_1.ajson", v.record("b.md", "text", 0, nil))
		}, func(s *Snapshot) bool { return len(s.Notes.Items) == 2 && len(s.Status.Shards) == 2 }},
		{"multifile vanished", func(v *fakeVault) { v.remove(noteRows + fp) },
			func(s *Snapshot) bool { return len(s.Notes.Items) == 0 && hasWarning(s, "missing") }},
		{"multifile appeared", func(v *fakeVault) { v.vectors(blockRows, 1) },
			func(s *Snapshot) bool { return len(s.Status.Multifiles) == 2 }},
		{"multifile replaced by one of the same size and time", func(v *fakeVault) {
			info, err := os.Stat(v.path(noteRows + fp))
			if err != nil {
				v.t.Fatal(err)
			}
			v.replace(noteRows+fp, string(packRows(7)))
			if err := os.Chtimes(v.path(noteRows+fp), info.ModTime(), info.ModTime()); err != nil {
				v.t.Fatal(err)
			}
		},
			func(s *Snapshot) bool { return s.Notes.Row(0)[7] == 1 }},
		{"settings changed", func(v *fakeVault) {
			v.write(".smart-env/smart_env.json", `{"smart_sources":{"file_exclusions":"a"},"embedding_models":{"default_model_key":"m#1"}}`)
		}, func(s *Snapshot) bool { return s.Status.Notes.Excluded == 1 }},
		{"model changed", func(v *fakeVault) {
			v.append(".smart-env/embedding_models/embedding_models.ajson", []byte("\n"+`"embedding_models:m#1": {"model_key":"other","dims":8},`))
		}, func(s *Snapshot) bool { return s.Refusal != nil }},
		{"tombstone", func(v *fakeVault) { v.log(`"smart_sources:a.md": null,`) },
			func(s *Snapshot) bool { return len(s.Sources) == 0 }},
		{"conflict copy", func(v *fakeVault) { v.write(".smart-env/smart_sources/mf (1)", "") },
			func(s *Snapshot) bool { return len(s.Status.IgnoredFiles) == 1 }},
	} {
		v := newFakeVault(t)
		v.addNote("a.md", "text", 1)
		x := openIndex(t, v.dir, Options{Recheck: 1})
		if _, err := x.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.change(v)
		snap, err := x.Snapshot(t.Context())
		if err != nil || snap.Behind != "" || !c.check(snap) {
			t.Errorf("%s: not noticed: %v, behind %q, %+v, warnings %q", c.name, err, snap.Behind, snap.Status, snap.Warnings)
		}
	}
}

// Notes that change while the index does not are noticed by the next rescan.
func TestNotesAreRescanned(t *testing.T) {
	v := newFakeVault(t)
	v.addNote("a.md", "text", 1)
	v.addNote("b.md", "text", 2)
	x := openIndex(t, v.dir, Options{Recheck: 1})
	first, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x.loader.rescanAt = time.Time{}
	if same, _ := x.Snapshot(t.Context()); same != first {
		t.Error("a rescan without a change gave a new snapshot")
	}
	v.remove("a.md")
	v.write("b.md", "changed")
	if same, _ := x.Snapshot(t.Context()); same != first {
		t.Error("the notes were scanned again at once")
	}
	x.loader.rescanAt = time.Time{}
	snap, err := x.Snapshot(t.Context())
	if err != nil || snap.Status.Notes.Missing != 1 || len(snap.Notes.Items) != 1 || !snap.Notes.Items[0].Stale {
		t.Errorf("after the rescan: %v, items %+v, counts %+v", err, snap.Notes.Items, snap.Status.Notes)
	}
}

// T6: while the log is gone the last good snapshot answers, and says that it does.
func TestLastGoodSnapshotAnswers(t *testing.T) {
	v := newFakeVault(t)
	v.addNote("a.md", "text", 1)
	x := openIndex(t, v.dir, Options{Recheck: 1})
	first, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(v.path(shardZero), v.path(shardZero+".bak")); err != nil {
		t.Fatal(err)
	}
	behind, err := x.Snapshot(t.Context())
	if err != nil || behind.Behind == "" || len(behind.Notes.Items) != 1 || first.Behind != "" {
		t.Fatalf("while the log is gone: %v, behind %q", err, behind.Behind)
	}
	if err := os.Rename(v.path(shardZero+".bak"), v.path(shardZero)); err != nil {
		t.Fatal(err)
	}
	v.addNote("b.md", "text", 2)
	after, err := x.Snapshot(t.Context())
	if err != nil || after.Behind != "" || len(after.Notes.Items) != 2 {
		t.Errorf("after the log is back: %v, behind %q, %d items", err, after.Behind, len(after.Notes.Items))
	}
	if after.Status.Retries == 0 {
		t.Error("retries = 0, want those while the log was gone")
	}
	if _, err := openIndex(t, v.dir, Options{}).Snapshot(t.Context()); err != nil {
		t.Error(err)
	}
}

// P5: a load ends with its context; so do those who wait for it.
func TestCancellation(t *testing.T) {
	v := newFakeVault(t)
	v.addNote("a.md", "text", 1)
	x := openIndex(t, v.dir, Options{Recheck: 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if snap, err := x.Snapshot(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Snapshot with an ended context = %v, %v", snap, err)
	}
	x.turn <- struct{}{} // somebody loads
	waiting, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if snap, err := x.Snapshot(waiting); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Snapshot while another loads = %v, %v", snap, err)
	}
	<-x.turn
	snap, err := x.Snapshot(t.Context())
	if err != nil || len(snap.Notes.Items) != 1 {
		t.Fatalf("Snapshot after cancelled ones = %v", err)
	}
	x.turn <- struct{}{} // somebody reloads: the others do not wait
	if again, err := x.Snapshot(t.Context()); again != snap || err != nil {
		t.Errorf("Snapshot while another reloads = %p, %v, want %p", again, err, snap)
	}
	<-x.turn
}

// Calls that waited for a load that failed get its error instead of trying again
// one after the other; the next call tries again.
func TestFailedLoadIsShared(t *testing.T) {
	v := &fakeVault{t: t, dir: t.TempDir()}
	x := openIndex(t, v.dir, Options{})
	x.turn <- struct{}{} // somebody loads
	results := make(chan error)
	for range 4 {
		go func() {
			_, err := x.Snapshot(t.Context())
			results <- err
		}()
	}
	time.Sleep(50 * time.Millisecond)
	shared := errors.New("shared")
	x.failure = failure{shared, time.Now()}
	<-x.turn
	for range 4 {
		if err := <-results; err != shared {
			t.Errorf("error = %v, want that of the load waited for", err)
		}
	}
	var generation *GenerationError
	if _, err := x.Snapshot(t.Context()); !errors.As(err, &generation) {
		t.Errorf("the next call = %v, want its own error", err)
	}
}

// T3: references that are taken back while the vectors are read make the load start
// again, because a multifile may have been made anew in place of the old one.
func TestReferencesTakenBack(t *testing.T) {
	v := newFakeVault(t)
	text := "line"
	v.write("a.md", text)
	block := map[string]any{"#A": fakeBlock(1, 1, text, v.vectors(blockRows, 1))}
	v.log(v.record("a.md", text, v.vectors(noteRows, 1), block))
	for _, c := range []struct {
		name string
		line string
		kept bool
	}{
		{"the same again", v.record("a.md", text, 0, block), true},
		{"another note", v.record("b.md", text, 0, nil), true},
		{"note reference cleared", v.record("a.md", text, -1, block), false},
		{"block reference cleared", v.record("a.md", text, 0, map[string]any{"#A": fakeBlock(1, 1, text, -1)}), false},
		{"row renumbered", v.record("a.md", text, 3, block), false},
		{"note deleted", `"smart_sources:a.md": null,`, false},
	} {
		x := openIndex(t, v.dir, Options{})
		l := x.loader
		l.replay = replayed(t, v, nil)
		sc, err := scanNotes(t.Context(), l.fresh, maps.Clone(l.replay.records), func(string) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		files, err := list(t.Context(), l.in)
		if err != nil {
			t.Fatal(err)
		}
		v.log(c.line)
		a := &attempt{loader: l, files: files, scan: sc, snap: &Snapshot{Fingerprint: fakeModel.Fingerprint()}}
		var retry *retryError
		if err := a.verify(t.Context()); (err == nil) != c.kept || err != nil && !errors.As(err, &retry) {
			t.Errorf("%s: verify = %v, want kept %v", c.name, err, c.kept)
		}
		v.log(v.record("a.md", text, 0, block))
	}
}

// A 14: nothing below the vault is written, created or touched.
func TestNothingIsWritten(t *testing.T) {
	v := newFakeVault(t)
	v.addNote("a.md", "text", 1)
	before := stamps(t, v.dir)
	x := openIndex(t, v.dir, Options{Recheck: 1})
	for range 3 {
		if _, err := x.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		x.loader.rescanAt = time.Time{}
	}
	if after := stamps(t, v.dir); !maps.Equal(before, after) {
		t.Errorf("files before %v, after %v", before, after)
	}
}

func stamps(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			all[path] = info.Mode().String() + info.ModTime().String()
		}
		return err
	})
	if err != nil || len(all) < 5 {
		t.Fatal(len(all), err)
	}
	return all
}

// How long a look at the files serves.
func TestRecent(t *testing.T) {
	for _, c := range []struct {
		recheck, took, age time.Duration
		want               bool
	}{
		{0, 0, 1900 * time.Millisecond, true},
		{0, 0, 2100 * time.Millisecond, false},
		{0, time.Second, 19 * time.Second, true}, // thousands of files on a slow disk
		{0, time.Second, 21 * time.Second, false},
		{time.Second, time.Second, 2 * time.Second, false}, // as it was asked for
	} {
		x := openIndex(t, t.TempDir(), Options{Recheck: c.recheck})
		s := &state{checked: time.Now().Add(-c.age), files: &listing{took: c.took}}
		if got := x.recent(s); got != c.want {
			t.Errorf("recheck %v, looking takes %v, looked %v ago: recent = %v, want %v", c.recheck, c.took, c.age, got, c.want)
		}
	}
}
