package bot

import (
	"context"
	"errors"
	"fmt"

	"matrix-tui/agent"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/policy"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/sentence"
)

// undecided returns a function that gives the room's pending events one by one,
// oldest first. It skips events that stay pending: those whose key is missing, and
// a tombstone.
func (r *room) undecided() func(context.Context) (func() error, error) {
	var passed int64
	return func(ctx context.Context) (func() error, error) {
		rows, err := r.bot.Journal.Pending(ctx, r.id, passed, 1)
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
	alone := r.bot.mayBeAlone(r.id)
	if alone && r.classify(ctx, row.Event, true) != r.classify(ctx, row.Event, false) { // else the number of members does not matter
		if alone, err = r.bot.isAlone(ctx, r.id); err != nil {
			return err
		}
	}
	k, to, err := r.kindOf(ctx, row, alone)
	if err != nil {
		return err
	}
	if k == kindTask && to.verdict != isTask {
		return r.doRouted(ctx, row, to)
	}
	return r.doControl(ctx, row, k)
}

// kindOf classifies an event and routes a message that may be a task. A new task
// is queued when it returns.
func (r *room) kindOf(ctx context.Context, row state.Event, alone bool) (k kind, to route, err error) {
	r.decisions.Lock()
	defer r.decisions.Unlock()
	k = r.classify(ctx, row.Event, alone)
	if k, err = r.proven(ctx, row.Event, k, alone); err != nil {
		return k, to, err
	}
	if k == kindTask || k == kindCommand {
		if copied, err := r.isCopy(ctx, row, alone); copied || err != nil {
			return kindCopy, to, err
		}
	}
	if k != kindTask {
		return k, to, nil
	}
	to, err = r.routeOf(ctx, row, alone)
	to.alone = alone
	if err == nil && to.verdict == isTask {
		err = r.enqueue(ctx, row, alone)
	}
	return k, to, err
}

// enqueue makes an event a task in the room's queue and marks it as queued (⏳) if
// another task is ahead of it. The caller holds r.decisions.
func (r *room) enqueue(ctx context.Context, row state.Event, alone bool) error {
	if classify(row.Event, r.bot.UserID(), r.bot.hear(ctx, r.id, alone)) != kindTask {
		return r.bot.Journal.Archive(ctx, r.id, row.ID) // it was admitted as a possible answer only
	}
	if other, err := r.isBot(ctx, row); other || err != nil {
		return err
	}
	return r.put(ctx, row, false)
}

// put is enqueue for a message to the bot; with compact, it asks for a compaction. The caller holds r.decisions.
func (r *room) put(ctx context.Context, row state.Event, compact bool) error {
	rec, err := taskFrom(row)
	if rec.Compact = compact; compact {
		m, _ := row.Message()
		rec.Text, rec.HasFile, rec.ReplyTo = taskText(m), false, ""
	}
	if errors.Is(err, agent.ErrLimit) {
		return r.tell(ctx, row, sentence.Text(err))
	}
	if err == nil && !compact {
		rec.Said, err = r.filesBefore(ctx, row)
	}
	if err != nil {
		return err
	}
	var out []state.Message
	if t := r.env.Task(rec); !t.Moved() {
		_, err := r.bot.Journal.NextTask(ctx, r.id)
		if err == nil {
			out = r.env.Room.Render(ctx, t.Voice().Queued())
		} else if !errors.Is(err, state.ErrNotFound) {
			return fmt.Errorf("read next task: %w", err)
		}
	}
	err = r.bot.Journal.Enqueue(ctx, rec, out...)
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
	r.tasks.Wake()
	return nil
}

// classify applies the function classify with the room's policy. A message that may
// answer an open question, stop a task or add a file to one needs no mention; routeOf
// decides later whether it does that.
func (r *room) classify(ctx context.Context, e event.Event, alone bool) kind {
	hear := r.bot.hear(ctx, r.id, alone)
	return classify(e, r.bot.UserID(), func(e event.Event) policy.Decision {
		d := hear(e)
		if d.Reason == policy.ReasonNotMentioned || d.Reason == policy.ReasonOff {
			m, _ := e.Message()
			another := noCommand(taskText(m)) != "" // another bot's command
			d.Reply = !another && r.couldAnswer(e) || r.couldStop(ctx, e) || r.couldJoin(e)
		}
		return d
	})
}

// doControl handles an event that is not a task and finishes it.
func (r *room) doControl(ctx context.Context, row state.Event, k kind) error {
	switch k {
	case kindTask:
		return nil // already queued
	case kindUndecrypted:
		return r.waitForKey(ctx, row)
	case kindTombstone:
		r.decisions.Lock()
		defer r.decisions.Unlock()
		return r.noteTombstone(ctx, row)
	case kindUnsupported:
		return r.doUnsupported(ctx, row)
	case kindCommand:
		return r.doCommand(ctx, row)
	case kindReaction:
		return r.doReaction(ctx, row)
	case kindEdit:
		r.relearn(ctx, row)
		return r.doEdit(ctx, row)
	case kindRedaction:
		return r.doRedaction(ctx, row)
	case kindUndecryptable:
		return r.doUndecryptable(ctx, row)
	case kindUnproven:
		said, err := r.unproven(ctx, row.Event, policy.ProofAll)
		if err != nil {
			return err
		}
		return r.tell(ctx, row, said)
	case kindCopy:
		return r.tell(ctx, row, copyText)
	case kindStranger:
		return r.doStranger(ctx, row)
	case kindInVain:
		return r.doInVain(ctx, row)
	case kindJoined:
		return r.doJoined(ctx, row)
	case kindInvite:
		return r.doInvite(ctx, row)
	case kindGreeting:
		return r.doGreeting(ctx, row)
	case kindLeft:
		return r.doLeft(ctx, row)
	case kindGone:
		return r.doGone(ctx, row)
	}
	return r.finish(ctx, row)
}
