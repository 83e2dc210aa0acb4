package e2ee

import (
	"context"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto/verificationhelper"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// What mautrix's verification helper needs from us: encryption, the state of rooms and
// callbacks.

// encrypter encrypts the helper's room events with the machine, whose lock is already
// held. The other methods of mautrix.CryptoHelper are never called.
type encrypter struct {
	mautrix.CryptoHelper
	s *sender
}

func (e encrypter) Encrypt(ctx context.Context, room id.RoomID, kind event.Type,
	content any) (*event.EncryptedEventContent, error) {
	return e.s.encrypt(ctx, room, kind, content)
}

// stateStore is the helper's state store, which only calls IsEncrypted.
type stateStore struct {
	mautrix.StateStore
	rooms *rooms
}

func (s stateStore) IsEncrypted(ctx context.Context, room id.RoomID) (bool, error) {
	return s.rooms.IsEncrypted(ctx, room)
}

// callbacks is called by the helper, partly with its lock held, so it only queues
// work.
type callbacks struct{ v *verifier }

func (c callbacks) VerificationRequested(_ context.Context, txn id.VerificationTransactionID, _ id.UserID,
	_ id.DeviceID) {
	c.v.todo = append(c.v.todo, func(ctx context.Context) error { return c.v.helper.AcceptVerification(ctx, txn) })
}

func (c callbacks) VerificationReady(_ context.Context, _ id.VerificationTransactionID, _ id.DeviceID, _, _ bool,
	_ *verificationhelper.QRCode) {
}

func (c callbacks) VerificationCancelled(_ context.Context, txn id.VerificationTransactionID,
	code event.VerificationCancelCode, _ string) {
	c.v.m.log.Info().Stringer("user", c.v.active[txn].user).Str("code", string(code)).Msg("verification cancelled")
	delete(c.v.active, txn)
}

func (c callbacks) VerificationDone(_ context.Context, txn id.VerificationTransactionID, _ event.VerificationMethod) {
	c.v.m.log.Info().Stringer("user", c.v.active[txn].user).Msg("verification done")
	delete(c.v.active, txn)
}

func (c callbacks) ShowSAS(_ context.Context, txn id.VerificationTransactionID, emojis []rune, names []string,
	decimals []int) {
	sas := SAS{User: c.v.active[txn].user.String(), Decimals: decimals}
	for i, emoji := range emojis {
		name := ""
		if i < len(names) {
			name = " " + names[i]
		}
		sas.Emojis = append(sas.Emojis, string(emoji)+name)
	}
	if c.v.m.cfg.ShowSAS != nil {
		c.v.m.cfg.ShowSAS(sas)
	}
	c.v.todo = append(c.v.todo, func(ctx context.Context) error { return c.v.helper.ConfirmSAS(ctx, txn) })
}
