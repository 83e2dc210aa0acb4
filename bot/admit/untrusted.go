package admit

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/bot/outbox"
	"matrix-tui/bot/proof"
	"matrix-tui/state"
)

const warnPause = 24 * time.Hour // between two warnings about the same sender in a room

// warn tells a room why the bot does not act on a message and what to do about it,
// at most once a day per sender. The warning is not encrypted, because the device
// that must read it gets no room keys. It says nothing that the homeserver does not
// know.
func (k *Keys) warn(row state.Event) {
	now := time.Now()
	if now.Sub(row.At) >= warnPause {
		return // the room was warned when the message arrived
	}
	day := strconv.FormatInt(now.Unix()/int64(warnPause/time.Second), 10) // the same after a restart
	txn := state.Hash(row.Room+"\x00"+row.Sender+"\x00"+day) + "-untrusted"
	if k.warnings.Add(1)%maxWarned == 0 {
		k.warned.Clear()
	}
	if _, before := k.warned.LoadOrStore(txn, true); before {
		return
	}
	k.Group.Start(func() {
		ctx, cancel := context.WithTimeout(k.Group.Context, matrix.CallTimeout)
		defer cancel()
		_, err := k.Account.Messages.SendClear(ctx, outbox.Answer(row, state.KindUnreadable, txn,
			distrustSentence(row.Sender, e2ee.Distrust(row.Distrust))))
		if err != nil && k.Group.Context.Err() == nil {
			k.warned.Delete(txn)
			k.Group.Log.Warn().Err(err).Str("room", row.Room).Msg("cannot send the warning about an untrusted device")
		}
	})
}

const howToSetUp = "Element: Settings → Encryption → Recovery (or Security & Privacy → Secure Backup). Cinny: " +
	"Settings → Devices → Device Verification → Enable."

// distrustSentence returns the warning for a reason of distrust.
func distrustSentence(sender string, why e2ee.Distrust) string {
	ask := fmt.Sprintf("ask my operator to run `matrix-tui trust %s`.", sender)
	switch why {
	case e2ee.NoIdentity:
		return "🔒 " + sender + ", I can't act on this message yet: nothing proves which sessions are yours. Set that up " +
			"within a day, and I will.\n" + howToSetUp
	case e2ee.NewDevice:
		return "🔒 " + sender + ", I can't act on this message yet: this session is new to me, and nothing proves that it " +
			"is yours. Set that up within a day in the session that I know, and verify this one; or " + ask + "\n" + howToSetUp
	case e2ee.NewIdentity:
		return "🔒 " + sender + ", I can't act on this message yet: this session is new to me, and your identity does not " +
			"come from a session that I know. Within a day, " + ask
	case e2ee.IdentityChanged:
		return fmt.Sprintf("🔒 I don't act on messages from %s, because the identity of this account has changed: either it "+
			"was reset, or somebody is pretending to be its owner. "+
			"If you reset it yourself, %s I keep the message for a day and will act on it after that.", sender, ask)
	}
	return "🔒 " + sender + ", I can't act on this message yet: your session is not verified. Verify it within a day, " +
		"and I will.\n" + proof.HowToVerify
}

// TellUnverified tells a room that the bot has joined how its members can read what the bot
// says, if sessions of theirs do not get its keys. It is not encrypted, for the same reason.
func (k *Keys) TellUnverified(joined state.Event) {
	k.Group.Start(func() {
		ctx, cancel := context.WithTimeout(k.Group.Context, 2*matrix.CallTimeout)
		defer cancel()
		unverified, err := k.Account.Keys.Unverified(ctx, joined.Room)
		if err == nil && unverified {
			txn := state.KeyOf(joined.Room, joined.ID) + "-unverified"
			_, err = k.Account.Messages.SendClear(ctx, outbox.Notice(joined.Room, state.KindUnreadable, txn,
				"🔒 Can't you read what I write here? Then your session is not verified.\n"+proof.HowToVerify))
		}
		if err != nil && k.Group.Context.Err() == nil {
			k.Group.Log.Warn().Err(err).Str("room", joined.Room).Msg("cannot tell the room about unverified sessions")
		}
	})
}
