package e2ee

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/crypto/signatures"
	"maunium.net/go/mautrix/id"
)

// meet creates Olm sessions with devices, as far as their homeservers answer: the others
// stay without. m.mu is not held.
func (m *sender) meet(ctx context.Context, devices []*id.Device) error {
	owner := func(d *id.Device) id.UserID { return d.UserID }
	return byServer(m.core, devices, owner, func(same []*id.Device) error { return m.claim(ctx, same) })
}

// claim claims a one-time key of each device and creates the sessions. Homeservers that do
// not answer are only logged, so that they cannot block a room. Our own must: without an
// answer a message would be sent without its key.
func (m *sender) claim(ctx context.Context, devices []*id.Device) error {
	ctx, cancel := m.bounded(ctx)
	defer cancel()
	m.mu.Lock()
	cli := m.mach.Client
	m.mu.Unlock()
	req := mautrix.ReqClaimKeys{OneTimeKeys: mautrix.OneTimeKeysRequest{}, Timeout: askTime.Milliseconds()}
	for _, device := range devices {
		if req.OneTimeKeys[device.UserID] == nil {
			req.OneTimeKeys[device.UserID] = map[id.DeviceID]id.KeyAlgorithm{}
		}
		req.OneTimeKeys[device.UserID][device.DeviceID] = id.KeyAlgorithmSignedCurve25519
	}
	var resp struct {
		Keys map[id.UserID]map[id.DeviceID]json.RawMessage `json:"one_time_keys"`
	}
	_, err := cli.MakeRequest(ctx, http.MethodPost, cli.BuildClientURL("v3", "keys", "claim"), &req, &resp)
	if err != nil && m.late(ctx, devices[0].UserID) {
		m.log.Warn().Err(err).Str("server", devices[0].UserID.Homeserver()).
			Msg("cannot claim one-time keys of some devices in time")
		return nil
	}
	if err != nil {
		return fmt.Errorf("claim one-time keys: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, device := range devices {
		if err := m.createSession(device, resp.Keys[device.UserID][device.DeviceID]); err != nil {
			return err
		}
	}
	return nil
}

// createSession creates an Olm session with a device from the one-time key that it has signed. If there is none, or it
// is not valid, the device stays without: others need not wait for it. m.mu is held.
func (m *sender) createSession(device *id.Device, raw json.RawMessage) error {
	var keys map[id.KeyID]mautrix.OneTimeKey
	if raw == nil || json.Unmarshal(raw, &keys) != nil {
		return nil
	}
	log := m.log.With().Stringer("user", device.UserID).Stringer("device", device.DeviceID).Logger()
	for keyID, key := range keys {
		if kind, _ := keyID.Parse(); kind != id.KeyAlgorithmSignedCurve25519 {
			continue
		}
		name := device.DeviceID.String()
		signed, err := signatures.VerifySignatureJSON(key.RawData, device.UserID, name, device.SigningKey)
		if err != nil || !signed {
			log.Warn().Err(err).Msg("the signature of a one-time key is not valid")
			continue
		}
		session, err := m.mach.GetAccount().Internal.NewOutboundSession(device.IdentityKey, key.Key)
		if err != nil {
			log.Warn().Err(err).Msg("cannot use a one-time key")
			continue
		}
		one := &crypto.OlmSession{Internal: session}
		one.CreationTime = time.Now()
		one.LastEncryptedTime, one.LastDecryptedTime = one.CreationTime, one.CreationTime
		if err := m.store.AddSession(m.ctx, device.IdentityKey, one); err != nil {
			m.reload(m.ctx) // mautrix's store has it in memory
			return fmt.Errorf("store session with a device: %w", err)
		}
		return nil
	}
	return nil
}
