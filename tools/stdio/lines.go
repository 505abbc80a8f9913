package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// errLineTooLong is the error of a line over the limit. The scanner has
// skipped it; the next call goes on behind its newline.
var errLineTooLong = errors.New("line too long")

// lines cuts a stream into lines in bounded memory.
type lines struct {
	in  *bufio.Reader
	max int // bytes of a line without its newline
}

func newLines(in io.Reader, max int) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), max: max}
}

// next returns the next line that is not blank, without its newline, a
// leading byte order mark and surrounding white space. The slice is the
// caller's. It returns errLineTooLong for a line that was skipped, and the
// reader's error (io.EOF) when nothing is left; a last line without a newline
// counts as a line.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.read()
		if errors.Is(err, errLineTooLong) {
			return nil, err
		}
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		line = bytes.Trim(line, " \t\r\n")
		if len(line) > 0 {
			return line, nil // an error behind a last line comes again at the next call
		}
		if err != nil {
			return nil, err
		}
	}
}

// read returns one raw line with its newline, which may be missing at the end
// of the stream.
func (l *lines) read() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if len(line)+len(bytes.TrimRight(part, "\r\n")) > l.max {
			return nil, l.skip(err)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// skip reads up to the newline of a line whose last part was read with err.
func (l *lines) skip(err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = l.in.ReadSlice('\n')
	}
	return errLineTooLong // a read error comes again at the next call
}
