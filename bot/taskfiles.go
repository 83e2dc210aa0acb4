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
	// transferTimeout is how long the transfer of one file is retried while the
	// homeserver is unreachable.
	transferTimeout = 2 * time.Minute
	// uploadTimeout is the timeout for one upload.
	uploadTimeout = 5 * time.Minute
)

// tmp returns the directory for files in transfer between a room and its container.
func tmp(stateDir string) string { return filepath.Join(stateDir, "tmp") }

// withRetry calls do until it succeeds, fails for good or transferTimeout has
// passed. do sets its own timeout.
func withRetry(ctx context.Context, do func() error) error {
	until := time.Now().Add(transferTimeout)
	for again := retry.New(time.Second, 30*time.Second); ; {
		err := do()
		if err == nil || !matrix.Temporary(err) || time.Now().After(until) {
			return err
		}
		if err := retry.Sleep(ctx, matrix.RetryAfter(err, again.Next())); err != nil {
			return err
		}
	}
}

// File is part of [task.Room].
func (r taskRoom) File(ctx context.Context, room, event string) (f media.File, ok bool, err error) {
	row, err := r.bot.judge.Event(ctx, room, event)
	if errors.Is(err, state.ErrNotFound) {
		return f, false, nil
	}
	if err != nil {
		return f, false, fmt.Errorf("look up the file's message: %w", err)
	}
	f, ok = media.FileOf(row.Event)
	return f, ok, nil
}

// Fetch is part of [task.Room].
func (r taskRoom) Fetch(ctx context.Context, f media.File) (fetched *media.Fetched, err error) {
	err = withRetry(ctx, func() (err error) {
		fetched, err = media.Fetch(ctx, r.bot.account.Messages.Download, f, tmp(r.bot.StateDir), r.bot.MediaMax)
		return err
	})
	return fetched, err
}

// Send is part of [task.Room].
func (r taskRoom) Send(ctx context.Context, key, txn string, item *media.Item) error {
	var file event.FileInfo
	err := withRetry(ctx, func() (err error) {
		call, cancel := context.WithTimeout(ctx, uploadTimeout)
		defer cancel()
		encrypted, err := r.bot.account.Keys.IsEncrypted(call, r.id)
		if err != nil {
			return err
		}
		file, err = media.Upload(call, r.bot.account, item, encrypted)
		return err
	})
	switch {
	case matrix.IsFileTooLarge(err):
		return &task.RefusedFile{Said: "is larger (" + text.Size(item.Size) + ") than the homeserver accepts", Final: true,
			Err: err}
	case matrix.IsAnswer(err):
		return &task.RefusedFile{Said: "stays in the outbox for next time: the homeserver does not accept it at the moment",
			Err: err}
	case err != nil:
		return err
	}
	rec, err := r.bot.Journal.Tasks.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	m := task.OriginOf(rec).Reply(r.outbox.Message(state.KindFile, txn, item.Name), rec.Event, "").Following()
	m.Task, m.File = key, &file
	return r.outbox.Queue(ctx, m)
}
