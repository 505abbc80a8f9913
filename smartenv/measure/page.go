package measure

import (
	"strings"
	"unicode"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
)

// A page is one note on disk with what its vectors cover.
type page struct {
	path   string
	source *smartenv.Source // nil: the index has no record of it

	err          error // of reading it; nothing else is known then
	units        int   // length in UTF-16 units
	blank        bool  // it holds nothing but white space
	noteVector   bool  // it has one, of the text as it is
	blockVectors int
	staleNote    bool // its vector is of an earlier text
	staleBlocks  int
	assumed      int    // vectors whose text cannot be compared with the note's
	byNote       extent // covered by the note's vector
	byBoth       extent // covered by that or the blocks'
	quote        string // from beyond the note vector's window; "" when there is none
}

// An extent is how much of a text some windows cover.
type extent struct {
	units int
	kind  kind
}

// kind says where the text is that no window holds. White space does not count.
type kind int

const (
	whole kind = iota // there is none
	gaps              // between windows
	tail              // after the last window
	none              // everywhere
)

// measure reads the note and finds its vectors' windows in it.
func (p *page) measure(v *note.Vault, snap *smartenv.Snapshot, c cutter) {
	raw, err := v.Read(p.path)
	if err != nil {
		p.err = err
		return
	}
	var items []smartenv.Item
	if p.source != nil {
		items = snap.Blocks.Items[p.source.BlockRows[0]:p.source.BlockRows[1]]
	}
	text, same := p.present(raw, items)
	body := note.Body(p.path, text)
	p.units, p.blank = note.Len16(body), !strings.ContainsFunc(body, visible)

	var byNote, byBlock []span
	if p.source != nil && p.source.Row >= 0 {
		if own := snap.Notes.Items[p.source.Row]; same || !own.Comparable() {
			p.noteVector = true
			byNote = c.note(p.path, text, body)
			p.assume(own)
		}
		p.staleNote = !p.noteVector
	}
	lines := lineStarts(body)
	for _, item := range items {
		window, ok := c.block(item, body, lines)
		if !ok {
			p.staleBlocks++
			continue
		}
		p.blockVectors++
		byBlock = append(byBlock, window)
		p.assume(item)
	}
	byNote = union(byNote)
	p.byNote, p.byBoth = reach(body, byNote), reach(body, union(append(byBlock, byNote...)))
	if p.noteVector {
		p.quote = strings.Clone(quote(p.path, body, end(byNote))) // a part would keep the whole
	}
}

func (p *page) assume(item smartenv.Item) {
	if !item.Comparable() {
		p.assumed++
	}
}

// present returns the text of the note as the plugin read it, and whether it is
// the one of the record. For a note that changed it is the form, of line ends
// and byte order mark, in which most blocks are unchanged.
func (p *page) present(raw string, items []smartenv.Item) (text string, same bool) {
	if p.source == nil {
		return note.Decode(raw), false
	}
	if text, same = note.Match(raw, p.source.Hash); same || len(items) == 0 {
		return text, same
	}
	most := 0
	for variant := range note.Variants(raw) {
		found := 0
		body := note.Body(p.path, variant)
		lines := lineStarts(body)
		for _, item := range items {
			if _, ok := (cutter{}).block(item, body, lines); ok {
				found++
			}
		}
		if found > most {
			text, most = variant, found
		}
	}
	return text, false
}

// reach tells how much of body lies in the windows, which are a union.
func reach(body string, windows []span) extent {
	e := extent{kind: whole}
	at := 0
	for _, w := range windows {
		if strings.ContainsFunc(body[at:w.from], visible) {
			e.kind = gaps
		}
		e.units += note.Len16(body[w.from:w.to])
		at = w.to
	}
	if strings.ContainsFunc(body[at:], visible) {
		e.kind = tail
		if at == 0 {
			e.kind = none
		}
	}
	return e
}

// end is where the last of the windows ends.
func end(windows []span) int {
	if len(windows) == 0 {
		return 0
	}
	return windows[len(windows)-1].to
}

func visible(r rune) bool { return !unicode.IsSpace(r) && r != '\uFEFF' }
