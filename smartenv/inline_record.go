package smartenv

import (
	"math"
	"strconv"
)

// An inlineRecord is what is kept of one record of multi/: a note's or a
// block's.
type inlineRecord struct {
	old       bool // its key has the class name of 2024 before it
	hash      string
	imported  stamp
	lastEmbed string // hash of the text that was embedded last, with whatever model
	vectors   []inlineVector

	hasBlocks bool         // of a note: it says which blocks there are
	blocks    []blockRange // of a note
	lines     blockRange   // of a block
	size      int64        // of a block, UTF-16 units; -1 when it is not told
}

// A blockRange is a block's place as a record gives it: lines counted from
// 1, but from 0 in some records of 2024.
type blockRange struct {
	key        string // "#A#B", below the note's path
	start, end int64
	ok         bool // there is a range
}

// An inlineVector is one model's vector of an item. Its values are never
// changed, but may be replaced by equal ones (see inlineTable.adopt).
type inlineVector struct {
	model  string // the model's key, "TaylorAI/bge-micro-v2"
	hash   string // of the text it was made from; "" when the record does not tell
	values []float32
	shared bool // values lie in a snapshot
}

// inline decodes a record of multi/ (format section 13). value must be a valid
// JSON object; members of unexpected types count as missing.
func (d *decoder) inline(value []byte) *inlineRecord {
	rec := &inlineRecord{size: -1}
	var history []byte
	s := &scanner{text: value}
	s.members(func(name []byte) {
		switch string(name) {
		case "last_read":
			rec.hash = readHash(s)
		case "last_import":
			rec.imported = readStamp(s)
		case "last_embed":
			rec.lastEmbed = readHash(s)
		case "embeddings":
			rec.vectors = d.vectors(s)
		case "blocks":
			rec.hasBlocks = s.peek() == '{'
			rec.blocks = readBlockRanges(s)
		case "lines":
			rec.lines = readRange(s)
		case "size":
			if n, ok := s.lenientInteger(); ok {
				rec.size = n
			}
		case "history":
			history = s.raw()
		default:
			s.skip()
		}
	})
	if history != nil && !rec.hasBlocks {
		rec.fromHistory(history)
	}
	for i := range rec.vectors {
		if v := &rec.vectors[i]; v.hash == "" {
			v.hash = rec.lastEmbed
		}
	}
	return rec
}

// fromHistory takes blocks, hash and stamp from where records of early 2024 have
// them: the last element of their history.
func (rec *inlineRecord) fromHistory(history []byte) {
	var last []byte
	s := &scanner{text: history}
	s.elements(func() { last = s.raw() })
	s = &scanner{text: last}
	var hash string
	s.members(func(name []byte) {
		switch string(name) {
		case "blocks":
			rec.hasBlocks = s.peek() == '{'
			rec.blocks = readBlockRanges(s)
		case "hash":
			hash = s.str()
		default:
			s.skip()
		}
	})
	if rec.hash == "" {
		rec.hash = hash
	}
}

// readBlockRanges reads {"#A": [start, end], …}.
func readBlockRanges(s *scanner) []blockRange {
	var ranges []blockRange
	s.members(func(name []byte) {
		key := string(name)
		r := readRange(s)
		if r.key = key; len(key) > 0 && key[0] == '#' {
			ranges = append(ranges, r)
		}
	})
	return ranges
}

// readRange reads [start, end], or an object with such a member "lines".
func readRange(s *scanner) (r blockRange) {
	if s.peek() == '{' {
		s.members(func(name []byte) {
			if string(name) == "lines" {
				r = readRange(s)
				return
			}
			s.skip()
		})
		return r
	}
	n := 0
	s.elements(func() {
		v, ok := s.integer()
		switch {
		case n == 0:
			r.start, r.ok = v, ok
		case n == 1:
			r.end, r.ok = v, r.ok && ok
		}
		n++
	})
	r.ok = r.ok && n >= 2
	return r
}

// vectors reads {"<model key>": {"vec": [...], "last_embed": {"hash": …}}, …}.
func (d *decoder) vectors(s *scanner) []inlineVector {
	var list []inlineVector
	s.members(func(name []byte) {
		v := inlineVector{model: d.intern(name)}
		s.members(func(name []byte) {
			switch string(name) {
			case "vec":
				v.values = readVector(s)
			case "last_embed":
				v.hash = readHash(s)
			default:
				s.skip()
			}
		})
		if len(v.values) > 0 {
			list = append(list, v)
		}
	})
	return list
}

// readVector reads an array of numbers. What is no number is NaN, as which the
// plugin writes null.
func readVector(s *scanner) []float32 {
	vec := make([]float32, 0, defaultModel().Dims)
	s.elements(func() {
		if c := s.peek(); c != '-' && (c < '0' || c > '9') {
			s.skip()
			vec = append(vec, float32(math.NaN()))
			return
		}
		vec = append(vec, parseFloat(s.number()))
	})
	return vec
}

// parseFloat reads a JSON number, correctly rounded to a float64 and from there
// to a float32. Numbers of up to 15 digits and no exponent, which nearly all
// are, take the short way: both parts of the quotient are exact.
func parseFloat(text []byte) float32 {
	digits, point, mantissa := 0, -1, int64(0)
	for i, c := range text {
		switch {
		case '0' <= c && c <= '9':
			mantissa = 10*mantissa + int64(c-'0')
			if digits++; digits > 15 {
				return slowFloat(text)
			}
		case c == '.':
			point = i
		case c != '-':
			return slowFloat(text)
		}
	}
	value := float64(mantissa)
	if point >= 0 {
		value /= tens[len(text)-1-point]
	}
	if text[0] == '-' {
		value = -value
	}
	return float32(value)
}

// tens are the powers of ten that a float64 holds exactly, as far as parseFloat
// needs them.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

func slowFloat(text []byte) float32 {
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return float32(math.Inf(1)) // beyond every float64
	}
	return float32(value)
}
