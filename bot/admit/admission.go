// Package admit turns what the homeserver sends, a batch of /sync or a page of history, into rows of the journal. It
// decides once what each event is and for whom, fills gaps, and waits for missing keys. It never acts on what an event
// asks for: the workers of its room do that, from the journal.
package admit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"matrix-tui/bot/alert"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/outbox"
	"matrix-tui/bot/presence"
	"matrix-tui/bot/queue"
	"matrix-tui/bot/text"
	"matrix-tui/bot/timeline"
	"matrix-tui/bot/upgrade"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// Admission admits the events of one account.
type Admission struct {
	*Judge
	Timeline *timeline.Reader
	Receipts *presence.Receipts
	Store    *state.Store
	Watch    *alert.Watch // tells the owners
	Upgrades *upgrade.Shared
	Rooms    Rooms

	Synced queue.Gate // opened after each committed sync
	Worked queue.Gate // opened before each sync request and with each event of its batch

	// Ready is called when the first batch is stored; if it fails, so does syncing. With Rehearsal, the batch is not
	// stored and syncing ends with its error.
	Ready     func() error
	Rehearsal bool
	Took      time.Duration // how long the homeserver took to answer the first sync

	gaps      gaps
	checked   bool        // the homeserver has the newest known event
	startOver atomic.Bool // the next sync is an initial one
}

// Rooms is the part of the bot that works on what is admitted. It is an interface because the rooms, in turn, need to
// know what an event is to the bot.
type Rooms interface {
	// Echoed notes that the homeserver has one of our messages. It is called before the event is stored: echoes arrive
	// once.
	Echoed(ctx context.Context, e event.Event) error
	// Stored acts on a new row.
	Stored(row state.Event)
	// Wake makes the workers of a room look into the journal.
	Wake(room string)
	// Present lets a room's agent start where somebody who may use the bot types or reads.
	Present(room string, typing []string, expected bool)
	// Queue sends a message.
	Queue(ctx context.Context, m state.Message) error
	// Alarm tells a room about an error because of which its messages wait.
	Alarm(ctx context.Context, room string, err error)
}

// read reads the timelines of a batch. If that panics for one, its events are admitted as they are: the room's worker
// finds out which one it was.
func (a *Admission) read(ctx context.Context, batch *matrix.Sync, last string, before,
	now map[string]bool) (all timeline.Batch, err error) {
	for name := range batch.Joined {
		var one timeline.Batch
		err := a.Group.Guard(name, "reading a timeline", func() (err error) {
			one, err = a.Timeline.Read(ctx, batch, name, last, before[name], now[name])
			return err
		})
		if queue.IsPanic(err) {
			one, err = a.Timeline.Unread(ctx, batch, name, last, now[name])
		}
		if err != nil {
			return all, err
		}
		all.Events, all.Gaps, all.Short = append(all.Events, one.Events...), append(all.Gaps, one.Gaps...),
			append(all.Short, one.Short...)
	}
	return all, nil
}

// rows returns the rows of the events of timelines. Our messages whose echoes are among them are marked as sent, and
// what was answered before is archived.
func (a *Admission) rows(ctx context.Context, events []timeline.Event) (rows []state.Event, err error) {
	for _, e := range events {
		a.Worked.Open()
		a.Profile.Note(ctx, e.Event)
		if a.isSelf(e.Sender) && e.Transaction != "" {
			err := a.Group.Guard(e.Room, "reading an echo", func() error { return a.Rooms.Echoed(ctx, e.Event) })
			if err != nil && !queue.IsPanic(err) {
				return nil, fmt.Errorf("mark echoed message: %w", err)
			}
		}
		if row, kept := a.row(ctx, e); kept {
			rows = append(rows, row)
		}
	}
	return rows, a.settle(ctx, rows)
}

// row returns the row of an event. Our own edits are not kept: they are the progress of tasks, there are many, and
// nothing refers to them.
func (a *Admission) row(ctx context.Context, e timeline.Event) (row state.Event, kept bool) {
	row = a.examine(ctx, e.Event, e.Fresh)
	if a.isSelf(row.Sender) && row.Relation().RelType == "m.replace" {
		return row, false
	}
	wanted := row.Kind != event.KindContext
	switch {
	case e.MustEncrypt && e.Spoken() && !a.isSelf(e.Sender):
		row.Encryption = event.Cleartext
		if wanted {
			row.Kind = event.KindCleartext
		}
	case wanted:
		row.Status = state.Pending
	}
	_ = a.Group.Guard(row.Room, "trimming an event", func() error {
		row = a.trim(row)
		return nil
	})
	return row, true
}

// settle archives what was answered before, and notes new tombstones.
func (a *Admission) settle(ctx context.Context, rows []state.Event) error {
	for i, row := range rows {
		if row.Status != state.Pending {
			continue
		}
		if err := a.Upgrades.Note(ctx, row); err != nil {
			return err
		}
		err := a.Group.Guard(row.Room, "comparing an event with the journal", func() error {
			answered, err := a.Journal.Messages.Answered(ctx, state.KeyOf(row.Room, row.ID))
			if answered {
				rows[i].Status = state.Archived
			}
			return err
		})
		if err != nil && !queue.IsPanic(err) {
			return err
		}
	}
	return nil
}

// finish acts on the committed events.
func (a *Admission) finish(ctx context.Context, fresh []state.Event) {
	for _, row := range fresh {
		_ = a.Group.Guard(row.Room, "acting on a new event", func() error {
			if row.Kind == event.KindCleartext {
				a.tellCleartext(ctx, row)
			}
			a.verify(ctx, row.Event)
			return nil
		})
		a.Worked.Open()
		a.Rooms.Stored(row)
	}
}

// tellCleartext tells the room that an unencrypted message was ignored, once in each hour of the clock.
func (a *Admission) tellCleartext(ctx context.Context, row state.Event) {
	txn := state.Hash(row.Room+"\x00"+time.Now().UTC().Format("2006-01-02 15")) + "-clear"
	if _, err := a.Journal.Messages.Get(ctx, txn); !errors.Is(err, state.ErrNotFound) {
		return
	}
	a.Group.Log.Warn().Str("room", row.Room).Str("sender", row.Sender).
		Msg("cleartext message in an encrypted room: not obeyed")
	a.queue(ctx, outbox.Answer(row, state.KindCleartext, txn,
		"🔓 I ignored an unencrypted message from "+text.Code(row.Sender)+". This room is encrypted, so I act only on "+
			"encrypted messages. If you wrote it, check your client's encryption settings and send it again."))
}

// queue sends a message that is not worth an error.
func (a *Admission) queue(ctx context.Context, m state.Message) {
	if err := a.Rooms.Queue(ctx, m); err != nil && ctx.Err() == nil {
		a.Group.Log.Warn().Err(err).Str("room", m.Room).Str("kind", string(m.Kind)).Msg("cannot queue a warning")
	}
}

// verify passes recent events of a device verification to the encryption, also those in
// clear in an encrypted room: Element sends them so, and a verification proves by itself
// who takes part in it.
func (a *Admission) verify(ctx context.Context, e event.Event) {
	m := e.Body.Message
	request := e.Type == event.TypeMessage && m != nil && m.MsgType == event.MsgVerification
	if !request && !strings.HasPrefix(e.Type, "m.key.verification.") {
		return
	}
	if a.isSelf(e.Sender) || a.Account.Now().Sub(e.Time) > 10*time.Minute {
		return
	}
	_ = a.Account.Keys.ProcessVerification(ctx, e)
}
