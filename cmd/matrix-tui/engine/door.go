package engine

import (
	"context"
	"crypto/tls"
	"net"
	"path/filepath"

	"matrix-tui/sandbox/gateway"
	"matrix-tui/sandbox/kube"
)

// Door returns the service through which the relays of pods reach the gateways of their rooms, until its context ends.
func Door(cluster *kube.Cluster, certificate tls.Certificate, gate *gateway.Gateway,
	listener net.Listener) func(context.Context) error {
	door := cluster.Door(certificate, func(ctx context.Context, room string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "unix", filepath.Join(gate.Folder(room), "sock"))
	})
	return func(ctx context.Context) error { return door.Serve(ctx, listener) }
}
