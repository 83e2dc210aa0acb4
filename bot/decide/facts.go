package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"matrix-tui/bot/policy"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// factsOf reads what the route of a message depends on. The caller holds the lock.
func (r *Room) factsOf(ctx context.Context, row state.Event, alone bool) (f facts, err error) {
	m, ok := row.Message()
	if f.to = r.Judge.Addressee(m); !ok || f.to == policy.Others {
		return f, nil
	}
	if f.stops = r.Judge.Stops(row.Event) && r.Works(ctx, row.Sender); f.stops {
		return f, nil
	}
	f.mention = r.Env.Policy.Room(r.Env.ID).Reply.In(alone) != policy.All
	if about := m.RelatesTo.ReplyTo(); about != "" {
		if f.reply, err = r.About(ctx, about); err != nil {
			return f, err
		}
		if f.reply.Told.Kind == state.KindReply {
			f.reply = nil
		}
	}
	if root := m.RelatesTo.Thread(); root != "" && f.reply == nil {
		if f.root, err = r.About(ctx, root); err != nil {
			return f, err
		}
	}
	if f.reply == nil && f.root == nil {
		key, err := r.joins(ctx, row)
		if err != nil {
			return f, err
		}
		f.joins = key != ""
	}
	f.open, err = r.askedBefore(ctx, row)
	return f, err
}

// askedBefore returns the waiting tasks whose question is before a message in the room's timeline. A message that was
// written before the question does not answer it, even if the homeserver delivers it later.
func (r *Room) askedBefore(ctx context.Context, row state.Event) ([]state.Task, error) {
	if r.Env.Waits.Count(r.Env.ID) == 0 {
		return nil, nil
	}
	waiting, err := r.Env.Journal.Tasks.WaitingIn(ctx, r.Env.ID)
	if err != nil {
		return nil, fmt.Errorf("read waiting tasks: %w", err)
	}
	var failed error
	waiting = slices.DeleteFunc(waiting, func(rec state.Task) bool {
		sent, err := r.Env.Shown(ctx, r.Env.Task(rec).Question().Txn())
		if err == nil && sent.Event != "" {
			var echo state.Event
			if echo, err = r.Env.Journal.Events.Get(ctx, r.Env.ID, sent.Event); err == nil {
				return echo.Seq >= row.Seq || writtenBefore(row.Event, echo.Event)
			}
		}
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			failed = fmt.Errorf("look up question: %w", err)
		}
		return true // not in the room yet
	})
	return waiting, failed
}

// lateTime is how much older than a question a message may be and still answer it.
const lateTime = time.Minute

// writtenBefore reports whether a message was written before a question, by the clock of the homeserver that both come
// from. Clocks of different servers are not compared.
func writtenBefore(message, question event.Event) bool {
	_, theirs, _ := strings.Cut(message.Sender, ":")
	_, ours, _ := strings.Cut(question.Sender, ":")
	return theirs == ours && question.Time.Sub(message.Time) > lateTime
}
