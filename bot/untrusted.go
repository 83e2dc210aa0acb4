package bot

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

const (
	warnPause = time.Hour // between two warnings about the same sender in a room
	maxWarned = 10_000    // warnings that are remembered
)

// warning identifies a sender that a room was warned about.
type warning struct{ room, sender string }

// warn reports whether to send a warning now, and records it.
func (k *keys) warn(of warning, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Sub(k.warned[of]) < warnPause {
		return false
	}
	if k.warned == nil || len(k.warned) >= maxWarned {
		k.warned = map[warning]time.Time{}
	}
	k.warned[of] = now
	return true
}

// forgetWarning forgets a warning that could not be sent.
func (k *keys) forgetWarning(of warning) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.warned, of)
}

// warnUntrusted tells a room why the bot does not act on a message and what to do about it,
// at most once an hour per sender. The warning is not encrypted, because the device
// that must read it gets no room keys. It says nothing that the homeserver does not
// know.
func (b *Bot) warnUntrusted(row state.Event) {
	now := time.Now()
	if now.Sub(row.At) >= warnPause {
		return // the room was warned when the message arrived
	}
	of := warning{row.Room, row.Sender}
	if !b.keys.warn(of, now) {
		return
	}
	b.start(func() {
		ctx, cancel := context.WithTimeout(b.ctx, callTimeout)
		defer cancel()
		hour := strconv.FormatInt(now.Unix()/int64(warnPause/time.Second), 10) // the same after a restart
		txn := task.Hash(row.Room+"\x00"+row.Sender+"\x00"+hour) + "-untrusted"
		m := matrix.Notice(distrustSentence(row.Sender, e2ee.Distrust(row.Distrust)))
		m.RelatesTo, m.Txn = relate(originOf(row), row.ID), txn
		_, err := b.account.SendClear(ctx, row.Room, event.TypeMessage, txn, m)
		if err != nil && b.ctx.Err() == nil {
			b.keys.forgetWarning(of)
			b.log.Warn().Err(err).Str("room", row.Room).Msg("cannot send the warning about an untrusted device")
		}
	})
}

// distrustSentence returns the warning for a reason of distrust.
func distrustSentence(sender string, why e2ee.Distrust) string {
	const later = " I keep the message for a day and will act on it after that."
	switch why {
	case e2ee.NoIdentity:
		return fmt.Sprintf("🔒 I don't act on messages from %s, because this account has no cross-signing identity: I can't tell its sessions from ones that a homeserver made up. "+
			"In Element: Settings → Encryption (or Security & Privacy) → set up recovery (Secure Backup). Or ask my operator to set `E2EE_DEVICES=all`.", sender) + later
	case e2ee.IdentityChanged:
		return fmt.Sprintf("🔒 I don't act on messages from %s, because the identity of this account has changed: either it was reset, or somebody is pretending to be its owner. "+
			"If you reset it yourself, ask my operator to run `matrix-tui trust %s`.", sender, sender) + later
	}
	return fmt.Sprintf("🔒 I don't act on messages from this session of %s, because it is not verified. "+
		"In Element: Settings → Encryption → Verify this device (or Sessions → Verify session).", sender) + later
}
