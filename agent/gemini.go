package agent

import (
	"context"
	"errors"

	"github.com/rs/zerolog"
)

// DefaultModel is used when a Task names none.
const DefaultModel = "gemini-2.5-pro"

// Gemini runs tasks with Gemini CLI. It holds no state and may be used by
// many goroutines at once, on different boxes.
type Gemini struct {
	// Key is the placeholder that the box knows as its API key
	// (gateway.Placeholder).
	Key string
	Log zerolog.Logger
}

// Run does t in box and returns when it is over; emit sees its events, one at
// a time, in order, and should return at once. A run that exists already is
// read from its beginning, so emit may see events it has seen before.
//
// When ctx is cancelled, Run returns its error and the run in the box goes on;
// a Run with Attached set finishes it. When t.Deadline passes, the run is
// stopped, and the Outcome says TimedOut.
func (g *Gemini) Run(ctx context.Context, box Box, t Task, emit func(Event)) (Outcome, error) {
	return Outcome{}, errors.New("run agent: not yet")
}
