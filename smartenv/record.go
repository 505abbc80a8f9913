package smartenv

import "strings"

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

// A decoder turns the JSON of records into values. The few names that recur in
// every reference are kept once.
type decoder struct{ names map[string]string }

func newDecoder() *decoder { return &decoder{names: map[string]string{}} }

func (d *decoder) intern(name string) string {
	if kept, ok := d.names[name]; ok {
		return kept
	}
	d.names[name] = name
	return name
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

// blocks decodes blocks_data, a map from the block's key below the note
// ("#A#B") to its record. A full key (path#A#B) is accepted unless the short
// form exists as well. A value that is an array stands for {lines: array}; a
// falsy one removes the block.
func (d *decoder) blocks(s *scanner, path string) []block {
	var list []block
	place := map[string]int{}  // key → index in list
	short := map[string]bool{} // keys seen in their short form
	gone := map[string]bool{}  // keys whose last value is falsy
	s.members(func(name []byte) {
		key, full := strings.CutPrefix(string(name), path+"#")
		if full {
			key = "#" + key
		}
		b := block{key: key}
		value := s.raw()
		if s.bad || !strings.HasPrefix(key, "#") || full && short[key] {
			return
		}
		short[key] = short[key] || !full
		gone[key] = !d.block(&b, value)
		if i, ok := place[key]; ok {
			list[i] = b
			return
		}
		place[key] = len(list)
		list = append(list, b)
	})
	kept := list[:0]
	for _, b := range list {
		if !gone[b.key] {
			kept = append(kept, b)
		}
	}
	return kept
}

// block decodes one value of blocks_data and says whether it is a block.
func (d *decoder) block(b *block, value []byte) bool {
	s := &scanner{text: value}
	if s.peek() == '[' {
		b.start, b.end = readLines(s)
		return true
	}
	if s.peek() != '{' {
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
