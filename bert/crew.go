package bert

import (
	"sync"
	"sync/atomic"
)

// crew is the goroutines that go through the rows of a text together, a group
// of rows at a time. It is kept from pass to pass, so that a pass takes no
// memory for it.
type crew struct {
	groups   int
	next     atomic.Int32 // the group to take
	do       func(member, group int)
	away     sync.WaitGroup
	panicked atomic.Pointer[any]
	help     []func() // what the members besides the caller run
}

// hire makes the crew as large as that, the caller included.
func (c *crew) hire(size int) {
	for member := len(c.help) + 1; member < size; member++ {
		c.help = append(c.help, func() {
			defer c.away.Done()
			defer func() {
				if p := recover(); p != nil {
					kept := p // p itself would be on the heap each time
					c.panicked.Store(&kept)
				}
			}()
			c.take(member)
		})
	}
}

// work returns when size members have done all groups. A panic in any of them
// comes out here.
func (c *crew) work(size int) {
	c.next.Store(0)
	for _, help := range c.help[:size-1] {
		c.away.Add(1)
		go help()
	}
	defer c.away.Wait() // also when this member panics: the others still use the scratch
	c.take(0)
	c.away.Wait()
	if p := c.panicked.Swap(nil); p != nil {
		panic(*p)
	}
}

// take does one group after the other until none is left.
func (c *crew) take(member int) {
	for group := int(c.next.Add(1)) - 1; group < c.groups; group = int(c.next.Add(1)) - 1 {
		c.do(member, group)
	}
}
