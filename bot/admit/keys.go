package admit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/bot/outbox"
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
	maxKeyless      = 10_000           // events that are remembered as waiting, in all rooms
	maxWarned       = 10_000           // warnings that are remembered at most
)

// Keys waits for the keys of events that cannot be decrypted yet.
type Keys struct {
	*Judge
	Rooms Rooms

	asked  sync.Map // room keys that this process has requested: e2ee.Key
	warned sync.Map // warnings about untrusted devices that it has sent, by transaction ID

	warnings atomic.Int64 // how many were due, to bound warned

	mu      sync.Mutex
	keyless map[string]bool // events that could not be decrypted since the last key arrived
}

// keyOf returns the key that an event waits for.
func keyOf(e event.Event) e2ee.Key { return e2ee.Key{Room: e.SentTo(), Session: e.Session} }

// Wait leaves an event pending until it can be decrypted and requests its key.
// If too many are pending in the room, it gives up the event.
func (k *Keys) Wait(ctx context.Context, row state.Event) error {
	waiting, err := k.Journal.Undecrypted.Count(ctx, row.Room, row.Seq)
	if err != nil {
		return err
	}
	if waiting > maxUndecrypted {
		return k.Journal.Events.Finish(ctx, row.Room, row.ID)
	}
	k.mu.Lock()
	if k.keyless == nil || len(k.keyless) >= maxKeyless {
		k.keyless = map[string]bool{}
	}
	k.keyless[row.ID] = true
	k.mu.Unlock()
	if row.Encryption == event.Untrusted {
		k.warn(row)
		return nil
	}
	k.ask(row.Event)
	return nil
}

// IsMissing reports whether an event is waiting for a key that has not arrived:
// decrypting it again would be in vain.
func (k *Keys) IsMissing(row state.Event) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return row.Undecrypted() && k.keyless[row.ID]
}

// ask requests an event's key from its sender, once and in the background. If
// the request fails, Watch repeats it.
func (k *Keys) ask(e event.Event) {
	key := keyOf(e)
	if key.Session == "" {
		return
	}
	if _, before := k.asked.LoadOrStore(key, true); before {
		return
	}
	k.Group.Start(func() {
		ctx, cancel := context.WithTimeout(k.Group.Context, matrix.CallTimeout)
		defer cancel()
		err := k.Account.Keys.Request(ctx, e.Sender, key)
		if err != nil && k.Group.Context.Err() == nil {
			k.asked.Delete(key)
			k.Group.Log.Warn().Err(err).Str("room", e.Room).Msg("cannot request a room key")
		}
	})
}

// Arrived wakes the rooms with events that wait for this key.
func (k *Keys) Arrived(key e2ee.Key) {
	ctx := k.Group.Context
	rooms, err := k.Journal.Undecrypted.RoomsAwaiting(ctx, key.Session)
	if err != nil && ctx.Err() == nil {
		k.Group.Log.Warn().Err(err).Msg("cannot look up the rooms that wait for a key") // Watch finds them, too
	}
	k.mu.Lock()
	k.keyless = nil
	k.mu.Unlock()
	for _, room := range append(rooms, key.Room) {
		k.Rooms.Wake(room)
	}
}

// Watch checks the undecrypted events regularly until ctx ends. now is the time on which the bot acts.
func (k *Keys) Watch(ctx context.Context, now func() time.Time) {
	for n := 0; retry.Sleep(ctx, keyCheckEvery) == nil; n++ {
		if err := k.Check(ctx, now(), n%trustCheckEvery == 0); err != nil && ctx.Err() == nil {
			k.Group.Log.Warn().Err(err).Msg("cannot check for room keys")
		}
	}
}

// Check gives up undecrypted events that have waited too long, tells the rooms
// about the others and repeats failed key requests. It tries to decrypt one event
// per key, in case the key arrived while the encryption was closed. With trust it
// also tries events of devices that were not trusted.
func (k *Keys) Check(ctx context.Context, now time.Time, trust bool) error {
	waiting := map[e2ee.Key]bool{}
	last := state.Event{}
	for {
		rows, err := k.Journal.Undecrypted.In(ctx, last.Room, last.Seq, 100)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			k.asked.Range(func(key, _ any) bool {
				if !waiting[key.(e2ee.Key)] {
					k.asked.Delete(key)
				}
				return true
			})
			return nil
		}
		for _, row := range rows {
			try := !waiting[keyOf(row.Event)] && (trust || row.Encryption == event.MissingKey)
			waiting[keyOf(row.Event)] = true
			err := k.Group.Guard(row.Room, "checking for a key", func() error { return k.checkOne(ctx, row, now, try) })
			switch {
			case queue.IsPanic(err): // the room's worker tries it, counts that, and gives the event up
				k.Arrived(keyOf(row.Event))
			case err != nil:
				return err
			}
		}
		last = rows[len(rows)-1]
	}
}

func (k *Keys) checkOne(ctx context.Context, row state.Event, now time.Time, try bool) error {
	age := now.Sub(row.At)
	switch {
	case age >= keyDeadline:
		return k.Journal.Events.Finish(ctx, row.Room, row.ID)
	case try && !k.Account.Keys.Decrypt(ctx, row.Event).Undecrypted():
		k.Arrived(keyOf(row.Event))
	case row.Encryption == event.MissingKey:
		k.ask(row.Event)
		if max(age, time.Since(row.At)) >= keyNoticeAfter { // a notice ends nothing
			return k.tell(ctx, row)
		}
	}
	return nil
}

// tell says, once per key, that a message cannot be decrypted yet.
func (k *Keys) tell(ctx context.Context, row state.Event) error {
	key := keyOf(row.Event)
	txn := state.Hash(key.Room+"\x00"+key.Session) + "-keyless"
	if _, err := k.Journal.Messages.Get(ctx, txn); !errors.Is(err, state.ErrNotFound) {
		return err
	}
	return k.Rooms.Queue(ctx, outbox.Answer(row, state.KindMissingKey, txn,
		"🔒 I cannot decrypt this message yet because the key is missing. "+
			"I have requested it and will start when it arrives. If nothing happens, send the message again."))
}
