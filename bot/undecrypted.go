package bot

import (
	"context"
	"errors"
	"strings"
	"time"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/bot/queue"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
)

const (
	keyNoticeAfter  = time.Minute      // when a room is told that a key is missing
	keyDeadline     = 24 * time.Hour   // when an event without its key is given up
	keyCheckEvery   = 10 * time.Second // interval between two checks of undecrypted events
	trustCheckEvery = 6                // every sixth check also tries events from untrusted devices
	maxUndecrypted  = 200              // undecrypted events that a room keeps pending
)

// keyOf returns the key that an event waits for.
func keyOf(e event.Event) e2ee.Key { return e2ee.Key{Room: e.SentTo(), Session: e.Session} }

// decrypted tries to decrypt a row that is not decrypted yet, and stores the result
// if it has changed.
func (b *Bot) decrypted(ctx context.Context, row state.Event) (state.Event, error) {
	if !row.Undecrypted() {
		return row, nil
	}
	now := row
	now.Event = b.understood(b.account.Keys.Decrypt(ctx, row.Event))
	if now.Encryption == row.Encryption && now.Session == row.Session && now.Distrust == row.Distrust {
		return row, nil
	}
	now = b.trim(b.judged(ctx, now))
	return now, b.Journal.Undecrypted.Decoded(ctx, now)
}

// event returns an event from the journal, decrypted if that is now possible.
func (b *Bot) event(ctx context.Context, room, id string) (state.Event, error) {
	row, err := b.Journal.Events.Get(ctx, room, id)
	if err != nil {
		return row, err
	}
	return b.decrypted(ctx, row)
}

// waitForKey leaves an event pending until it can be decrypted and requests its key.
// If too many are pending in the room, it gives up the event.
func (r *room) waitForKey(ctx context.Context, row state.Event) error {
	waiting, err := r.bot.Journal.Undecrypted.Count(ctx, r.id, row.Seq)
	if err != nil {
		return err
	}
	if waiting > maxUndecrypted {
		return r.finish(ctx, row)
	}
	r.mu.Lock()
	if r.keyless == nil || len(r.keyless) >= 2*maxUndecrypted {
		r.keyless = map[string]bool{}
	}
	r.keyless[row.ID] = true
	r.mu.Unlock()
	if row.Encryption == event.Untrusted {
		r.bot.warnUntrusted(row)
		return nil
	}
	r.bot.askForKey(row.Event)
	return nil
}

// isKeyless reports whether an event is waiting for a key that has not arrived:
// decrypting it again would be in vain.
func (r *room) isKeyless(row state.Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return row.Undecrypted() && r.keyless[row.ID]
}

// retryKeyless has the room decrypt its pending events again.
func (r *room) retryKeyless() {
	r.mu.Lock()
	r.keyless = nil
	r.mu.Unlock()
	r.wake()
}

// askForKey requests an event's key from its sender, once and in the background. If
// the request fails, watchKeys repeats it.
func (b *Bot) askForKey(e event.Event) {
	key := keyOf(e)
	if key.Session == "" || !b.keys.Ask(key) {
		return
	}
	b.work.Start(func() {
		ctx, cancel := context.WithTimeout(b.ctx, callTimeout)
		defer cancel()
		err := b.account.Keys.Request(ctx, e.Sender, key)
		if err != nil && b.ctx.Err() == nil {
			b.keys.Forget(key)
			b.log.Warn().Err(err).Str("room", e.Room).Msg("cannot request a room key")
		}
	})
}

// keyArrived wakes the rooms with events that wait for this key.
func (b *Bot) keyArrived(key e2ee.Key) {
	rooms, err := b.Journal.Undecrypted.RoomsAwaiting(b.ctx, key.Session)
	if err != nil && b.ctx.Err() == nil {
		b.log.Warn().Err(err).Msg("cannot look up the rooms that wait for a key") // watchKeys finds them, too
	}
	for _, name := range append(rooms, key.Room) {
		b.room(name).retryKeyless()
	}
}

// watchKeys checks the undecrypted events regularly until ctx ends.
func (b *Bot) watchKeys(ctx context.Context) {
	for n := 0; retry.Sleep(ctx, keyCheckEvery) == nil; n++ {
		if err := b.checkKeys(ctx, b.now(), n%trustCheckEvery == 0); err != nil && ctx.Err() == nil {
			b.log.Warn().Err(err).Msg("cannot check for room keys")
		}
	}
}

// checkKeys gives up undecrypted events that have waited too long, tells the rooms
// about the others and repeats failed key requests. It tries to decrypt one event
// per key, in case the key arrived while the encryption was closed. With trust it
// also tries events of devices that were not trusted.
func (b *Bot) checkKeys(ctx context.Context, now time.Time, trust bool) error {
	waiting := map[e2ee.Key]bool{}
	last := state.Event{}
	for {
		rows, err := b.Journal.Undecrypted.In(ctx, last.Room, last.Seq, 100)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			b.keys.Keep(waiting)
			return nil
		}
		for _, row := range rows {
			try := !waiting[keyOf(row.Event)] && (trust || row.Encryption == event.MissingKey)
			waiting[keyOf(row.Event)] = true
			r := b.room(row.Room)
			err := r.attempt(ctx, row.ID, func() error { return b.checkKey(ctx, row, now, try) }, r.giveUpEvent(ctx, row))
			if err != nil && !queue.IsPanic(err) {
				return err
			}
		}
		last = rows[len(rows)-1]
	}
}

func (b *Bot) checkKey(ctx context.Context, row state.Event, now time.Time, try bool) error {
	r, age := b.room(row.Room), now.Sub(row.At)
	switch {
	case age >= keyDeadline:
		return r.finish(ctx, row)
	case try && !b.account.Keys.Decrypt(ctx, row.Event).Undecrypted():
		b.keyArrived(keyOf(row.Event))
	case row.Encryption == event.MissingKey:
		b.askForKey(row.Event)
		if max(age, time.Since(row.At)) >= keyNoticeAfter { // a notice ends nothing
			return r.tellMissingKey(ctx, row)
		}
	}
	return nil
}

// tellMissingKey says, once per key, that a message cannot be decrypted yet.
func (r *room) tellMissingKey(ctx context.Context, row state.Event) error {
	key := keyOf(row.Event)
	txn := state.Hash(key.Room+"\x00"+key.Session) + "-sealed"
	if _, err := r.bot.Journal.Messages.Get(ctx, txn); !errors.Is(err, state.ErrNotFound) {
		return err
	}
	m := r.answer(row, state.KindMissingKey, txn, "🔒 I cannot decrypt this message yet because the key is missing. I have requested it and will start when it arrives. If nothing happens, send the message again.")
	return r.queue(ctx, m)
}

// verify passes recent events of a device verification to the encryption, also those in
// clear in an encrypted room: Element sends them so, and a verification proves by itself
// who takes part in it.
func (b *Bot) verify(ctx context.Context, e event.Event) {
	m := e.Body.Message
	request := e.Type == event.TypeMessage && m != nil && m.MsgType == event.MsgVerification
	if !request && !strings.HasPrefix(e.Type, "m.key.verification.") {
		return
	}
	if b.isSelf(e.Sender) || b.account.Now().Sub(e.Time) > 10*time.Minute {
		return
	}
	_ = b.account.Keys.ProcessVerification(ctx, e)
}
