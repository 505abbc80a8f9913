package bert

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// crew is the goroutines that compute a text together: each does the same, takes
// its groups of rows from what is left, and meets the others where one step
// needs all of the step before. It is kept from text to text, so that a text
// takes no memory for it.
type crew struct {
	job      func(member int) // what each member does
	size     int
	groups   int
	next     atomic.Int32  // the group to take
	here     atomic.Int32  // members that wait
	meetings atomic.Uint32 // that have ended
	over     atomic.Bool   // nobody is to go on
	sleep    sync.Mutex
	wake     sync.Cond
	away     sync.WaitGroup
	panicked atomic.Pointer[any]
	help     []func() // what the members besides the caller run
}

func newCrew(job func(member int)) *crew {
	c := &crew{job: job}
	c.wake.L = &c.sleep
	return c
}

// work returns when so many members, the caller being one, have done the job. A
// panic in any of them comes out here.
func (c *crew) work(size int) {
	c.size = size
	c.next.Store(0)
	c.here.Store(0)
	c.over.Store(false)
	for member := len(c.help) + 1; member < size; member++ {
		c.help = append(c.help, func() {
			defer c.away.Done()
			c.play(member)
		})
	}
	for _, help := range c.help[:size-1] {
		c.away.Add(1)
		go help()
	}
	c.play(0)
	c.away.Wait()
	if p := c.panicked.Swap(nil); p != nil {
		panic(*p)
	}
}

// play does a member's job; when it panics, nobody goes on.
func (c *crew) play(member int) {
	defer func() {
		if p := recover(); p != nil {
			kept := p // p itself would be on the heap each time
			c.panicked.Store(&kept)
			c.stop()
		}
	}()
	c.job(member)
}

// take returns a group that no other member has since the last meeting; ok is
// false when none is left.
func (c *crew) take() (group int, ok bool) {
	group = int(c.next.Add(1)) - 1
	return group, group < c.groups
}

// stop ends the job at the next meeting.
func (c *crew) stop() {
	c.over.Store(true)
	c.end()
}

// meet waits for all members. ok is false when nobody is to go on.
func (c *crew) meet() (ok bool) {
	meeting := c.meetings.Load()
	if int(c.here.Add(1)) == c.size {
		c.here.Store(0)
		c.next.Store(0)
		c.end()
		return !c.over.Load()
	}
	// To wake a sleeper takes longer than most steps of a short text.
	for range patience {
		if c.meetings.Load() != meeting || c.over.Load() {
			return !c.over.Load()
		}
		runtime.Gosched()
	}
	c.sleep.Lock()
	defer c.sleep.Unlock()
	for c.meetings.Load() == meeting && !c.over.Load() {
		c.wake.Wait()
	}
	return !c.over.Load()
}

// patience is how often a member looks for the others before it sleeps: for some
// tens of microseconds.
const patience = 200

// end ends the meeting.
func (c *crew) end() {
	c.sleep.Lock()
	c.meetings.Add(1)
	c.sleep.Unlock()
	c.wake.Broadcast()
}
