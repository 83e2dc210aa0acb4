package bot

import (
	"context"
	"slices"

	"matrix-tui/bot/crash"
	"matrix-tui/state"
	"matrix-tui/state/event"
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
	if r.bot.keys.IsMissing(row) {
		return nil
	}
	row, err := r.bot.judge.Decrypted(ctx, row)
	if err != nil {
		return err
	}
	if row.Kind == "" { // it has moved here, or comes from an earlier release
		row = r.bot.judge.Judged(ctx, row)
	}
	alone := r.bot.roster.MayBeAlone(r.id)
	if row.Addressee == event.ToBotIfAlone {
		if alone, err = r.bot.roster.IsAlone(ctx, r.id); err != nil {
			return err
		}
		switch {
		case alone:
			row.Addressee = event.ToBot
		case r.bot.judge.MayConcern(r.id, row.Event):
			row.Addressee = event.Perhaps
		default:
			return r.turn.Finish(ctx, row)
		}
	}
	if done, err := r.decider.Object(ctx, row); done || err != nil {
		return err
	}
	if row.Kind != event.KindMessage && row.Kind != event.KindTask {
		return r.doControl(ctx, row)
	}
	return r.decider.Message(ctx, row, alone)
}

// doControl handles an event that is not a task and finishes it.
func (r *room) doControl(ctx context.Context, row state.Event) error {
	switch row.Kind {
	case event.KindUndecrypted:
		return r.bot.keys.Wait(ctx, row)
	case event.KindTombstone:
		r.turn.Lock()
		defer r.turn.Unlock()
		return r.upgrade.Decide(ctx, row)
	case event.KindUnsupported, event.KindUndecryptable:
		return r.decider.Unreadable(ctx, row)
	case event.KindCommand:
		return r.doCommand(ctx, row)
	case event.KindReaction:
		return r.decider.Reaction(ctx, row)
	case event.KindEdit:
		return r.doEdit(ctx, row)
	case event.KindRedaction:
		return r.doRedaction(ctx, row)
	case event.KindEntered:
		r.bot.keys.TellUnverified(row)
		known := r.members.Stranger() == ""
		if err := r.members.Do(ctx, row); err != nil || !known {
			return err
		}
		r.bot.work.Start(func() { r.describe(r.bot.ctx) })
		return nil
	case event.KindStranger, event.KindInVain, event.KindJoined, event.KindInvite, event.KindLeft, event.KindGone:
		return r.members.Do(ctx, row)
	}
	return r.turn.Finish(ctx, row)
}

// doEdit decides about an edit and then replaces what its message said: the decision needs that.
func (r *room) doEdit(ctx context.Context, row state.Event) error {
	edit := state.OpenEdit{Room: r.id, Event: row.ID}
	if err := r.bot.Journal.Memory.BeginEdit(ctx, edit); err != nil {
		return err
	}
	order, err := r.decider.Edit(ctx, row)
	if err == nil && order != nil {
		err = r.doCommand(ctx, *order)
	}
	if err != nil {
		return err
	}
	crash.At("edited")
	r.finish(ctx, row, edit)
	return nil
}

// doRedaction withdraws what a message has asked for, and removes what it said wherever that is kept.
func (r *room) doRedaction(ctx context.Context, row state.Event) error {
	r.turn.Lock()
	defer r.turn.Unlock()
	words, err := r.decider.Withdraw(ctx, row)
	if err != nil {
		return err
	}
	if !words {
		return r.turn.Finish(ctx, row)
	}
	// Tasks that had ended have not moved. The successor goes first: the last one removes the message itself.
	for _, id := range slices.Compact([]string{r.bot.Store.SuccessorOf(r.id), r.id}) {
		if err := r.bot.room(id).env.Redact(ctx, r.id, row.Redaction()); err != nil {
			return err
		}
	}
	return r.turn.Finish(ctx, row)
}
