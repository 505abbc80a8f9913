package smartenv

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"smart-connections-mcp/smartenv/fault"
	"smart-connections-mcp/smartenv/note"
)

// V8: while the vault is away, the index that was read goes on answering and says
// why; one that was not yet read is a *note.LostError, and no advice to install the
// plugin. When the vault is back, or another stands in its place, that is read.
func TestVaultLost(t *testing.T) {
	move := func(t *testing.T, from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Skipf("an open folder cannot be moved here: %v", err)
		}
	}
	tests := []struct {
		name       string
		lose, find func(t *testing.T, v *fakeVault, in *fault.Injector)
		changes    bool // it is another vault that is found
	}{
		{"renamed", func(t *testing.T, v *fakeVault, _ *fault.Injector) { move(t, v.dir, v.dir+"-away") },
			func(t *testing.T, v *fakeVault, _ *fault.Injector) { move(t, v.dir+"-away", v.dir) }, false},
		{"unmounted", func(t *testing.T, v *fakeVault, _ *fault.Injector) {
			move(t, v.dir, v.dir+"-away")
			if err := os.Mkdir(v.dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}, func(t *testing.T, v *fakeVault, _ *fault.Injector) {
			v.remove("")
			move(t, v.dir+"-away", v.dir)
		}, false},
		{"deleted and made anew", func(t *testing.T, v *fakeVault, _ *fault.Injector) { v.remove("") },
			func(t *testing.T, v *fakeVault, _ *fault.Injector) {
				again := newFakeVault(t)
				settings[0].build(again)
				settings[0].change(again, 1)
				move(t, again.dir, v.dir)
			}, true},
		{"a disk that fails", func(_ *testing.T, _ *fakeVault, in *fault.Injector) { in.From(1) },
			func(_ *testing.T, _ *fakeVault, in *fault.Injector) { in.From(0) }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			vault := settings[0].vault(t)
			synctest.Test(t, func(t *testing.T) { // time passes at once
				in := &fault.Injector{Fault: fault.Fault{Calls: fault.Calls, Err: syscall.EIO}, How: fault.Lasts, Dir: vault.dir}
				known, unknown := openTapped(t, vault, in.Tap), openTapped(t, vault, in.Tap)
				if a := take(known); a.healed(settings[0].holds(0)) != "" {
					t.Fatal(a)
				}
				test.lose(t, vault, in)
				for range 2 {
					var lost *note.LostError
					a := take(known)
					if a.err != nil || a.axes() != settings[0].holds(0) || !strings.Contains(a.snap.Behind, "the vault's folder cannot be read") {
						t.Errorf("the vault is away: %v, want the snapshot before, behind", a)
					}
					if a := take(unknown); !errors.As(a.err, &lost) || errors.Is(a.err, fs.ErrNotExist) {
						t.Errorf("the vault is away and was never read: %v, want a LostError", a)
					}
					if _, err := unknown.Glance(); !errors.As(err, &lost) {
						t.Errorf("Glance while the vault is away: %v, want a LostError", err)
					}
				}
				test.find(t, vault, in)
				want := settings[0].holds(0)
				if test.changes {
					want = settings[0].holds(1)
				}
				for _, x := range []*Index{known, unknown} {
					if a := take(x); a.healed(want) != "" {
						t.Errorf("the vault is back: %s: %v", a.healed(want), a)
					}
				}
			})
		})
	}
}

// Bug 62: what macOS forbids is told as such, with the place where it is allowed.
func TestForbidden(t *testing.T) {
	const hint = "Files & Folders or Full Disk Access"
	vault := settings[0].vault(t)
	in := &fault.Injector{Fault: fault.Fault{Calls: "open readdir", Err: syscall.EPERM}, How: fault.Lasts, Dir: vault.dir}
	x := openTapped(t, vault, in.Tap)
	in.From(1)
	if _, err := x.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), hint) || strings.Contains(err.Error(), "install") {
		t.Errorf("Snapshot where the system forbids it: %v, want Full Disk Access named", err)
	}
	snap, err := openTapped(t, vault, func(call, path string, want int) (int, error) {
		if call == "open" && strings.HasSuffix(path, ".md") {
			return 0, syscall.EPERM
		}
		return want, nil
	}).Snapshot(t.Context())
	if err != nil || snap.Status.Notes.Unreadable != 3 || !hasWarning(snap, hint) {
		t.Errorf("Snapshot where the notes are forbidden: %v, %v, want Full Disk Access named", snap, err)
	}
}

// D (faults): a look at the index's files is right or an error, too.
func TestGlanceFaults(t *testing.T) {
	for _, s := range settings {
		vault := s.vault(t)
		for _, f := range fault.All {
			in := &fault.Injector{Fault: f, Dir: vault.dir}
			x := openTapped(t, vault, in.Tap)
			want, err := x.Glance()
			if err != nil {
				t.Fatal(err)
			}
			for k := 1; ; k++ {
				in.From(k)
				got, err := x.Glance()
				hit, _ := in.From(0)
				if errors.Is(f.Err, fs.ErrNotExist) {
					// What is not there is not there.
				} else if err == nil && got != want || err != nil && (len(hit) == 0 || strings.Contains(err.Error(), vault.dir)) {
					t.Errorf("%s, %s, call %d, %q: %+v, %v, want %+v or an error", s.name, f.Name, k, hit, got, err, want)
				}
				if got, err := x.Glance(); got != want || err != nil {
					t.Errorf("%s, %s, after call %d: %+v, %v", s.name, f.Name, k, got, err)
				}
				if len(hit) == 0 {
					break
				}
			}
		}
	}
}
