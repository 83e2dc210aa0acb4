package queue_test

import (
	"fmt"
	"sync"

	"matrix-tui/bot/queue"
)

// A worker's goroutine lives only while there is work. What is to be done is in the journal; here it is a slice.
func ExampleWorker() {
	var done sync.WaitGroup
	pending := []string{"first", "second"}
	w := queue.Worker{
		Start: func(run func()) bool { done.Go(run); return true },
		Work: func() {
			for ; len(pending) > 0; pending = pending[1:] {
				fmt.Println(pending[0])
			}
		},
	}
	w.Wake()
	done.Wait()
	// Output:
	// first
	// second
}
