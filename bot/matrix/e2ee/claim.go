package e2ee

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// meet creates Olm sessions with those devices that have none, as far as their
// homeservers answer: the others stay without. m.mu is not held.
func (m *Machine) meet(ctx context.Context, devices []*id.Device) error {
	var all []*flight
	for _, same := range byServer(devices, m.cfg.Client.UserID.Homeserver(), func(d *id.Device) string { return m.server(d.UserID) }) {
		of := map[id.IdentityKey]*id.Device{}
		var keys []id.IdentityKey
		for _, device := range same {
			if of[device.IdentityKey] == nil {
				keys = append(keys, device.IdentityKey)
			}
			of[device.IdentityKey] = device
		}
		all = append(all, m.claims.start(&m.requests, keys, func(keys []id.IdentityKey) error {
			var devices []*id.Device
			for _, key := range keys {
				devices = append(devices, of[key])
			}
			return m.claim(devices)
		})...)
	}
	return wait(ctx, all)
}

// claim claims a one-time key of each device and creates the sessions. Homeservers that do
// not answer are only logged, so that they cannot block a room. Our own must: without an
// answer a message would be sent without its key.
func (m *Machine) claim(devices []*id.Device) error {
	ctx, cancel := context.WithTimeout(m.ctx, fetchTime)
	defer cancel()
	wanted, cli, err := m.unmet(ctx, devices)
	if err != nil || len(wanted) == 0 {
		return err
	}
	req := mautrix.ReqClaimKeys{OneTimeKeys: mautrix.OneTimeKeysRequest{}, Timeout: askTime.Milliseconds()}
	for _, device := range wanted {
		if req.OneTimeKeys[device.UserID] == nil {
			req.OneTimeKeys[device.UserID] = map[id.DeviceID]id.KeyAlgorithm{}
		}
		req.OneTimeKeys[device.UserID][device.DeviceID] = id.KeyAlgorithmSignedCurve25519
	}
	var resp struct {
		Keys oneTimeKeys `json:"one_time_keys"`
	}
	_, err = cli.MakeRequest(ctx, http.MethodPost, cli.BuildClientURL("v3", "keys", "claim"), &req, &resp)
	if err != nil && m.late(ctx, wanted[0].UserID) {
		m.log.Warn().Err(err).Str("server", wanted[0].UserID.Homeserver()).Msg("cannot claim one-time keys of some devices in time")
		return nil
	}
	if err != nil {
		return fmt.Errorf("claim one-time keys: %w", err)
	}
	return m.createSessions(wanted, resp.Keys)
}

type oneTimeKeys map[id.UserID]map[id.DeviceID]json.RawMessage

// createSessions creates Olm sessions with those of the devices whose keys were given.
func (m *Machine) createSessions(wanted []*id.Device, keys oneTimeKeys) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	given := oneTimeKeys{} // nobody else's: mautrix expects what it has asked for, and all of it to be well-formed
	dummy := mautrix.ReqSendToDevice{Messages: map[id.UserID]map[id.DeviceID]*event.Content{}}
	for _, device := range wanted {
		key, ok := keys[device.UserID][device.DeviceID]
		if !ok || json.Unmarshal(key, &map[id.KeyID]mautrix.OneTimeKey{}) != nil {
			continue
		}
		present, err := m.store.GetDevice(m.ctx, device.UserID, device.DeviceID)
		if err != nil {
			return fmt.Errorf("look up device: %w", err)
		}
		if present == nil { // deleted meanwhile
			continue
		}
		if given[device.UserID] == nil {
			given[device.UserID] = map[id.DeviceID]json.RawMessage{}
			dummy.Messages[device.UserID] = map[id.DeviceID]*event.Content{}
		}
		given[device.UserID][device.DeviceID] = key
		dummy.Messages[device.UserID][device.DeviceID] = &event.Content{Raw: map[string]any{}}
	}
	if len(given) == 0 {
		return nil
	}
	raw, err := json.Marshal(map[string]any{"one_time_keys": given})
	if err != nil {
		return fmt.Errorf("write one-time keys: %w", err)
	}
	m.store.begin()
	// mautrix creates sessions only for something to encrypt, which is not sent.
	_, err = m.mach.EncryptToDevices(answers{claim: raw}.with(m.ctx), event.ToDeviceDummy, &dummy)
	if lost := m.store.failure(); lost != nil {
		m.reload(m.ctx)
		return lost
	}
	if err != nil {
		return fmt.Errorf("create sessions with devices: %w", err)
	}
	return nil
}

// unmet returns the devices that need an Olm session, and a client to claim keys with.
func (m *Machine) unmet(ctx context.Context, devices []*id.Device) ([]*id.Device, *mautrix.Client, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wanted, err := m.without(ctx, devices)
	return wanted, m.mach.Client, err
}

// without returns the devices that need an Olm session. m.mu is held.
func (m *Machine) without(ctx context.Context, devices []*id.Device) (wanted []*id.Device, err error) {
	for _, device := range devices {
		lacks, err := m.store.lacks(ctx, device.IdentityKey)
		if err != nil {
			return nil, err
		}
		if lacks {
			wanted = append(wanted, device)
		}
	}
	return wanted, nil
}

// later creates an Olm session with a device in the background and then calls f, which
// may send to it. m.mu is held then.
func (m *Machine) later(device *id.Device, f func(context.Context)) {
	m.requests.start(func() {
		if err := m.meet(m.ctx, []*id.Device{device}); err != nil {
			if m.NoteDamage(err); m.ctx.Err() == nil {
				m.log.Warn().Err(err).Msg("cannot create a session with a device")
			}
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.ctx.Err() == nil {
			m.guard("message to a device", func() { f(answers{}.with(m.ctx)) })
		}
	})
}
