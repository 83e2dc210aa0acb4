package boxinit

import (
	"runtime"
	"sync"
)

// spareThreads is how many threads PID 1 and a supervisor create in advance.
const spareThreads = 6

// reserveThreads creates threads that the Go runtime keeps for later. When a run has used up the container's processes,
// the runtime cannot create any and would crash: the container, or the record of the run, would be lost just when it is
// needed.
func reserveThreads() {
	runtime.GOMAXPROCS(2)
	var all, gone sync.WaitGroup
	all.Add(spareThreads)
	for range spareThreads {
		gone.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait() // each goroutine has its own thread by now
		})
	}
	gone.Wait()
}
