package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"matrix-tui/agent"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/media"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// sendFiles sends what the agent has left in the outbox of the container, behind the
// result, and moves it out of the way. A message's transaction ID is made of the
// file as it lies there, so that nothing is sent twice, however often this is
// done: by this task, or by later ones where the container was away before the move.
func (t *Task) sendFiles(ctx context.Context, box media.Container) error {
	if t.rec.Ended != string(agent.Completed) {
		return nil
	}
	done := func() {}
	defer func() { done() }()
	batch, err := media.Collect(ctx, box, media.Limits{Item: t.env.MediaMax, Total: 2 * t.env.MediaMax, Dir: t.env.Tmp,
		Begin: func(ctx context.Context) (err error) {
			turn, err := t.env.carry(ctx, func() {})
			if err == nil {
				done = turn
			}
			return err
		}})
	if err != nil {
		return errors.Join(fmt.Errorf("collect files: %w", err), t.filesLater(ctx))
	}
	defer batch.Close()
	if len(batch.Items)+len(batch.Refused) == 0 {
		return nil
	}
	var away *RefusedFile // the homeserver, for these files at least
	for _, item := range slices.Clone(batch.Items) {
		if away != nil {
			batch.Refuse(item, away.Said, false)
			continue
		}
		err := t.sendFile(ctx, item)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var why *RefusedFile
		if errors.As(err, &why) {
			t.env.Log.Warn().Err(err).Str("room", t.env.ID).Msg("upload a file")
			batch.Refuse(item, why.Said, why.Final)
			if !why.Final {
				away = why
			}
		} else if err != nil {
			return err
		}
	}
	if text := refusedText(batch.Refused); text != "" {
		if err := t.env.Room.Queue(ctx, t.bare(state.KindFileNote, t.rec.Key+"-or", text)); err != nil {
			return err
		}
	}
	crash.At("collected")
	return media.MarkSent(ctx, box, batch)
}

// filesLater tells that nobody could look for files, where there may be some.
func (t *Task) filesLater(ctx context.Context) error {
	if t.rec.Ended != string(agent.Completed) {
		return nil
	}
	text := "I could not read the outbox because the container cannot be reached. Files in it will be sent after the next task."
	return t.env.Room.Queue(ctx, t.bare(state.KindFileNote, t.rec.Key+"-ol", text))
}

// sendFile uploads a file and queues its message, unless that was done before.
func (t *Task) sendFile(ctx context.Context, item *media.Item) error {
	txn := "o" + item.Key
	if _, err := t.env.Journal.Message(ctx, txn); err == nil {
		return nil
	} else if !errors.Is(err, state.ErrNotFound) {
		return fmt.Errorf("look up a file's message: %w", err)
	}
	return t.env.Room.Send(ctx, t.rec.Key, txn, item)
}

// refusedText tells which files were not sent, and why; "" for none.
func refusedText(refused []media.Refusal) string {
	if len(refused) == 0 {
		return ""
	}
	lines := []string{"Not everything in the outbox was sent:\n"}
	for _, r := range refused {
		if r.Name == "" {
			lines = append(lines, "- "+r.Why+".")
		} else {
			lines = append(lines, "- "+text.Code(r.Name)+" "+r.Why+".")
		}
	}
	return strings.Join(lines, "\n")
}
