package onnx

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// wire reads protobuf's wire format from a stream: fields of a number, a kind
// and a value, one after the other. A message is a field of kind bytes whose
// bytes are fields again. All lengths are checked against what surrounds them
// before anything is done with them; nothing is read twice.
type wire struct {
	r  *bufio.Reader
	at int64 // bytes read so far
}

// The kinds of value. Groups (3 and 4) were given up before ONNX existed.
const (
	varint  = 0
	fixed64 = 1
	bytes   = 2
	fixed32 = 5
)

// field is one field of a message. Its key is its number and kind as the format
// packs them, number<<3|kind: a field of an unexpected kind is an unknown one.
type field struct {
	key   uint64
	value uint64 // of a varint or a fixed32
	end   int64  // the place behind the field's bytes
}

// errCut says that the stream ended before the file's size was reached.
var errCut = errors.New("the file is cut short")

// message calls each for all fields of the message that ends at end. What each
// does not read of a field of bytes is skipped.
func (w *wire) message(end int64, each func(field) error) error {
	for w.at < end {
		f, err := w.field(end)
		if err != nil {
			return err
		}
		if err := each(f); err != nil {
			return err
		}
		if err := w.skip(f.end); err != nil {
			return err
		}
	}
	return nil
}

// field reads a field's key, and its value unless it is bytes.
func (w *wire) field(end int64) (field, error) {
	begin := w.at
	key, err := w.varint(end)
	if err != nil {
		return field{}, err
	}
	f := field{key: key}
	if key>>3 == 0 { // a hole in the file, say
		return f, fmt.Errorf("byte %d: no field begins with %#x", begin, key)
	}
	switch key & 7 {
	case varint:
		f.value, err = w.varint(end)
	case fixed32:
		f.value, err = w.fixed(end, 4)
	case fixed64:
		f.value, err = w.fixed(end, 8)
	case bytes:
		var n uint64
		if n, err = w.varint(end); err == nil && n > uint64(end-w.at) {
			err = fmt.Errorf("byte %d: %d bytes should follow, %d are left: the file is cut short or damaged", begin, n, end-w.at)
		}
		f.end = w.at + int64(n)
		return f, err
	default:
		err = fmt.Errorf("byte %d: no field begins with %#x", begin, key)
	}
	f.end = w.at
	return f, err
}

func (w *wire) varint(end int64) (uint64, error) {
	begin := w.at
	var v uint64
	for shift := 0; shift < 70 && w.at < end; shift += 7 {
		b, err := w.r.ReadByte()
		if err != nil {
			return 0, w.broken(err)
		}
		w.at++
		if shift == 63 && b > 1 {
			break
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, nil
		}
	}
	return 0, fmt.Errorf("byte %d: no number", begin)
}

// fixed reads a little-endian number of n bytes.
func (w *wire) fixed(end int64, n int) (uint64, error) {
	if end-w.at < int64(n) {
		return 0, fmt.Errorf("byte %d: a number of %d bytes where %d are left", w.at, n, end-w.at)
	}
	var b [8]byte
	if _, err := io.ReadFull(w, b[:n]); err != nil {
		return 0, err
	}
	var v uint64
	for i := n - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v, nil
}

// Read reads on, for a field's bytes; the caller keeps to the field's end.
func (w *wire) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	w.at += int64(n)
	return n, w.broken(err)
}

// packed calls each for the numbers up to end.
func (w *wire) packed(end int64, each func(uint64) error) error {
	for w.at < end {
		v, err := w.varint(end)
		if err != nil {
			return err
		}
		if err := each(v); err != nil {
			return err
		}
	}
	return nil
}

// text reads the rest of a field as a string of at most limit bytes.
func (w *wire) text(f field, limit int64) (string, error) {
	n := f.end - w.at
	if n > limit {
		return "", fmt.Errorf("byte %d: a name of %d bytes, more than %d", w.at, n, limit)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(w, b)
	return string(b), err
}

// skip goes on to a place.
func (w *wire) skip(to int64) error {
	for w.at < to {
		n, err := w.r.Discard(int(min(to-w.at, 1<<30)))
		w.at += int64(n)
		if err != nil {
			return w.broken(err)
		}
	}
	return nil
}

// broken says in words that the stream ended: callers never ask for more than
// the file should have.
func (w *wire) broken(err error) error {
	if err == io.EOF {
		return fmt.Errorf("%w after %d bytes", errCut, w.at)
	}
	return err
}
