package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// unrelated handles a message that was not sent because of err. Synapse rejects an edit of an event that it does not
// have, or no longer has, and what is in its thread: the edit is given up, and the other sent as a mere reply. No other
// message that says anything is given up.
func (o *outbox) unrelated(ctx context.Context, row state.Message, content json.RawMessage, err error) error {
	b := o.room.bot
	var c references
	if !matrix.IsUnspecified(err) || json.Unmarshal(content, &c) != nil || c.RelatesTo.RelType == "" {
		return err
	}
	b.log.Warn().Err(err).Str("room", row.Room).Str("txn", row.Txn).Msg("the homeserver rejected what a message relates to")
	if c.RelatesTo.RelType == "m.replace" {
		return b.Journal.MarkRefused(ctx, row.Txn, err.Error())
	}
	if row.Content, err = replyOnly(content, c.RelatesTo.InReplyTo.EventID); err != nil {
		return err
	}
	row.About = ""
	return o.send(ctx, row)
}

// rejected queues a sentence in place of a result, a question or a reply that can never
// be sent: nobody waits in vain.
func (o *outbox) rejected(ctx context.Context, row state.Message, err error) error {
	b := o.room.bot
	b.log.Error().Err(err).Str("room", row.Room).Str("txn", row.Txn).Msg("the message is given up")
	if kind, said := substitute(row, err); said != "" {
		m := matrix.Text(said)
		var told message
		if json.Unmarshal(row.Content, &told) == nil {
			m.RelatesTo = told.RelatesTo
		}
		sentence := o.room.out(kind, row.Txn+instead, m)
		sentence.Task, sentence.Number = row.Task, row.Number
		if err := b.Journal.Queue(ctx, sentence); err != nil {
			return err
		}
	}
	return b.Journal.MarkRefused(ctx, row.Txn, err.Error())
}

// instead ends the transaction IDs of substitutes. They have no substitute themselves.
const instead = "-s"

// substitute returns what is said in place of a message that can never be sent because
// of err; "" for nothing.
func substitute(row state.Message, err error) (kind state.Kind, said string) {
	why := "the homeserver rejects it"
	if isPanic(err) {
		why = "an internal error stops it"
	}
	switch {
	case strings.HasSuffix(row.Txn, instead):
	case row.Kind == state.KindFinal && matrix.IsTooLarge(err):
		return state.KindTooLarge, "⚠️ The answer is larger than the homeserver accepts. The task itself is done: ask me for the result in parts."
	case row.Kind == state.KindFinal:
		return state.KindTooLarge, "⚠️ I have an answer, but " + why + ". The task itself is done: ask me for the result in other words, or as a file."
	case row.Kind == state.KindQuestion:
		return state.KindReply, "⚠️ I have a question, but " + why + ". Cancel the task with `!stop`, or tell me with `!answer` how to go on."
	case row.Kind == state.KindReply && row.Type == event.TypeMessage:
		return state.KindReply, "⚠️ I have a reply to this, but " + why + "."
	}
	return "", ""
}

// replyOnly returns a message that relates to nothing but the event that it replies to, "" for none.
func replyOnly(content json.RawMessage, to string) (json.RawMessage, error) {
	var all map[string]any
	if err := json.Unmarshal(content, &all); err != nil {
		return nil, fmt.Errorf("read message: %w", err)
	}
	delete(all, "m.relates_to")
	if to != "" {
		all["m.relates_to"] = map[string]any{"m.in_reply_to": map[string]any{"event_id": to}}
	}
	return json.Marshal(all)
}
