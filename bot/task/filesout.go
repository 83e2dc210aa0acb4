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

// outbox is the directory in a container where the agent puts files for the room.
type outbox struct {
	t         *Task
	container media.Container
}

// hasOutbox reports whether the task may have left files for the room.
func hasOutbox(t *Task) bool { return t.rec.Ended == string(agent.Completed) && !t.rec.NoOutbox }

// send sends the files in the outbox after the result, then moves them away. A message's
// transaction ID is derived from the file (see [media.Item]), so no file is sent twice,
// even if the container went down before the move and a later task finds it again.
func (o outbox) send(ctx context.Context) error {
	t, env := o.t, o.t.env
	done := func() {}
	defer func() { done() }()
	batch, err := media.Collect(ctx, o.container, media.Limits{Item: env.MediaMax, Total: 2 * env.MediaMax, Dir: env.Tmp,
		Begin: func(ctx context.Context) error {
			turn, err := acquireTransfer(ctx, env, func() {})
			if err == nil {
				done = turn
			}
			return err
		},
		Attempt: func(ctx context.Context, key string, try func() bool) error {
			return env.Journal.Events.Attempt(ctx, "scale "+key, try)
		}})
	if err != nil {
		return errors.Join(fmt.Errorf("collect files: %w", err), filesLater(ctx, t))
	}
	defer batch.Close()
	if len(batch.Items)+len(batch.Refused) == 0 {
		return nil
	}
	var away *RefusedFile // a temporary rejection: do not try the other files
	for _, item := range slices.Clone(batch.Items) {
		if away != nil {
			batch.Refuse(item, away.Said, false)
			continue
		}
		err := o.one(ctx, item)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var why *RefusedFile
		if errors.As(err, &why) {
			env.Log.Warn().Err(err).Str("room", env.ID).Msg("cannot upload a file")
			batch.Refuse(item, why.Said, why.Final)
			if !why.Final {
				away = why
			}
		} else if err != nil {
			return err
		}
	}
	if text := refusedText(batch.Refused); text != "" {
		if err := env.Room.Queue(ctx, t.Voice().bare(state.KindFileNote, "-or", text)); err != nil {
			return err
		}
	}
	crash.At("collected")
	return media.MarkSent(ctx, o.container, batch)
}

// filesLater tells the room that the outbox of a completed task could not be read.
func filesLater(ctx context.Context, t *Task) error {
	if !hasOutbox(t) {
		return nil
	}
	text := "I could not read the outbox because the container cannot be reached. Files in it will be sent after the " +
		"next task."
	return t.env.Room.Queue(ctx, t.Voice().bare(state.KindFileNote, "-ol", text))
}

// one uploads a file and queues its message, unless the message exists already.
func (o outbox) one(ctx context.Context, item *media.Item) error {
	txn := "o" + item.Key
	if _, err := o.t.env.Journal.Messages.Get(ctx, txn); err == nil {
		return nil
	} else if !errors.Is(err, state.ErrNotFound) {
		return fmt.Errorf("look up the message of a file: %w", err)
	}
	return o.t.env.Room.Send(ctx, o.t.rec.Key, txn, item)
}

// refusedText lists the files that were not sent, with reasons; "" for none.
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
