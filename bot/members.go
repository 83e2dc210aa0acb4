package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/task"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

const (
	callTimeout = 30 * time.Second // of one request to the homeserver
	inviteTime  = 24 * time.Hour   // so long a room whose server is away is tried
)

// outsideError is trouble with a room that the bot is not in: nobody there can be
// told.
type outsideError struct{ err error }

func (e *outsideError) Error() string { return e.err.Error() }
func (e *outsideError) Unwrap() error { return e.err }

// doInvite joins when somebody invites us who may, and declines otherwise.
func (r *room) doInvite(ctx context.Context, row state.Event) error {
	call, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	welcome, err := r.welcomes(row.Sender, row.InvitesDirectly())
	if err != nil {
		return err
	}
	if !welcome {
		r.bot.log.Info().Str("room", r.id).Str("sender", row.Sender).Msg("invite declined: its sender may not use the bot")
		if err := r.bot.account.Leave(call, r.id); err != nil && matrix.Transient(err) {
			return &outsideError{fmt.Errorf("decline invite: %w", err)}
		}
		return r.finish(ctx, row)
	}
	if err := r.enter(call); err != nil {
		if matrix.Transient(err) && time.Since(row.Time) < inviteTime {
			return &outsideError{fmt.Errorf("join room: %w", err)}
		}
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("the invite is no longer good")
	} else if err := r.noteDirect(ctx, row); err != nil {
		return err
	}
	return r.finish(ctx, row)
}

// welcomes tells whether somebody may invite the bot: who may use it, and who
// can have a pairing code in a direct chat.
func (r *room) welcomes(user string, direct bool) (bool, error) {
	d := r.bot.mayUse(r.id, user, direct)
	if d.Heard || !d.Pair {
		return d.Heard, nil
	}
	codes, err := r.codeFor(user)
	return len(codes) > 0, err
}

// enter joins the room. A homeserver may refuse a join that meets another one,
// as when a room and its successor's invite come at once: it is asked again.
func (r *room) enter(ctx context.Context) (err error) {
	for range 3 {
		if err = r.bot.account.Join(ctx, r.id); !matrix.IsForbidden(err) {
			return err
		}
		if retry.Sleep(ctx, time.Second) != nil {
			return err
		}
	}
	return err
}

// noteDirect remembers that an invite was to a direct chat.
func (r *room) noteDirect(ctx context.Context, invite state.Event) error {
	if !invite.InvitesDirectly() {
		return nil
	}
	err := r.bot.markDirect(ctx, invite.Sender, r.id)
	if err != nil && !matrix.Transient(err) {
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("remember direct chat")
		return nil
	}
	return err
}

// doGreeting says hello where the bot has come to, or who is a stranger there
// gets a code.
func (r *room) doGreeting(ctx context.Context, row state.Event) error {
	if user := r.stranger(); user != "" {
		row.Sender = user
		return r.doStranger(ctx, row)
	}
	alone, err := r.bot.isAlone(ctx, r.id)
	if err != nil {
		return err
	}
	if err := r.env.AskAgain(ctx); err != nil { // what came here from the room before this one
		return err
	}
	if err := r.queue(ctx, r.out(state.KindGreeting, task.KeyOf(row.Room, row.ID)+"-g", matrix.Notice(r.greeting(alone)))); err != nil {
		return err
	}
	r.bot.start(func() { r.describe(r.bot.ctx) })
	return r.finish(ctx, row)
}

// doLeft leaves the room when nobody but us is in it any more.
func (r *room) doLeft(ctx context.Context, row state.Event) error {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	members, err := r.bot.account.Members(call, r.id)
	if err != nil {
		if matrix.Transient(err) {
			return fmt.Errorf("list members: %w", err)
		}
		return r.finish(ctx, row)
	}
	for _, user := range members {
		if !r.bot.isSelf(user) {
			return r.finish(ctx, row)
		}
	}
	r.bot.log.Info().Str("room", r.id).Msg("everybody has left: leaving too")
	if err := r.bot.account.Leave(call, r.id); err != nil && matrix.Transient(err) {
		return fmt.Errorf("leave room: %w", err)
	}
	return r.doGone(ctx, row)
}

// doGone gives up what the room had on this host, except its volumes and its
// history: the container is stopped and its entry dropped.
func (r *room) doGone(ctx context.Context, row state.Event) error {
	r.abandon()
	if err := r.forget(ctx, row.Seq); err != nil { // before the next task begins
		return err
	}
	if name := r.bot.Store.Container(r.id); name != "" {
		call, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if err := r.bot.Podman.Stop(call, name); err != nil && !errors.Is(err, sandbox.ErrNotFound) {
			return fmt.Errorf("stop box %s: %w", name, err)
		}
		if err := r.bot.Store.DropContainer(ctx, r.id); err != nil {
			return fmt.Errorf("drop container of %s: %w", r.id, err)
		}
	}
	if err := r.bot.Gateway.Shut(r.id); err != nil {
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("shut the room's gateway")
	}
	if err := r.env.GiveUpWaiting(ctx); err != nil {
		return err
	}
	return r.finish(ctx, row)
}

// forget ends what came before seq and has not begun, and what runs.
func (r *room) forget(ctx context.Context, seq int64) error {
	r.books.Lock()
	defer r.books.Unlock()
	r.tombstone = nil
	if err := r.bot.Journal.FinishEvents(ctx, r.id, seq); err != nil {
		return fmt.Errorf("finish earlier events: %w", err)
	}
	if err := r.bot.Journal.FinishTasks(ctx, r.id, seq); err != nil {
		return fmt.Errorf("finish earlier tasks: %w", err)
	}
	return nil
}

// doUnsupported says that a message was not read.
func (r *room) doUnsupported(ctx context.Context, row state.Event) error {
	c := matrix.Notice("I can only read text and files. Please describe your task in a message.")
	c.RelatesTo = relate(originOf(row), row.ID)
	if err := r.queue(ctx, r.out(state.KindUnreadable, task.KeyOf(row.Room, row.ID)+"-u", c)); err != nil {
		return err
	}
	return r.finish(ctx, row)
}
