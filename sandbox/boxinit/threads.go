package boxinit

import (
	"runtime"
	"sync"
)

// spareThreads is how many threads PID 1 and a supervisor make in advance.
const spareThreads = 6

// reserveThreads makes threads that the Go runtime keeps for later. When a run has
// used up the container's processes, the runtime can make none and would give up: the
// container, or the record of the run, would be lost just when it is needed.
func reserveThreads() {
	runtime.GOMAXPROCS(2)
	var all, gone sync.WaitGroup
	all.Add(spareThreads)
	for range spareThreads {
		gone.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait() // each goroutine has a thread of its own by now
		})
	}
	gone.Wait()
}
