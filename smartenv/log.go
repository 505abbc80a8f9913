package smartenv

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"
)

// The collections a log line can belong to.
const (
	sourcesCollection = "smart_sources"
	blocksCollection  = "smart_blocks"
	modelsCollection  = "embedding_models"
)

// errBadLine is what parseLine says of a line that is no record.
var errBadLine = errors.New("not a record of the form \"key\": value,")

// An entry is one line of a log: the newest value of one key so far.
type entry struct {
	collection, key string
	value           []byte // a JSON object; nil for a tombstone
	old             bool   // the collection was given by a class name of 2024
}

// parseLine reads one line of the plugin's log: a JSON string, a colon, a JSON
// value and a comma that may be missing (format section 2.2). Blanks in the
// sense of JavaScript are trimmed, so a BOM or a CR at the ends is harmless.
// ok is false for an empty line. A falsy value is a tombstone.
func parseLine(line []byte) (e entry, ok bool, err error) {
	s, e, ok, err := openLine(line)
	if !ok {
		return entry{}, false, err
	}
	value := s.raw()
	switch {
	case !s.ended():
		return entry{}, false, errBadLine
	case falsy(value):
	case value[0] == '{':
		e.value = value
	default:
		return entry{}, false, errBadLine
	}
	return e, true, nil
}

// openLine is parseLine up to the value, which s comes to next.
func openLine(line []byte) (s scanner, e entry, ok bool, err error) {
	line = trimBlanks(line)
	if n := len(line); n > 0 && line[n-1] == ',' {
		line = trimBlanks(line[:n-1])
	}
	if len(line) == 0 {
		return s, e, false, nil
	}
	s.text = line
	if s.peek() != '"' {
		return s, e, false, errBadLine
	}
	quoted := s.quoted()
	if s.bad || !s.take(':') {
		return s, e, false, errBadLine
	}
	s.blanks()
	e.collection, e.key = splitKey(string(s.inner(quoted)))
	return s, e, true, nil
}

// splitKey cuts a log key at its first colon and maps the class names that
// older plugin versions wrote to today's collection names.
func splitKey(key string) (collection, item string) {
	collection, item, _ = strings.Cut(key, ":")
	switch collection {
	case "SmartSource", "SmartNote":
		collection = sourcesCollection
	case "SmartBlock":
		collection = blocksCollection
	}
	return collection, item
}

// eachLine calls visit for every line of data, which is split at LF only:
// CR, U+2028 and the like may stand inside a line.
func eachLine(data []byte, visit func(line []byte)) {
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		visit(line)
		data = rest
	}
}

// trimBlanks cuts what JavaScript's trim() cuts at both ends.
func trimBlanks(b []byte) []byte {
	return bytes.TrimFunc(b, isBlank)
}

// isBlank says whether JavaScript counts r as white space. It differs from
// unicode.IsSpace: U+0085 is none, U+FEFF is one.
func isBlank(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r == ' ' || '\t' <= r && r <= '\r'
	case 0x2000 <= r && r <= 0x200A:
		return true
	}
	switch r {
	case 0x00A0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return false
}
