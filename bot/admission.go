package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/queue"
	"matrix-tui/bot/text"
	"matrix-tui/bot/timeline"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// cleartextQuiet is the minimum time between two warnings about unencrypted
// messages in the same room.
const cleartextQuiet = time.Hour

// admission collects new events on their way into the journal.
type admission struct {
	bot    *Bot
	rows   []state.Event
	echoes []event.Event
}

// read reads the timelines of a batch. The events of one that panics are admitted as they are: the room's worker counts
// which of them does.
func (b *Bot) read(ctx context.Context, batch *matrix.Sync, last string, before, now map[string]bool) (all timeline.Batch, err error) {
	for name := range batch.Joined {
		var one timeline.Batch
		err := b.work.Guard(name, "reading a timeline", func() (err error) {
			one, err = b.timeline.Read(ctx, batch, name, last, before[name], now[name])
			return err
		})
		if queue.IsPanic(err) {
			one, err = b.timeline.Unread(ctx, batch, name, last, now[name])
		}
		if err != nil {
			return all, err
		}
		all.Events, all.Gaps, all.Short = append(all.Events, one.Events...), append(all.Gaps, one.Gaps...), append(all.Short, one.Short...)
	}
	return all, nil
}

// add adds an event of a timeline.
func (a *admission) add(ctx context.Context, e timeline.Event) {
	if a.bot.isSelf(e.Sender) && e.Transaction != "" {
		a.echoes = append(a.echoes, e.Event)
	}
	row := a.bot.examine(ctx, e.Event, e.Fresh)
	wanted := row.Kind != event.KindContext
	if a.bot.isOwnEdit(row.Event) {
		return
	}
	switch {
	case e.MustEncrypt && e.Spoken() && !a.bot.isSelf(e.Sender):
		row.Encryption = event.Cleartext
		if wanted {
			row.Kind = event.KindCleartext
		}
	case wanted:
		row.Status = state.Pending
	}
	_ = a.bot.work.Guard(row.Room, "trimming an event", func() error {
		row = a.bot.trim(row)
		return nil
	})
	a.rows = append(a.rows, row)
}

// settle marks our messages whose echoes are among the events as sent, and archives
// what was answered before. An event that panics here does not stop the others. Call it
// before the events are committed: echoes arrive only once.
func (a *admission) settle(ctx context.Context) error {
	for _, e := range a.echoes {
		err := a.bot.work.Guard(e.Room, "reading an echo", func() error {
			err := a.bot.room(e.Room).outbox.Sent(ctx, e.Transaction, e.ID)
			if errors.Is(err, state.ErrNotFound) { // edits of a progress notice have no row
				err = a.bot.noteAnswered(ctx, e)
			}
			if err == nil {
				a.bot.pinEchoed(ctx, e.Transaction)
			}
			return err
		})
		if err != nil && !queue.IsPanic(err) {
			return fmt.Errorf("mark echoed message: %w", err)
		}
	}
	for i, row := range a.rows {
		if row.Status != state.Pending {
			continue
		}
		if err := a.bot.upgrades.Note(ctx, row); err != nil {
			return err
		}
		err := a.bot.work.Guard(row.Room, "comparing an event with the journal", func() error {
			answered, err := a.bot.Journal.Messages.Answered(ctx, state.KeyOf(row.Room, row.ID))
			if answered {
				a.rows[i].Status = state.Archived
			}
			return err
		})
		if err != nil && !queue.IsPanic(err) {
			return err
		}
	}
	return nil
}

// drop forgets tombstones that were noted and are not committed.
func (a *admission) drop(ctx context.Context) {
	for _, row := range a.rows {
		a.bot.upgrades.Drop(ctx, row)
	}
}

// finish acts on the committed events.
func (a *admission) finish(ctx context.Context, fresh []state.Event) {
	for _, row := range fresh {
		_ = a.bot.work.Guard(row.Room, "acting on a new event", func() error {
			if row.Kind == event.KindCleartext {
				a.bot.room(row.Room).tellCleartext(ctx, row)
			}
			a.bot.verify(ctx, row.Event)
			return nil
		})
		a.bot.dispatch(row)
	}
}

// tellCleartext tells the room that an unencrypted message was ignored, at most
// once an hour.
func (r *room) tellCleartext(ctx context.Context, row state.Event) {
	r.mu.Lock()
	quiet := time.Since(r.cleartext) < cleartextQuiet
	if !quiet {
		r.cleartext = time.Now()
	}
	r.mu.Unlock()
	if quiet {
		return
	}
	r.bot.log.Warn().Str("room", r.id).Str("sender", row.Sender).Msg("cleartext message in an encrypted room: not obeyed")
	m := r.answer(row, state.KindCleartext, state.KeyOf(row.Room, row.ID)+"-clear", "🔓 I ignored an unencrypted message from "+text.Code(row.Sender)+". This room is encrypted, so I act only on encrypted messages. "+
		"If you wrote it, check your client's encryption settings and send it again.")
	if err := r.queue(ctx, m); err != nil && ctx.Err() == nil {
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("cannot queue the warning about a cleartext message")
	}
}
