package smartenv

import "bytes"

// maxResumes bounds how often the search for a whole record goes on within one
// damaged line.
const maxResumes = 64

// eachRecord calls visit for every record of a file of multi/ (format section
// 13). A record is a JSON string, a colon and a JSON value, and never spans
// lines; between two records may stand commas, blanks, line ends, or nothing,
// since the plugin appends records without looking at what is there. damaged is
// called once for each place that holds no record, with the line's number and
// what stands there; records behind it on the same line are still found, and
// later lines are not affected.
func eachRecord(data []byte, visit func(entry), damaged func(line int, text []byte)) {
	number := 0
	eachLine(data, func(line []byte) {
		number++
		for pos := nextToken(line, 0); pos < len(line); pos = nextToken(line, pos) {
			e, end, ok := recordAt(line, pos)
			if !ok {
				damaged(number, line[pos:])
				pos = resume(line, pos+1)
				continue
			}
			visit(e)
			pos = end
		}
	})
}

// nextToken passes over what may stand between two records.
func nextToken(line []byte, pos int) int {
	for pos < len(line) {
		if line[pos] == ',' {
			pos++
			continue
		}
		rest := bytes.TrimLeftFunc(line[pos:], isBlank)
		if len(rest) == len(line)-pos {
			break
		}
		pos = len(line) - len(rest)
	}
	return pos
}

// recordAt reads the record that begins at pos and returns where it ends.
func recordAt(line []byte, pos int) (e entry, end int, ok bool) {
	s := scanner{text: line, pos: pos}
	if s.peek() != '"' {
		return entry{}, 0, false
	}
	quoted := s.quoted()
	if s.bad || !s.take(':') {
		return entry{}, 0, false
	}
	value := s.raw()
	if s.bad {
		return entry{}, 0, false
	}
	e.collection, e.key = splitKey(unquote(quoted))
	e.old = bytes.HasPrefix(quoted, []byte(`"Smart`))
	switch {
	case falsy(value):
	case value[0] == '{':
		e.value = value
	default:
		return entry{}, 0, false
	}
	return e, s.pos, true
}

// resume finds the next whole record of a damaged line, or the line's end. The
// members of a torn record may look like the beginning of one ("smart_sources:…"
// are keys of its connections, too), so a record found here must have a member
// that only records have.
func resume(line []byte, pos int) int {
	for range maxResumes {
		next := nextKey(line[pos:])
		if next < 0 {
			break
		}
		pos += next
		if e, _, ok := recordAt(line, pos); ok && isRecord(e.value) {
			return pos
		}
		pos++
	}
	return len(line)
}

// nextKey finds what may be the key of a record, -1 when there is none.
func nextKey(text []byte) int {
	first := -1
	for _, start := range []string{`"smart_`, `"Smart`} {
		if i := bytes.Index(text, []byte(start)); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	return first
}

// isRecord says whether a JSON object has a member that every record has.
func isRecord(value []byte) (found bool) {
	s := scanner{text: value}
	s.members(func(name []byte) {
		switch string(name) {
		case "class_name", "last_read", "embeddings":
			found = true
		}
		s.skip()
	})
	return found
}
