package bert

import (
	"context"

	"smart-connections-mcp/simd"
)

// group is how many rows go together through the steps that treat each token by
// itself: few enough that what they leave for each other stays in the second
// level of cache, and a multiple of the rows that a kernel takes at once.
const group = 128

// stride is where a row of so many values ends and the next begins: after an odd
// number of cache lines, so that rows do not compete for the same few places in
// the cache.
func stride(width int) int {
	const line = 16 // values in a cache line
	return ((width+line-1)/line | 1) * line
}

// scratch is the memory of one pass. It is reused, so its contents before a
// pass are those of another text. Rows of queries are stride(H) apart, all
// others lie one after the other.
type scratch struct {
	words   buffers
	ctx     context.Context // of the pass, like the next two
	config  Config
	layers  []layer
	x       []float32     // [T×H] hidden states, from layer to layer
	queries []float32     // [T×H] of all heads, head beside head
	keys    []simd.Matrix // [D×T] of each head
	values  []simd.Matrix // [T×D] of each head
	desks   []desk        // one for each member of the crew
	crew    *crew
}

// desk is the memory that a goroutine needs for a group of rows. Rows of
// keyValue, scores and inner are as far apart as stride says.
type desk struct {
	keyValue []float32 // [group×2H] keys, values; within each, head beside head
	scores   []float32 // [few×T] of one head: how much each token looks at each
	context  []float32 // [group×H] what the heads read, head beside head
	inner    []float32 // [group×part] inside the feed-forward step
	step     []float32 // [group×H] what a step adds to x
}

// few is how many rows of a head go through attention together: enough to keep the
// kernels busy, few enough that their scores stay near.
const few = 24

func newScratch() *scratch {
	s := new(scratch)
	s.crew = newCrew(s.pass)
	return s
}

// fit gives each buffer its size for T tokens and a crew, taking memory only if
// no earlier text was as long.
func (s *scratch) fit(c Config, T, members int) {
	s.config = c
	most := group * members
	if members > 1 { // smaller groups, so that one that is held up holds up the others less
		most /= 2
	}
	s.crew.groups = (T + most - 1) / most * members
	rows := (T + s.crew.groups - 1) / s.crew.groups
	grow(&s.x, T*c.Hidden)
	grow(&s.queries, T*stride(c.Hidden))
	grow(&s.keys, c.Heads)
	grow(&s.values, c.Heads)
	for head := range c.Heads {
		s.keys[head].Resize(c.head(), T)
		s.values[head].Resize(T, c.head())
	}
	grow(&s.desks, members)
	for i := range s.desks {
		d := &s.desks[i]
		grow(&d.keyValue, rows*stride(2*c.Hidden))
		grow(&d.scores, few*stride(T))
		grow(&d.context, rows*c.Hidden)
		grow(&d.inner, rows*stride(min(part, c.Intermediate)))
		grow(&d.step, rows*c.Hidden)
	}
}

// grow gives a buffer so many values, keeping those it has.
func grow[T any](buffer *[]T, size int) {
	if size > cap(*buffer) {
		*buffer = append(make([]T, 0, size), (*buffer)[:cap(*buffer)]...)
	}
	*buffer = (*buffer)[:size]
}
