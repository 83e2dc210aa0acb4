package serve

import (
	"context"

	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/engine"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/sandbox/kube"
)

// openDoor returns the service through which the relays of pods reach the gateways of their rooms, which keep away from
// the pods' nodes. With podman there is none: it returns nil.
func openDoor(ctx context.Context, cfg *settings.Config, rooms *sandbox.Rooms, gate *gateway.Gateway,
	log zerolog.Logger) (service, error) {
	cluster, ok := rooms.Engine.(*kube.Cluster)
	if !ok {
		return nil, nil
	}
	certificate, _, err := kube.Certificate(string(cfg.StateDir))
	if err != nil {
		return nil, err
	}
	cluster.OnNode(gate.Avoid)
	listener, err := listen(ctx, "KUBE_LISTEN", cfg.KubeListen)
	if err != nil {
		return nil, err
	}
	return engine.Door(cluster, certificate, gate, listener), nil
}
