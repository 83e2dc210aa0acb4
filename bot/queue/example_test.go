package queue_test

import (
	"fmt"

	"matrix-tui/bot/queue"
)

// A worker's goroutine lives only while there is work. What is to be done is in the journal; here it is a slice.
func ExampleWorker() {
	var group queue.Group
	group.Open.Store(true)
	pending := []string{"first", "second"}
	w := queue.Worker{
		Group: &group,
		Work: func() {
			for ; len(pending) > 0; pending = pending[1:] {
				fmt.Println(pending[0])
			}
		},
	}
	w.Wake()
	group.Wait()
	// Output:
	// first
	// second
}
