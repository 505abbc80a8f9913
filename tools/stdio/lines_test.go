package stdio

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLines(t *testing.T) {
	const limit = 100_000 // more than the reader's buffer
	long := strings.Repeat("x", limit)
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"empty", "", nil},
		{"one", "a\n", []string{"a"}},
		{"no final newline", "a\nb", []string{"a", "b"}},
		{"crlf", "a\r\nb\r\n", []string{"a", "b"}},
		{"blank lines", "\n \t\r\n\na\n\n", []string{"a"}},
		{"byte order mark", "\xef\xbb\xbfa\n\xef\xbb\xbf\n", []string{"a"}},
		{"at the limit", long + "\na\n", []string{long, "a"}},
		{"at the limit, crlf", long + "\r\na\n", []string{long, "a"}},
		{"over the limit", "a\n" + long + "x\nb\n", []string{"a", "TOO LONG", "b"}},
		{"far over the limit", long + long + long + "\nb\n", []string{"TOO LONG", "b"}},
		{"over the limit at the end", "a\n" + long + "x", []string{"a", "TOO LONG"}},
	} {
		for _, reader := range []struct {
			name string
			in   io.Reader
		}{
			{"whole", strings.NewReader(tt.in)},
			{"halves", iotest.HalfReader(strings.NewReader(tt.in))},
			{"data with error", iotest.DataErrReader(strings.NewReader(tt.in))},
		} {
			if got := readAll(t, newLines(reader.in, limit)); strings.Join(got, "|") != strings.Join(tt.want, "|") {
				t.Errorf("%s, %s: got %d lines %.80q, want %d %.80q", tt.name, reader.name, len(got), got, len(tt.want), tt.want)
			}
		}
	}
}

func readAll(t *testing.T, l *lines) (got []string) {
	t.Helper()
	for {
		line, err := l.next()
		switch {
		case errors.Is(err, errLineTooLong):
			got = append(got, "TOO LONG")
		case errors.Is(err, io.EOF):
			return got
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, string(line))
		}
	}
}

// endless gives n zero bytes.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.n)
	e.n -= n
	clear(p[:n])
	return n, nil
}

// P2: a line of 100 MB must not cost memory: what is kept is bounded by the limit.
func TestLinesMemory(t *testing.T) {
	const limit = 1 << 20
	l := newLines(&endless{100 << 20}, limit)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := l.next()
	runtime.ReadMemStats(&after)
	if !errors.Is(err, errLineTooLong) {
		t.Fatalf("next() = %v, want errLineTooLong", err)
	}
	// All that was ever allocated, the steps in which the slice grew among it.
	if got := after.TotalAlloc - before.TotalAlloc; got > 20*limit {
		t.Errorf("a line of 100 MB allocated %d MB, want at most 20", got>>20)
	}
}
