package sentence_test

import (
	"errors"
	"fmt"

	"matrix-tui/state/sentence"
)

// The log has the error; the room has the sentence.
func ExampleNew() {
	full := errors.New("write journal: no space left on device")
	err := fmt.Errorf("store the task: %w", sentence.New(full, "The host's disk is full."))
	fmt.Println(err)
	fmt.Println(sentence.Text(err))
	// Output:
	// store the task: write journal: no space left on device
	// The host's disk is full.
}
