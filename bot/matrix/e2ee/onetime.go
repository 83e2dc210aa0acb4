package e2ee

import (
	"context"
	"fmt"
	"time"

	"maunium.net/go/mautrix/id"
)

// uploads gives the homeserver the keys of this device.
type uploads struct {
	*core
	counted time.Time // when the homeserver was last asked how many one-time keys it has
	shared  time.Time // when keys were last uploaded
	offered time.Time // when a fallback key was last created
}

// sharePause is the time after an upload in which mautrix asks the homeserver for its
// number of one-time keys, and ignores the number that it is given.
const sharePause = time.Minute

// refillOneTimeKeys uploads one-time keys if the homeserver has few. If the count is missing,
// which may mean zero, it asks for it, but not with every sync. m.mu is held.
func (m *uploads) refillOneTimeKeys(ctx context.Context, left map[string]int) {
	count, told := left[string(id.KeyAlgorithmSignedCurve25519)]
	switch {
	case told && count >= int(m.mach.GetAccount().Internal.MaxNumberOfOneTimeKeys()/2):
		return
	case !told && time.Since(m.counted) < askAgain:
		return
	case !told:
		m.counted, count = time.Now(), -1
	}
	if err := m.shareKeys(ctx, count); err != nil {
		m.log.Warn().Err(err).Msg("cannot count or upload one-time keys")
	}
}

// shareKeys uploads the device's keys, unless it has, and one-time keys. count is how many
// of those the homeserver has, -1 for unknown. If the last upload failed, the same keys are
// uploaded again: the homeserver may have them, and the account keeps a hundred only, so
// that newer ones would replace them. m.mu is held.
func (m *uploads) shareKeys(ctx context.Context, count int) error {
	account := m.mach.GetAccount()
	unpublished, err := account.Internal.OneTimeKeys()
	if err != nil {
		return fmt.Errorf("list one-time keys: %w", err)
	}
	if len(unpublished) > 0 {
		if account.Shared && time.Since(m.shared) < sharePause {
			return nil // with a later sync
		}
		if count = int(account.Internal.MaxNumberOfOneTimeKeys()); account.Shared {
			m.log.Info().Int("keys", len(unpublished)).Msg("uploading one-time keys again")
		}
	}
	if err := m.mach.ShareKeys(ctx, count); err != nil {
		return err
	}
	m.shared = time.Now()
	return nil
}
