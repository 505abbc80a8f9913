package parallel

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// Every piece is done once, whatever the sizes.
func TestDo(t *testing.T) {
	for _, workers := range []int{1, 3} {
		for _, n := range []int{0, 1, 2, 7, 100} {
			for _, part := range []int{1, 3, 100} {
				done := make([]atomic.Int32, n)
				Do(workers, n, part, func(first, end int) {
					if end-first > part {
						t.Errorf("a part of %d pieces, want at most %d", end-first, part)
					}
					for i := first; i < end; i++ {
						done[i].Add(1)
					}
				})
				for i := range done {
					if times := done[i].Load(); times != 1 {
						t.Errorf("%d workers, %d pieces in parts of %d: piece %d done %d times", workers, n, part, i, times)
					}
				}
			}
		}
	}
}

// A panic reaches the caller once all goroutines have ended, and what was left is
// not done for nothing.
func TestDoPanic(t *testing.T) {
	for _, workers := range []int{1, 3} {
		var under, begun atomic.Int32
		panicking := make(chan struct{})
		got := caught(func() {
			Do(workers, 1000, 1, func(first, _ int) {
				under.Add(1)
				defer under.Add(-1)
				begun.Add(1)
				if first == 0 {
					for under.Load() < int32(workers) {
						runtime.Gosched()
					}
					defer close(panicking)
					panic("piece 0")
				}
				<-panicking
				time.Sleep(10 * time.Millisecond)
			})
		})
		if got != "piece 0" || under.Load() != 0 {
			t.Errorf("%d workers: recovered %v with %d pieces under way, want the panic of piece 0 and none", workers, got, under.Load())
		}
		if n := begun.Load(); n > 100 {
			t.Errorf("%d workers began %d of 1000 pieces after the panic of the first", workers, n)
		}
	}
}

// caught returns what do panics with.
func caught(do func()) (p any) {
	defer func() { p = recover() }()
	do()
	return nil
}
