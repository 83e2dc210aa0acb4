package matrix

import (
	"context"
	"errors"
	"strings"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/state/event"
)

// Decrypt decrypts an event that is Undecrypted, or states in its Encryption why
// that is not possible. It returns other events unchanged, and any event if there
// was an error on this host, so that the caller can try again.
func (a Keys) Decrypt(ctx context.Context, e event.Event) event.Event {
	if e.Encryption != event.MissingKey && e.Encryption != event.Untrusted {
		return e
	}
	var plain event.Event
	err := a.use(func(m *e2ee.Machine) (err error) {
		plain, err = m.Decrypt(ctx, e)
		return err
	})
	if err == nil && isEncryptable(plain.Type) {
		return plain
	}
	var noKey *e2ee.NoKeyError
	var untrusted *e2ee.UntrustedDeviceError
	switch {
	case err == nil:
		e.Encryption, e.Raw = event.Decrypted, nil
	case errors.Is(err, e2ee.ErrCopy):
		e.Encryption = event.Copy
		a.log.Info().Str("room", e.Room).Str("event", e.ID).Msg("message is a copy of another one")
	case errors.Is(err, e2ee.ErrUnreadable):
		e.Encryption = event.Undecryptable
		a.log.Info().Err(err).Str("room", e.Room).Str("event", e.ID).Msg("message is undecryptable")
	case errors.As(err, &noKey):
		e.Encryption, e.Session, e.Distrust = event.MissingKey, noKey.Session, ""
	case errors.As(err, &untrusted):
		e.Encryption, e.Session, e.Distrust = event.Untrusted, untrusted.Session, string(untrusted.Reason)
	case ctx.Err() == nil:
		a.log.Warn().Err(err).Str("room", e.Room).Str("event", e.ID).Msg("cannot decrypt a message now, retrying")
	}
	return e
}

// isEncryptable reports whether an event of this type may come encrypted. Others,
// such as redactions, only count if the homeserver has seen them.
func isEncryptable(eventType string) bool {
	return event.IsSpoken(eventType) || eventType == event.TypeReaction ||
		strings.HasPrefix(eventType, "m.key.verification.")
}
