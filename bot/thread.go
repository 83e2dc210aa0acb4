package bot

import (
	"context"
	"fmt"

	"matrix-tui/bot/matrix"
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

// origin is where something was said: what is answered to it relates to that.
type origin struct {
	event  string
	thread string // its root, or ""
	moved  bool   // it was said in a room before this one: nothing here can reply to it
}

func originOf(row state.Inbound) origin { return origin{row.Event, threadOf(row), hasMoved(row)} }

func (t *task) origin() origin { return origin{t.rec.Event, t.rec.Thread, t.hasMoved()} }

// relate is the relation of a message that answers an event: a reply, in the
// thread of the origin, if it stands in one. Nil when the event is the origin's,
// and stands in another room.
func relate(o origin, about string) *matrix.RelatesTo {
	rel := replyTo(about)
	if o.moved {
		if about == o.event {
			return nil
		}
		return rel // to what was said here
	}
	if o.thread != "" {
		rel = replyTo(o.event) // in a thread every relation must be sendable as it is
		rel.RelType, rel.EventID = "m.thread", o.thread
	}
	return rel
}

// follows is the relation of what comes behind a first message: in a thread it
// stands there, too.
func follows(o origin) *matrix.RelatesTo {
	if o.thread == "" || o.moved {
		return nil
	}
	rel := replyTo(o.event)
	rel.RelType, rel.EventID, rel.IsFallingBack = "m.thread", o.thread, true
	return rel
}

// inThread finds the waiting task whose thread a message stands in: it answers
// its question, whoever wrote it.
func (r *room) inThread(ctx context.Context, row state.Inbound) (*state.Task, error) {
	root := threadOf(row)
	if root == "" || r.bot.waits.count(r.id) == 0 {
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
