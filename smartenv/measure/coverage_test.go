package measure

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"smart-connections-mcp/smartenv"
)

var some = axis(1)

// covered are notes whose coverage can be worked out by hand, under the cap of
// 236 units.
func covered() []fakeNote {
	return []fakeNote{
		// 7 + 400 + 1 + 1 + 10 = 419 units. Note: "long:\n" is 6, so [0,230). Block:
		// "long > Long\n" is 12, so 224 of line 2, which begins at 7: [7,231).
		{path: "long.md", text: "# Long\n" + strings.Repeat("abcde fgh ", 40) + "\n\ntail words", vector: some,
			blocks: []fakeBlock{{"#Long#{1}", 2, 2, some}}},
		// 300 units; "emoji:\n" is 7, so 229 fit: 114 pairs, and no half one.
		{path: "emoji.md", text: strings.Repeat("😀", 150), vector: some},
		// 10 units in the form that was indexed, all covered.
		{path: "crlf.md", text: "one\r\ntwo\r\n", now: "one\ntwo\n", vector: some},
		// 16 units; the blocks cover "alpha" and "gamma".
		{path: "gaps.md", text: "alpha\nbeta\ngamma", blocks: []fakeBlock{{"##{1}", 1, 1, some}, {"##{3}", 3, 3, some}}},
		// 14 units; of the vectors only that of "keep this" is of the present text.
		{path: "stale.md", text: "keep this\nold\n", now: "keep this\nnew\n", vector: some,
			blocks: []fakeBlock{{"##{1}", 1, 1, some}, {"##{2}", 2, 2, some}}},
		// 23 units in the form of which the block's 19 are unchanged.
		{path: "stale crlf.md", text: "keep one\r\nkeep two\r\nold", now: "keep one\nkeep two\nnew", blocks: []fakeBlock{{"#", 1, 2, some}}},
		// 17 units, of which the 3 line breaks of empty lines are in no window.
		{path: "skip.md", text: "# Skip\n\nfoo\n\n\nbar", vector: some},
		// 16 units: the text elements.
		{path: "d.excalidraw.md", text: "# Text Elements\nHello box ^a1\nSecond ^b2\n# Drawing\nN4Kg", vector: some},
		{path: "nothing.md", text: "nothing here"},              // 12 units
		{path: "blank.md", text: " \n"},                         // 2 units
		{path: "new.md", text: "unknown", noRecord: true},       // 7 units
		{path: "z.md", text: "recorded"[:7]},                    // 7 units
		{path: "sub/a#b.md", text: "never", noRecord: true},     // the plugin indexes no such path
		{path: "Untitled.md", text: "never", noRecord: true},    // nor this one, by the default settings
		{path: "gone.md", text: "gone", now: "-", vector: some}, // not on disk
		{path: "Untitled 2.md", text: "excluded", vector: some}, // by the default settings
	}
}

func TestCoverage(t *testing.T) {
	// 419 + 300 + 10 + 16 + 14 + 23 + 17 + 16 + 12 + 2 + 7 + 7
	const characters = 843
	want := Coverage{
		Notes: 12, Characters: characters, Blank: 1,
		// 230 + 228 + 10 + 14 + 16; tails: long, emoji; whole: crlf, skip, drawing.
		NoteVectors: Reach{Vectors: 5, Characters: 498, Share: 498.0 / characters, Whole: 3, Tail: 2, None: 6},
		// 231 + 228 + 10 + 10 + 9 + 19 + 14 + 16; the stale ones have a tail now, gaps.md gaps.
		WithBlocks:  Reach{Vectors: 10, Characters: 537, Share: 537.0 / characters, Whole: 3, Gaps: 1, Tail: 4, None: 3},
		NoRecord:    Group{1, 7},
		NoVector:    Group{4, 28},
		StaleNotes:  1,
		StaleBlocks: 1,
		Excluded:    1,
		Most: []Gap{
			{"long.md", 419, 188}, {"emoji.md", 300, 72}, {"nothing.md", 12, 12}, {"new.md", 7, 7}, {"z.md", 7, 7}, {"gaps.md", 16, 6}, {"stale.md", 14, 5}, {"stale crlf.md", 23, 4},
		},
	}
	r := run(t, subject(t, fakeVault(t, "Skip", covered()...), Model{}), Options{})
	if !reflect.DeepEqual(r.Coverage, want) {
		t.Errorf("Coverage =\n%+v, want\n%+v", r.Coverage, want)
	}
	if len(r.Remarks) != 1 || !strings.Contains(r.Remarks[0], "token loop not applied") || r.NoModel != "no weights here" || r.Recall.NotMeasured == "" {
		t.Errorf("remarks %q, no model %q, recall %+v, want them to say that there is no model", r.Remarks, r.NoModel, r.Recall)
	}
}

// With a model windows end where its tokens do: here after 20 characters, of
// the breadcrumbs and the text.
func TestCoverageTokenLoop(t *testing.T) {
	fit := func(text string) string { return text[:min(len(text), 20)] }
	embed := func(context.Context, string) ([]float32, error) { return some, nil }
	r := run(t, subject(t, fakeVault(t, "", covered()[0]), Model{fit, embed}), Options{})
	// Note: 20 - 6. Block: 20 - 12 from 7, so [7,15).
	if c := r.Coverage; !c.TokenLoop || c.NoteVectors.Characters != 14 || c.WithBlocks.Characters != 15 || len(r.Remarks) != 0 {
		t.Errorf("coverage %+v, remarks %q, want 14 and 15 characters with the token loop", c, r.Remarks)
	}
	fit = func(string) string { return "" }
	r = run(t, subject(t, fakeVault(t, "", covered()[0]), Model{fit, embed}), Options{})
	if c := r.Coverage; c.NoteVectors.Characters != 0 || c.WithBlocks.Characters != 0 || c.WithBlocks.None != 1 {
		t.Errorf("coverage of inputs cut within their breadcrumbs = %+v, want none", c)
	}
}

// A hash of an old plugin version cannot be compared: the text is taken to be the
// one that was embedded, which the report says.
func TestCoverageAssumed(t *testing.T) {
	old := fakeNote{path: "old.md", text: "as it was", vector: some, hash: strings.Repeat("0a", 32)}
	r := run(t, subject(t, fakeVault(t, "", old), Model{}), Options{})
	if c := r.Coverage; c.NoteVectors.Characters != 9 || c.StaleNotes != 0 || !slices.ContainsFunc(r.Remarks, func(s string) bool { return strings.HasSuffix(s, "as it is: 1") }) {
		t.Errorf("coverage %+v, remarks %q, want 9 characters and a remark", c, r.Remarks)
	}
}

// Only the worst notes are named.
func TestMostUncovered(t *testing.T) {
	pages := make([]page, maxGaps+3)
	for i := range pages {
		pages[i] = page{units: i, byBoth: extent{kind: none}}
	}
	var c Coverage
	if c.finish(pages); len(c.Most) != maxGaps || c.Most[0].Uncovered != maxGaps+2 {
		t.Errorf("finish names %v, want the worst %d", c.Most, maxGaps)
	}
}

// A note that cannot be read is counted and costs nothing else.
func TestCoverageUnreadable(t *testing.T) {
	dir := fakeVault(t, "", covered()[:2]...)
	s := subject(t, dir, Model{})
	if _, err := s.Index.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "emoji.md")); err != nil {
		t.Fatal(err)
	}
	if c := run(t, s, Options{}).Coverage; c.Unreadable != 1 || c.Notes != 1 || c.Characters != 419 {
		t.Errorf("coverage after a note is gone = %+v, want 1 unreadable and 419 characters", c)
	}
}

func TestRunNothing(t *testing.T) {
	dir := fakeVault(t, "", fakeNote{path: "a.md", text: "no vector"})
	if _, err := Run(t.Context(), subject(t, dir, Model{}), Options{}); !errors.Is(err, errNoVectors) {
		t.Errorf("Run without vectors = %v, want %v", err, errNoVectors)
	}
	s := subject(t, fakeVault(t, "", covered()...), Model{})
	s.Index = smartenv.Open(s.Vault, smartenv.Options{Model: "another"})
	if _, err := Run(t.Context(), s, Options{}); err == nil || !strings.Contains(err.Error(), "another") {
		t.Errorf("Run of a refused index = %v, want the refusal", err)
	}
	gone := fakeVault(t, "", covered()[0])
	s = subject(t, gone, Model{})
	if _, err := s.Index.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(gone, "long.md"))
	if _, err := Run(t.Context(), s, Options{}); err == nil || !strings.Contains(err.Error(), "no note of the vault can be read") {
		t.Errorf("Run without notes = %v, want that none can be read", err)
	}
}

// Whatever it is doing, a run ends with its context.
func TestRunCancelled(t *testing.T) {
	deep := fakeNote{path: "deep.md", text: strings.Repeat("many words of prose and nothing else ", 100), vector: some}
	for _, stage := range []string{"coverage", "recall", "timings"} {
		ctx, cancel := context.WithCancel(t.Context())
		s := subject(t, fakeVault(t, "", deep), Model{
			Fit:   func(text string) string { return text[:min(len(text), 99)] },
			Embed: func(ctx context.Context, _ string) ([]float32, error) { return some, ctx.Err() },
		})
		seen := false
		_, err := Run(ctx, s, Options{Progress: func(at string, _, _ int) {
			if at == stage {
				seen = true
				cancel()
			}
		}})
		if !seen || !errors.Is(err, context.Canceled) {
			t.Errorf("Run cancelled at %s (reached: %v) = %v, want context.Canceled", stage, seen, err)
		}
		cancel()
	}
}

// A panic reaches whoever asked, in the work or in the report of it, which one
// goroutine makes while others wait to.
func TestEachPanic(t *testing.T) {
	for _, want := range []string{"in the work", "in the report"} {
		var done atomic.Int64
		panicIn := func(where string) {
			for where == want {
				if done.Load() >= int64(min(2, runtime.GOMAXPROCS(0))) {
					panic(where)
				}
				runtime.Gosched()
			}
		}
		func() {
			defer func() {
				if p := recover(); p != want {
					t.Errorf("recovered %v, want the panic %s", p, want)
				}
			}()
			err := each(t.Context(), Options{Progress: func(string, int, int) { panicIn("in the report") }}, "", 1000, func(context.Context, int) error {
				done.Add(1)
				panicIn("in the work")
				return nil
			})
			t.Errorf("each = %v after a panic %s", err, want)
		}()
	}
}

// No work is begun once the context has ended or a piece of it has failed.
func TestEach(t *testing.T) {
	failed := errors.New("failed")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, fail := range []func() error{func() error { return failed }, func() error { cancel(); return nil }} {
		var begun atomic.Int64
		err := each(ctx, Options{Progress: func(string, int, int) {}}, "", 10000, func(context.Context, int) error {
			begun.Add(1)
			return fail()
		})
		if n := begun.Load(); n > int64(2*runtime.GOMAXPROCS(0)) || !errors.Is(err, failed) && !errors.Is(err, context.Canceled) {
			t.Errorf("each did %d of 10000 after the first failed, and returned %v", n, err)
		}
	}
}
