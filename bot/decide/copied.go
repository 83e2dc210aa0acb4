package decide

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

const (
	// copyTime is how long a client is assumed to retry sending a message.
	copyTime = 10 * time.Minute
	// copyRows is how many earlier messages are compared.
	copyRows = 200
)

const copyText = "This message looks like a copy of one that I have already received, so I ignore it. " +
	"If it is a new one, please send it again."

// isCopy reports whether a message to the bot has arrived late, behind one with the same content that its sender wrote
// after it. A homeserver that crashes while it accepts a message may accept it again when the client retries, and
// deliver the first one minutes later. In an encrypted room, such a copy cannot be decrypted: see [event.Copy].
func isCopy(ctx context.Context, env *task.Env, row state.Event) (bool, error) {
	if row.At.Sub(row.Time) <= lateTime {
		return false, nil
	}
	before, err := env.Journal.Events.Before(ctx, env.ID, row.Seq, copyRows)
	if err != nil {
		return false, fmt.Errorf("look for a copy: %w", err)
	}
	return slices.ContainsFunc(before, func(e state.Event) bool { return repeats(row.Event, e.Event) }), nil
}

// repeats reports whether the second of two messages is the first one, sent again.
func repeats(first, second event.Event) bool {
	one, ok := first.Message()
	two, also := second.Message()
	later := second.Time.Sub(first.Time)
	return ok && also && first.Sender == second.Sender && later > 0 && later <= copyTime && reflect.DeepEqual(one, two)
}
