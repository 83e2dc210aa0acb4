package bot

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

const (
	sealedTold  = time.Minute    // so long a key is waited for in silence
	sealedTime  = 24 * time.Hour // and so long at all
	sealedRetry = 10 * time.Second
	maxSealed   = 200 // messages without a key that a room holds
)

// sealed are the messages whose keys are not there yet, or whose devices are not
// trusted.
type sealed struct {
	mu     sync.Mutex
	rows   map[string]*sealedRow  // by event
	keys   map[e2ee.Key]bool      // those that were asked for
	warned map[warnedOf]time.Time // when the rooms were told of senders that are not trusted
}

type sealedRow struct {
	row       state.Inbound
	key       e2ee.Key // empty where something else than a key was missing
	since     time.Time
	told      bool
	untrusted bool      // the key is there, but its device is not trusted
	looked    time.Time // when somebody last looked whether it is by now
}

// warnedOf is whom a room is told of.
type warnedOf struct{ room, sender string }

// add notes a message that waits; ask tells to ask for its key, or people for
// trust in its device, and drop that the room holds too many.
func (s *sealed) add(row state.Inbound, key e2ee.Key, untrusted bool) (ask, drop bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows[row.Event] != nil {
		return false, false
	}
	in := 0
	for _, one := range s.rows {
		if one.row.Room == row.Room {
			in++
		}
	}
	if in >= maxSealed {
		return false, true
	}
	if s.rows == nil {
		s.rows, s.keys = map[string]*sealedRow{}, map[e2ee.Key]bool{}
	}
	s.rows[row.Event] = &sealedRow{row: row, key: key, since: time.Now(), untrusted: untrusted, looked: time.Now()}
	if untrusted {
		return true, false
	}
	ask = key.Session != "" && !s.keys[key]
	s.keys[key] = true
	return ask, false
}

// came forgets the messages of a key, and returns the rooms that they are in now:
// who looks at one that still cannot be read adds it again.
func (s *sealed) came(k e2ee.Key) (rooms []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for event, one := range s.rows {
		if one.key == k {
			rooms = append(rooms, one.row.Room)
			delete(s.rows, event)
		}
	}
	return rooms
}

// failed notes that a key could not be asked for.
func (s *sealed) failed(k e2ee.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, k)
}

// dueSealed is what is to be done about messages whose keys are not there.
type dueSealed struct {
	tell, giveUp []state.Inbound // the rooms are to be told of these; these are given up
	again        []string        // rooms in which something may have become readable
	ask          []sealedRow     // one for each key that could not be asked for before
	look         []sealedRow     // one for each key whose device may be trusted by now
}

// due is what is to be done now; each thing is returned once.
func (s *sealed) due(now time.Time) (d dueSealed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	looked := map[e2ee.Key]bool{}
	for event, one := range s.rows {
		switch age := now.Sub(one.since); {
		case age >= sealedTime:
			d.giveUp = append(d.giveUp, one.row)
			delete(s.rows, event)
			continue
		case one.key.Session == "":
			d.again = append(d.again, one.row.Room)
			delete(s.rows, event)
			continue
		case one.untrusted:
			if now.Sub(one.looked) >= sealedTold {
				if one.looked = now; !looked[one.key] {
					d.look = append(d.look, *one)
				}
				looked[one.key] = true
			}
			continue
		case age >= sealedTold && !one.told:
			one.told = true
			d.tell = append(d.tell, one.row)
		}
		if !s.keys[one.key] {
			s.keys[one.key] = true
			d.ask = append(d.ask, *one)
		}
	}
	if len(s.rows) == 0 {
		clear(s.keys)
	}
	return d
}

// waitForKey has a message wait until it can be read. A room that holds too many
// of those gives this one up.
func (r *room) waitForKey(ctx context.Context, row state.Inbound, e wireEvent) error {
	var c sealedContent
	_ = json.Unmarshal(e.Content, &c)
	key := e2ee.Key{Room: c.Room, Session: c.Session}
	ask, drop := r.bot.crypt.sealed.add(row, key, c.Distrust != "")
	if drop {
		return r.finish(ctx, row)
	}
	switch {
	case ask && c.Distrust != "":
		r.bot.warnOf(row, c.Distrust)
	case ask:
		r.bot.askForKey(row, key)
	}
	return nil
}

// askForKey asks the sender of a message for its key, in the background. What
// could not be asked is asked by watchSealed again.
func (b *Bot) askForKey(row state.Inbound, key e2ee.Key) {
	b.start(func() {
		ctx, cancel := context.WithTimeout(b.ctx, callTimeout)
		defer cancel()
		err := b.account.RequestKey(ctx, row.Sender, key)
		if err != nil && b.ctx.Err() == nil {
			b.crypt.sealed.failed(key)
			b.log.Warn().Err(err).Str("room", row.Room).Msg("ask for a key")
		}
	})
}

// watchSealed tells the rooms of messages whose keys do not come, until ctx ends.
func (b *Bot) watchSealed(ctx context.Context) {
	for retry.Sleep(ctx, sealedRetry) == nil {
		due := b.crypt.sealed.due(time.Now())
		for _, name := range due.again {
			b.room(name).wake()
		}
		for _, one := range due.ask {
			b.askForKey(one.row, one.key)
		}
		for _, one := range due.look {
			if len(b.stillSealed(ctx, []state.Inbound{one.row})) == 0 {
				for _, name := range b.crypt.sealed.came(one.key) {
					b.room(name).wake()
				}
			}
		}
		for _, row := range b.stillSealed(ctx, due.tell) {
			if err := b.room(row.Room).tellSealed(ctx, row); err != nil && ctx.Err() == nil {
				b.log.Warn().Err(err).Str("room", row.Room).Msg("tell of a message without a key")
			}
		}
		for _, row := range b.stillSealed(ctx, due.giveUp) {
			if err := b.room(row.Room).finish(ctx, row); err != nil && ctx.Err() == nil {
				b.log.Warn().Err(err).Str("room", row.Room).Msg("give up a message without a key")
			}
		}
	}
}

// stillSealed leaves out the rows that can be read by now, or are done.
func (b *Bot) stillSealed(ctx context.Context, rows []state.Inbound) (still []state.Inbound) {
	for _, row := range rows {
		if now, err := b.Journal.Event(ctx, row.Room, row.Event); err == nil && now.Status == state.Pending && now.Type == typeSealed {
			still = append(still, now)
		}
	}
	return still
}

// tellSealed says that a message cannot be read yet, once for all of its key's.
func (r *room) tellSealed(ctx context.Context, row state.Inbound) error {
	e, _ := parseEvent(row.Raw)
	var c sealedContent
	_ = json.Unmarshal(e.Content, &c)
	m := matrix.Notice("🔒 I cannot decrypt this message yet because the key is missing. I have requested it and will start when it arrives. If nothing happens, send the message again.")
	m.RelatesTo = relate(originOf(row), row.Event)
	return r.queue(ctx, r.out(state.KindMissingKey, task.Hash(c.Room+"\x00"+c.Session)+"-sealed", m))
}

// doUnreadable says that a message will never be read.
func (r *room) doUnreadable(ctx context.Context, row state.Inbound) error {
	m := matrix.Notice("🔒 I cannot decrypt this message. Please send it again.")
	m.RelatesTo = relate(originOf(row), row.Event)
	if err := r.queue(ctx, r.out(state.KindUnreadable, task.KeyOf(row)+"-u", m)); err != nil {
		return err
	}
	return r.finish(ctx, row)
}

// An encrypted event becomes one of these where it cannot be read: not yet, and
// not at all.
const (
	encryptedType       = "m.room.encrypted"
	verificationRequest = "m.key.verification.request" // a message's msgtype

	typeSealed     = ownTypes + "sealed"
	typeUnreadable = ownTypes + "unreadable"
)

// crypt is what is known of encrypted rows.
type crypt struct {
	plain  plainRows
	sealed sealed
}

// keyCame wakes the rooms in which a key was missing.
func (b *Bot) keyCame(k e2ee.Key) {
	for _, name := range append(b.crypt.sealed.came(k), k.Room) {
		b.room(name).wake()
	}
}
