package smartenv

import (
	"sync/atomic"
	"testing"
)

// Every piece is done once, whatever the sizes, and a panic reaches the caller.
func TestShareOut(t *testing.T) {
	for _, workers := range []int{1, 3} {
		for _, n := range []int{0, 1, 2, 7, 100} {
			for _, part := range []int{1, 3, 100} {
				done := make([]atomic.Int32, n)
				shareOut(workers, n, part, func(first, end int) {
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
	defer func() {
		if p := recover(); p != "piece 5" {
			t.Errorf("recovered %v, want the panic of piece 5", p)
		}
	}()
	shareOut(2, 9, 1, func(first, _ int) {
		if first == 5 {
			panic("piece 5")
		}
	})
	t.Error("shareOut returned after a panic")
}
