package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/media"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/workspace"
)

// quoteWindow is the number of messages before the quoted one that the agent gets
// as context.
const quoteWindow = 6

// Quote is part of [task.Room].
func (r taskRoom) Quote(ctx context.Context, room, about string) (*workspace.Quote, error) {
	row, err := r.bot.judge.Event(ctx, room, about)
	quoted, ok := r.saidIn(row.Event)
	if errors.Is(err, state.ErrNotFound) || err == nil && !ok { // of somebody who may not use the bot: see trim
		var fetched state.Event
		fetched, err = r.fetch(ctx, room, about)
		row.Event = fetched.Event
		quoted, ok = r.saidIn(row.Event)
	}
	if err == nil && ok {
		quoted, err = r.newest(ctx, row, quoted)
	}
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, nil
	}
	q := &workspace.Quote{Sender: quoted.Sender, Text: quoted.Text}
	if row.Seq == 0 { // older than the journal
		return q, nil
	}
	before, err := r.bot.Journal.Events.Before(ctx, room, row.Seq, quoteWindow)
	if err != nil {
		return nil, fmt.Errorf("read earlier messages: %w", err)
	}
	for _, older := range before {
		if older, err = r.bot.judge.Decrypted(ctx, older); err != nil {
			return nil, err
		}
		m, _ := older.Message()
		if older.Sender == r.bot.UserID() && m.MsgType == "m.notice" {
			continue // how a task went, which the room may not show any more
		}
		if line, ok := r.saidIn(older.Event); ok {
			if line, err = r.newest(ctx, older, line); err != nil {
				return nil, err
			}
			q.Before = append(q.Before, line)
		}
	}
	return q, nil
}

// newest returns what a message says after its sender's newest edit.
func (r taskRoom) newest(ctx context.Context, row state.Event, said workspace.Message) (workspace.Message, error) {
	edit, err := r.bot.Journal.Events.LastEdit(ctx, row.Room, row.ID, row.Sender)
	if err == nil {
		edit, err = r.bot.judge.Decrypted(ctx, edit)
	}
	if errors.Is(err, state.ErrNotFound) {
		return said, nil
	}
	if err != nil {
		return said, fmt.Errorf("read edit: %w", err)
	}
	first, _ := row.Message()
	last, _ := edit.Message()
	now, ok := first.Edited(last)
	if !ok {
		return said, nil
	}
	row.Body.Message = &now
	if again, ok := r.saidIn(row.Event); ok {
		return again, nil
	}
	return said, nil
}

// fetch requests an event that is not in the journal from the homeserver. It returns
// an empty row if that fails.
func (r taskRoom) fetch(ctx context.Context, room, id string) (state.Event, error) {
	call, cancel := context.WithTimeout(ctx, matrix.CallTimeout)
	defer cancel()
	got, err := r.bot.account.Messages.Get(call, room, id)
	if err != nil {
		if ctx.Err() != nil {
			return state.Event{}, ctx.Err()
		}
		r.bot.log.Info().Err(err).Str("room", room).Msg("could not fetch the quoted event")
		return state.Event{}, nil
	}
	got = r.bot.account.Keys.Decrypt(ctx, got)
	// it may be older than the room's encryption, but in an encrypted room only a proven sender is quoted
	if !got.IsDecrypted() {
		if encrypted, err := r.bot.account.Keys.IsEncrypted(ctx, room); err != nil || encrypted {
			return state.Event{}, err
		}
	}
	return state.Event{Event: got}, nil
}

// saidIn returns the text of a message; ok is false for other events.
func (r taskRoom) saidIn(e event.Event) (workspace.Message, bool) {
	m, ok := e.Message()
	if !ok || m.IsEdit() || strings.TrimSpace(m.Body) == "" {
		return workspace.Message{}, false
	}
	text := m.Words()
	if f, ok := media.FileOf(e); ok {
		text = strings.TrimSpace(f.Placeholder() + " " + media.CleanName(f.Name) + "\n" + text)
	}
	return workspace.Message{Sender: r.env.NameOf(e.Sender), Text: text}, true
}
