package smartenv

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"smart-connections-mcp/simd"
)

// randomCollection has n unit rows, many of them equal.
func randomCollection(rng *rand.Rand, n int) *Collection {
	c := &Collection{Dims: 4, Items: make([]Item, n)}
	for range n {
		row := make([]float32, 4)
		row[rng.IntN(4)] = 1
		c.Vectors = append(c.Vectors, row...)
	}
	return c
}

// Nearest is sorting all scores, equal ones in the order of Items, and cutting.
func TestNearest(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n := rng.IntN(40)
		c := randomCollection(rng, n)
		q := []float32{rng.Float32(), rng.Float32(), 0.25, 0.25}
		keep := func(row int) bool { return row%3 != 0 }
		if rng.IntN(2) == 0 {
			keep = nil
		}
		var all []Hit
		for row, score := range c.Scores(nil, q) {
			if keep == nil || keep(row) {
				all = append(all, Hit{row, score})
			}
		}
		slices.SortStableFunc(all, func(a, b Hit) int { return -cmp.Compare(a.Score, b.Score) })
		for _, k := range []int{-1, 0, 1, 2, len(all) - 1, len(all), len(all) + 1, 1000} {
			want := all[:max(0, min(k, len(all)))]
			got := c.Nearest(q, k, keep)
			if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
				t.Fatalf("Nearest(%v, %d) of %d = %v, want %v", q, k, n, got, want)
			}
		}
	}
}

func TestScoresReusesItsResult(t *testing.T) {
	c := randomCollection(rand.New(rand.NewPCG(5, 6)), 10)
	q := []float32{1, 0, 0, 0}
	dst := make([]float32, 3, 16)
	got := c.Scores(dst, q)
	if len(got) != 10 || &got[0] != &dst[0] {
		t.Errorf("Scores has %d values in another place, want 10 in dst", len(got))
	}
	for i, score := range got {
		if want := c.Row(i)[0]; score != want {
			t.Errorf("Scores[%d] = %v, want %v", i, score, want)
		}
	}
}

// Closest is the best of all dot products, the first of equals, whatever the order of
// the rows and however many there are.
func TestClosest(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{0, 1, 255, 256, 257, 700} {
		for _, asked := range []int{1, 2, 5, 64} {
			c := randomCollection(rng, n)
			if asked > 1 { // rows lie anywhere, and one belongs to no item
				c.Vectors = append(c.Vectors, 9, 9, 9, 9)
				for _, place := range rng.Perm(n) {
					c.places = append(c.places, int32(place))
				}
			}
			qs := randomCollection(rng, asked).Vectors
			scores, which := c.Closest(qs)
			if len(scores) != n || len(which) != n {
				t.Fatalf("Closest of %d items has %d scores and %d numbers", n, len(scores), len(which))
			}
			for i := range n {
				best, at := float32(-1), int32(0)
				for j := range asked {
					if dot := simd.Dot(c.Row(i), qs[4*j:4*j+4]); dot > best {
						best, at = dot, int32(j)
					}
				}
				if scores[i] != best || which[i] != at {
					t.Fatalf("Closest(%d vectors)[%d of %d] = %v of %d, want %v of %d", asked, i, n, scores[i], which[i], best, at)
				}
			}
		}
	}
}

// Items are in the order of path, first line, key, whatever the order of the log.
func TestOrderOfItems(t *testing.T) {
	v := newFakeVault(t)
	row := v.vectors(blockRows, 1)
	for _, path := range []string{"b.md", "a.md", "B.md", "a/z.md"} {
		v.write(path, "x\ny\nz")
		v.log(v.record(path, "x\ny\nz", v.vectors(noteRows, 1), map[string]any{
			"#b": fakeBlock(2, 2, "y", row), "#a": fakeBlock(2, 3, "y\nz", row), "#z": fakeBlock(1, 1, "x", row),
		}))
	}
	snap := loadFake(t, v)
	var notes, blocks []string
	for _, item := range snap.Notes.Items {
		notes = append(notes, item.Path)
	}
	for i, item := range snap.Blocks.Items {
		blocks = append(blocks, item.Path+item.Key)
		src := snap.Sources[item.Source]
		if src.Path != item.Path || i < src.BlockRows[0] || i >= src.BlockRows[1] {
			t.Errorf("block row %d of %s: source %+v", i, item.Path, src)
		}
	}
	if want := []string{"B.md", "a.md", "a/z.md", "b.md"}; !slices.Equal(notes, want) {
		t.Errorf("notes = %q, want %q", notes, want)
	}
	if want := []string{"B.md#z", "B.md#a", "B.md#b", "a.md#z"}; !slices.Equal(blocks[:4], want) {
		t.Errorf("blocks = %q, want %q first", blocks, want)
	}
	if src, ok := snap.Source("nothing.md"); ok {
		t.Errorf("Source(nothing.md) = %+v, want none", src)
	}
}
