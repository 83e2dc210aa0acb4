package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/task"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

// errNoSuccessor means that the room in a tombstone does not name this room as its
// predecessor.
var errNoSuccessor = errors.New("not a successor of this room")

// enterSuccessor joins the room that a tombstone names; joined is false while the
// homeserver does not permit it. It returns errNoSuccessor, after leaving again,
// if the room does not name this one as its predecessor: a tombstone can name any
// room, and this room's content must not reach other people.
func (r *room) enterSuccessor(ctx context.Context, successor string, refused *refusal) (joined bool, err error) {
	was, err := r.bot.isIn(ctx, successor)
	if err != nil {
		return false, err
	}
	if err := r.bot.account.Join(ctx, successor); err != nil {
		if matrix.Temporary(err) {
			return false, fmt.Errorf("join successor: %w", err)
		}
		r.bot.log.Warn().Err(err).Str("room", r.id).Str("successor", successor).Msg("cannot join the successor yet, waiting for an invite")
		return false, nil
	}
	before, err := r.bot.account.Predecessor(ctx, successor)
	if err != nil || before == r.id {
		return err == nil, err
	}
	if !was {
		if err := r.bot.account.Leave(ctx, successor); refused.again("leave "+successor, err) {
			return false, fmt.Errorf("leave room: %w", err)
		}
	}
	return false, errNoSuccessor
}

// await waits until the bot gets into the successor that a tombstone names, and has the
// tasks worker follow it then. Meanwhile nothing moves and the old room goes on: the
// homeserver shows only members which room the successor replaces. One refusal proves
// nothing; after half a minute the owners and the room are told.
func (r *room) await(ctx context.Context, tombstone state.Event) {
	var refused refusal // the tasks worker has its own
	begun, told := time.Now(), false
	for again := retry.New(time.Second, time.Hour); r.awaits(tombstone); {
		call, cancel := context.WithTimeout(ctx, 2*callTimeout)
		joined, err := r.enterSuccessor(call, tombstone.Body.Successor, &refused)
		cancel()
		if joined || errors.Is(err, errNoSuccessor) {
			r.follow()
			return
		}
		if !told && time.Since(begun) >= refusedTime {
			err := r.tellUninvited(ctx, tombstone)
			if told = err == nil; !told && ctx.Err() == nil {
				r.bot.log.Warn().Err(err).Str("room", r.id).Msg("cannot tell the room that its upgrade waits")
			}
		}
		pause := again.Next()
		if !told {
			pause = min(pause, refusedTime/3)
		}
		if retry.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// awaits reports whether this tombstone waits for an invite.
func (r *room) awaits(tombstone state.Event) bool {
	r.decisions.Lock()
	defer r.decisions.Unlock()
	return r.uninvited && r.tombstone != nil && r.tombstone.ID == tombstone.ID
}

// follow has the tasks worker follow the upgrade that waits for an invite.
func (r *room) follow() {
	r.decisions.Lock()
	r.uninvited = false
	r.decisions.Unlock()
	r.tasks.Wake()
}

// tellUninvited tells the owners and the room, once, that the bot needs an invite to the
// successor. In the room it may no longer be allowed to say so.
func (r *room) tellUninvited(ctx context.Context, tombstone state.Event) error {
	txn := task.KeyOf(tombstone.Room, tombstone.ID) + "-uninvited"
	if _, err := r.bot.Journal.Message(ctx, txn); !errors.Is(err, state.ErrNotFound) {
		return err
	}
	m := matrix.Notice("⚠️ This room was replaced, and I am not allowed into the new one. Invite me there, and I bring workspace and history along.")
	out := r.out(state.KindUpgrade, txn, m)
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if may, err := r.bot.account.MaySend(call, r.id, out.Type); err != nil && matrix.Temporary(err) {
		return err
	} else if !may {
		out.Status, out.Error = state.Refused, "not allowed to speak in the room"
	}
	if err := r.queue(ctx, out); err != nil {
		return err
	}
	r.bot.note("⚠️ Room " + text.Code(r.id) + " was upgraded to " + text.Code(tombstone.Body.Successor) +
		", but I am not allowed into that room. I stay in the old one until somebody invites me.")
	return nil
}
