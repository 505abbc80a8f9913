package weights

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strings"
)

// digest is what the hub says a file's content hashes to: the sha256 of a file
// in large-file storage, git's blob hash of one that lies in the repository.
// The zero digest says nothing.
type digest struct {
	Kind string `json:"kind,omitempty"`
	Hex  string `json:"hex,omitempty"`
}

const (
	kindSHA256 = "sha256"
	kindGit    = "git blob sha1"
)

func (d digest) String() string { return d.Kind + " " + d.Hex }

// parseDigest reads a digest from an ETag; other ETags give the zero digest.
func parseDigest(etag string) digest {
	hash := strings.ToLower(strings.Trim(strings.TrimPrefix(etag, "W/"), `"`))
	switch {
	case isHex(hash, 64):
		return digest{kindSHA256, hash}
	case isHex(hash, 40):
		return digest{kindGit, hash}
	}
	return digest{}
}

// content is what a file on disk hashes to.
type content struct{ sha256, git digest }

// hashFile reads f, which should have size bytes, from its beginning. It is the
// file that is asked, not the bytes that were written to it: a torn write or a
// bad resume must show, also where there is no digest to compare with.
func hashFile(f diskFile, size int64) (content, error) {
	whole, blob := sha256.New(), sha1.New()
	fmt.Fprintf(blob, "blob %d\x00", size)
	n, err := io.Copy(io.MultiWriter(whole, blob), io.NewSectionReader(f, 0, math.MaxInt64))
	if err != nil {
		return content{}, err
	}
	if n != size {
		return content{}, fmt.Errorf("%d bytes are there, %d were written", n, size)
	}
	return content{
		sha256: digest{kindSHA256, hex.EncodeToString(whole.Sum(nil))},
		git:    digest{kindGit, hex.EncodeToString(blob.Sum(nil))},
	}, nil
}

// check compares with a digest of either kind; the zero digest agrees with
// everything.
func (c content) check(want digest, who string) error {
	got := c.sha256
	if want.Kind == kindGit {
		got = c.git
	}
	if want == (digest{}) || got == want {
		return nil
	}
	return &mismatchError{fmt.Sprintf("%s is %s, %s says %s", got.Kind, got.Hex, who, want.Hex)}
}
