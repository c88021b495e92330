// Package together does the same work on many things at a time.
package together

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Do calls do for 0 to n-1, on as many processors as there are, and returns when
// all calls have. A panic of do is not caught.
func Do(n int, do func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	group.Wait()
}
