package bert

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The hidden states are the same to the bit however many goroutines share the
// rows, and whatever the scratch was used for before.
func TestForwardByAnyCrew(t *testing.T) {
	for _, f := range fixtures[:2] {
		m, s := f.load(t), newScratch()
		for _, words := range []int{1, 5, 30, 100, 200, 15} {
			ids := m.Tokens(strings.Repeat("word, ", words))
			var alone []float32
			for _, members := range []int{1, 2, 3, 8, 1} {
				if err := m.params.forward(context.Background(), m.config, ids, s, members); err != nil {
					t.Fatal(err)
				}
				if alone == nil {
					alone = slices.Clone(s.x)
				}
				if !slices.Equal(s.x, alone) {
					t.Errorf("%s, %d tokens: a crew of %d gives other bits than one", f.name, len(ids), members)
				}
			}
		}
	}
}

// Every group is done once between two meetings, by the members asked for, and
// nobody goes on before all have met.
func TestCrew(t *testing.T) {
	const steps = 50
	for _, test := range []struct{ groups, size int }{{1, 1}, {7, 3}, {2, 5}, {0, 2}, {100, 4}, {5, 1}} {
		done := make([]atomic.Int32, test.groups)
		var c *crew
		c = newCrew(func(member int) {
			if member < 0 || member >= test.size {
				t.Errorf("member %d works in a crew of %d", member, test.size)
			}
			for step := range int32(steps) {
				for group, ok := c.take(); ok; group, ok = c.take() {
					if n := done[group].Add(1); n != step+1 {
						t.Errorf("group %d done %d times in step %d", group, n, step)
					}
				}
				if !c.meet() {
					t.Errorf("a crew of %d stops by itself", test.size)
				}
			}
		})
		c.groups = test.groups
		c.work(test.size)
		for group := range done {
			if n := done[group].Load(); n != steps {
				t.Errorf("group %d of %d done %d times in %d steps by a crew of %d", group, test.groups, n, steps, test.size)
			}
		}
	}
}

// A member that is late is waited for, also after the others have gone to sleep.
func TestCrewWaits(t *testing.T) {
	var late atomic.Bool
	var c *crew
	c = newCrew(func(member int) {
		if member == 1 {
			time.Sleep(30 * time.Millisecond)
			late.Store(true)
		}
		if !c.meet() || !late.Load() {
			t.Errorf("member %d goes on before member 1 is there", member)
		}
	})
	c.work(3)
}

// After a stop or a panic of any member nobody goes on, all have ended when work
// returns, and the crew can work again.
func TestCrewStops(t *testing.T) {
	broken := errors.New("broken")
	for _, culprit := range []int{0, 1, 2} {
		for _, panics := range []bool{false, true} {
			var running, steps atomic.Int32
			var c *crew
			c = newCrew(func(member int) {
				running.Add(1)
				defer running.Add(-1)
				for c.meet() {
					if steps.Add(1) > 20 && member == culprit {
						if panics {
							panic(broken)
						}
						c.stop()
					}
				}
			})
			func() {
				defer func() {
					if p := recover(); panics && p != broken || !panics && p != nil {
						t.Errorf("member %d: work panics with %v", culprit, p)
					}
					if n := running.Load(); n != 0 {
						t.Errorf("%d members still run", n)
					}
				}()
				c.work(3)
			}()
			c.job = func(int) {
				if !c.meet() {
					t.Error("the crew does not work again")
				}
			}
			c.work(2)
		}
	}
}

// P5: a context that ends stops a crew between two steps, and the scratch serves the
// next text.
func TestForwardStops(t *testing.T) {
	m := fixtures[0].load(t)
	ids, s := m.Tokens(strings.Repeat("word, ", 100)), newScratch()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.params.forward(ended, m.config, ids, s, 3); !errors.Is(err, context.Canceled) {
		t.Errorf("forward after the end of its context: %v", err)
	}
	if err := m.params.forward(context.Background(), m.config, ids, s, 3); err != nil {
		t.Error(err)
	}
}

// Members are the processors shared among the calls, but at least 1, and at
// least 4 rows for each.
func TestMembers(t *testing.T) {
	for _, test := range []struct{ tokens, processors, calls, want int }{
		{3, 8, 1, 1}, {7, 8, 1, 1}, {8, 8, 1, 2}, {31, 8, 1, 7}, {512, 8, 1, 8}, {512, 8, 2, 4}, {512, 8, 20, 1}, {512, 1, 1, 1},
	} {
		if got := members(test.tokens, test.processors, test.calls); got != test.want {
			t.Errorf("members(%d, %d, %d) = %d, want %d", test.tokens, test.processors, test.calls, got, test.want)
		}
	}
}
