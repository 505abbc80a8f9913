package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
	"smart-connections-mcp/smartenv/verify"
)

// Coverage is how much of the vault's text lies in the window of some vector.
// The text is that of the notes on disk that the plugin could index; of a
// drawing it is the text elements.
type Coverage struct {
	TokenLoop   bool  `json:"token_loop"` // windows end where the plugin's token loop cuts; else at its cap in characters
	Notes       int   `json:"notes"`
	Characters  int   `json:"characters"` // UTF-16 units
	Blank       int   `json:"blank"`      // notes of nothing but white space, in none of the classes of Reach
	NoteVectors Reach `json:"note_vectors"`
	WithBlocks  Reach `json:"with_blocks"`

	NoRecord    Group `json:"no_record"`      // of the notes, those the index does not know
	NoVector    Group `json:"no_vector"`      // of the notes, those without any vector of their present text
	StaleNotes  int   `json:"stale_notes"`    // note vectors of an earlier text, left out
	StaleBlocks int   `json:"stale_blocks"`   // block vectors of an earlier text, left out
	Unreadable  int   `json:"unreadable"`     // notes left out
	Excluded    int   `json:"excluded"`       // notes left out, having a record but not to be indexed any more
	Most        []Gap `json:"most_uncovered"` // at most maxGaps, the worst first
}

// Reach is what one set of vectors covers. Every note that is not blank is of
// one of the classes, for which white space does not count.
type Reach struct {
	Vectors    int     `json:"vectors"`
	Characters int     `json:"characters"`
	Share      float64 `json:"share"`
	Whole      int     `json:"notes_whole"`          // notes all of whose text is in some window
	Gaps       int     `json:"notes_with_gaps"`      // notes with text between windows, but none after the last
	Tail       int     `json:"notes_with_tail"`      // notes with text after the last window
	None       int     `json:"notes_without_window"` // notes without any window
}

// Group is a number of notes with their text.
type Group struct {
	Notes      int `json:"notes"`
	Characters int `json:"characters"`
}

// Gap is a note with text in no window.
type Gap struct {
	Path       string `json:"path"`
	Characters int    `json:"characters"`
	Uncovered  int    `json:"uncovered"`
}

// maxGaps bounds the notes that are named.
const maxGaps = 10

// cover fills in Coverage and returns the notes it was taken from.
func (r *Report) cover(ctx context.Context, v *note.Vault, snap *smartenv.Snapshot, m Model, o Options) ([]page, error) {
	pages, err := r.list(v, snap)
	if err != nil {
		return nil, err
	}
	c := cutter{rules: verify.Rules(snap), fit: m.Fit}
	err = each(ctx, o, "coverage", len(pages), func(_ context.Context, i int) error {
		pages[i].measure(v, snap, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if r.Coverage.TokenLoop = m.Fit != nil; !r.Coverage.TokenLoop {
		r.remark("token loop not applied, for want of a model: windows are taken to end at the plugin's cap in characters, which is an estimate")
	}
	assumed := 0
	for i := range pages {
		r.Coverage.add(&pages[i])
		assumed += pages[i].assumed
	}
	if assumed > 0 {
		r.remark("the hashes of an older plugin cannot be compared, so vectors with one are taken to be of the text as it is: %d", assumed)
	}
	if r.Coverage.Notes == 0 {
		return nil, errors.New("no note of the vault can be read: check --vault and the permissions of its files")
	}
	r.Coverage.finish(pages)
	return pages, nil
}

func (r *Report) remark(format string, args ...any) {
	r.Remarks = append(r.Remarks, fmt.Sprintf(format, args...))
}

// list returns the notes that the plugin could index, sorted by path.
func (r *Report) list(v *note.Vault, snap *smartenv.Snapshot) ([]page, error) {
	listed, unlisted, err := v.List()
	if err != nil {
		return nil, fmt.Errorf("listing the vault's notes: %w", err)
	}
	if unlisted > 0 {
		r.remark("%d folders or files of the vault could not be listed: check permissions and names", unlisted)
	}
	var pages []page
	for i := range snap.Sources {
		source := &snap.Sources[i]
		switch source.State {
		case smartenv.Excluded:
			r.Coverage.Excluded++
		case smartenv.Missing:
		default:
			pages = append(pages, page{path: source.Path, source: source})
		}
	}
	excluded := snap.Settings.Excludes()
	for _, path := range listed {
		if _, recorded := snap.Source(path); !recorded && !excluded(path) {
			pages = append(pages, page{path: path})
		}
	}
	slices.SortFunc(pages, func(a, b page) int { return strings.Compare(a.path, b.path) })
	return pages, nil
}

// add counts one note.
func (c *Coverage) add(p *page) {
	if p.err != nil {
		c.Unreadable++
		return
	}
	c.Notes++
	c.Characters += p.units
	if p.staleNote {
		c.StaleNotes++
	}
	c.StaleBlocks += p.staleBlocks
	if p.source == nil {
		c.NoRecord.add(p)
	}
	if !p.noteVector && p.blockVectors == 0 {
		c.NoVector.add(p)
	}
	if p.noteVector {
		c.NoteVectors.Vectors++
		c.WithBlocks.Vectors++
	}
	c.WithBlocks.Vectors += p.blockVectors
	if p.blank {
		c.Blank++
	}
	c.NoteVectors.add(p.byNote, p.blank)
	c.WithBlocks.add(p.byBoth, p.blank)
}

func (g *Group) add(p *page) {
	g.Notes++
	g.Characters += p.units
}

func (r *Reach) add(e extent, blank bool) {
	r.Characters += e.units
	if blank {
		return
	}
	switch e.kind {
	case whole:
		r.Whole++
	case gaps:
		r.Gaps++
	case tail:
		r.Tail++
	case none:
		r.None++
	}
}

// finish computes the shares and names the notes that are covered least.
func (c *Coverage) finish(pages []page) {
	if c.Characters > 0 {
		c.NoteVectors.Share = float64(c.NoteVectors.Characters) / float64(c.Characters)
		c.WithBlocks.Share = float64(c.WithBlocks.Characters) / float64(c.Characters)
	}
	c.Most = []Gap{}
	for i := range pages {
		p := &pages[i]
		if p.err == nil && p.byBoth.kind != whole {
			c.Most = append(c.Most, Gap{p.path, p.units, p.units - p.byBoth.units})
		}
	}
	slices.SortStableFunc(c.Most, func(a, b Gap) int { return cmp.Compare(b.Uncovered, a.Uncovered) })
	c.Most = c.Most[:min(len(c.Most), maxGaps)]
}
