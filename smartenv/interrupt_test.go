package smartenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"

	"smart-connections-mcp/smartenv/fault"
)

// D (delays): when the plugin writes between any two calls of a load or reload, the
// answer is that of before or of after it, and the next one that of after.
func TestChangeBetweenCalls(t *testing.T) {
	for _, s := range settings {
		for _, reload := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/reload=%v", s.name, reload), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					if k := s.interrupt(t, reload); k < 20 {
						t.Errorf("there were %d calls", k)
					}
				})
			})
		}
	}
}

func (s setting) interrupt(t *testing.T, reload bool) int {
	vault, g := s.vault(t), 0
	in := &fault.Injector{Fault: fault.Fault{Calls: fault.Calls}, Dir: vault.dir, Then: func(string) {
		g++
		s.change(vault, g)
	}}
	x := openTapped(t, vault, in.Tap)
	for k := 1; ; k++ {
		if reload {
			take(x)
			settings, err := os.ReadFile(vault.path(".smart-env/" + settingsFile))
			if err != nil {
				t.Fatal(err)
			}
			vault.write(".smart-env/"+settingsFile, string(settings)+" ") // so that there is something to reload
		} else {
			x = openTapped(t, vault, in.Tap)
		}
		in.From(k)
		a := take(x)
		hit, _ := in.From(0)
		if len(hit) == 0 {
			return k - 1
		}
		if a.err != nil && reload || a.err == nil && a.axes() != s.holds(g-1) && a.axes() != s.holds(g) {
			t.Errorf("a change before call %d, %q: %v", k, hit[0], a)
		}
		if a := take(x); a.healed(s.holds(g)) != "" {
			t.Errorf("after a change before call %d, %q: %s: %v", k, hit[0], a.healed(s.holds(g)), a)
		}
	}
}

// D (delays): when the caller gives up during any call, hardly any further one is
// begun. The one under way cannot be interrupted (see package disk).
func TestCancelDuringCall(t *testing.T) {
	const notes, mayFollow = 200, 150 // of more than 1000 calls; some goroutines are each at a note
	builds := map[string]func(v *fakeVault, path string){
		"packed": func(v *fakeVault, path string) { v.addNote(path, "text", 1) },
		"inline": func(v *fakeVault, path string) { v.addInline(path, "text", 1) },
	}
	for name, add := range builds {
		t.Run(name, func(t *testing.T) {
			vault := newFakeVault(t)
			if name == "inline" {
				vault = newInlineVault(t)
			}
			for i := range notes {
				add(vault, fmt.Sprintf("%d/%d.md", i%40, i))
			}
			k := 1
			for ; cancels(t, vault, k, notes, mayFollow); k += 1 + k/4 {
			}
			if k < 700 {
				t.Errorf("there were no more than %d calls", k)
			}
		})
	}
}

func cancels(t *testing.T, vault *fakeVault, k, notes, mayFollow int) (hit bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in := &fault.Injector{Fault: fault.Fault{Calls: fault.Calls}, Dir: vault.dir, Then: func(string) { cancel() }}
	x := openTapped(t, vault, in.Tap)
	in.From(k)
	_, err := x.Snapshot(ctx)
	at, calls := in.From(0)
	if len(at) == 0 {
		return false
	}
	if !errors.Is(err, context.Canceled) || calls > k+mayFollow {
		t.Errorf("cancelled at call %d, %q: %v after %d further calls", k, at[0], err, calls-k)
	}
	if snap, err := x.Snapshot(t.Context()); err != nil || len(snap.Notes.Items) != notes {
		t.Errorf("after call %d was the last one: %v, %v", k, snap, err)
	}
	return true
}
