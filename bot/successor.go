package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/decode"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
)

// doTombstone follows the room to its successor: the binding, the history and
// what is not sent yet move there. It waits for the tasks that came before it; the container is made anew for the new room, on the
// same volumes.
func (r *room) doTombstone(ctx context.Context, row state.Event) error {
	successor := row.Body.Successor
	if successor == "" || successor == r.id {
		return r.finish(ctx, row)
	}
	call, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	joined, err := r.enterSuccessor(call, successor)
	if errors.Is(err, errNoSuccessor) {
		r.bot.log.Warn().Str("room", r.id).Str("successor", successor).Msg("the room that is named as successor does not go on from this one: staying")
		return r.finish(ctx, row)
	}
	if err != nil {
		return err
	}
	if user := r.bot.direct.user(r.id); user != "" {
		if err := r.bot.markDirect(ctx, user, successor); err != nil && matrix.Transient(err) {
			return err
		}
	}
	if name := r.bot.Store.Container(r.id); name != "" {
		if err := r.bot.Podman.Destroy(call, name); err != nil && !errors.Is(err, sandbox.ErrNotFound) {
			return fmt.Errorf("destroy box %s: %w", name, err)
		}
	}
	if err := r.bot.Gateway.Shut(r.id); err != nil {
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("shut the room's gateway")
	}
	if err := r.bot.Store.MoveRoom(ctx, r.id, successor); err != nil {
		return fmt.Errorf("move room: %w", err)
	}
	if err := r.moveRows(ctx, row, successor); err != nil {
		return err
	}
	r.bot.waits.DropRoom(r.id)
	next := r.bot.room(successor)
	if !joined { // by the invite, perhaps, and else see doGreeting
		var err error // the rows are there already: a homeserver that is away is waited for
		for joined, err = r.bot.isIn(ctx, successor); err != nil; joined, err = r.bot.isIn(ctx, successor) {
			if retry.Sleep(ctx, time.Second) != nil {
				return err
			}
		}
	}
	if joined {
		if err := next.env.AskAgain(ctx); err != nil {
			return err
		}
		next.outbox.Wake()
	}
	next.wake()
	return nil
}

// moveRows gives what is not done, and was not said, to the successor, and ends
// the tombstone. Nothing is decided here meanwhile.
func (r *room) moveRows(ctx context.Context, tombstone state.Event, to string) error {
	r.books.Lock()
	defer r.books.Unlock()
	if err := r.bot.Journal.MoveRoom(ctx, r.id, to, carrier(to), tombstone.ID); err != nil {
		return fmt.Errorf("move rows: %w", err)
	}
	return nil
}

// errNoSuccessor says that a room does not go on from the one that names it.
var errNoSuccessor = errors.New("no successor")

// enterSuccessor joins the room that a tombstone names; joined is false while
// the homeserver does not let the bot in. Anybody with power here can name any
// room: one that does not say itself that it goes on from this one is
// errNoSuccessor, and the bot is where it was. What is said here must not come
// into a room of other people by that.
func (r *room) enterSuccessor(ctx context.Context, successor string) (joined bool, err error) {
	was, err := r.bot.isIn(ctx, successor)
	if err != nil {
		return false, err
	}
	if err := r.bot.account.Join(ctx, successor); err != nil {
		if matrix.Transient(err) {
			return false, fmt.Errorf("join successor: %w", err)
		}
		r.bot.log.Warn().Err(err).Str("room", r.id).Str("successor", successor).Msg("successor cannot be joined yet: an invite will do")
		return false, nil
	}
	before, err := r.bot.predecessor(ctx, successor)
	if err != nil || before == r.id {
		return err == nil, err
	}
	if !was {
		if err := r.bot.account.Leave(ctx, successor); err != nil && matrix.Transient(err) {
			return false, fmt.Errorf("leave what is no successor: %w", err)
		}
	}
	return false, errNoSuccessor
}

// predecessor is the room that a room goes on from, "" for none.
func (b *Bot) predecessor(ctx context.Context, room string) (string, error) {
	raw, err := b.account.State(ctx, room, event.TypeCreate)
	if err != nil && matrix.Transient(err) {
		return "", fmt.Errorf("read what the room goes on from: %w", err)
	}
	created, err := decode.State(event.TypeCreate, raw)
	if err != nil {
		return "", nil
	}
	return created.Body.Predecessor, nil
}
