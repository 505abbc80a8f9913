package smartenv

import (
	"bytes"
	"slices"
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
// every reference are kept once, and what a record keeps of its line lies
// together: one text, one list of blocks, one of references.
type decoder struct {
	names map[string]string

	// Of the record being read:
	text   []byte           // of all strings
	refs   []looseReference // of the note and of its blocks
	drafts []draft
	place  map[string]int // key of a block → index in order
	order  []int          // of the drafts that count, by the first time their key came
}

// A span is a string of the record being read, as a part of decoder.text.
type span struct{ from, to int }

// A looseReference is a reference whose read hash is a span.
type looseReference struct {
	reference
	hash span
}

// A draft is a block of the record being read.
type draft struct {
	key, hash   span
	refs        span // in decoder.refs
	start, end  int
	shouldEmbed bool
	short       bool // it was given by its key below the note
	gone        bool // its value is falsy
}

func newDecoder() *decoder {
	return &decoder{names: map[string]string{}, place: map[string]int{}}
}

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

// keep adds a string to the text, unless it is the one at known.
func (d *decoder) keep(text []byte, known span) span {
	if string(text) == string(d.text[known.from:known.to]) {
		return known
	}
	from := len(d.text)
	d.text = append(d.text, text...)
	return span{from, len(d.text)}
}

// str reads a string that may be the one at known; none for a value of another
// type.
func (d *decoder) str(s *scanner, known span) span {
	if s.peek() != '"' {
		s.skip()
		return span{}
	}
	quoted := s.quoted()
	if s.bad {
		return span{}
	}
	return d.keep(s.inner(quoted), known)
}

// record decodes a source record (format section 2.4). value must be a valid
// JSON object; members of unexpected types count as missing.
func (d *decoder) record(path string, value []byte) *record {
	return d.read(path, &scanner{text: value})
}

// read is record for the value that s comes to next. It need not be valid: if it
// is not, s says so.
func (d *decoder) read(path string, s *scanner) *record {
	d.text, d.refs, d.drafts = d.text[:0], d.refs[:0], d.drafts[:0]
	var hash, imported, refs span
	rec := &record{path: path}
	s.members(func(name []byte) {
		switch string(name) {
		case "last_read":
			hash = d.hash(s)
		case "last_import":
			rec.imported, imported = d.stamp(s, hash)
		case "embedding":
			refs = d.references(s, hash)
		case "blocks_data":
			d.blocks(s, path)
		default:
			s.skip()
		}
	})
	text := string(d.text)
	rec.hash, rec.imported.hash = text[hash.from:hash.to], text[imported.from:imported.to]
	d.settle(rec, text, refs)
	return rec
}

// settle makes the drafts the record's blocks, and loose references its own and
// theirs. A block that came twice counts as it came last, but one given by its
// full key does not replace one given by the short form.
func (d *decoder) settle(rec *record, text string, own span) {
	clear(d.place)
	d.order = d.order[:0]
	for i := range d.drafts {
		b := &d.drafts[i]
		key := text[b.key.from:b.key.to]
		at, again := d.place[key]
		switch {
		case !again:
			d.place[key] = len(d.order)
			d.order = append(d.order, i)
		case b.short || !d.drafts[d.order[at]].short:
			d.order[at] = i
		}
	}
	blocks, count := 0, own.to-own.from
	for _, i := range d.order {
		if b := &d.drafts[i]; !b.gone {
			blocks, count = blocks+1, count+b.refs.to-b.refs.from
		}
	}
	all := make([]reference, 0, count)
	settled := func(refs span) []reference {
		if refs.from == refs.to {
			return nil
		}
		from := len(all)
		for _, loose := range d.refs[refs.from:refs.to] {
			loose.readHash = text[loose.hash.from:loose.hash.to]
			all = append(all, loose.reference)
		}
		return all[from:len(all):len(all)]
	}
	rec.refs = settled(own)
	if len(d.order) == 0 {
		return
	}
	rec.blocks = make([]block, 0, blocks)
	for _, i := range d.order {
		if b := &d.drafts[i]; !b.gone {
			rec.blocks = append(rec.blocks, block{
				key: text[b.key.from:b.key.to], hash: text[b.hash.from:b.hash.to],
				start: b.start, end: b.end, shouldEmbed: b.shouldEmbed, refs: settled(b.refs),
			})
		}
	}
}

// hash reads {hash, at} and returns the hash.
func (d *decoder) hash(s *scanner) (hash span) {
	s.members(func(name []byte) {
		if string(name) == "hash" {
			hash = d.str(s, span{})
			return
		}
		s.skip()
	})
	return hash
}

// readHash is hash for records that are kept as they are read.
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

// stamp reads a last_import, whose hash is mostly the one at known.
func (d *decoder) stamp(s *scanner, known span) (st stamp, hash span) {
	s.members(func(name []byte) {
		switch string(name) {
		case "mtime":
			st.mtime, _ = s.lenientInteger()
		case "size":
			st.size, _ = s.lenientInteger()
		case "hash":
			hash = d.str(s, known)
		default:
			s.skip()
		}
	})
	return st, hash
}

// readStamp is stamp for records that are kept as they are read.
func readStamp(s *scanner) stamp {
	d := newDecoder()
	st, hash := d.stamp(s, span{})
	st.hash = string(d.text[hash.from:hash.to])
	return st
}

// blocks decodes blocks_data, a map from the block's key below the note
// ("#A#B") to its record. A full key (path#A#B) is accepted unless the short
// form exists as well. A value that is an array stands for {lines: array}; a
// falsy one removes the block.
func (d *decoder) blocks(s *scanner, path string) {
	d.drafts = d.drafts[:0]
	s.members(func(name []byte) {
		b := draft{short: len(name) > 0 && name[0] == '#'}
		below := name
		if rest, ok := bytes.CutPrefix(name, []byte(path)); !b.short && ok {
			below = rest
		}
		if len(below) == 0 || below[0] != '#' {
			s.skip()
			return
		}
		b.key = d.keep(below, span{})
		b.gone = !d.block(s, &b)
		d.drafts = append(d.drafts, b)
	})
}

// block decodes one value of blocks_data and says whether it is a block.
func (d *decoder) block(s *scanner, b *draft) bool {
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
			b.hash = d.hash(s)
		case "should_embed":
			b.shouldEmbed = s.truth()
		case "embedding":
			b.refs = d.references(s, b.hash)
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
