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

// relate is the relation of a message that answers an event: a reply, in the
// thread where the row stands, if it stands in one. Nil when the event is the row's, and
// stands in another room.
func relate(row state.Inbound, about string) *matrix.RelatesTo {
	rel := replyTo(about)
	if hasMoved(row) {
		if about == row.Event {
			return nil
		}
		return rel // to what was said here
	}
	if root := threadOf(row); root != "" {
		rel = replyTo(row.Event) // in a thread every relation must be sendable as it is
		rel.RelType, rel.EventID = "m.thread", root
	}
	return rel
}

// follows is the relation of what comes behind a first message: in a thread it
// stands there, too.
func follows(row state.Inbound) *matrix.RelatesTo {
	root := threadOf(row)
	if root == "" || hasMoved(row) {
		return nil
	}
	rel := replyTo(row.Event)
	rel.RelType, rel.EventID, rel.IsFallingBack = "m.thread", root, true
	return rel
}

// inThread finds the waiting task whose thread a message stands in: it answers
// its question, whoever wrote it.
func (r *room) inThread(ctx context.Context, row state.Inbound) (*state.Inbound, error) {
	root := threadOf(row)
	if root == "" || r.bot.waits.count(r.id) == 0 {
		return nil, nil
	}
	rows, err := r.bot.Journal.WaitingIn(ctx, r.id)
	if err != nil {
		return nil, fmt.Errorf("read waiting tasks: %w", err)
	}
	for i := range rows {
		if threadOf(rows[i]) != root {
			continue
		}
		before, err := r.askedBefore(ctx, rows[i], row)
		if err != nil {
			return nil, err
		}
		if before {
			return &rows[i], nil
		}
	}
	return nil, nil
}
