package smartenv

import (
	"slices"
	"strings"
	"time"

	"smart-connections-mcp/simd"
)

// A Snapshot is the index as it stood on disk at one moment, ready for ranking.
// It is immutable: it may be shared by any number of goroutines, and nothing in
// it may be changed.
type Snapshot struct {
	Generation  string // "packed" (plugin 4.7 and later) or "inline" (2.1 to 4.5, .smart-env/multi)
	Model       Model  // the model whose vectors are ranked
	Fingerprint string // its fingerprint, which is also its multifiles' name
	Configured  Model  // the model the plugin is set to; usually the same
	Refusal     error  // why no vector can be ranked, with the way out; Notes and Blocks are empty then
	Behind      string // why this is not the newest state; "" when it is

	// Notes and Blocks hold the vectors that can be ranked, of notes that exist
	// (or cannot be read just now) and are not excluded.
	Notes, Blocks Collection

	Sources  []Source // every live note record, sorted by path
	Settings Settings
	Status   Status
	Warnings []string // plain sentences, each with what to do
	LoadedAt time.Time
}

// Source returns the note with exactly this path.
func (s *Snapshot) Source(path string) (*Source, bool) {
	i, ok := slices.BinarySearchFunc(s.Sources, path, func(src Source, path string) int {
		return strings.Compare(src.Path, path)
	})
	if !ok {
		return nil, false
	}
	return &s.Sources[i], true
}

// A Source is a note the index has a record of.
type Source struct {
	Path   string
	State  State
	Hash   string // of the text the plugin saw last (last_read.hash)
	Row    int    // in Snapshot.Notes; -1 when the note has no vector there
	Reason Reason // why Row is -1; "" otherwise

	// BlockRows is the range [first, end) of the note's rows in Snapshot.Blocks.
	BlockRows [2]int

	Size    int64     // bytes on disk when loaded; 0 when missing or unreadable
	ModTime time.Time // on disk when loaded
}

// A State says what became of a note since the plugin embedded it.
type State int

const (
	Fresh      State = iota // the text is the one that was embedded, up to line ends and BOM
	Stale                   // the text has changed
	Unknown                 // the hash is of a kind that cannot be compared
	Unreadable              // the file exists but cannot be read; its vectors are kept
	Missing                 // there is no such file
	Excluded                // left out by the settings, or not to be reached below the vault
)

func (s State) String() string {
	return [...]string{"fresh", "stale", "unknown", "unreadable", "missing", "excluded"}[s]
}

// An Item is what one row of a collection belongs to.
type Item struct {
	Path       string
	Key        string // "" for a note, else the block's key below it: "#A#B"
	Start, End int    // a block's lines, 1-based and inclusive; End 0 = no range
	Hash       string // of the embedded text
	Stale      bool   // the text has changed since
	Source     int    // the note's index in Snapshot.Sources
}

// Comparable says whether Hash can be compared with a text. Hashes that plugin
// versions before May 2025 stored cannot, and some of their records have none.
func (i Item) Comparable() bool { return i.Hash != "" && !isLegacyHash(i.Hash) }

// A Collection holds the rankable vectors of notes or of blocks.
type Collection struct {
	Dims    int
	Items   []Item    // sorted by path, then first line, then key
	Vectors []float32 // [rows×Dims] unit rows, contiguous; Row tells which is an item's

	places []int32 // of each item's row in Vectors; nil: the rows are in the order of Items
}

// Row returns the unit vector of item i, Dims values. It must not be changed.
func (c *Collection) Row(i int) []float32 {
	if c.places != nil {
		i = int(c.places[i])
	}
	return c.Vectors[i*c.Dims : (i+1)*c.Dims : (i+1)*c.Dims]
}

// Scores returns the dot product of q with every item's row, which is the cosine
// when q is a unit vector. q must have Dims values. The result is dst when that is
// large enough.
func (c *Collection) Scores(dst, q []float32) []float32 {
	if len(c.Items) == 0 {
		return dst[:0]
	}
	n, rows := len(c.Items), len(c.Vectors)/len(q)
	if c.places == nil {
		dst = slices.Grow(dst[:0], rows)[:rows]
		simd.DotRows(dst, q, c.Vectors)
		return dst
	}
	dst = slices.Grow(dst[:0], n+rows)[:n+rows]
	simd.DotRows(dst[n:], q, c.Vectors)
	for i, place := range c.places {
		dst[i] = dst[n+int(place)]
	}
	return dst[:n]
}

// scanned is how many rows Closest scores at a time: what it makes of them stays in
// the processor's cache.
const scanned = 256

// Closest tells for every item which of the vectors in qs [n×Dims] is nearest to it,
// the first of equals, with the dot product. n must not be 0. All rows are read once,
// however many vectors there are.
func (c *Collection) Closest(qs []float32) (scores []float32, which []int32) {
	if len(c.Items) == 0 {
		return nil, nil
	}
	rows, n := len(c.Vectors)/c.Dims, len(qs)/c.Dims
	var b simd.Matrix
	b.Resize(c.Dims, n)
	b.SetColumns(0, qs, n, c.Dims)
	scores, which = make([]float32, rows), make([]int32, rows)
	y := make([]float32, scanned*n) // [scanned×n]
	for first := 0; first < rows; first += scanned {
		count := min(scanned, rows-first)
		b.Mul(y, n, c.Vectors[first*c.Dims:], c.Dims, count, nil)
		for i := range count {
			row, best := y[i*n:(i+1)*n], 0
			for j, score := range row {
				if score > row[best] {
					best = j
				}
			}
			scores[first+i], which[first+i] = row[best], int32(best)
		}
	}
	if c.places == nil {
		return scores, which
	}
	placedScores, placedWhich := make([]float32, len(c.Items)), make([]int32, len(c.Items))
	for i, place := range c.places {
		placedScores[i], placedWhich[i] = scores[place], which[place]
	}
	return placedScores, placedWhich
}

// A Hit is a row with its score.
type Hit struct {
	Row   int
	Score float32
}

// Nearest returns the k best rows for q among those that keep accepts (all, when
// keep is nil): best score first, equal scores in the order of Items. The order
// is total, so the same index gives the same answer.
func (c *Collection) Nearest(q []float32, k int, keep func(row int) bool) []Hit {
	if k <= 0 || len(c.Items) == 0 {
		return nil
	}
	scores := c.Scores(nil, q)
	best := make([]Hit, 0, min(k, len(scores))) // a heap, the worst hit on top
	for row, score := range scores {
		hit := Hit{Row: row, Score: score}
		full := len(best) == k
		if full && !better(hit, best[0]) || keep != nil && !keep(row) {
			continue
		}
		if full {
			best[0] = hit
			sink(best)
			continue
		}
		best = append(best, hit)
		rise(best)
	}
	slices.SortFunc(best, func(a, b Hit) int {
		if better(a, b) {
			return -1
		}
		return 1
	})
	return best
}

// better says whether a comes before b.
func better(a, b Hit) bool {
	return a.Score > b.Score || a.Score == b.Score && a.Row < b.Row
}

// rise restores the heap after its last hit was added.
func rise(heap []Hit) {
	for i := len(heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !better(heap[parent], heap[i]) {
			return
		}
		heap[parent], heap[i] = heap[i], heap[parent]
		i = parent
	}
}

// sink restores the heap after its top was replaced.
func sink(heap []Hit) {
	for i := 0; ; {
		worst := i
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < len(heap) && better(heap[worst], heap[child]) {
				worst = child
			}
		}
		if worst == i {
			return
		}
		heap[i], heap[worst] = heap[worst], heap[i]
		i = worst
	}
}
