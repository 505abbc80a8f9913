package bert

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// The hidden states are the same to the bit however many goroutines share the
// rows, and whatever the scratch was used for before.
func TestForwardByAnyCrew(t *testing.T) {
	m := fixtures[0].load(t)
	s := newScratch()
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
				t.Errorf("%d tokens: a crew of %d gives other bits than one", len(ids), members)
			}
		}
	}
}

// Every group is done once, by at most the members asked for.
func TestCrew(t *testing.T) {
	var c crew
	for _, test := range []struct{ groups, size int }{{1, 1}, {7, 3}, {2, 5}, {0, 2}, {100, 4}, {5, 1}} {
		done := make([]atomic.Int32, test.groups)
		c.groups = test.groups
		c.do = func(member, group int) {
			if member < 0 || member >= test.size {
				t.Errorf("member %d works in a crew of %d", member, test.size)
			}
			done[group].Add(1)
		}
		c.hire(test.size)
		c.work(test.size)
		for group := range done {
			if n := done[group].Load(); n != 1 {
				t.Errorf("group %d of %d done %d times by a crew of %d", group, test.groups, n, test.size)
			}
		}
	}
}

// A panic in any member comes out where the crew was set to work, after all
// have stopped, and the crew can work again.
func TestCrewPanic(t *testing.T) {
	broken := errors.New("broken")
	for _, culprit := range []int{0, 1} {
		var c crew
		var running atomic.Int32
		c.groups = 50
		met := make(chan struct{}) // closed when both members have a group
		var members atomic.Int32
		c.do = func(member, _ int) {
			running.Add(1)
			defer running.Add(-1)
			if members.Add(1) == 2 {
				close(met)
			}
			<-met
			if member == culprit {
				panic(broken)
			}
		}
		c.hire(2)
		func() {
			defer func() {
				if p := recover(); p != broken {
					t.Errorf("member %d panics: work gives %v, want the panic", culprit, p)
				}
				if n := running.Load(); n != 0 {
					t.Errorf("%d members still run", n)
				}
			}()
			c.work(2)
		}()
		c.do = func(int, int) {}
		c.work(2)
	}
}

// Members are the processors shared among the calls, but at least 1, and at
// least 16 rows for each.
func TestMembers(t *testing.T) {
	for _, test := range []struct{ tokens, processors, calls, want int }{
		{3, 8, 1, 1}, {31, 8, 1, 1}, {32, 8, 1, 2}, {512, 8, 1, 8}, {512, 8, 2, 4}, {512, 8, 20, 1}, {512, 1, 1, 1},
	} {
		if got := members(test.tokens, test.processors, test.calls); got != test.want {
			t.Errorf("members(%d, %d, %d) = %d, want %d", test.tokens, test.processors, test.calls, got, test.want)
		}
	}
}
