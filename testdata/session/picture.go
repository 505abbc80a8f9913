package session

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Picture describes every file and folder below dir, so that a test can see that a
// session has changed nothing.
func Picture(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var data []byte
		if info.Mode().IsRegular() {
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		fmt.Fprintln(&b, path, info.Mode(), info.ModTime().UnixNano(), info.Size(), sha256.Sum256(data))
		return nil
	})
	if err != nil || strings.Count(b.String(), "\n") < 20 {
		t.Fatalf("picture of %s: %v\n%s", dir, err, b.String())
	}
	return b.String()
}
