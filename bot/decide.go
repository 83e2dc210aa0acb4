package bot

import (
	"context"
	"errors"
	"fmt"

	"matrix-tui/bot/command"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/policy"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/execution"
	"matrix-tui/state/sentence"
)

// undecided returns a function that gives the room's pending events one by one,
// oldest first. It skips events that stay pending: those whose key is missing, and
// a tombstone.
func (r *room) undecided() func(context.Context) (func() error, error) {
	var passed int64
	return func(ctx context.Context) (func() error, error) {
		rows, err := r.bot.Journal.Events.Pending(ctx, r.id, passed, 1)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		return func() error {
			err := r.attempt(ctx, rows[0].ID, func() error { return r.decide(ctx, rows[0]) }, r.giveUpEvent(ctx, rows[0]))
			if err == nil {
				passed = rows[0].Seq
			}
			return err
		}, nil
	}
}

// decide makes an event a task or handles it at once. After an error it is called
// again.
func (r *room) decide(ctx context.Context, row state.Event) error {
	if r.isKeyless(row) {
		return nil
	}
	row, err := r.bot.decrypted(ctx, row)
	if err != nil {
		return err
	}
	if row.Kind == "" { // it has moved here, or comes from an earlier release
		row = r.bot.judged(ctx, row)
	}
	alone := r.bot.roster.MayBeAlone(r.id)
	if row.Addressee == event.ToBotIfAlone {
		if alone, err = r.bot.roster.IsAlone(ctx, r.id); err != nil {
			return err
		}
		switch {
		case alone:
			row.Addressee = event.ToBot
		case r.mayConcern(ctx, row.Event):
			row.Addressee = event.Perhaps
		default:
			return r.finish(ctx, row)
		}
	}
	said, ignored, err := r.objection(ctx, row)
	switch {
	case err != nil:
		return err
	case ignored:
		return r.finish(ctx, row)
	case said != "":
		return r.tell(ctx, row, said)
	}
	if row.Kind != event.KindMessage && row.Kind != event.KindTask {
		return r.doControl(ctx, row)
	}
	to, err := r.routed(ctx, row, alone)
	if err != nil || to.verdict == isTask {
		return err
	}
	return r.doRouted(ctx, row, to)
}

// routed routes a message that may be a task. A new task is queued when it returns.
func (r *room) routed(ctx context.Context, row state.Event, alone bool) (to route, err error) {
	r.turn.Lock()
	defer r.turn.Unlock()
	if row.Kind == event.KindMessage {
		to, err = r.routeOf(ctx, row, alone)
	}
	if err == nil && to.verdict == isTask {
		err = r.enqueue(ctx, row)
	}
	return to, err
}

// objection returns what the sender of an event is told instead of what it asks for, if it lacks a proof or is a copy. What
// asks for nothing by itself, such as an edit, is ignored then.
func (r *room) objection(ctx context.Context, row state.Event) (said string, ignored bool, err error) {
	if row.Kind != event.KindEdit && !row.Kind.Asks() {
		return "", false, nil
	}
	m, _ := row.Message()
	c, _, _ := command.Parse(m.Words())
	if row.Kind != event.KindCommand || c.Name != "stop" { // whoever may have written it, stopping is allowed
		if said, err = r.bot.proof.Missing(ctx, row.Event, policy.ProofAll); err != nil || said != "" {
			return said, row.Kind == event.KindEdit || row.Addressee != event.ToBot, err
		}
	}
	if row.Addressee != event.ToBot || row.Kind == event.KindEdit || row.Kind == event.KindUnsupported {
		return "", false, nil // it might be an answer: see writtenBefore
	}
	if copied, err := r.isCopy(ctx, row); err != nil || copied {
		return copyText, false, err
	}
	return "", false, nil
}

// enqueue makes an event a task in the room's queue and marks it as queued (⏳) if
// another task is ahead of it. The caller holds r.turn.
func (r *room) enqueue(ctx context.Context, row state.Event) error {
	if row.Addressee != event.ToBot {
		return r.bot.Journal.Events.Archive(ctx, r.id, row.ID) // it was admitted as a possible answer only
	}
	if other, err := r.isBot(ctx, row); other || err != nil {
		return err
	}
	return r.put(ctx, row, false)
}

// put is enqueue for a message to the bot; with compact, it asks for a compaction. The caller holds r.turn.
func (r *room) put(ctx context.Context, row state.Event, compact bool) error {
	rec, err := taskFrom(row)
	if rec.Compact = compact; compact {
		m, _ := row.Message()
		rec.Text, rec.HasFile, rec.ReplyTo = m.Words(), false, ""
	}
	if errors.Is(err, execution.ErrLimit) {
		return r.tell(ctx, row, sentence.Text(err))
	}
	if err == nil && !compact {
		rec.Said, err = r.filesBefore(ctx, row)
	}
	if err != nil {
		return err
	}
	var out []state.Message
	if !rec.Moved() {
		_, err := r.bot.Journal.Tasks.Next(ctx, r.id)
		if err == nil {
			out = r.env.Room.Render(ctx, r.env.Task(rec).Voice().Queued())
		} else if !errors.Is(err, state.ErrNotFound) {
			return fmt.Errorf("read next task: %w", err)
		}
	}
	err = r.bot.Journal.Tasks.Enqueue(ctx, rec, out...)
	if errors.Is(err, state.ErrFinished) {
		return nil // the event has moved to the room's successor
	}
	if err != nil {
		return err
	}
	crash.At("queued")
	if len(out) > 0 {
		r.outbox.Wake()
	}
	r.turn.Wake()
	return nil
}

// doControl handles an event that is not a task and finishes it.
func (r *room) doControl(ctx context.Context, row state.Event) error {
	switch row.Kind {
	case event.KindUndecrypted:
		return r.waitForKey(ctx, row)
	case event.KindTombstone:
		r.turn.Lock()
		defer r.turn.Unlock()
		return r.noteTombstone(ctx, row)
	case event.KindUnsupported:
		return r.doUnsupported(ctx, row)
	case event.KindCommand:
		return r.doCommand(ctx, row)
	case event.KindReaction:
		return r.doReaction(ctx, row)
	case event.KindEdit:
		if err := r.doEdit(ctx, row); err != nil { // which needs what the message said first
			return err
		}
		r.relearn(ctx, row)
		return nil
	case event.KindRedaction:
		return r.doRedaction(ctx, row)
	case event.KindUndecryptable:
		return r.doUndecryptable(ctx, row)
	case event.KindStranger:
		return r.doStranger(ctx, row)
	case event.KindInVain:
		return r.doInVain(ctx, row)
	case event.KindJoined:
		return r.doJoined(ctx, row)
	case event.KindInvite:
		return r.doInvite(ctx, row)
	case event.KindEntered:
		return r.doGreeting(ctx, row)
	case event.KindLeft:
		return r.doLeft(ctx, row)
	case event.KindGone:
		return r.doGone(ctx, row)
	}
	return r.finish(ctx, row)
}
