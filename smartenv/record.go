package smartenv

import (
	"slices"
	"strings"
)

// A record is what the reader keeps of one live note record of the log. It is
// never changed after decoding.
type record struct {
	path     string
	hash     string // last_read.hash: the text the plugin saw last
	imported stamp
	refs     []reference
	blocks   []block
}

// A stamp is a record's last_import: the note file as it was when the plugin
// parsed it. All zero means "re-import pending", or a note over 300 kB.
type stamp struct {
	mtime int64 // milliseconds since 1970
	size  int64 // bytes
	hash  string
}

// A block is one section of a note: an entry of the record's blocks_data.
type block struct {
	key         string // "#A#B", below the note's path
	start, end  int    // lines, 1-based and inclusive; end 0 = none
	hash        string // last_read.hash of the block's text
	shouldEmbed bool
	refs        []reference
}

// A reference points from an item to a row of a multifile.
type reference struct {
	fingerprint string // the model, and by the plugin's rule also the file
	file        string
	row         int64  // -1 when file_i is no integer ≥ 0
	readHash    string // hash of the text that was embedded
}

// keeps says whether r, the newer record of a note, still has every reference
// under the fingerprint that old has. A nil r keeps none.
func (r *record) keeps(old *record, fingerprint string) bool {
	if r == nil {
		return false
	}
	kept := func(now, before []reference) bool {
		for _, ref := range before {
			if ref.fingerprint == fingerprint && !slices.Contains(now, ref) {
				return false
			}
		}
		return true
	}
	if !kept(r.refs, old.refs) {
		return false
	}
	now := map[string][]reference{}
	for i := range r.blocks {
		now[r.blocks[i].key] = r.blocks[i].refs
	}
	for i := range old.blocks {
		if b := &old.blocks[i]; len(b.refs) > 0 && !kept(now[b.key], b.refs) {
			return false
		}
	}
	return true
}

// A decoder turns the JSON of records into values. The few names that recur in
// every reference are kept once.
type decoder struct{ names map[string]string }

func newDecoder() *decoder { return &decoder{names: map[string]string{}} }

func (d *decoder) intern(name []byte) string {
	if kept, ok := d.names[string(name)]; ok {
		return kept
	}
	kept := string(name)
	d.names[kept] = kept
	return kept
}

// name reads a string that recurs; "" for a value of another type.
func (d *decoder) name(s *scanner) string {
	if s.peek() != '"' {
		s.skip()
		return ""
	}
	if quoted := s.quoted(); !s.bad {
		return d.intern(s.inner(quoted))
	}
	return ""
}

// record decodes a source record (format section 2.4). value must be a valid
// JSON object; members of unexpected types count as missing.
func (d *decoder) record(path string, value []byte) *record {
	rec := &record{path: path}
	s := &scanner{text: value}
	s.members(func(name []byte) {
		switch string(name) {
		case "last_read":
			rec.hash = readHash(s)
		case "last_import":
			rec.imported = readStamp(s)
		case "embedding":
			rec.refs = d.references(s)
		case "blocks_data":
			rec.blocks = d.blocks(s, path)
		default:
			s.skip()
		}
	})
	return rec
}

// readHash reads {hash, at} and returns the hash.
func readHash(s *scanner) (hash string) {
	s.members(func(name []byte) {
		if string(name) == "hash" {
			hash = s.str()
			return
		}
		s.skip()
	})
	return hash
}

func readStamp(s *scanner) (st stamp) {
	s.members(func(name []byte) {
		switch string(name) {
		case "mtime":
			st.mtime, _ = s.lenientInteger()
		case "size":
			st.size, _ = s.lenientInteger()
		case "hash":
			st.hash = s.str()
		default:
			s.skip()
		}
	})
	return st
}

// A draft is a block while its record is being read.
type draft struct {
	block
	short bool // it was given by its key below the note
	gone  bool // its last value is falsy
}

// blocks decodes blocks_data, a map from the block's key below the note
// ("#A#B") to its record. A full key (path#A#B) is accepted unless the short
// form exists as well. A value that is an array stands for {lines: array}; a
// falsy one removes the block.
func (d *decoder) blocks(s *scanner, path string) []block {
	var drafts []draft
	place := map[string]int{} // key → index in drafts
	s.members(func(name []byte) {
		b := draft{short: len(name) > 0 && name[0] == '#'}
		if b.short {
			b.key = string(name)
		} else if below, ok := strings.CutPrefix(string(name), path+"#"); ok {
			b.key = "#" + below
		}
		b.gone = !d.block(s, &b.block)
		i, again := place[b.key]
		switch {
		case b.key == "":
		case !again:
			place[b.key] = len(drafts)
			drafts = append(drafts, b)
		case b.short || !drafts[i].short:
			drafts[i] = b
		}
	})
	if len(drafts) == 0 {
		return nil
	}
	list := make([]block, 0, len(drafts))
	for i := range drafts {
		if !drafts[i].gone {
			list = append(list, drafts[i].block)
		}
	}
	return list
}

// block decodes one value of blocks_data and says whether it is a block.
func (d *decoder) block(s *scanner, b *block) bool {
	switch s.peek() {
	case '[':
		b.start, b.end = readLines(s)
		return true
	case '{':
	default:
		s.skip()
		return false
	}
	s.members(func(name []byte) {
		switch string(name) {
		case "lines":
			b.start, b.end = readLines(s)
		case "last_read":
			b.hash = readHash(s)
		case "should_embed":
			b.shouldEmbed = s.truth()
		case "embedding":
			b.refs = d.references(s)
		default:
			s.skip()
		}
	})
	return true
}

// readLines reads [start, end]. A range that makes no sense, such as the
// [1, null] of an unclosed frontmatter, comes back with end 0.
func readLines(s *scanner) (start, end int) {
	var lines [2]int64
	n := 0
	s.elements(func() {
		v, _ := s.integer()
		if n < len(lines) {
			lines[n] = v
		}
		n++
	})
	const most = 1 << 31 // more lines than any note has
	if lines[0] < 1 || lines[0] > most {
		return 0, 0
	}
	if lines[1] < lines[0] || lines[1] > most {
		return int(lines[0]), 0
	}
	return int(lines[0]), int(lines[1])
}
