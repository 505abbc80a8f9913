// Package fault makes calls of a disk.System fail, for the tests of those who make
// them: one call after the other, until none is left, as SQLite tests itself.
//
//	in := fault.Injector{Fault: f, Dir: dir}
//	v, err := note.OpenVaultOn(disk.Tapped(in.Tap), dir)
//	for k, hit := 1, true; hit; k++ {
//		in.From(k)
//		... // what is tested
//		hit = len(in.From(0)) > 0
//	}
package fault

import (
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// A Fault is what befalls a call.
type Fault struct {
	Name  string
	Calls string // that it can befall
	N     int    // of what is read: how many bytes or names are still delivered
	Err   error  // nil: no more than that befalls a read; and any other call is let through
}

// Calls are all calls there are.
const Calls = "open stat read readat readdir readlink"

// How says which calls are hit.
type How string

const (
	Once   How = "once"   // one call
	Lasts  How = "lasts"  // that call and all later ones: a disk that fails
	Sticks How = "sticks" // that call and all later ones by the same path: a bad file
)

// All are the faults that a disk is known for.
var All = []Fault{
	{"EIO", Calls, 0, syscall.EIO},
	{"EACCES", Calls, 0, syscall.EACCES},
	{"ENOENT", "open stat readdir readlink", 0, fs.ErrNotExist},
	{"a file that ends early", "read readat", 1, io.EOF},
	{"EIO after the beginning", "read readat readdir", 1, io.ErrUnexpectedEOF},
	{"a short read", "read", 1, nil},
}

// An Injector makes the Fault befall a call.
type Injector struct {
	Fault
	How                    // often
	Dir  string            // the vault, which errors name, as those of the system do
	Then func(call string) // is done before a call that is hit; may be nil

	mu    sync.Mutex
	at    int // of the calls that can be hit, the first being 1; 0 = none
	calls int
	hit   []string
	stuck string // the path of the first of them
}

// From makes the k-th call from now on be hit, none for 0. It returns what was hit
// since the last time, and how many calls there were that could have been.
func (in *Injector) From(k int) (hit []string, calls int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	hit, calls = in.hit, in.calls
	in.at, in.calls, in.hit, in.stuck = k, 0, nil, ""
	return hit, calls
}

// Tap is a disk.Tap.
func (in *Injector) Tap(call, path string, want int) (n int, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !filepath.IsAbs(path) {
		path = filepath.Join(in.Dir, path)
	}
	if in.at == 0 || !slices.Contains(strings.Fields(in.Calls), call) {
		return want, nil
	}
	in.calls++
	if in.calls == in.at {
		in.stuck = path
	}
	if in.calls < in.at || in.calls > in.at && in.How != Lasts && (in.How != Sticks || path != in.stuck) {
		return want, nil
	}
	in.hit = append(in.hit, call+" "+path)
	if in.Then != nil {
		in.Then(call)
	}
	if in.Err == nil && in.N == 0 {
		return want, nil
	}
	if err = in.Err; err != nil && err != io.EOF {
		err = &fs.PathError{Op: call, Path: path, Err: err}
	}
	if want < 0 {
		return in.N, err
	}
	return min(in.N, want), err
}
