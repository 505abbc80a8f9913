package smartenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"smart-connections-mcp/smartenv/disk"
	"smart-connections-mcp/smartenv/fault"
	"smart-connections-mcp/smartenv/note"
)

// A setting is a small vault of which the plugin embeds one note again and again: in
// generation g, 0 being the first, a.md has textOf(g) and the vector of axisOf(g).
type setting struct {
	name   string
	build  func(v *fakeVault)
	change func(v *fakeVault, g int)
	others string // the other items and their axes
}

func textOf(g int) string { return fmt.Sprintf("text %d%s", g, strings.Repeat(".", g%7)) }

func axisOf(g int) int { return 5 + g%3 }

// holds is what is found in generation g.
func (s setting) holds(g int) string { return fmt.Sprintf("a.md:%d %s", axisOf(g), s.others) }

var settings = []setting{
	{"appended", buildPacked, func(v *fakeVault, g int) {
		v.write("a.md", textOf(g))
		v.log(v.record("a.md", textOf(g), v.vectors(noteRows, axisOf(g)), nil))
	}, "c.md:3 sub/b.md:2 sub/b.md#H:4"},
	{"renumbered", buildPacked, func(v *fakeVault, g int) {
		v.write("a.md", textOf(g))
		v.replace(noteRows+fakeModel.Fingerprint(), string(packRows(3, 2, axisOf(g))))
		v.replace(shardZero, v.record("a.md", textOf(g), 2, nil)+"\n"+v.record("c.md", "text", 0, nil)+"\n"+
			v.record("sub/b.md", "# H\ntext", 1, map[string]any{"#H": fakeBlock(1, 2, "# H\ntext", 0)}))
	}, "c.md:3 sub/b.md:2 sub/b.md#H:4"},
	{"inline", func(v *fakeVault) {
		v.remove(".smart-env/smart_sources")
		v.addInline("a.md", textOf(0), axisOf(0))
		v.addInline("sub/b.md", "text", 2)
	}, func(v *fakeVault, g int) {
		v.addInline("a.md", textOf(g), axisOf(g))
	}, "sub/b.md:2"},
}

func buildPacked(v *fakeVault) {
	v.addNote("a.md", textOf(0), axisOf(0))
	v.write("sub/b.md", "# H\ntext")
	block := fakeBlock(1, 2, "# H\ntext", v.vectors(blockRows, 4))
	v.log(v.record("sub/b.md", "# H\ntext", v.vectors(noteRows, 2), map[string]any{"#H": block}))
	v.addNote("c.md", "text", 3)
}

// answer is what a call of Snapshot has given.
type answer struct {
	snap *Snapshot
	err  error
}

// said is all that people get to read of it.
func (a answer) said() string {
	if a.err != nil {
		return a.err.Error()
	}
	text := a.snap.Behind + "\n" + strings.Join(a.snap.Warnings, "\n")
	if a.snap.Refusal != nil {
		text += "\n" + a.snap.Refusal.Error()
	}
	return text
}

func (a answer) axes() string {
	return strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(axes(a.snap)), "map["), "]")
}

// wrong says what is wrong with an answer that was given while f was at work: it must
// be the whole one, or say what it lacks and why. olders is what the snapshot before
// holds, "" when there is none; want is what stands on disk.
func (a answer) wrong(f fault.Fault, olders, want, dir string) string {
	said := a.said()
	gone := errors.Is(f.Err, fs.ErrNotExist) // then the system itself says that something is not there
	reason := "try again"
	if f.Err != nil && f.Err != io.EOF {
		reason = f.Err.Error()
	}
	named := strings.Contains(said, reason) || f.Err == io.EOF && strings.Contains(said, "unexpected EOF")
	switch {
	case strings.Contains(said, dir):
		return "a place on the host is told"
	case f.Err == nil && (a.err != nil || a.axes() != want || a.snap.Behind != "" || len(a.snap.Warnings) > 0 && !a.inline()):
		return "a read that the system has cut short is no reason for anything"
	case a.err != nil && olders != "":
		return "there is a snapshot to answer with"
	case a.err != nil && !named && !gone:
		return "the error does not name the cause"
	case a.err != nil:
		return ""
	case a.snap.Refusal != nil && !gone:
		return "nothing is ranked, as if the vectors were of another model"
	case a.snap.Behind != "" && (olders == "" || a.axes() != olders):
		return "behind is not the snapshot before"
	case a.snap.Behind != "" && !named && !gone:
		return "Behind does not name the cause"
	case a.snap.Behind != "":
		return ""
	case a.snap.Status.Notes.Stale > 0 && a.axes() != olders:
		return "a note is called stale"
	case a.snap.Status.Notes.Missing > 0 && !gone:
		return "a note is called missing"
	case a.axes() != want && a.axes() != olders && olders != "" && !gone:
		return "less is found than before"
	case a.axes() != want && !named && !gone, a.axes() != want && len(a.snap.Warnings) <= a.usual():
		return "less is found than there is, and it is not said why"
	case a.snap.Status.Notes.Unreadable > 0 && !strings.Contains(said, "cannot be read"):
		return "notes that cannot be read are not told of"
	}
	return ""
}

func (a answer) inline() bool { return a.snap.Generation == "inline" }

// usual is how many warnings there are when all is well.
func (a answer) usual() int {
	if a.inline() {
		return 1 // that it is the older kind
	}
	return 0
}

// healed says what is wrong with an answer that was given after the fault had gone.
func (a answer) healed(want string) string {
	switch {
	case a.err != nil:
		return "an error stays"
	case a.axes() != want:
		return "not all is found again"
	case a.snap.Behind != "" || a.snap.Refusal != nil || len(a.snap.Warnings) > a.usual():
		return "a flag stays"
	}
	for i := range a.snap.Sources {
		if a.snap.Sources[i].State != Fresh {
			return "a note is not fresh again"
		}
	}
	return ""
}

// D (faults): whatever call fails in a load or a reload, once or from then on, the
// answer is the whole one or says what it lacks, and when the fault has gone the next
// answer is whole again. Each call is made to fail, until none is left that can.
func TestFaults(t *testing.T) {
	const once, lasts, sticks = fault.Once, fault.Lasts, fault.Sticks
	short := [][]fault.How{{once, lasts}, {sticks}, {once}, {sticks}, {once}, {sticks}} // of fault.All; long: each in each way
	_, _ = openTapped(t, settings[0].vault(t), nil).Snapshot(t.Context())               // what the runtime opens for itself
	for _, s := range settings {
		for i, f := range fault.All {
			for _, how := range []fault.How{once, lasts, sticks} {
				for _, reload := range []bool{false, true} {
					if os.Getenv("HOSTILE") == "" && !slices.Contains(short[i], how) {
						continue
					}
					if s.name == "renumbered" && !reload { // its load is that of the one before
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s/reload=%v", s.name, f.Name, how, reload), func(t *testing.T) {
						defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it closes what has been forgotten
						before, left := openFiles(), 0
						synctest.Test(t, func(t *testing.T) { // time passes at once
							k := 0
							if k, left = s.sweep(t, &fault.Injector{Fault: f, How: how}, reload); k < 3 || k > 400 {
								t.Errorf("%d calls were made to fail", k)
							}
						})
						if now := openFiles(); now > before+left {
							t.Errorf("%d files stay open, %d of them for good reason", now-before, left)
						}
					})
				}
			}
		}
	}
}

// sweep makes every call of a load or reload fail. It returns how many there were,
// and how many roots of the vault were replaced at most, which stay open until the
// garbage collector finds them.
func (s setting) sweep(t *testing.T, in *fault.Injector, reload bool) (calls, roots int) {
	vault := s.vault(t)
	in.Dir = vault.dir
	tap := func(call, path string, want int) (int, error) {
		if call == "open" && path == vault.dir {
			roots++
		}
		return in.Tap(call, path, want)
	}
	x := openTapped(t, vault, tap)
	roots = 0
	for k, g := 1, 0; ; k++ {
		olders := ""
		if reload {
			if a := take(x); a.healed(s.holds(g)) != "" {
				t.Fatal(a.healed(s.holds(g)), a)
			}
			olders = s.holds(g)
			g++
			s.change(vault, g)
		} else {
			x = openTapped(t, vault, tap)
			roots--
		}
		in.From(k)
		a := take(x)
		hit, _ := in.From(0)
		if len(hit) == 0 {
			return k - 1, roots
		}
		if wrong := a.wrong(in.Fault, olders, s.holds(g), vault.dir); wrong != "" {
			t.Errorf("call %d, %q: %s: %v", k, hit[0], wrong, a)
		}
		if a = take(x); a.healed(s.holds(g)) != "" {
			t.Errorf("after call %d, %q, had failed: %s: %v", k, hit, a.healed(s.holds(g)), a)
		}
	}
}

func (s setting) vault(t *testing.T) *fakeVault {
	vault := newFakeVault(t)
	s.build(vault)
	return vault
}

// openTapped opens the index of a vault all of whose calls are tapped.
func openTapped(t *testing.T, vault *fakeVault, tap disk.Tap) *Index {
	v, err := note.OpenVaultOn(disk.Tapped(tap), vault.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return Open(v, Options{Recheck: time.Millisecond})
}

// take takes a snapshot a minute later.
func take(x *Index) answer {
	time.Sleep(time.Minute)
	snap, err := x.Snapshot(context.Background())
	return answer{snap, err}
}

func (a answer) String() string {
	if a.err != nil {
		return "error " + a.err.Error()
	}
	return fmt.Sprintf("%s; said %q; notes %+v", a.axes(), a.said(), a.snap.Status.Notes)
}

// openFiles counts the descriptors of this process, where the system tells.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}
