package smartenv

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// maxDepth is how deeply arrays and objects may nest; encoding/json has the
// same bound.
const maxDepth = 10000

// A scanner walks one JSON text from front to back without building a tree.
// It accepts exactly what encoding/json accepts. Reading methods are tolerant
// of types: a value of another type than the one asked for is skipped and the
// zero value comes back, because one odd field must not cost a whole record.
// Only a syntax error stops it: bad is set and every later call does nothing.
type scanner struct {
	text  []byte
	pos   int
	depth int
	bad   bool
	plain bool // the last string was ASCII without escapes
}

// validJSON says whether text is exactly one JSON value, blanks around allowed.
func validJSON(text []byte) bool {
	s := scanner{text: text}
	s.skip()
	return s.ended()
}

// blanks moves to the next byte that is not JSON white space.
func (s *scanner) blanks() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the first byte of the next token, 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.text) && s.text[s.pos] > ' ' && !s.bad {
		return s.text[s.pos] // most often; the rest need not be fast
	}
	s.blanks()
	if s.bad || s.pos >= len(s.text) {
		return 0
	}
	return s.text[s.pos]
}

// take consumes c when it is the next token and says whether it was.
func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

func (s *scanner) fail() { s.bad = true }

// ended says whether nothing but blanks follows, and all before was valid.
func (s *scanner) ended() bool {
	s.blanks()
	return !s.bad && s.pos == len(s.text)
}

// skip passes over one value of any type.
func (s *scanner) skip() {
	switch c := s.peek(); {
	case c == '{':
		for more := s.enter('}'); more; more = s.next('}') {
			if s.peek() != '"' || s.quoted() == nil || !s.take(':') {
				s.fail()
				return
			}
			s.skip()
		}
	case c == '[':
		for more := s.enter(']'); more; more = s.next(']') {
			s.skip()
		}
	case c == '"':
		s.quoted()
	case c == '-' || '0' <= c && c <= '9':
		s.number()
	case c == 't':
		s.literal("true")
	case c == 'f':
		s.literal("false")
	case c == 'n':
		s.literal("null")
	default:
		s.fail()
	}
}

// raw passes over one value and returns its text.
func (s *scanner) raw() []byte {
	s.blanks()
	start := s.pos
	s.skip()
	return s.text[start:s.pos]
}

// members calls field once for every member of an object; field must consume
// the value. A value that is no object is skipped.
func (s *scanner) members(field func(name []byte)) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	for more := s.enter('}'); more; more = s.next('}') {
		name := s.name()
		if !s.take(':') {
			s.fail()
			return
		}
		field(name)
	}
}

// elements calls elem once for every element of an array; elem must consume
// it. A value that is no array is skipped.
func (s *scanner) elements(elem func()) {
	if s.peek() != '[' {
		s.skip()
		return
	}
	for more := s.enter(']'); more; more = s.next(']') {
		elem()
	}
}

// enter consumes the bracket that opens an object or array and says whether
// something stands in it, before the closing one.
func (s *scanner) enter(closing byte) bool {
	s.pos++
	if s.depth++; s.depth > maxDepth {
		s.fail()
		return false
	}
	if s.take(closing) {
		s.depth--
		return false
	}
	return !s.bad
}

// next consumes what stands after a member or an element and says whether
// another one follows.
func (s *scanner) next(closing byte) bool {
	switch {
	case s.take(','):
		return true
	case s.take(closing):
		s.depth--
	default:
		s.fail()
	}
	return false
}

// name reads a member's name, unquoted.
func (s *scanner) name() []byte {
	if s.peek() != '"' {
		s.fail()
		return nil
	}
	quoted := s.quoted()
	if s.bad {
		return nil
	}
	return s.inner(quoted)
}

// inner returns the meaning of the string that quoted has just passed over; mostly
// that is no copy.
func (s *scanner) inner(quoted []byte) []byte {
	if s.plain {
		return quoted[1 : len(quoted)-1]
	}
	return []byte(unquote(quoted))
}

// quoted passes over a string and returns it with its quotes.
func (s *scanner) quoted() []byte {
	start := s.pos
	s.plain = true
	for i := s.pos + 1; ; i++ {
		i += ordinary(s.text[min(i, len(s.text)):])
		if i >= len(s.text) {
			break
		}
		switch c := s.text[i]; {
		case c == '"':
			s.pos = i + 1
			return s.text[start:s.pos]
		case c >= utf8.RuneSelf:
			s.plain = false
		case c < ' ':
			s.fail()
			return nil
		case c == '\\':
			s.plain = false
			i++
			if !s.escape(i) {
				s.fail()
				return nil
			}
		}
	}
	s.fail()
	return nil
}

// ordinary returns how many bytes text begins with that mean nothing but
// themselves within a string: ASCII without controls, quote and backslash. It
// looks at eight bytes at a time; the lowest bit that is set tells of the first
// other byte (those above it may be wrong, as a borrow runs upwards).
func ordinary(text []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(text); n += 8 {
		w := binary.LittleEndian.Uint64(text[n:])
		quotes, slashes := w^ones*'"', w^ones*'\\'
		if other := (w | (w-ones*' ')&^w | (quotes-ones)&^quotes | (slashes-ones)&^slashes) & tops; other != 0 {
			return n + bits.TrailingZeros64(other)/8
		}
	}
	for n < len(text) && ' ' <= text[n] && text[n] < utf8.RuneSelf && text[n] != '"' && text[n] != '\\' {
		n++
	}
	return n
}

// escape checks the escape sequence whose letter stands at i.
func (s *scanner) escape(i int) bool {
	if i >= len(s.text) {
		return false
	}
	switch s.text[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		if i+4 >= len(s.text) {
			return false
		}
		for _, c := range s.text[i+1 : i+5] {
			if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
				return false
			}
		}
		return true
	}
	return false
}

// number passes over a number and returns its text.
func (s *scanner) number() []byte {
	start := s.pos
	s.either('-', '-')
	ok := s.either('0', '0') || s.digits()
	if ok && s.either('.', '.') {
		ok = s.digits()
	}
	if ok && s.either('e', 'E') {
		s.either('+', '-')
		ok = s.digits()
	}
	if !ok {
		s.fail()
	}
	return s.text[start:s.pos]
}

// digits passes over digits and says whether there was one.
func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.text) && '0' <= s.text[s.pos] && s.text[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}

// either consumes the next byte when it is a or b.
func (s *scanner) either(a, b byte) bool {
	if s.pos < len(s.text) && (s.text[s.pos] == a || s.text[s.pos] == b) {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) literal(word string) {
	if !bytes.HasPrefix(s.text[s.pos:], []byte(word)) {
		s.fail()
		return
	}
	s.pos += len(word)
}

// str reads a string; "" for a value of another type.
func (s *scanner) str() string {
	if s.peek() != '"' {
		s.skip()
		return ""
	}
	if quoted := s.quoted(); !s.bad {
		return string(s.inner(quoted))
	}
	return ""
}

// integer reads a number that is whole; ok is false for anything else, so
// also for "3" and for 2.5. (1e3 and 4.0 are whole, as in JavaScript.)
func (s *scanner) integer() (n int64, ok bool) {
	if c := s.peek(); c != '-' && (c < '0' || c > '9') {
		s.skip()
		return 0, false
	}
	return wholeNumber(s.number())
}

// lenientInteger reads a whole number that may be written as a string.
func (s *scanner) lenientInteger() (n int64, ok bool) {
	if s.peek() == '"' {
		return wholeNumber([]byte(s.str()))
	}
	return s.integer()
}

// truth reads a value as JavaScript's Boolean() would see it.
func (s *scanner) truth() bool { return !falsy(s.raw()) }

func wholeNumber(text []byte) (n int64, ok bool) {
	if n, ok := smallNumber(text); ok {
		return n, true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// smallNumber reads up to 15 digits and nothing else.
func smallNumber(text []byte) (n int64, ok bool) {
	if len(text) == 0 || len(text) > 15 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

// falsy says whether a valid JSON value, without blanks around it, counts as
// false in JavaScript: null, false, "" and zero.
func falsy(value []byte) bool {
	switch {
	case len(value) == 0:
		return true
	case value[0] == '"':
		return len(value) == 2
	case value[0] == '-' || '0' <= value[0] && value[0] <= '9':
		f, err := strconv.ParseFloat(string(value), 64)
		return err == nil && f == 0
	}
	return value[0] == 'n' || value[0] == 'f'
}

// unquote returns the meaning of a valid JSON string, quotes included. Lone
// surrogates and invalid UTF-8 become U+FFFD.
func unquote(quoted []byte) string {
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return ""
	}
	return text
}
