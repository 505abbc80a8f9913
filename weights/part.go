package weights

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	partSuffix  = ".part" // a file on its way
	stateSuffix = ".state"
)

// part is a file on its way: what has come of it, and of which content. Both
// are on disk, so that a later process can go on where this one ended.
type part struct {
	disk disk
	file diskFile
	have int64 // bytes at the beginning that are right as far as we know
	of   partState
	own  bool   // other processes may not go on with it: it has a name of its own
	sub  string // the folder below the model's that it lies in; "" = none
}

// partState identifies the content that a part belongs to.
type partState struct {
	ETag   string `json:"etag,omitempty"` // of the server that sent the bytes; "" when weak
	Digest digest `json:"digest"`
	Size   int64  `json:"size"` // -1 when unknown
}

// openPart opens what an earlier attempt left of dir/name, or begins anew. With
// shared set, other processes may be at the same file without a lock: the part
// then gets a name of its own. A name like onnx/model.onnx lies in a folder that
// is made for it.
func openPart(d disk, dir, name string, shared bool) (*part, error) {
	p := &part{disk: d, own: shared}
	path := filepath.Join(dir, filepath.FromSlash(name))
	if in := filepath.Dir(path); in != filepath.Clean(dir) {
		p.sub = in
		if err := d.mkdir(in); err != nil {
			return nil, err
		}
	}
	var err error
	if shared {
		p.file, err = d.createTemp(filepath.Dir(path), filepath.Base(path)+".*"+partSuffix)
		return p, err
	}
	p.file, err = d.open(path + partSuffix)
	if err != nil {
		return nil, err
	}
	data, err := d.readFile(p.statePath())
	if err != nil || json.Unmarshal(data, &p.of) != nil || !p.of.known() {
		err = p.discard() // bytes of unknown content are worth nothing
	} else {
		p.have, err = p.file.Seek(0, io.SeekEnd)
	}
	if err != nil {
		p.file.Close()
	}
	return p, err
}

// known tells whether a later answer can be recognised as the same content.
func (s partState) known() bool { return s.ETag != "" || s.Digest != digest{} }

// same tells whether an answer continues the content that s is of.
func (s partState) same(t partState) bool {
	return s.Digest == t.Digest && s.Size == t.Size && (s.ETag == t.ETag || s.Digest != digest{})
}

func (p *part) statePath() string { return p.file.Name() + stateSuffix }

// begin empties the part and writes down what is to come. The state goes to
// disk before the first byte: bytes never lie there under a wrong one.
func (p *part) begin(of partState) error {
	if err := p.discard(); err != nil {
		return err
	}
	p.of = of
	if p.own || !of.known() {
		return nil
	}
	data, err := json.Marshal(of)
	if err != nil {
		return err
	}
	return p.disk.writeFile(p.statePath(), data)
}

// discard forgets the bytes and what they were of, in this order backwards: the
// state goes first.
func (p *part) discard() error {
	p.of, p.have = partState{Size: -1}, 0
	if err := p.disk.remove(p.statePath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return p.file.Truncate(0)
}

func (p *part) Write(b []byte) (int, error) {
	n, err := p.file.WriteAt(b, p.have)
	p.have += int64(n)
	return n, err
}

// publish gives the part, complete now, its final name. After a crash at any
// moment the name holds the whole content or does not exist.
func (p *part) publish(path string) error {
	if err := errors.Join(p.file.Sync(), p.file.Close()); err != nil {
		p.remove() // what the disk has of it, nobody knows: reading may show what was written, and a second sync succeed
		return err
	}
	if err := p.disk.rename(p.file.Name(), path); err != nil {
		return err
	}
	p.disk.remove(p.statePath()) // a state without a part is ignored
	return p.disk.syncDir(filepath.Dir(path))
}

// rename moves a file over another. On Windows that fails for as long as another
// program has one of them open, as a virus scanner does with every new file, so
// there it is tried again for a second or so.
func rename(from, to string) error {
	err := os.Rename(from, to)
	for wait := 20 * time.Millisecond; err != nil && runtime.GOOS == "windows" && wait < time.Second; wait *= 2 {
		time.Sleep(wait)
		err = os.Rename(from, to)
	}
	return err
}

// leave ends the work on the part and keeps it for a later attempt, if one
// could make use of it.
func (p *part) leave() {
	p.file.Close()
	if p.own || p.have == 0 || !p.of.known() {
		p.remove()
	}
}

// remove ends the work on the part and deletes it.
func (p *part) remove() {
	p.file.Close()
	p.disk.remove(p.file.Name())
	p.disk.remove(p.statePath())
	if p.sub != "" {
		p.disk.remove(p.sub) // which fails while something else is in it
	}
}

// strongETag is an ETag that If-Range may carry, or "".
func strongETag(etag string) string {
	if strings.HasPrefix(etag, `"`) {
		return etag
	}
	return ""
}
