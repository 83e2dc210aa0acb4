package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/queue"
	"matrix-tui/bot/task"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// unrelated handles a message that was not sent because of err. Synapse rejects an edit of an event that it does not
// have, or no longer has, and what is in its thread: the edit is given up, and the other sent as a mere reply. No other
// message that says anything is given up.
func (r *Room) unrelated(ctx context.Context, row state.Message, err error) error {
	if !matrix.IsUnspecified(err) || row.Relation != state.Edit && row.Thread == "" {
		return err
	}
	r.Group.Log.Warn().Err(err).Str("room", row.Room).Str("txn", row.Txn).
		Msg("the homeserver rejected what a message relates to")
	if row.Relation == state.Edit {
		return r.Journal.Messages.MarkRefused(ctx, row.Txn, err.Error())
	}
	row.Relation, row.Thread = state.Reply, ""
	return r.send(ctx, row)
}

// rejected queues a sentence in place of a message that can never be sent: nobody waits in vain. A task whose question
// cannot be shown in any way ends, and so does one that asks about a command that cannot be shown completely.
func (r *Room) rejected(ctx context.Context, row state.Message, err error) error {
	r.Group.Log.Error().Err(err).Str("room", row.Room).Str("txn", row.Txn).Msg("the message is given up")
	held, failed := r.isHeld(ctx, row)
	if failed != nil {
		return failed
	}
	if kind, said := substitute(row, err); said != "" && !held {
		sentence := row
		sentence.Kind, sentence.Txn, sentence.Body, sentence.File, sentence.Details, sentence.Small = kind,
			row.Txn+task.Instead, said, nil, "", ""
		if err := r.Journal.Messages.Queue(ctx, sentence); err != nil {
			return err
		}
	}
	if held || row.Kind == state.KindQuestion && strings.HasSuffix(row.Txn, task.Instead) {
		if err := r.questions.CannotAsk(ctx, row.Task, row.Number); err != nil {
			return err
		}
	}
	return r.Journal.Messages.MarkRefused(ctx, row.Txn, err.Error())
}

// isHeld reports whether a message is the newest question of a task, or a part of it, and asks about a command. Nobody
// may approve what was not shown.
func (r *Room) isHeld(ctx context.Context, row state.Message) (bool, error) {
	if row.Kind != state.KindQuestion && row.Kind != state.KindQuestionPart {
		return false, nil
	}
	rec, err := r.Journal.Tasks.Get(ctx, row.Task)
	if errors.Is(err, state.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read task: %w", err)
	}
	return rec.HeldCommand != "" && len(rec.Answers) == row.Number, nil
}

// substitute returns what is said in place of a message that can never be sent because of err; "" for nothing.
// Substitutes have none themselves, nor have reactions and notices about progress: what they announce follows.
func substitute(row state.Message, err error) (kind state.Kind, said string) {
	why := "the homeserver rejects it"
	if queue.IsPanic(err) {
		why = "an internal error stops it"
	}
	if !row.Says() || strings.HasSuffix(row.Txn, task.Instead) {
		return "", ""
	}
	switch row.Kind {
	case state.KindNotice, state.KindNoticeEdit, state.KindQuestionEdit:
		return "", ""
	case state.KindFinal:
		if matrix.IsTooLarge(err) {
			return state.KindTooLarge, "⚠️ The answer is larger than the homeserver accepts. The task itself is done: ask me " +
				"for the result in parts."
		}
		return state.KindTooLarge, "⚠️ I have an answer, but " + why +
			". The task itself is done: ask me for the result in other words, or as a file."
	case state.KindQuestion:
		return row.Kind, "⚠️ I have a question, but " + why +
			". Reply to this, or use `!answer`, to tell me how to go on; `!stop` cancels the task. `!status` shows how the " +
			"question begins."
	case state.KindQuestionPart:
		return row.Kind, "⚠️ A part of my question is missing, because " + why +
			". Answer what you can see, or ask me for a shorter question."
	case state.KindReminder:
		return row.Kind, "⏰ I am still waiting for an answer. `!status` shows the question."
	case state.KindFile:
		return state.KindFileNote, "⚠️ I cannot send the file " + text.Code(row.Body) + ", because " + why +
			". It is in /workspace/outbox/sent."
	case state.KindArrival:
		return row.Kind, "📥 A task was received over HTTP. I cannot show it, because " + why + "."
	case state.KindGreeting:
		return row.Kind, "👋 I am here. I have a longer greeting, but " + why + ". Send `!help` to see what I can do."
	case state.KindPairing:
		return row.Kind, "⚠️ I have a message about pairing, but " + why +
			". Send me a message: if I do not answer, ask one of my owners to allow you with `!policy allow`."
	case state.KindUnread:
		return row.Kind, "⚠️ I missed messages here, and cannot say more, because " + why +
			". If I did not react to something, send it again."
	case state.KindUpgrade:
		return row.Kind, "⚠️ I have news about the upgrade of this room, but " + why + ". My log on the host says more."
	case state.KindUpdate:
		return row.Kind, "⚠️ I have news about the update, but " + why + ". My log on the host says more."
	}
	return state.KindReply, "⚠️ I have a reply to this, but " + why + "."
}
