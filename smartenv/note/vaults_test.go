package note

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// indexedVaults are vaults that the plugin, or its own library, has indexed,
// with the number of notes and blocks of theirs that are still as indexed, and
// whether their records say which blocks are to be embedded (those of a vault
// carried over from an older plugin do not).
var indexedVaults = []struct {
	name          string
	notes, blocks int
	plan, inputs  bool // inputs: a dump of embed inputs lies beside the vault
}{
	{"control-pt-crlf", 7, 274, true, false},
	{"dataeng-en-tiny", 3, 152, true, false},
	{"datasci-es", 100, 2100, true, false},
	{"demo", 43, 371, true, false},
	{"edge-mini", 15, 31, true, true},
	{"edge-synth", 15, 31, true, true},
	{"ml-en-mit-packed-derived", 114, 7265, false, false},
	{"obsidian-help-minilm", 173, 5886, true, false},
	{"obsidian-help-synth", 173, 5886, true, true},
	{"spec-pt-emoji", 70, 680, true, false},
}

// record is the part of the plugin's note record that this package reproduces.
type record struct {
	LastRead struct{ Hash string } `json:"last_read"`
	Blocks   map[string]struct {
		Lines       [2]int // null is 0
		Size        int
		ShouldEmbed *bool                 `json:"should_embed"`
		LastRead    struct{ Hash string } `json:"last_read"`
	} `json:"blocks_data"`
	Selection *struct {
		MinChars         int  `json:"min_chars"`
		RequiresReimport bool `json:"requires_reimport"`
	} `json:"block_embedding_selection"`
}

// vaultDir returns a vault's folder: the copy in this repository where there is
// one, else the shared one.
func vaultDir(t *testing.T, name string) string {
	t.Helper()
	for _, own := range []string{"testdata/vaults/" + name, "testdata/" + name + "/vault"} {
		own = filepath.Join(projectRoot, own)
		if _, err := os.Stat(own); err == nil {
			return own
		}
	}
	return shared(t, "vaults/"+name)
}

// readLog replays the plugin's log, one `"smart_sources:path": value,` a line:
// the last one of a path wins, and null removes it.
func readLog(t *testing.T, vault string) map[string]record {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(vault, ".smart-env/smart_sources/smart_sources*.ajson"))
	if err != nil || len(files) != 1 {
		t.Fatalf("logs of %s: %v, %v; want one", vault, files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	live := map[string]record{}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		var entry map[string]*record
		line = bytes.TrimSuffix(bytes.TrimSpace(line), []byte(","))
		if err := json.Unmarshal([]byte("{"+string(line)+"}"), &entry); err != nil {
			t.Fatalf("%s: %v", files[0], err)
		}
		for key, r := range entry {
			path := strings.TrimPrefix(key, "smart_sources:")
			if r == nil {
				delete(live, path)
			} else {
				live[path] = *r
			}
		}
	}
	if len(live) == 0 {
		t.Fatalf("%s has no records", files[0])
	}
	return live
}

// TestIndexedVaults compares every block of every unchanged note with the
// plugin's record of it.
func TestIndexedVaults(t *testing.T) {
	for _, c := range indexedVaults {
		t.Run(c.name, func(t *testing.T) {
			dir := vaultDir(t, c.name)
			v := openVault(t, dir)
			notes, blocks := 0, 0
			for path, rec := range readLog(t, dir) {
				raw, err := v.Read(path)
				if errors.Is(err, fs.ErrNotExist) {
					continue
				} else if err != nil {
					t.Errorf("Read(%q): %v", path, err)
					continue
				}
				text, ok := Match(raw, rec.LastRead.Hash)
				if !ok || rec.Blocks == nil {
					continue
				}
				notes++
				blocks += compareBlocks(t, path, text, rec, c.plan)
			}
			if notes != c.notes || blocks != c.blocks {
				t.Errorf("%d notes and %d blocks unchanged, want %d and %d", notes, blocks, c.notes, c.blocks)
			}
		})
	}
}

func compareBlocks(t *testing.T, path, text string, rec record, plan bool) (compared int) {
	t.Helper()
	rules := Rules{MinChars: 200, MaxTokens: 512}
	if rec.Selection != nil {
		rules.MinChars = rec.Selection.MinChars
	}
	parsed := Parse(path, text, rules)
	if rec.Selection != nil && parsed.Reimport != rec.Selection.RequiresReimport {
		t.Errorf("Parse(%q).Reimport = %v, want %v", path, parsed.Reimport, rec.Selection.RequiresReimport)
	}
	if len(parsed.Blocks) != len(rec.Blocks) {
		t.Errorf("Parse(%q) has %d blocks, want %d", path, len(parsed.Blocks), len(rec.Blocks))
	}
	for _, got := range parsed.Blocks {
		r, ok := rec.Blocks[got.Key]
		if !ok {
			t.Errorf("Parse(%q) has a block %q too many", path, got.Key)
			continue
		}
		want := Block{got.Key, r.Lines[0], r.Lines[1], r.Size, r.LastRead.Hash, got.ShouldEmbed}
		if (r.ShouldEmbed != nil) != plan {
			t.Errorf("%q%s: should_embed is %v in the record", path, got.Key, r.ShouldEmbed)
		} else if plan {
			want.ShouldEmbed = *r.ShouldEmbed
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("Parse(%q): block %+v\nwant %+v", path, got, want)
		}
		compared++
	}
	return compared
}

// TestIndexedInputs compares the texts given to the embedding model with those
// that the plugin's library gave.
func TestIndexedInputs(t *testing.T) {
	for _, c := range indexedVaults {
		if !c.inputs {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			dir := vaultDir(t, c.name)
			v := openVault(t, dir)
			log := readLog(t, dir)
			for _, want := range readInputs(t, dir+".inputs.jsonl") {
				path, key, _ := strings.Cut(want.Key, "#")
				raw, err := v.Read(path)
				if err != nil {
					t.Fatal(err)
				}
				text, ok := Match(raw, log[path].LastRead.Hash)
				if !ok {
					t.Fatalf("%q is not as indexed", path)
				}
				got := NoteInput(path, text, Rules{MinChars: 200, MaxTokens: 512})
				if want.Collection == "smart_blocks" {
					lines := log[path].Blocks["#"+key].Lines
					block, _ := BlockText(text, lines[0], lines[1])
					got = BlockInput(path, "#"+key, block)
				}
				if got != want.Text {
					t.Errorf("input of %q = %q, want %q", want.Key, got, want.Text)
				}
			}
		})
	}
}

type embedInput struct {
	Key        string
	Collection string
	Text       string `json:"input_text_before_loop"`
}

func readInputs(t *testing.T, path string) []embedInput {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var inputs []embedInput
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var in embedInput
		if err := json.Unmarshal(lines.Bytes(), &in); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		inputs = append(inputs, in)
	}
	if lines.Err() != nil || len(inputs) == 0 {
		t.Fatalf("%s: %d inputs, %v", path, len(inputs), lines.Err())
	}
	return inputs
}

func openVault(t testing.TB, dir string) *Vault {
	t.Helper()
	v, err := OpenVault(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}
