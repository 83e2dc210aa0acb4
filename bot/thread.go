package bot

import (
	"context"
	"fmt"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// threadOf is the root of the thread that a message stands in, "" for none.
func threadOf(row state.Inbound) string {
	e, _ := parseEvent(row.Raw)
	m, _ := e.message()
	if m.RelatesTo.RelType == "m.thread" {
		return m.RelatesTo.EventID
	}
	return ""
}

func originOf(row state.Inbound) task.Origin {
	return task.Origin{Event: row.Event, Thread: threadOf(row), Moved: hasMoved(row)}
}

// relate is the relation of a message that answers an event: a reply, in the
// thread of the origin, if it stands in one. Nil when the event is the origin's,
// and stands in another room.
func relate(o task.Origin, about string) *matrix.RelatesTo {
	rel := replyTo(about)
	if o.Moved {
		if about == o.Event {
			return nil
		}
		return rel // to what was said here
	}
	if o.Thread != "" {
		rel = replyTo(o.Event) // in a thread every relation must be sendable as it is
		rel.RelType, rel.EventID = "m.thread", o.Thread
	}
	return rel
}

// follows is the relation of what comes behind a first message: in a thread it
// stands there, too.
func follows(o task.Origin) *matrix.RelatesTo {
	if o.Thread == "" || o.Moved {
		return nil
	}
	rel := replyTo(o.Event)
	rel.RelType, rel.EventID, rel.IsFallingBack = "m.thread", o.Thread, true
	return rel
}

// inThread finds the waiting task whose thread a message stands in: it answers
// its question, whoever wrote it.
func (r *room) inThread(ctx context.Context, row state.Inbound) (*state.Task, error) {
	root := threadOf(row)
	if root == "" || r.bot.waits.Count(r.id) == 0 {
		return nil, nil
	}
	tasks, err := r.bot.Journal.WaitingIn(ctx, r.id)
	if err != nil {
		return nil, fmt.Errorf("read waiting tasks: %w", err)
	}
	for i := range tasks {
		if tasks[i].Thread != root {
			continue
		}
		before, err := r.askedBefore(ctx, tasks[i], row)
		if err != nil {
			return nil, err
		}
		if before {
			return &tasks[i], nil
		}
	}
	return nil, nil
}
