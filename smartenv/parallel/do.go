package parallel

import (
	"sync"
	"sync/atomic"
)

// Do has n pieces of work done by some goroutines at once: it calls do for one
// part of them after the other, first up to but not including end. A panic in do
// comes out here, where whoever called can recover it; no further part is begun.
func Do(workers, n, part int, do func(first, end int)) {
	var next atomic.Int64
	var panicked atomic.Pointer[any]
	var wait sync.WaitGroup
	for range min(workers, (n+part-1)/part) {
		wait.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panicked.Store(&p)
					next.Store(int64(n))
				}
			}()
			for end := int(next.Add(int64(part))); end-part < n; end = int(next.Add(int64(part))) {
				do(end-part, min(end, n))
			}
		})
	}
	wait.Wait()
	if p := panicked.Load(); p != nil {
		panic(*p)
	}
}
