package smartenv

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"smart-connections-mcp/smartenv/note"
)

// A freshness cache remembers which notes were compared with the index, so that
// a reload reads only notes that changed. It is safe for concurrent use.
type freshness struct {
	vault *note.Vault

	mu   sync.Mutex
	seen map[string]*comparison // by path; a comparison is never changed
}

// A comparison is what a look at a note's text told.
type comparison struct {
	size    int64
	modTime time.Time
	hash    string // the hash that the text was compared with
	same    bool   // the text has that hash
	blocks  map[blockText]bool
}

// blockText identifies the text a block had: lines and hash.
type blockText struct {
	start, end int
	hash       string
}

func newFreshness(v *note.Vault) *freshness {
	return &freshness{vault: v, seen: map[string]*comparison{}}
}

// isLegacyHash says whether hash is a SHA-256 in hex, which plugin versions
// before May 2025 stored.
func isLegacyHash(hash string) bool {
	return len(hash) == 64 && strings.Trim(hash, "0123456789abcdef") == ""
}

// note compares a note's text with the hash the plugin stored, allowing for other
// line ends and a BOM. Size and time only spare reading the file: they are those
// of the plugin's last import, or of the last comparison. The error is that of
// reading the note.
func (f *freshness) note(rec *record, info note.Info) (State, error) {
	if rec.hash == "" || isLegacyHash(rec.hash) {
		return Unknown, nil
	}
	if unchangedSince(rec, info) {
		return Fresh, nil
	}
	c, err := f.compare(rec, info)
	if err != nil {
		return Unreadable, err
	}
	if c.same {
		return Fresh, nil
	}
	return Stale, nil
}

// unchangedSince says whether the file still has the size and time at which the
// plugin parsed it, and the plugin saw no other text since.
func unchangedSince(rec *record, info note.Info) bool {
	at := rec.imported
	late := info.ModTime.UnixMilli() - at.mtime
	return at.mtime != 0 && at.hash == rec.hash && at.size == info.Size && -1 <= late && late <= 1
}

// compare returns the comparison of a note with its record, reading the note
// when there is none for this size, time and hash. For a note that changed, and
// for one whose blocks may come from an earlier text, the blocks are compared too.
func (f *freshness) compare(rec *record, info note.Info) (*comparison, error) {
	c := f.last(rec.path)
	if c != nil && c.size == info.Size && c.modTime.Equal(info.ModTime) && c.hash == rec.hash && c.covers(rec) {
		return c, nil
	}
	raw, err := f.vault.Read(rec.path)
	if err != nil {
		return nil, err
	}
	c = &comparison{size: info.Size, modTime: info.ModTime, hash: rec.hash}
	_, c.same = note.Match(raw, rec.hash)
	if !c.same || rec.imported.hash != rec.hash {
		c.blocks = compareBlocks(rec, raw)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[rec.path] = c
	return c, nil
}

// last returns the last comparison of the note at path, nil when there was none.
func (f *freshness) last(path string) *comparison {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[path]
}

// forget drops what is known of notes without a record.
func (f *freshness) forget(records map[string]*record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.seen, func(path string, _ *comparison) bool { return records[path] == nil })
}

// covers says whether all blocks of the record are among those compared.
func (c *comparison) covers(rec *record) bool {
	if c.same && rec.imported.hash == rec.hash {
		return true
	}
	return !slices.ContainsFunc(rec.blocks, func(b block) bool {
		_, ok := c.blocks[b.text()]
		return !ok
	})
}

func (b *block) text() blockText { return blockText{b.start, b.end, b.hash} }

// staleBlock says whether the block's text is no longer at its lines. It must be
// called after note() for the same record, with the state that returned.
func (f *freshness) staleBlock(rec *record, b *block, state State) bool {
	if state != Fresh && state != Stale || b.hash == "" || isLegacyHash(b.hash) {
		return false
	}
	c := f.last(rec.path)
	if c == nil || c.hash != rec.hash || c.blocks == nil {
		return state == Stale
	}
	return !c.blocks[b.text()]
}

// compareBlocks hashes every block's lines in the note's present text, in each of
// the forms the plugin may have read.
func compareBlocks(rec *record, raw string) map[blockText]bool {
	blocks := make(map[blockText]bool, len(rec.blocks))
	for i := range rec.blocks {
		blocks[rec.blocks[i].text()] = false
	}
	for text := range note.Variants(raw) {
		body := newLineIndex(note.Body(rec.path, text))
		for b, same := range blocks {
			if !same {
				blocks[b] = note.Hash(body.lines(b.start, b.end)) == b.hash
			}
		}
	}
	return blocks
}

// A lineIndex finds the lines of a text without searching it again.
type lineIndex struct {
	text   string
	starts []int // of every line, and one past the end of the text + 1
}

func newLineIndex(text string) lineIndex {
	x := lineIndex{text: text, starts: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			x.starts = append(x.starts, i+1)
		}
	}
	x.starts = append(x.starts, len(text)+1)
	return x
}

// lines returns the lines start to end, joined as they are; "" for a range that
// has no end or begins beyond the text, and what there is when it ends beyond.
func (x lineIndex) lines(start, end int) string {
	count := len(x.starts) - 1
	end = min(end, count)
	if start < 1 || end < start {
		return ""
	}
	return x.text[x.starts[start-1] : x.starts[end]-1]
}
