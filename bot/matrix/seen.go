package matrix

import (
	"context"
	"fmt"
	"net/netip"
)

// SeenFrom returns the address from which the homeserver has last seen this session, the zero Addr if it does not say.
func (a *Account) SeenFrom(ctx context.Context) (netip.Addr, error) {
	device, err := a.client.GetDeviceInfo(ctx, a.client.DeviceID)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("read own session: %w", err)
	}
	at, err := netip.ParseAddr(device.LastSeenIP)
	if err != nil {
		return netip.Addr{}, nil
	}
	return at.WithZone(""), nil
}
