package bot

import (
	"context"
	"fmt"
	"matrix-tui/bot/keyring"
	"strconv"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// warnUntrusted tells a room why the bot does not act on a message and what to do about it,
// at most once an hour per sender. The warning is not encrypted, because the device
// that must read it gets no room keys. It says nothing that the homeserver does not
// know.
func (b *Bot) warnUntrusted(row state.Event) {
	now := time.Now()
	if now.Sub(row.At) >= keyring.WarnPause {
		return // the room was warned when the message arrived
	}
	of := keyring.Warning{Room: row.Room, Sender: row.Sender}
	if !b.keys.Warn(of, now) {
		return
	}
	b.start(func() {
		ctx, cancel := context.WithTimeout(b.ctx, callTimeout)
		defer cancel()
		hour := strconv.FormatInt(now.Unix()/int64(keyring.WarnPause/time.Second), 10) // the same after a restart
		txn := task.Hash(row.Room+"\x00"+row.Sender+"\x00"+hour) + "-untrusted"
		m := matrix.Notice(distrustSentence(row.Sender, e2ee.Distrust(row.Distrust)))
		m.RelatesTo, m.Txn = relate(originOf(row), row.ID), txn
		_, err := b.account.SendClear(ctx, row.Room, event.TypeMessage, txn, m)
		if err != nil && b.ctx.Err() == nil {
			b.keys.ForgetWarning(of)
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
