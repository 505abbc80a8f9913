package verify

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv"
)

func TestProbe(t *testing.T) {
	dir, v, s := edgeMini(t)
	known := memory(t, v, s)
	ctx := context.Background()
	var asked []string
	noted := func(embed EmbedFunc) EmbedFunc {
		return func(ctx context.Context, text string) ([]float32, error) {
			asked = append(asked, text)
			return embed(ctx, text)
		}
	}
	a, err := Probe(ctx, v, s, noted(recall(known)))
	if err != nil || a.Compared != 3 || a.Cosine < 0.999999 {
		t.Fatalf("Probe = %+v, %v, want 3 items that agree", a, err)
	}
	first := slices.Clone(asked)
	blocks := map[string]bool{}
	for _, item := range s.Blocks.Items {
		text, _, _ := Input(v, item, Rules(s))
		blocks[text] = true
	}
	for _, text := range first {
		if !blocks[text] {
			t.Errorf("Probe embedded %.60q, want blocks first", text)
		}
	}
	asked = nil
	if Probe(ctx, v, s, noted(recall(known))); !slices.Equal(asked, first) {
		t.Errorf("Probe embedded %.60q, then %.60q, want the same", first, asked)
	}

	// One bad vector of three is not the embedder's fault; two are.
	turned := func(n int) EmbedFunc {
		return func(_ context.Context, text string) ([]float32, error) {
			vec := slices.Clone(known[text])
			if i := slices.Index(first, text); i < n {
				for j := range vec {
					vec[j] = -vec[j]
				}
			}
			return vec, nil
		}
	}
	for n, want := range map[int]float64{0: 1, 1: 1, 2: -1, 3: -1} {
		if a, err := Probe(ctx, v, s, turned(n)); err != nil || math.Abs(a.Cosine-want) > 1e-5 {
			t.Errorf("Probe with %d vectors turned round = %+v, %v, want %v", n, a, err, want)
		}
	}

	failed := errors.New("no embedder")
	if _, err := Probe(ctx, v, s, func(context.Context, string) ([]float32, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Errorf("Probe = %v, want the embedder's error", err)
	}
	if _, err := Probe(ctx, v, s, func(context.Context, string) ([]float32, error) { return make([]float32, 5), nil }); err == nil || !strings.Contains(err.Error(), "5 dimensions") {
		t.Errorf("Probe with 5 dimensions = %v", err)
	}

	// Texts that changed since are not compared, whatever the snapshot says.
	for _, item := range s.Blocks.Items {
		os.WriteFile(filepath.Join(dir, filepath.FromSlash(item.Path)), []byte("changed"), 0o644)
	}
	asked = nil
	a, err = Probe(ctx, v, s, noted(recall(known)))
	if err != nil || a.Compared == 0 || a.Cosine < 0.999999 {
		t.Errorf("Probe without fresh blocks = %+v, %v, want notes compared", a, err)
	}
	for _, text := range asked {
		if blocks[text] {
			t.Errorf("Probe embedded %.60q, which changed", text)
		}
	}
	for _, item := range s.Notes.Items {
		os.WriteFile(filepath.Join(dir, filepath.FromSlash(item.Path)), []byte("changed"), 0o644)
	}
	if a, err := Probe(ctx, v, s, recall(known)); err != nil || a != (Agreement{}) {
		t.Errorf("Probe without fresh notes = %+v, %v, want nothing compared", a, err)
	}
}

// Items whose hash cannot be compared, or that are known to be stale, are left
// alone.
func TestProbeLeavesOut(t *testing.T) {
	_, v, s := edgeMini(t)
	known := memory(t, v, s)
	for name, edit := range map[string]func(*smartenv.Item){
		"stale":            func(i *smartenv.Item) { i.Stale = true },
		"SHA-256":          func(i *smartenv.Item) { i.Hash = strings.Repeat("ab", 32) },
		"no hash":          func(i *smartenv.Item) { i.Hash = "" },
		"hash of another":  func(i *smartenv.Item) { i.Hash = "1" },
		"note that is not": func(i *smartenv.Item) { i.Path = "not there.md" },
	} {
		other := *s
		other.Notes.Items, other.Blocks.Items = slices.Clone(s.Notes.Items), slices.Clone(s.Blocks.Items)
		for _, items := range [][]smartenv.Item{other.Notes.Items, other.Blocks.Items} {
			for i := range items {
				edit(&items[i])
			}
		}
		if a, err := Probe(context.Background(), v, &other, recall(known)); err != nil || a != (Agreement{}) {
			t.Errorf("%s: Probe = %+v, %v, want nothing compared", name, a, err)
		}
	}
}
