package search

import (
	"errors"
	"io/fs"
	"strings"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/disk"
	"smart-connections-mcp/smartenv/note"
)

// Passage is the text shown for a hit, as the note stands now.
type Passage struct {
	Section    string // block key, "" when the note's beginning is shown
	Start, End int    // lines, 1-based and inclusive; 0, 0 when there is no text
	Text       string
	Missing    string // why there is no text; "" when there is
	Stale      bool   // the text that won the place has changed since it was embedded
}

// Section is the key of the block that will be quoted, "" for the beginning.
func (h Hit) Section() string { return h.passage.Key }

// Lines are those of the passage as indexed; 0, 0 when they are unknown.
func (h Hit) Lines() (start, end int) { return h.passage.Start, h.passage.End }

// Passages reads the note once and quotes at most limit characters of its passage, and
// as many of each in More, in that order. A block's text is compared by hash with what
// was embedded: when it has moved, its new lines are used; when it has changed, the
// block that has its key now is quoted and marked stale; when it is gone, there is no
// text and Missing says so. Text that happens to stand at the old lines is never
// passed off as the match.
func (h Hit) Passages(v *note.Vault, limit int) []Passage {
	all := append([]Hit{h}, h.More...)
	passages := make([]Passage, len(all))
	raw, err := v.Read(h.Path)
	now := newReading(h.Path, raw)
	for i, h := range all {
		if err != nil {
			passages[i] = Passage{Section: h.Section(), Missing: unreadable(err), Stale: h.Stale}
			continue
		}
		passages[i] = h.passageIn(now, limit)
	}
	return passages
}

// passageIn quotes the passage from the note's text now.
func (h Hit) passageIn(now *reading, limit int) Passage {
	p := Passage{Section: h.Section(), Stale: !now.holds(h.item)}
	p.Start, p.End, p.Missing = now.locate(h.passage)
	if p.Missing == "" {
		text, err := note.Excerpt(now.text, p.Start, p.End, limit)
		if p.Text = text; err != nil {
			p.Missing = err.Error()
		}
	}
	if p.Missing != "" {
		p.Start, p.End = 0, 0
	}
	return p
}

// unreadable says why a note has no text, without naming a path of the machine.
func unreadable(err error) string {
	var lost *note.LostError
	var refused *note.RefusedError
	switch {
	case errors.As(err, &lost):
		return lost.Error()
	case errors.Is(err, fs.ErrNotExist):
		return "the note is no longer on disk"
	case errors.Is(err, note.ErrNotDownloaded):
		return "the note is not read: " + note.ErrNotDownloaded.Error()
	case errors.As(err, &refused):
		return "the note is not opened: " + refused.Reason
	}
	return "the note cannot be read (" + disk.Cause(err).Error() + "): " + disk.Hint(err)
}

// reading is a note's text now, with its blocks parsed when first needed.
type reading struct {
	path   string
	raw    string
	text   string // in which block lines count, and which is quoted
	blocks []note.Block
	parsed bool
}

func newReading(path, raw string) *reading {
	return &reading{path: path, raw: raw, text: note.Body(path, note.Decode(raw))}
}

// holds says whether the text embedded for item is still in the note, at any
// place for a block.
func (r *reading) holds(item smartenv.Item) bool {
	if !item.Comparable() {
		return !item.Stale
	}
	if item.Key == "" {
		_, ok := note.Match(r.raw, item.Hash)
		return ok
	}
	if r.at(item.Start, item.End, item.Hash) {
		return true
	}
	b, ok := r.find(item.Key)
	return ok && r.at(b.Start, b.End, item.Hash)
}

// at says whether lines start to end have the hash in some form of the text.
func (r *reading) at(start, end int, hash string) bool {
	_, ok := note.Block{Start: start, End: end, Hash: hash}.In(r.path, r.raw)
	return ok
}

// locate finds the lines to quote for item, or says why there are none.
func (r *reading) locate(item smartenv.Item) (start, end int, missing string) {
	if item.Key == "" {
		return r.beginning()
	}
	if r.at(item.Start, item.End, item.Hash) {
		return item.Start, item.End, ""
	}
	if b, ok := r.find(item.Key); ok && b.End > 0 {
		return b.Start, b.End, ""
	}
	return 0, 0, "the section is no longer in the note: the note has changed since it was indexed"
}

// find looks a block up by its key in the note as it is now.
func (r *reading) find(key string) (note.Block, bool) {
	r.parse()
	for _, b := range r.blocks {
		if b.Key == key {
			return b, true
		}
	}
	return note.Block{}, false
}

func (r *reading) parse() {
	if !r.parsed {
		r.blocks, r.parsed = note.Parse(r.path, note.Decode(r.raw), note.Rules{}).Blocks, true
	}
}

// beginning returns the lines from the first that is neither frontmatter nor
// blank to the end of the note.
func (r *reading) beginning() (start, end int, missing string) {
	lines := strings.Split(r.text, "\n")
	skip := 0
	if b, ok := r.find(note.FrontmatterKey); ok && b.End > 0 {
		skip = b.End
	}
	for i := skip; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) != "" {
			return i + 1, len(lines), ""
		}
	}
	if skip > 0 {
		return 1, skip, ""
	}
	return 0, 0, "the note is empty"
}
