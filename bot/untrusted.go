package bot

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/bot/matrix/event"
	"matrix-tui/bot/task"
	"matrix-tui/state"
)

const (
	warnPause = time.Hour // between two warnings of the same sender in a room
	maxWarned = 10_000    // senders that are remembered
)

// warn tells whether a room is to be told of a sender now.
func (s *sealed) warn(of warnedOf, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.warned[of]) < warnPause {
		return false
	}
	if s.warned == nil || len(s.warned) >= maxWarned {
		s.warned = map[warnedOf]time.Time{}
	}
	s.warned[of] = now
	return true
}

// unwarned forgets a warning that did not get through.
func (s *sealed) unwarned(of warnedOf) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.warned, of)
}

// warnOf tells a room why a message is not acted on, and what to do, at most once
// an hour for each sender. It is said in clear: the device that has to read it
// gets no room keys. Nothing in it is new to the homeserver.
func (b *Bot) warnOf(row state.Inbound, why e2ee.Distrust) {
	now := time.Now()
	of := warnedOf{row.Room, row.Sender}
	if !b.crypt.sealed.warn(of, now) {
		return
	}
	b.start(func() {
		ctx, cancel := context.WithTimeout(b.ctx, callTimeout)
		defer cancel()
		hour := strconv.FormatInt(now.Unix()/int64(warnPause/time.Second), 10) // a restart does not repeat it
		txn := task.Hash(row.Room+"\x00"+row.Sender+"\x00"+hour) + "-untrusted"
		m := matrix.Notice(distrustSentence(row.Sender, why))
		m.RelatesTo, m.Txn = relate(originOf(row), row.Event), txn
		_, err := b.account.SendClear(ctx, row.Room, event.TypeMessage, txn, m)
		if err != nil && b.ctx.Err() == nil {
			b.crypt.sealed.unwarned(of)
			b.log.Warn().Err(err).Str("room", row.Room).Msg("tell of a device that is not trusted")
		}
	})
}

// distrustSentence says why a sender's message is not acted on, and what to do.
func distrustSentence(sender string, why e2ee.Distrust) string {
	const later = " I keep the message for a day and do it then."
	switch why {
	case e2ee.NoIdentity:
		return fmt.Sprintf("🔒 I don't act on messages from %s, because this account has no cross-signing identity: I can't tell its sessions from ones that a homeserver made up. "+
			"In Element: Settings → Encryption (or Security & Privacy) → set up recovery (Secure Backup). Or ask my operator to set `E2EE_DEVICES=all`.", sender) + later
	case e2ee.IdentityChanged:
		return fmt.Sprintf("🔒 I don't act on messages from %s, because the identity of this account has changed: either it was reset, or somebody pretends to be its owner. "+
			"If you reset it yourself, ask my operator to run `matrix-tui trust %s`.", sender, sender) + later
	}
	return fmt.Sprintf("🔒 I don't act on messages from this session of %s, because it is not verified. "+
		"In Element: Settings → Encryption → Verify this device (or Sessions → Verify session).", sender) + later
}
