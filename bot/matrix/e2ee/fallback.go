package e2ee

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto/signatures"
	"maunium.net/go/mautrix/id"
)

// fallbackKey is the name under which crypto.db stores the fallback state.
const fallbackKey = "fallback"

// fallbackPause is the minimum age of a fallback key before it is replaced. The
// previous key still works, so a sender has at least this time to use the one it
// got. It also limits the uploads to a homeserver that does not store fallback keys.
const fallbackPause = time.Hour

// fallback says when the fallback key was made that has been uploaded. A homeserver gives it to senders when
// the device's one-time keys are used up, for example while it was offline
// (https://spec.matrix.org/v1.11/client-server-api/#one-time-and-fallback-keys).
type fallback struct {
	Made     time.Time `json:"made"`
	Uploaded bool      `json:"uploaded"` // for older releases
}

// fallbackAccount lists methods of goolm's account that its interface lacks.
type fallbackAccount interface {
	GenFallbackKey() error                 // the current key becomes the previous one
	FallbackKey() map[string]id.Curve25519 // the current key by its ID
}

// renewFallback uploads a new fallback key if the homeserver reports that it has no
// unused one; unused is nil if it reports nothing because it does not support
// fallback keys. m.mu is held.
func (m *uploads) renewFallback(ctx context.Context, unused []string) error {
	account, ok := m.mach.GetAccount().Internal.(fallbackAccount)
	if !ok || unused == nil || slices.Contains(unused, string(id.KeyAlgorithmSignedCurve25519)) ||
		time.Since(m.offered) < askAgain {
		return nil
	}
	var f fallback
	text, err := m.db.meta(ctx, fallbackKey)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &f)
	}
	if err != nil {
		return fmt.Errorf("read state of the fallback key: %w", err)
	}
	if time.Since(f.Made) < fallbackPause {
		return nil
	}
	m.offered = time.Now() // if this fails, it is not repeated with every sync
	if err := account.GenFallbackKey(); err != nil {
		return fmt.Errorf("create fallback key: %w", err)
	}
	if err := m.store.PutAccount(ctx, m.mach.GetAccount()); err != nil { // before anybody can use it
		m.reload(ctx)
		return fmt.Errorf("store fallback key: %w", err)
	}
	if err := m.uploadFallback(ctx, account.FallbackKey()); err != nil {
		return err
	}
	return m.saveFallback(ctx, fallback{time.Now(), true})
}

func (m *uploads) saveFallback(ctx context.Context, f fallback) error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return m.db.setMeta(ctx, fallbackKey, string(text))
}

func (m *uploads) uploadFallback(ctx context.Context, keys map[string]id.Curve25519) error {
	cli := m.cfg.Client
	signed := map[id.KeyID]*mautrix.OneTimeKey{}
	for name, public := range keys {
		key := &mautrix.OneTimeKey{Key: public, Fallback: true, IsSigned: true}
		signature, err := m.mach.GetAccount().SignJSON(key)
		if err != nil {
			return fmt.Errorf("sign fallback key: %w", err)
		}
		key.Signatures = signatures.NewSingleSignature(cli.UserID, id.KeyAlgorithmEd25519, cli.DeviceID.String(), signature)
		signed[id.NewKeyID(id.KeyAlgorithmSignedCurve25519, name)] = key
	}
	url := cli.BuildClientURL("v3", "keys", "upload")
	if _, err := m.mach.Client.MakeRequest(ctx, "POST", url, map[string]any{"fallback_keys": signed}, nil); err != nil {
		return fmt.Errorf("upload fallback key: %w", err)
	}
	return nil
}

// forgetFallback resets the state after the homeserver has forgotten the device's
// keys, so that a fallback key is created and uploaded again.
func (m *uploads) forgetFallback(ctx context.Context) error {
	return m.db.setMeta(ctx, fallbackKey, "")
}
