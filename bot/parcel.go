package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/event"
	"matrix-tui/bot/media"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// uploadPatience is how long one file may take to the homeserver.
const uploadPatience = 5 * time.Minute

// sendFiles sends what the agent has left in the outbox of the box, behind the
// result, and moves it out of the way. A message's transaction ID is made of the
// file as it lies there, so that nothing is sent twice, however often this is
// done: by this task, or by later ones where the box was away before the move.
func (t *task) sendFiles(ctx context.Context, box media.Container) error {
	if t.rec.Ended != string(agent.Completed) {
		return nil
	}
	done := func() {}
	defer func() { done() }()
	batch, err := media.Collect(ctx, box, media.Limits{Item: t.bot.MediaMax, Total: 2 * t.bot.MediaMax, Dir: t.bot.tmp(),
		Begin: func(ctx context.Context) (err error) {
			turn, err := t.bot.carry(ctx, func() {})
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
	var away *refusedFile // the homeserver, for these files at least
	for _, item := range slices.Clone(batch.Items) {
		if away != nil {
			batch.Refuse(item, away.said, false)
			continue
		}
		err := t.sendFile(ctx, item)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var why *refusedFile
		if errors.As(err, &why) {
			t.bot.log.Warn().Err(err).Str("room", t.id).Msg("upload a file")
			batch.Refuse(item, why.said, why.final)
			if !why.final {
				away = why
			}
		} else if err != nil {
			return err
		}
	}
	if text := refusedText(batch.Refused); text != "" {
		if err := t.queue(ctx, t.out(state.KindFileNote, 0, t.rec.Key+"-or", notice(text))); err != nil {
			return err
		}
	}
	crash("collected")
	return media.MarkSent(ctx, box, batch)
}

// filesLater tells that nobody could look for files, where there may be some.
func (t *task) filesLater(ctx context.Context) error {
	if t.rec.Ended != string(agent.Completed) {
		return nil
	}
	text := "I could not look into the outbox: the container cannot be reached. Files that the agent has left there come behind the next task."
	return t.queue(ctx, t.out(state.KindFileNote, 0, t.rec.Key+"-ol", notice(text)))
}

// refusedFile is a file that the homeserver did not take.
type refusedFile struct {
	said  string
	final bool
	err   error
}

func (e *refusedFile) Error() string { return "upload a file: " + e.err.Error() }
func (e *refusedFile) Unwrap() error { return e.err }

// sendFile uploads a file and queues its message, unless that was done before.
func (t *task) sendFile(ctx context.Context, item *media.Item) error {
	txn := "o" + item.Key
	if _, err := t.bot.Journal.Message(ctx, txn); err == nil {
		return nil
	} else if !errors.Is(err, state.ErrNotFound) {
		return fmt.Errorf("look up a file's message: %w", err)
	}
	var up media.Uploaded
	err := patiently(ctx, func() (err error) {
		call, cancel := context.WithTimeout(ctx, uploadPatience)
		defer cancel()
		encrypted, err := t.bot.account.IsEncrypted(call, t.id)
		if err != nil {
			return err
		}
		up, err = media.Upload(call, t.bot.account.Upload, item, encrypted)
		return err
	})
	switch {
	case errors.Is(err, media.ErrTooLarge):
		return &refusedFile{"is larger (" + text.Size(item.Size) + ") than the homeserver takes", true, err}
	case matrix.IsAnswer(err):
		return &refusedFile{"stays in the outbox for the next time: the homeserver does not take it now", false, err}
	case err != nil:
		return err
	}
	content, err := media.Content(item, up)
	if err != nil {
		return err
	}
	if content, err = withTxn(content, txn); err != nil {
		return err
	}
	return t.queue(ctx, t.of(0, state.Message{Txn: txn, Room: t.id, Kind: state.KindFile, Type: event.TypeMessage, Content: content}))
}

// withTxn puts the transaction ID into a message, see [message].
func withTxn(content json.RawMessage, txn string) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(content, &fields); err != nil {
		return nil, fmt.Errorf("read a file's message: %w", err)
	}
	fields["io.matrix-tui.txn"], _ = json.Marshal(txn) // a string cannot fail
	return json.Marshal(fields)
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
