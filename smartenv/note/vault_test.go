package note

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"smart-connections-mcp/smartenv/disk"
)

const canary = "what lies outside the vault"

// linkedVault is a vault with every kind of link, beside a secret that no
// reading may ever return. Its name is reached through a link too.
func linkedVault(t *testing.T) (dir string) {
	base := t.TempDir()
	real := filepath.Join(base, "real")
	writeFiles(t, real, "Note.md", "Folder/Deep.md", ".obsidian/data.json", "Other/Deep.md")
	writeFiles(t, base, "secret/canary.md")
	if err := os.WriteFile(filepath.Join(base, "secret/canary.md"), []byte(canary), 0o644); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(base, "vault")
	link(t, "real", dir)
	for name, target := range map[string]string{
		"in-relative.md":        "Folder/Deep.md",
		"in-absolute.md":        filepath.Join(dir, "Folder", "Deep.md"),
		"in-absolute-real.md":   filepath.Join(real, "Folder", "Deep.md"),
		"Folder/in-up.md":       "../Note.md",
		"Folder/in-reenter.md":  "../../real/Note.md",
		"in-chain.md":           "in-absolute.md",
		"Linked":                "Folder",
		"LinkedAbsolute":        filepath.Join(real, "Folder"),
		"out-relative.md":       "../secret/canary.md",
		"out-absolute.md":       filepath.Join(base, "secret", "canary.md"),
		"out-chain.md":          "out-relative.md",
		"Out":                   "../secret",
		"OutAbsolute":           filepath.Join(base, "secret"),
		"Folder/out-through.md": "../Out/canary.md",
		"hidden.md":             ".obsidian/data.json",
		"Hidden":                ".obsidian",
		"to-folder.md":          "Folder",
		"to-root":               ".",
		"loop-a.md":             "loop-b.md",
		"loop-b.md":             "loop-a.md",
		"loop-self.md":          "loop-self.md",
		"dangling.md":           "Gone.md",
		"Folder/Circle":         "../Folder",
	} {
		link(t, target, filepath.Join(real, filepath.FromSlash(name)))
	}
	return dir
}

// V2: links that leave the vault, in every form, and those that stay.
func TestReadLinks(t *testing.T) {
	dir := linkedVault(t)
	v := openVault(t, dir)
	cases := []struct {
		path, text, reason string
	}{
		{"Note.md", "Note.md", ""},
		{"in-relative.md", "Folder/Deep.md", ""},
		{"in-absolute.md", "Folder/Deep.md", ""},
		{"in-absolute-real.md", "Folder/Deep.md", ""},
		{"Folder/in-up.md", "Note.md", ""},
		{"Folder/in-reenter.md", "Note.md", ""},
		{"in-chain.md", "Folder/Deep.md", ""},
		{"Linked/Deep.md", "Folder/Deep.md", ""},
		{"Linked/in-up.md", "Note.md", ""},
		{"LinkedAbsolute/Deep.md", "Folder/Deep.md", ""},
		{"Folder/Circle/Circle/Deep.md", "Folder/Deep.md", ""},
		{"out-relative.md", "", reasonOutside},
		{"out-absolute.md", "", reasonOutside},
		{"out-chain.md", "", reasonOutside},
		{"Out/canary.md", "", reasonOutside},
		{"OutAbsolute/canary.md", "", reasonOutside},
		{"Folder/out-through.md", "", reasonOutside},
		{"to-root/Note.md", "", reasonOutside},
		{"hidden.md", "", reasonAstray + reasonHidden},
		{"Hidden/data.json", "", reasonAstray + reasonHidden},
		{"to-folder.md", "", reasonIrregular},
		{"Folder", "", reasonIrregular},
		{"loop-a.md", "", reasonLoop},
		{"loop-self.md", "", reasonLoop},
	}
	for _, c := range cases {
		text, err := v.Read(c.path)
		info, statErr := v.Stat(c.path)
		resolved, resolveErr := v.Resolve(c.path)
		checkDiscreet(t, filepath.Dir(dir), err)
		if c.reason == "" {
			if text != c.text || err != nil {
				t.Errorf("Read(%q) = %q, %v, want %q", c.path, text, err, c.text)
			}
			if info.Size != int64(len(c.text)) || statErr != nil {
				t.Errorf("Stat(%q) = %+v, %v, want size %d", c.path, info, statErr, len(c.text))
			}
			if resolved != c.path || resolveErr != nil {
				t.Errorf("Resolve(%q) = %q, %v", c.path, resolved, resolveErr)
			}
			continue
		}
		for _, err := range []error{err, statErr} {
			var refused *RefusedError
			if !errors.As(err, &refused) || refused.Reason != c.reason {
				t.Errorf("Read or Stat(%q): %v, want it refused: %s", c.path, err, c.reason)
			}
		}
		if resolveErr == nil {
			t.Errorf("Resolve(%q) = %q, want an error", c.path, resolved)
		}
	}
	for _, path := range []string{"dangling.md", "Note.md/x.md", "Missing/x.md"} {
		if _, err := v.Read(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Read(%q): %v, want fs.ErrNotExist", path, err)
		}
	}
}

func TestListLinks(t *testing.T) {
	v := openVault(t, linkedVault(t))
	got, unreadable, err := v.List()
	want := []string{
		"Folder/Deep.md", "Folder/in-reenter.md", "Folder/in-up.md", "Note.md", "Other/Deep.md",
		"in-absolute-real.md", "in-absolute.md", "in-chain.md", "in-relative.md",
	}
	if !reflect.DeepEqual(got, want) || unreadable != 0 || err != nil {
		t.Errorf("List() = %q, %d, %v, want %q", got, unreadable, err, want)
	}
}

func TestListEdgeMini(t *testing.T) {
	v := openVault(t, vaultDir(t, "edge-mini"))
	got, unreadable, err := v.List()
	want := []string{
		"UP.MD", "Untitled 1.md", "b200.md", "b201.md", "big.md", "empty.md", "short.md",
		"sub/a#b/n.md", "sub/bom.md", "sub/crlf.md", "sub/d.excalidraw.md", "sub/emoji 😀.md",
		"sub/invalid.md", "sub/nospace.md", "sub/overlap.md", "sub/special.md", "sub/tags.md",
		"sub/yaml.md", "unclosed.md",
	}
	if !reflect.DeepEqual(got, want) || unreadable != 0 || err != nil {
		t.Errorf("List() = %q, %d, %v, want %q", got, unreadable, err, want)
	}
}

// A panic in one of the goroutines that list reaches the caller.
func TestListPanic(t *testing.T) {
	v := &Vault{dir: t.TempDir(), root: new(disk.Root), checked: time.Now().Add(time.Hour)} // an os.Root that was never opened
	defer func() {
		if recover() == nil {
			t.Error("the panic was lost")
		}
	}()
	paths, unreadable, err := v.List()
	t.Errorf("List() = %q, %d, %v after a panic", paths, unreadable, err)
}

// V3: TestReadWhileLinkFlips swaps a note, and a folder, for links out of the
// vault and into a dot folder and back, while they are read and listed: neither
// secret must ever be seen. With a plain open by the root the second is, within
// milliseconds.
func TestReadWhileLinkFlips(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "vault")
	writeFiles(t, dir, "Note.md", "Folder/canary.md", ".obsidian/canary.md", ".obsidian/hidden.md")
	writeFiles(t, base, "out/canary.md", "out/hidden.md")
	for _, name := range []string{"out/canary.md", "vault/.obsidian/canary.md"} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(canary), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	link(t, "../out/canary.md", at("link.md"))
	link(t, ".obsidian/canary.md", at("dot.md"))
	link(t, "../out", at("linked"))
	link(t, ".obsidian", at("dotted"))
	v := openVault(t, dir)

	flips := 0
	stop := make(chan struct{})
	var flipping sync.WaitGroup
	flipping.Go(func() {
		for {
			for _, swap := range [][2]string{{"Note.md", "link.md"}, {"Folder", "linked"}, {"Note.md", "dot.md"}, {"Folder", "dotted"}} {
				select {
				case <-stop:
					return
				default:
				}
				flips++
				for _, move := range [][2]string{{swap[0], "aside"}, {swap[1], swap[0]}, {swap[0], swap[1]}, {"aside", swap[0]}} {
					os.Rename(at(move[0]), at(move[1]))
				}
			}
		}
	})
	read := 0
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); {
		for _, path := range []string{"Note.md", "Folder/canary.md"} {
			text, err := v.Read(path)
			if strings.Contains(text, canary) {
				t.Errorf("Read(%q) = %q", path, text)
			}
			if err == nil {
				read++
			}
			checkDiscreet(t, base, err)
		}
		paths, _, _ := v.List()
		if slices.Contains(paths, "Folder/hidden.md") {
			t.Errorf("List() = %q, with what lies elsewhere", paths)
		}
		if t.Failed() {
			break
		}
	}
	close(stop)
	flipping.Wait()
	t.Logf("%d flips, %d readings", flips, read)
	if read == 0 {
		t.Error("nothing was read between the flips")
	}
}

// V3: between the look at a note and its opening it becomes a link to where the
// root would follow it.
func TestOpenSeen(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, "Note.md", ".obsidian/canary.md")
	root, err := disk.System{}.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	seen, err := root.Lstat("Note.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "Note.md"), filepath.Join(dir, "Aside.md")); err != nil {
		t.Fatal(err)
	}
	link(t, ".obsidian/canary.md", filepath.Join(dir, "Note.md"))
	if f, err := openSeen(root, "Note.md", seen); err != errMoved {
		t.Errorf("openSeen = %v, %v, want %v", f, err, errMoved)
	}
}

// V3: what quickStat may tell of a folder that is made a link within the second
// for which it is known to be none is a size and a time, and nothing is read.
func TestStatWhileFolderIsSwapped(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "vault")
	writeFiles(t, dir, "Folder/n.md")
	writeFiles(t, base, "out/n.md")
	if err := os.WriteFile(filepath.Join(base, "out/n.md"), []byte(canary), 0o644); err != nil {
		t.Fatal(err)
	}
	v := openVault(t, dir)
	if _, err := v.Read("Folder/n.md"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "Folder"), filepath.Join(dir, "Aside")); err != nil {
		t.Fatal(err)
	}
	link(t, "../out", filepath.Join(dir, "Folder"))
	if info, err := v.Stat("Folder/n.md"); err != nil || info.Size != int64(len(canary)) {
		t.Logf("Stat tells nothing: %+v, %v", info, err)
	}
	var refused *RefusedError
	if text, err := v.Read("Folder/n.md"); !errors.As(err, &refused) || refused.Reason != reasonOutside {
		t.Errorf("Read = %q, %v, want it refused: %s", text, err, reasonOutside)
	}
	if paths, _, err := v.List(); len(paths) != 1 || paths[0] != "Aside/n.md" {
		t.Errorf("List() = %q, %v, want what is in the vault", paths, err)
	}
	v.checked = time.Time{} // the second is over
	if info, err := v.Stat("Folder/n.md"); !errors.As(err, &refused) {
		t.Errorf("Stat after a second = %+v, %v, want it refused", info, err)
	}
}

// V2: a file with a second name outside is a note like others, see Read.
func TestReadHardLink(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "vault")
	writeFiles(t, dir, "Note.md")
	writeFiles(t, base, "backup.md")
	if err := os.Link(filepath.Join(base, "backup.md"), filepath.Join(dir, "linked.md")); err != nil {
		t.Skipf("no hard links here: %v", err)
	}
	v := openVault(t, dir)
	if text, err := v.Read("linked.md"); text != "backup.md" || err != nil {
		t.Errorf("Read = %q, %v, want the text", text, err)
	}
	if paths, _, err := v.List(); len(paths) != 2 || err != nil {
		t.Errorf("List() = %q, %v, want both notes", paths, err)
	}
}

// Bug 57: what iCloud has taken away is not gone, and its placeholder is no note.
func TestNotDownloaded(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, "Folder/.Note.md.icloud", "Here.md", ".Here.md.icloud")
	v := openVault(t, dir)
	for _, f := range []func() error{
		func() error { _, err := v.Read("Folder/Note.md"); return err },
		func() error { _, err := v.Stat("Folder/Note.md"); return err },
		func() error { _, err := v.Resolve("Folder/Note"); return err },
	} {
		if err := f(); !errors.Is(err, ErrNotDownloaded) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v, want ErrNotDownloaded", err)
		}
	}
	if text, err := v.Read("Here.md"); text != "Here.md" || err != nil {
		t.Errorf("Read of a note beside a placeholder = %q, %v", text, err)
	}
	if _, err := v.Read("Folder/Other.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read of a note that is nowhere: %v, want fs.ErrNotExist", err)
	}
	if paths, unreadable, err := v.List(); len(paths) != 1 || unreadable != 0 || err != nil {
		t.Errorf("List() = %q, %d, %v, want Here.md", paths, unreadable, err)
	}
}

// TestVaultComesBack deletes the vault and puts another in its place.
func TestVaultComesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vault")
	writeFiles(t, dir, "Old.md")
	v := openVault(t, dir)
	if err := os.Rename(dir, dir+"-gone"); err != nil {
		t.Skipf("an open folder cannot be moved here: %v", err)
	}
	v.checked = time.Time{} // instead of waiting a second
	var lost *LostError
	if _, _, err := v.List(); !errors.As(err, &lost) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("List() of a vault that is gone: %v, want a LostError", err)
	} else {
		checkDiscreet(t, dir, err)
	}
	writeFiles(t, dir, "New.md")
	v.checked = time.Time{}
	if text, err := v.Read("New.md"); text != "New.md" || err != nil {
		t.Errorf("Read of the new vault = %q, %v", text, err)
	}
	if _, err := v.Read("Old.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read of the old vault: %v, want fs.ErrNotExist", err)
	}
	v.Close()
	if _, err := v.Read("New.md"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Read after Close: %v, want fs.ErrClosed", err)
	}
	for range 100 { // the collector closes the root that was replaced, without which Windows may keep its folder
		if runtime.GC(); os.RemoveAll(dir+"-gone") == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestReadHuge(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, "sparse.md", "zeros.md")
	if err := os.Truncate(filepath.Join(dir, "sparse.md"), 2<<30); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "zeros.md"), 5<<20); err != nil {
		t.Fatal(err)
	}
	v := openVault(t, dir)
	var refused *RefusedError
	if _, err := v.Read("sparse.md"); !errors.As(err, &refused) || refused.Reason != reasonHuge {
		t.Errorf("Read of 2 GiB: %v, want it refused", err)
	}
	text, err := v.Read("zeros.md")
	if len(text) != 5<<20 || err != nil {
		t.Errorf("Read of 5 MiB: %d bytes, %v", len(text), err)
	}
	if quote, err := Excerpt(text, 1, 1, 1200); len(quote) != 1200 || err != nil {
		t.Errorf("Excerpt of one long line: %d bytes, %v, want 1200", len(quote), err)
	}
}
