package serve

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/sandbox/kube"
)

// connectEngine connects to what runs rooms' sandboxes.
func connectEngine(ctx context.Context, cfg *settings.Config, doors sandbox.Doors,
	log zerolog.Logger) (sandbox.Engine, error) {
	if cfg.Engine == settings.Kubernetes {
		_, certificate, err := kube.Certificate(string(cfg.StateDir))
		if err != nil {
			return nil, err
		}
		cluster, err := kube.Connect(ctx, kube.Config{
			Kubeconfig: string(cfg.Kubeconfig), Namespace: string(cfg.KubeNamespace), Door: cfg.Door(), DoorCert: certificate,
			StorageClass: string(cfg.KubeStorageClass), Storage: strconv.FormatInt(int64(cfg.KubeStorage), 10),
			Seccomp: string(cfg.KubeSeccomp), RuntimeClass: string(cfg.KubeRuntimeClass), PullSecret: string(cfg.KubePullSecret),
			UserNamespaces: bool(cfg.KubeUserNamespaces),
		}, log)
		if err != nil {
			return nil, fmt.Errorf("connect to the cluster: %w", err)
		}
		return cluster, nil
	}
	podman, err := sandbox.Connect(ctx, string(cfg.ContainerHost), log)
	if err != nil {
		return nil, fmt.Errorf("connect to podman: %w", err)
	}
	podman.Place = sandbox.Place{Doors: doors, Inits: filepath.Join(string(cfg.StateDir), "boxinit"), Version: cli.Version()}
	return podman, nil
}

// openDoor returns the service through which the relays of pods reach the gateways of their rooms. With podman there is
// none: it returns nil.
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
	listener, err := listen(ctx, "KUBE_LISTEN", cfg.KubeListen)
	if err != nil {
		return nil, err
	}
	door := cluster.Door(certificate, func(ctx context.Context, room string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "unix", filepath.Join(gate.Folder(room), "sock"))
	})
	return func(ctx context.Context) error { return door.Serve(ctx, listener) }, nil
}
