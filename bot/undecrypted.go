package bot

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
)

const (
	keySilence     = time.Minute      // after that, a room is told that a key is missing
	keyDeadline    = 24 * time.Hour   // after that, an event without its key is given up
	keyPause       = 10 * time.Second // between two looks at what is undecrypted
	trustLook      = 6                // one look in so many asks whether a device is trusted by now
	maxUndecrypted = 200              // events that a room keeps pending without their keys
)

// keys are the room keys that this process asked for, and the senders that it
// warned of.
type keys struct {
	mu     sync.Mutex
	asked  map[e2ee.Key]bool
	warned map[warning]time.Time
}

// ask notes that a key is asked for; false when it was asked for before.
func (k *keys) ask(key e2ee.Key) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.asked[key] {
		return false
	}
	if k.asked == nil {
		k.asked = map[e2ee.Key]bool{}
	}
	k.asked[key] = true
	return true
}

// forget has a key asked for again.
func (k *keys) forget(key e2ee.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.asked, key)
}

// keep forgets all keys but those that events still wait for.
func (k *keys) keep(waiting map[e2ee.Key]bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.asked {
		if !waiting[key] {
			delete(k.asked, key)
		}
	}
}

// keyOf is the key that an event waits for.
func keyOf(e event.Event) e2ee.Key { return e2ee.Key{Room: e.SentTo(), Session: e.Session} }

// decrypted gives a row as its event can be understood now, and stores what has
// changed since it was stored.
func (b *Bot) decrypted(ctx context.Context, row state.Event) (state.Event, error) {
	if !row.Undecrypted() {
		return row, nil
	}
	now := row
	now.Event = b.account.Decrypt(ctx, row.Event)
	if now.Encryption == row.Encryption && now.Session == row.Session && now.Distrust == row.Distrust {
		return row, nil
	}
	return now, b.Journal.Decoded(ctx, now)
}

// event gives an event of the record, decrypted where that is possible by now.
func (b *Bot) event(ctx context.Context, room, id string) (state.Event, error) {
	row, err := b.Journal.Event(ctx, room, id)
	if err != nil {
		return row, err
	}
	return b.decrypted(ctx, row)
}

// waitForKey leaves an event pending until it can be decrypted, and asks for what
// is missing. A room that has too many of those gives this one up.
func (r *room) waitForKey(ctx context.Context, row state.Event) error {
	waiting, err := r.bot.Journal.CountUndecrypted(ctx, r.id, row.Seq)
	if err != nil {
		return err
	}
	if waiting > maxUndecrypted {
		return r.finish(ctx, row)
	}
	if row.Encryption == event.Untrusted {
		r.bot.warnOf(row)
		return nil
	}
	r.bot.askForKey(row.Event)
	return nil
}

// askForKey asks the sender of an event for its key, once and in the background.
// A request that fails is repeated by watchKeys.
func (b *Bot) askForKey(e event.Event) {
	key := keyOf(e)
	if key.Session == "" || !b.keys.ask(key) {
		return
	}
	b.start(func() {
		ctx, cancel := context.WithTimeout(b.ctx, callTimeout)
		defer cancel()
		err := b.account.RequestKey(ctx, e.Sender, key)
		if err != nil && b.ctx.Err() == nil {
			b.keys.forget(key)
			b.log.Warn().Err(err).Str("room", e.Room).Msg("request a room key")
		}
	})
}

// keyCame wakes the rooms with events that wait for a key.
func (b *Bot) keyCame(key e2ee.Key) {
	rooms, err := b.Journal.RoomsAwaiting(b.ctx, key.Session)
	if err != nil && b.ctx.Err() == nil {
		b.log.Warn().Err(err).Msg("look up rooms that wait for a key") // watchKeys finds them too
	}
	for _, name := range append(rooms, key.Room) {
		b.room(name).wake()
	}
}

// watchKeys looks after the events that cannot be decrypted, until ctx ends.
func (b *Bot) watchKeys(ctx context.Context) {
	for n := 0; retry.Sleep(ctx, keyPause) == nil; n++ {
		if err := b.lookForKeys(ctx, time.Now(), n%trustLook == 0); err != nil && ctx.Err() == nil {
			b.log.Warn().Err(err).Msg("look for room keys")
		}
	}
}

// lookForKeys gives up the events that waited too long, tells the rooms of the
// others, and asks for keys that could not be asked for. It tries each key once: it
// may have come while the encryption was not open, and with trust its device may be
// trusted by now.
func (b *Bot) lookForKeys(ctx context.Context, now time.Time, trust bool) error {
	waiting := map[e2ee.Key]bool{}
	last := state.Event{}
	for {
		rows, err := b.Journal.Undecrypted(ctx, last.Room, last.Seq, 100)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			b.keys.keep(waiting)
			return nil
		}
		for _, row := range rows {
			try := !waiting[keyOf(row.Event)] && (trust || row.Encryption == event.MissingKey)
			waiting[keyOf(row.Event)] = true
			if err := b.lookForKey(ctx, row, now, try); err != nil {
				return err
			}
		}
		last = rows[len(rows)-1]
	}
}

func (b *Bot) lookForKey(ctx context.Context, row state.Event, now time.Time, try bool) error {
	r, age := b.room(row.Room), now.Sub(row.At)
	switch {
	case age >= keyDeadline:
		return r.finish(ctx, row)
	case try && !b.account.Decrypt(ctx, row.Event).Undecrypted():
		b.keyCame(keyOf(row.Event))
	case row.Encryption == event.MissingKey:
		b.askForKey(row.Event)
		if age >= keySilence {
			return r.tellMissingKey(ctx, row)
		}
	}
	return nil
}

// tellMissingKey says that a message cannot be decrypted yet, once for each key.
func (r *room) tellMissingKey(ctx context.Context, row state.Event) error {
	key := keyOf(row.Event)
	txn := task.Hash(key.Room+"\x00"+key.Session) + "-sealed"
	if _, err := r.bot.Journal.Message(ctx, txn); !errors.Is(err, state.ErrNotFound) {
		return err
	}
	m := matrix.Notice("🔒 I cannot decrypt this message yet because the key is missing. I have requested it and will start when it arrives. If nothing happens, send the message again.")
	m.RelatesTo = relate(originOf(row), row.ID)
	return r.queue(ctx, r.out(state.KindMissingKey, txn, m))
}

// doUndecryptable says that a message will never be decrypted.
func (r *room) doUndecryptable(ctx context.Context, row state.Event) error {
	m := matrix.Notice("🔒 I cannot decrypt this message. Please send it again.")
	m.RelatesTo = relate(originOf(row), row.ID)
	if err := r.queue(ctx, r.out(state.KindUnreadable, task.KeyOf(row.Room, row.ID)+"-u", m)); err != nil {
		return err
	}
	return r.finish(ctx, row)
}

// verify gives the encryption what belongs to a verification of this device.
func (b *Bot) verify(ctx context.Context, e event.Event) {
	m, _ := e.Message()
	if m.MsgType != event.MsgVerification && !strings.HasPrefix(e.Type, "m.key.verification.") {
		return
	}
	if b.isSelf(e.Sender) || time.Since(e.Time) > 10*time.Minute {
		return
	}
	_ = b.account.TakeVerification(ctx, e)
}
