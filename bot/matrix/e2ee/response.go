package e2ee

import (
	"encoding/json"
	"fmt"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
)

// FromResponse extracts the encryption parts of a /sync response that mautrix has
// parsed, for clients that use Client.FullSyncRequest.
func FromResponse(resp *mautrix.RespSync) (s Sync, err error) {
	s.DeviceLists.Changed, s.DeviceLists.Left = resp.DeviceLists.Changed, resp.DeviceLists.Left
	if left := resp.DeviceOTKCount.SignedCurve25519; left > 0 { // 0 may also mean that it is missing
		s.OneTimeKeys = map[string]int{"signed_curve25519": left}
	}
	for _, kind := range resp.FallbackKeys {
		s.FallbackKeys = append(s.FallbackKeys, string(kind))
	}
	if resp.FallbackKeys != nil && s.FallbackKeys == nil {
		s.FallbackKeys = []string{}
	}
	s.ToDevice.Events, err = Raw(resp.ToDevice.Events)
	return s, err
}

// Raw marshals events that mautrix has parsed.
func Raw(events []*event.Event) ([]json.RawMessage, error) {
	raws := make([]json.RawMessage, 0, len(events))
	for _, e := range events {
		raw, err := json.Marshal(e)
		if err != nil {
			return nil, fmt.Errorf("write event: %w", err)
		}
		raws = append(raws, raw)
	}
	return raws, nil
}
