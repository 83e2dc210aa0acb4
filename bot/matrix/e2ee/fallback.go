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

// fallbackKey is where crypto.db keeps what is known of the fallback key.
const fallbackKey = "fallback"

// fallbackPause is how long a fallback key is kept before another one may take
// its place. The one before it opens messages too, so whoever was given a key
// has at least as long to write with it. It also bounds what a homeserver costs
// that keeps none of them.
const fallbackPause = time.Hour

// fallback is the key that a homeserver gives to whoever wants to write to this
// device after all one-time keys are used up, which happens to one that is off
// for long (https://spec.matrix.org/v1.11/client-server-api/#one-time-and-fallback-keys).
type fallback struct {
	Made     time.Time `json:"made"`
	Uploaded bool      `json:"uploaded"`
}

// fallbackAccount is the part of goolm's account that its interface leaves out.
type fallbackAccount interface {
	GenFallbackKey() error                 // the present key becomes the one before
	FallbackKey() map[string]id.Curve25519 // the present key by its ID
}

// renewFallback gives the homeserver a fallback key when it says that it has
// none that is unused; unused is nil when it says nothing, as those do that know
// no such keys. m.mu is held.
func (m *Machine) renewFallback(ctx context.Context, unused []string) error {
	account, ok := m.mach.GetAccount().Internal.(fallbackAccount)
	if !ok || unused == nil || time.Since(m.offered) < askAgain {
		return nil
	}
	var f fallback
	text, err := m.db.meta(ctx, fallbackKey)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &f)
	}
	if err != nil {
		return fmt.Errorf("read about the fallback key: %w", err)
	}
	if f.Uploaded || f.Made.IsZero() {
		if slices.Contains(unused, string(id.KeyAlgorithmSignedCurve25519)) || time.Since(f.Made) < fallbackPause {
			return nil
		}
		if err := account.GenFallbackKey(); err != nil {
			return fmt.Errorf("make a fallback key: %w", err)
		}
		f = fallback{Made: time.Now()}
		if err := m.saveFallback(ctx, f); err != nil { // before anybody can have it
			m.reload(ctx)
			return err
		}
	}
	if err := m.uploadFallback(ctx, account.FallbackKey()); err != nil {
		m.offered = time.Now() // not with each sync
		return err
	}
	f.Uploaded = true
	return m.saveFallback(ctx, f)
}

// saveFallback stores the account, which holds the key, with what is known of it.
func (m *Machine) saveFallback(ctx context.Context, f fallback) error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	err = m.db.DoTxn(ctx, nil, func(ctx context.Context) error {
		if err := m.store.PutAccount(ctx, m.mach.GetAccount()); err != nil {
			return err
		}
		return m.db.setMeta(ctx, fallbackKey, string(text))
	})
	if err != nil {
		return fmt.Errorf("store the fallback key: %w", err)
	}
	return nil
}

func (m *Machine) uploadFallback(ctx context.Context, keys map[string]id.Curve25519) error {
	cli := m.cfg.Client
	signed := map[id.KeyID]*mautrix.OneTimeKey{}
	for name, public := range keys {
		key := &mautrix.OneTimeKey{Key: public, Fallback: true, IsSigned: true}
		signature, err := m.mach.GetAccount().SignJSON(key)
		if err != nil {
			return fmt.Errorf("sign the fallback key: %w", err)
		}
		key.Signatures = signatures.NewSingleSignature(cli.UserID, id.KeyAlgorithmEd25519, cli.DeviceID.String(), signature)
		signed[id.NewKeyID(id.KeyAlgorithmSignedCurve25519, name)] = key
	}
	url := cli.BuildClientURL("v3", "keys", "upload")
	if _, err := cli.MakeRequest(ctx, "POST", url, map[string]any{"fallback_keys": signed}, nil); err != nil {
		return fmt.Errorf("upload the fallback key: %w", err)
	}
	return nil
}

// forgetFallback has the fallback key uploaded again, or made anew with a new
// account: the homeserver has forgotten all keys of this device.
func (m *Machine) forgetFallback(ctx context.Context) error {
	return m.db.setMeta(ctx, fallbackKey, "")
}
