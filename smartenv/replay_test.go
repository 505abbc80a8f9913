package smartenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// replayed reads the log of a fake vault, going on from r when that is not nil.
func replayed(t *testing.T, v *fakeVault, r *replay) *replay {
	t.Helper()
	files, err := list(t.Context(), v.index())
	if err != nil {
		t.Fatal(err)
	}
	r, err = r.update(t.Context(), v.index(), files.shards)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkSameAsFull checks that a replay that went on step by step is in the state
// of one that reads everything at once.
func checkSameAsFull(t *testing.T, v *fakeVault, r *replay, step string) {
	t.Helper()
	full := replayed(t, v, nil)
	if !reflect.DeepEqual(r.records, full.records) {
		t.Fatalf("%s: records = %v, want %v", step, r.records, full.records)
	}
	if !reflect.DeepEqual(r.counts, full.counts) {
		t.Fatalf("%s: counts = %+v, want %+v", step, r.counts, full.counts)
	}
	for i := range full.shards {
		got, want := r.shards[i], full.shards[i]
		if got.end != want.end || got.lines != want.lines || string(got.guard) != string(want.guard) {
			t.Fatalf("%s: shard %d ends at %d after %d lines, want %d, %d", step, i, got.end, got.lines, want.end, want.lines)
		}
	}
}

func simpleLine(path string, hash int) string {
	return fmt.Sprintf(`"smart_sources:%s": {"last_read":{"hash":"h%d"}},`, path, hash)
}

// T1: half a line has no effect, and costs nothing but itself.
func TestReplayGoesOn(t *testing.T) {
	v := newFakeVault(t)
	v.log(simpleLine("a.md", 1), simpleLine("b.md", 1))
	r := replayed(t, v, nil)
	before := r.records["a.md"]

	steps := []struct {
		name string
		text string // appended as it is
	}{
		{"record", "\n" + simpleLine("b.md", 2)},
		{"nothing", ""},
		{"line break only", "\n"},
		{"half a record", "\n" + `"smart_sources:c.md": {"last_re`},
		{"its other half", `ad":{"hash":"h3"}},`},
		{"a tombstone torn in two", "\n" + `"smart_sources:b.md": nu`},
		{"and whole", `ll,`},
		{"a good last line that grows into a bad one", " garbage"},
		{"blank lines and CR", "\r\n\r\n\n" + simpleLine("d.md", 4) + "\r"},
		{"bad lines", "\n{}\n[1]\nx\ny\nz\nw\nv\n" + simpleLine("e.md", 5)},
		{"a long tail", "\n" + strings.Repeat(simpleLine("f.md", 6)+"\n", 100)},
	}
	for _, step := range steps {
		v.append(shardZero, []byte(step.text))
		next := replayed(t, v, r)
		if next != r {
			t.Fatalf("%s: the log was read anew", step.name)
		}
		checkSameAsFull(t, v, r, step.name)
	}
	if r.records["a.md"] != before {
		t.Error("the record of a.md was decoded again, though its line did not change")
	}
	if r.counts.skipped != 8 || len(r.counts.examples) != maxExamples {
		t.Errorf("skipped = %d with %d examples, want 8 with %d", r.counts.skipped, len(r.counts.examples), maxExamples)
	}
}

// T1: random appends, cut at random places, end in the state of a full read.
func TestReplayGoesOnAtRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	lines := []string{simpleLine("a.md", 1), simpleLine("b.md", 2), simpleLine("a.md", 3), `"smart_sources:a.md": null,`,
		"", "bad", `"smart_blocks:x": {},`, simpleLine("b.md", 4), `"smart_sources:b.md": 0`}
	for range 20 {
		v := newFakeVault(t)
		var r *replay
		var pending string
		for step := range 15 {
			pending += "\n" + lines[rng.IntN(len(lines))]
			cut := rng.IntN(len(pending) + 1)
			v.append(shardZero, []byte(pending[:cut]))
			pending = pending[cut:]
			r = replayed(t, v, r)
			checkSameAsFull(t, v, r, fmt.Sprint("step ", step))
		}
	}
}

// T3, T4, A 18: only a log that grew is gone on with.
func TestReplayReadsAnewWhenItMust(t *testing.T) {
	const second = ".smart-env/smart_sources/smart_sources_1.ajson"
	for _, c := range []struct {
		name   string
		change func(v *fakeVault)
		goesOn bool
	}{
		{"the last shard grows", func(v *fakeVault) { v.append(second, []byte("\n"+simpleLine("c.md", 9))) }, true},
		{"a shard is added", func(v *fakeVault) { v.write(strings.Replace(second, "_1", "_10", 1), simpleLine("b.md", 9)) }, true},
		{"an earlier shard grows", func(v *fakeVault) { v.log(simpleLine("b.md", 9)) }, false},
		{"a shard comes in between", func(v *fakeVault) {
			v.write(strings.Replace(second, "_1", "_3", 1), "")
			os.Rename(v.path(second), v.path(strings.Replace(second, "_1", "_4", 1)))
		}, false},
		{"a shard vanishes", func(v *fakeVault) { os.Remove(v.path(second)) }, false},
		{"a shard is replaced", func(v *fakeVault) { v.replace(second, simpleLine("b.md", 8)+"\n"+simpleLine("c.md", 7)+"\n") }, false},
		{"a shard shrinks", func(v *fakeVault) { v.write(second, "") }, false},
	} {
		v := newFakeVault(t)
		v.log(simpleLine("a.md", 1), simpleLine("b.md", 1))
		v.write(second, simpleLine("b.md", 2))
		r := replayed(t, v, nil)
		c.change(v)
		next := replayed(t, v, r)
		if (next == r) != c.goesOn {
			t.Errorf("%s: went on = %v, want %v", c.name, next == r, c.goesOn)
		}
		checkSameAsFull(t, v, next, c.name)
	}
}

// T3: a log that was rewritten in place and is longer than before cannot be told from
// one that grew by its size; the bytes before the end tell.
func TestReplayNoticesRewriteInPlace(t *testing.T) {
	v := newFakeVault(t)
	v.log(simpleLine("a.md", 1), simpleLine("b.md", 1), "")
	r := replayed(t, v, nil)
	v.write(shardZero, strings.Repeat(simpleLine("c.md", 3)+"\n", 5))
	files, err := list(t.Context(), v.index())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.update(t.Context(), v.index(), files.shards); err == nil {
		t.Fatal("update went on, want a retryError")
	}
}

// countingReader counts the bytes that are read.
type countingReader struct {
	data []byte
	read int
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := strings.NewReader(string(c.data)).ReadAt(p, off)
	c.read += n
	return n, err
}

func TestOnlyTheTailIsRead(t *testing.T) {
	head := []byte(strings.Repeat(simpleLine("a.md", 1)+"\n", 10000))
	r, st := newReplay(), &shardState{}
	if err := r.readTail(t.Context(), st, bytes.NewReader(head), int64(len(head))); err != nil {
		t.Fatal(err)
	}
	tail := simpleLine("b.md", 2)
	file := &countingReader{data: append(head, tail...)}
	if err := r.readTail(t.Context(), st, file, int64(len(file.data))); err != nil || len(r.records) != 2 {
		t.Fatalf("readTail = %v, %d records, want 2", err, len(r.records))
	}
	if most := len(tail) + guardBytes; file.read > most {
		t.Errorf("readTail read %d bytes of %d, want at most %d", file.read, len(file.data), most)
	}
}

// askedContext counts how often it is asked whether it has ended, and ends at last.
type askedContext struct {
	context.Context
	asked, ends int
}

func (c *askedContext) Err() error {
	if c.asked++; c.asked > c.ends {
		return context.Canceled
	}
	return nil
}

// P5: a long log is replayed no further than the piece, some milliseconds, in which
// its call was cancelled.
func TestReplayStops(t *testing.T) {
	data := []byte(strings.Repeat(simpleLine("a.md", 1)+"\n", 12*pieceBytes/len(simpleLine("a.md", 1))))
	for _, ends := range []int{0, 1, 5} {
		ctx, file := &askedContext{t.Context(), 0, ends}, &countingReader{data: data}
		err := newReplay().readTail(ctx, &shardState{}, file, int64(len(data)))
		if most := ends * pieceBytes; !errors.Is(err, context.Canceled) || file.read > most {
			t.Errorf("readTail with a context that ends after %d looks = %v after %d bytes, want it cancelled after at most %d", ends, err, file.read, most)
		}
	}
}

// A 1, A 18: the files of an index are known by their exact names, and shards replay
// in the order of their numbers.
func TestShardNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"smart_sources.ajson", "smart_sources_2.ajson", "smart_sources_10.ajson", "smart_sources_1.ajson", "mf_abc09",
		// None of these is data:
		"smart_sources_0.ajson", "smart_sources_01.ajson", "smart_sources_x.ajson", "smart_sources-DESKTOP-AB12.ajson",
		"smart_sources (conflicted copy).ajson", "smart_sources.sync-conflict-20260101.ajson", "smart_sources.ajson.tmp",
		"smart_sources.ajson.bak", "mf_abc09.bak", "mf_abc09.tmp", "mf_ABC", "mf_", "smart_sources_99999999999999999999.ajson", ".DS_Store",
	} {
		path := filepath.Join(dir, indexFolder, sourcesCollection, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := list(t.Context(), folder{dir: filepath.Join(dir, indexFolder)})
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for _, sh := range files.shards {
		numbers = append(numbers, sh.number)
	}
	if want := []int{0, 1, 2, 10}; !reflect.DeepEqual(numbers, want) {
		t.Errorf("shards = %v, want %v", numbers, want)
	}
	if want := []string{"mf_abc09"}; !reflect.DeepEqual(files.multifiles[sourcesCollection], want) {
		t.Errorf("multifiles = %v, want %v", files.multifiles, want)
	}
	if len(files.ignored) != 14 {
		t.Errorf("ignored = %q, want 14 names", files.ignored)
	}
}

// T3, T4: what may happen to a file that is being read.
func TestUnmoved(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(v *fakeVault)
		want   bool
	}{
		{"nothing", func(v *fakeVault) {}, true},
		{"growth", func(v *fakeVault) { v.append("f", []byte("x")) }, true},
		{"shrinking", func(v *fakeVault) { v.write("f", "ab") }, false},
		{"rewriting in place", func(v *fakeVault) {
			v.write("f", "xyz")
			at := time.Now().Add(time.Second)
			if err := os.Chtimes(v.path("f"), at, at); err != nil {
				v.t.Fatal(err)
			}
		}, false},
		{"replacing", func(v *fakeVault) { v.replace("f", "abcdef") }, false},
	} {
		v := &fakeVault{t: t, dir: t.TempDir()}
		v.write("f", "abc")
		before, err := (folder{dir: v.dir}).stat("f")
		if err != nil {
			t.Fatal(err)
		}
		c.change(v)
		after, err := (folder{dir: v.dir}).stat("f")
		if err != nil {
			t.Fatal(err)
		}
		if got := unmoved("f", before, after) == nil; got != c.want {
			t.Errorf("%s: unmoved = %v, want %v", c.name, got, c.want)
		}
	}
}
