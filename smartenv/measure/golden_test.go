package measure

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"smart-connections-mcp/bert"
	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
	"smart-connections-mcp/weights/builtin"
	"smart-connections-mcp/weights/embedder"
)

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
