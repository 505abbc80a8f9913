package measure

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf16"

	"smart-connections-mcp/bert"
	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
	"smart-connections-mcp/weights/builtin"
	"smart-connections-mcp/weights/embedder"
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

func TestIndexable(t *testing.T) {
	tests := []struct {
		paths  []string
		count  int
		want   []string
		remark bool
	}{
		{nil, 0, nil, false},
		{[]string{"a.md", "b.md"}, 2, []string{"a.md", "b.md"}, false},
		{[]string{"a.md", "b.md"}, 0, nil, false},
		{[]string{"a.md", "b.md"}, 1, nil, true},
		{[]string{"a.md", "b#c.md"}, 2, []string{"a.md"}, false},
		{[]string{"Untitled 1.md", "b#c.md"}, 1, nil, false},
	}
	for _, test := range tests {
		var r Report
		if got := r.indexable(test.paths, test.count); !slices.Equal(got, test.want) || len(r.Remarks) > 0 != test.remark {
			t.Errorf("indexable(%q, %d) = %q, remarks %q, want %q, a remark: %v", test.paths, test.count, got, r.Remarks, test.want, test.remark)
		}
	}
}

// An input is a text as the plugin's own code gave it to the model.
type input struct {
	Key        string
	Collection string
	Before     string `json:"input_text_before_loop"`
	After      string `json:"text_after_loop"`
}

func readInputs(t *testing.T, path string) []input {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var inputs []input
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var in input
		if err := json.Unmarshal(lines.Bytes(), &in); err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, in)
	}
	if len(inputs) == 0 || lines.Err() != nil {
		t.Fatalf("%s: %d inputs, %v", path, len(inputs), lines.Err())
	}
	return inputs
}

// marks is a text in UTF-16 units with those that some window holds.
type marks struct {
	text []uint16
	held []bool
}

// hold marks the units from at which are those of text, a half pair apart.
func (m *marks) hold(t *testing.T, key string, at int, text string) {
	t.Helper()
	units := utf16.Encode([]rune(strings.TrimSuffix(text, "\uFFFD")))
	if !slices.Equal(m.text[at:at+len(units)], units) {
		t.Fatalf("%s: the input is not in the note at %d", key, at)
	}
	for i := range units {
		m.held[at+i] = true
	}
}

func (m *marks) count() (n int) {
	for _, held := range m.held {
		if held {
			n++
		}
	}
	return n
}

// lineAt is where a line begins, from 1.
func (m *marks) lineAt(line int) int {
	at := 0
	for ; line > 1; line-- {
		at += slices.Index(m.text[at:], '\n') + 1
	}
	return at
}

// The plugin's own inputs, laid over the notes unit by unit, cover what the
// report says. They stand in for the model: an input that is rebuilt wrongly is
// not among them.
func TestCoverageGolden(t *testing.T) {
	tests := []struct {
		name, vault, inputs string
	}{
		{"edge-mini", "../../testdata/vaults/edge-mini", "../../testdata/vaults/edge-mini.inputs.jsonl"},
		{"edge-synth", "vaults/edge-synth", "vaults/edge-synth.inputs.jsonl"},
		{"obsidian-help-minilm", "vaults/obsidian-help-minilm", "vaults/obsidian-help-synth.inputs.jsonl"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if !strings.HasPrefix(test.vault, "..") {
				test.vault, test.inputs = shared(t, test.vault), shared(t, test.inputs)
			}
			inputs := readInputs(t, test.inputs)
			after := map[string]string{}
			for _, in := range inputs {
				after[in.Before] = in.After
			}
			s := subject(t, test.vault, Model{
				Fit: func(text string) string {
					short, ok := after[text]
					if !ok {
						t.Errorf("the input %.60q… is none of the plugin's", text)
					}
					return short
				},
				Embed: func(context.Context, string) ([]float32, error) { return nil, errors.New("not asked for") },
			})
			snap, err := s.Index.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var r Report
			m, _ := s.Load(t.Context(), snap.Model)
			if _, err := r.cover(t.Context(), s.Vault, snap, m, Options{Progress: func(string, int, int) {}}); err != nil {
				t.Fatal(err)
			}
			total, byNotes, byBoth := overlay(t, test.vault, snap, inputs)
			c := r.Coverage
			if c.Characters != total || c.NoteVectors.Characters != byNotes || c.WithBlocks.Characters != byBoth || c.WithBlocks.Vectors != len(inputs) {
				t.Errorf("coverage %d of %d by notes, %d with blocks, %d vectors; the plugin's inputs give %d of %d, %d, %d",
					c.NoteVectors.Characters, c.Characters, c.WithBlocks.Characters, c.WithBlocks.Vectors, byNotes, total, byBoth, len(inputs))
			}
		})
	}
}

// overlay counts the units of all notes with a record, and those that the inputs
// of their own and with their blocks' hold.
func overlay(t *testing.T, vault string, snap *smartenv.Snapshot, inputs []input) (total, byNotes, byBoth int) {
	t.Helper()
	lines := map[string]int{}
	for _, item := range snap.Blocks.Items {
		lines[item.Path+item.Key] = item.Start
	}
	notes, all := map[string]*marks{}, map[string]*marks{}
	for _, source := range snap.Sources {
		data, err := os.ReadFile(filepath.Join(vault, filepath.FromSlash(source.Path)))
		if err != nil {
			t.Fatal(err)
		}
		units := utf16.Encode([]rune(note.Body(source.Path, note.Decode(string(data)))))
		notes[source.Path] = &marks{units, make([]bool, len(units))}
		all[source.Path] = &marks{units, make([]bool, len(units))}
		total += len(units)
	}
	for _, in := range inputs {
		if in.Collection == "smart_sources" {
			_, text, _ := strings.Cut(in.After, ":\n")
			notes[in.Key].hold(t, in.Key, 0, text)
			all[in.Key].hold(t, in.Key, 0, text)
			continue
		}
		path, _, _ := strings.Cut(in.Key, "#")
		_, text, _ := strings.Cut(in.After, "\n")
		all[path].hold(t, in.Key, all[path].lineAt(lines[in.Key]), text)
	}
	for path := range notes {
		byNotes, byBoth = byNotes+notes[path].count(), byBoth+all[path].count()
	}
	return total, byNotes, byBoth
}

// The demo vault with its own model: the token loop is worked out here from the
// model's token counts.
func TestCoverageDemo(t *testing.T) {
	id := smartenv.Model{Provider: "transformers", Name: builtin.Name, Dims: 128, MaxTokens: 512}
	model, err := (&embedder.Shared{}).Model(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	dir := "../../testdata/demo/vault"
	r := run(t, subject(t, dir, Model{model.Fit, model.Embed}), Options{})
	snap, err := subject(t, dir, Model{}).Index.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var inputs []input
	for _, item := range snap.Notes.Items {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(item.Path)))
		if err != nil {
			t.Fatal(err)
		}
		trail := strings.TrimSuffix(strings.ReplaceAll(item.Path, "/", " > "), ".md")
		inputs = append(inputs, input{Key: item.Path, Collection: "smart_sources", After: loop(model, trail+":\n"+string(data), 512)})
	}
	total, byNotes, _ := overlay(t, dir, snap, inputs)
	if c := r.Coverage; c.Notes != len(snap.Sources) || c.Characters != total || c.NoteVectors.Characters != byNotes || c.WithBlocks.Characters < byNotes {
		t.Errorf("coverage of the demo = %+v, want %d of %d characters by notes", c, byNotes, total)
	}
}

// loop is the plugin's prepare_input after its cap in characters, in JavaScript's
// units.
func loop(m *bert.Model, text string, limit int) string {
	units := utf16.Encode([]rune(text))
	units = units[:min(len(units), limit*37/10)]
	text = string(utf16.Decode(units))
	for n := len(m.Tokens(text)); n > limit; n = len(m.Tokens(text)) {
		keep := int(float64(len(units)) * (float64(limit) / float64(n)) * 0.9)
		units = units[:keep]
		if space := slices.Index(reversed(units), ' '); space >= 0 && space < len(units)-1 {
			units = units[:len(units)-1-space]
		}
		text = string(utf16.Decode(units))
	}
	return text
}

func reversed(units []uint16) []uint16 {
	back := slices.Clone(units)
	slices.Reverse(back)
	return back
}
