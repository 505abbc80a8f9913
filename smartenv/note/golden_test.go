package note

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
)

// The goldens in testdata/golden/plugin were made by the plugin's own code.

type goldenNote struct {
	Name             string
	Path             string
	MD               string
	MinChars         int    `json:"min_chars"`
	MaxTokens        int    `json:"max_tokens"`
	ExcludedHeadings string `json:"excluded_headings"`
	NoteHash         string `json:"note_hash"`
	Blocks           []goldenBlock
	Selection        struct {
		MaxInputChars    int  `json:"max_input_chars"`
		RequiresReimport bool `json:"requires_reimport"`
	}
	Reimport  bool
	TaskLines []int `json:"task_lines"`
	Tasks     struct {
		Incomplete struct{ All, Top []int }
	}
	CodeRanges       [][2]int `json:"codeblock_ranges"`
	SourceEmbedInput string   `json:"source_embed_input"`
}

type goldenBlock struct {
	Key         string
	Lines       [2]int // null is 0
	Size        int
	Hash        string
	ShouldEmbed bool `json:"should_embed"`
	Breadcrumbs string
	EmbedInput  string `json:"embed_input"`
}

func TestGoldenHashes(t *testing.T) {
	var cases []struct{ Input, Hash string }
	readJSON(t, filepath.Join(projectRoot, "testdata/golden/plugin/murmur.json"), &cases)
	if len(cases) < 17 {
		t.Fatalf("%d cases, want at least 17", len(cases))
	}
	for _, c := range cases {
		if got := Hash(c.Input); got != c.Hash {
			t.Errorf("Hash(%q) = %q, want %q", c.Input, got, c.Hash)
		}
	}
}

func TestGoldenNotes(t *testing.T) {
	var notes []goldenNote
	readJSON(t, filepath.Join(projectRoot, "testdata/golden/plugin/notes.json"), &notes)
	if len(notes) != 31 {
		t.Fatalf("%d notes, want 31", len(notes))
	}
	for _, n := range notes {
		t.Run(n.Name, func(t *testing.T) { checkGolden(t, n) })
	}
}

func checkGolden(t *testing.T, n goldenNote) {
	rules := Rules{n.MinChars, n.MaxTokens, splitCSV(n.ExcludedHeadings)}
	got := Parse(n.Path, n.MD, rules)

	check := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s = %q, want %q", what, fmt.Sprint(got), fmt.Sprint(want))
		}
	}
	check("Hash", Hash(n.MD), n.NoteHash)
	check("Reimport", got.Reimport, n.Selection.RequiresReimport)
	check("Reimport", got.Reimport, n.Reimport)
	check("TaskLines", got.TaskLines, n.TaskLines)
	check("OpenTasks", got.OpenTasks, n.Tasks.Incomplete.All)
	check("TopTasks", got.TopTasks, n.Tasks.Incomplete.Top)
	check("CodeRanges", got.CodeRanges, n.CodeRanges)
	check("NoteInput", NoteInput(n.Path, n.MD, rules), n.SourceEmbedInput)
	check("MaxUnits", rules.MaxUnits(), n.Selection.MaxInputChars)

	var blocks []goldenBlock
	for _, b := range got.Blocks {
		text, ok := BlockText(n.MD, b.Start, b.End)
		if !ok {
			t.Errorf("BlockText(%q) does not find its lines", b.Key)
		}
		blocks = append(blocks, goldenBlock{
			b.Key, [2]int{b.Start, b.End}, b.Size, b.Hash, b.ShouldEmbed,
			breadcrumbs(n.Path, b.Key), BlockInput(n.Path, b.Key, text),
		})
	}
	if len(blocks) == 0 && len(n.Blocks) == 0 {
		return
	}
	if !reflect.DeepEqual(blocks, n.Blocks) {
		t.Errorf("Parse blocks = %+v\nwant %+v", blocks, n.Blocks)
	}
}
