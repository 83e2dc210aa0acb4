package bot

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/media"
	"matrix-tui/bot/task"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
)

const (
	// carryPatience is how long a homeserver that is away is waited for, with one
	// file.
	carryPatience = 2 * time.Minute
	// uploadPatience is how long one file may take to the homeserver.
	uploadPatience = 5 * time.Minute
)

// tmp is the folder of what is on its way between a room and a box.
func (b *Bot) tmp() string { return filepath.Join(b.StateDir, "tmp") }

// patiently does something with the homeserver, again while that is away. Each
// try has its own time.
func patiently(ctx context.Context, do func() error) error {
	until := time.Now().Add(carryPatience)
	for again := retry.New(time.Second, 30*time.Second); ; {
		err := do()
		if err == nil || !matrix.Transient(err) || time.Now().After(until) {
			return err
		}
		if err := retry.Sleep(ctx, matrix.RetryAfter(err, again.Next())); err != nil {
			return err
		}
	}
}

// fileOf is the file that an event carries.
func fileOf(e event.Event) (media.File, bool) {
	m, ok := e.Message()
	if !ok || m.IsEdit() {
		return media.File{}, false
	}
	return media.Describe(m)
}

// File is part of [task.Room].
func (r taskRoom) File(ctx context.Context, room, event string) (f media.File, ok bool, err error) {
	row, err := r.bot.event(ctx, room, event)
	if errors.Is(err, state.ErrNotFound) {
		return f, false, nil
	}
	if err != nil {
		return f, false, fmt.Errorf("look up a file's message: %w", err)
	}
	f, ok = fileOf(row.Event)
	return f, ok, nil
}

// Fetch is part of [task.Room].
func (r taskRoom) Fetch(ctx context.Context, f media.File) (fetched *media.Fetched, err error) {
	err = patiently(ctx, func() (err error) {
		fetched, err = media.Fetch(ctx, r.bot.account.Download, f, r.bot.tmp(), r.bot.MediaMax)
		return err
	})
	return fetched, err
}

// Send is part of [task.Room].
func (r taskRoom) Send(ctx context.Context, key, txn string, item *media.Item) error {
	var up media.Uploaded
	err := patiently(ctx, func() (err error) {
		call, cancel := context.WithTimeout(ctx, uploadPatience)
		defer cancel()
		encrypted, err := r.bot.account.IsEncrypted(call, r.id)
		if err != nil {
			return err
		}
		up, err = media.Upload(call, r.bot.account.Upload, item, encrypted)
		return err
	})
	switch {
	case errors.Is(err, media.ErrTooLarge):
		return &task.RefusedFile{Said: "is larger (" + text.Size(item.Size) + ") than the homeserver takes", Final: true, Err: err}
	case matrix.IsAnswer(err):
		return &task.RefusedFile{Said: "stays in the outbox for next time: the homeserver does not accept it now", Err: err}
	case err != nil:
		return err
	}
	content, err := media.Content(item, up)
	if err != nil {
		return err
	}
	if content, err = matrix.WithTxn(content, txn); err != nil {
		return err
	}
	return r.queue(ctx, state.Message{Txn: txn, Room: r.id, Kind: state.KindFile, Type: event.TypeMessage, Content: content, Task: key})
}
