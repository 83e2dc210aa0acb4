package bot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/state/retry"
)

const (
	// carriers is how many tasks carry files at once, over all rooms.
	carriers = 2
	// carryPatience is how long a homeserver that is away is waited for, with one
	// file.
	carryPatience = 2 * time.Minute
)

// tmp is the folder of what is on its way between a room and a box.
func (b *Bot) tmp() string { return filepath.Join(b.StateDir, "tmp") }

// emptyTmp makes the folder anew: what a former life left there is in the clear.
func (b *Bot) emptyTmp() error {
	if err := os.RemoveAll(b.tmp()); err != nil {
		return fmt.Errorf("empty folder of temporary files: %w", err)
	}
	if err := os.MkdirAll(b.tmp(), 0o700); err != nil {
		return fmt.Errorf("make folder of temporary files: %w", err)
	}
	return nil
}

// carry waits for a task's turn to carry files, and has it said where that is not
// now. The caller calls done in the end.
func (b *Bot) carry(ctx context.Context, waits func()) (done func(), err error) {
	if !b.carrying.TryAcquire(1) {
		waits()
		if err := b.carrying.Acquire(ctx, 1); err != nil {
			return nil, err
		}
	}
	return func() { b.carrying.Release(1) }, nil
}

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
