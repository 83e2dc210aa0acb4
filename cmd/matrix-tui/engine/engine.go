// Package engine connects to what runs rooms' sandboxes, as the settings say.
package engine

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox"
	"matrix-tui/sandbox/kube"
)

// Seccomp is the subcommand seccomp. It prints what KUBE_SECCOMP names on each node.
func Seccomp(_ context.Context, a *cli.App, args []string) error {
	if err := a.Parse(a.Flags("seccomp"), args); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Stdout, "%s\n", sandbox.SeccompProfile())
	return err
}

// trapBeside is where the bot listens for what no pod may reach: the port after that of its door.
func trapBeside(door settings.Listen) string {
	_, port, _ := net.SplitHostPort(string(door)) // the settings were checked
	number, _ := strconv.Atoi(port)
	return ":" + strconv.Itoa(number+1)
}

// Connect connects to podman or to the cluster. The certificate is that of the door, for the pods that this process
// creates; nil = it creates none.
func Connect(ctx context.Context, cfg *settings.Config, certificate []byte,
	log zerolog.Logger) (sandbox.Engine, error) {
	if cfg.Engine != settings.Kubernetes {
		podman, err := sandbox.Connect(ctx, string(cfg.ContainerHost), log)
		if err != nil {
			return nil, fmt.Errorf("connect to podman: %w", err)
		}
		return podman, nil
	}
	cluster, err := kube.Connect(ctx, kube.Config{
		Namespace: string(cfg.KubeNamespace), Door: cfg.Door(), DoorCert: certificate, Trap: trapBeside(cfg.KubeListen),
		StorageClass: string(cfg.KubeStorageClass), Storage: strconv.FormatInt(int64(cfg.KubeStorage), 10),
		Seccomp: string(cfg.KubeSeccomp), RuntimeClass: cfg.RuntimeClass(), PullSecret: string(cfg.KubePullSecret),
		UserNamespaces: bool(cfg.KubeUserNamespaces),
	}, log)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return cluster, nil
}
