package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"matrix-tui/cmd/matrix-tui/settings"
)

// Minute is how tables write a time.
const Minute = "2006-01-02 15:04"

// GatewayFolder, in STATE_DIR, has a folder with a socket for each room. It is not
// temporary: containers that podman starts after a reboot need it before the bot is up.
const GatewayFolder = "gateway"

// Amount formats a number of bytes for people.
func Amount(n uint64) string {
	if n < 1<<30 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// SmallAmount is a size that may be less than a MiB.
func SmallAmount(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return Amount(uint64(n))
}

// CountOf is a number with its noun.
func CountOf(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Closing adds the error of a close to the error of the function that defers it.
func Closing(err *error, close func() error) {
	if wrong := close(); wrong != nil {
		*err = errors.Join(*err, wrong)
	}
}

// WithGrace gives a close five seconds although its context has ended.
func WithGrace(ctx context.Context, close func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return close(ctx)
}

// Pod returns the pod that this process runs in, and its namespace; "" = it runs in none.
func Pod() (name, namespace string) {
	if os.Getenv("KUBERNETES_SERVICE_HOST") == "" {
		return "", ""
	}
	name, _ = os.Hostname()
	data, _ := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	return name, cmp.Or(string(data), "default")
}

// PodmanURI returns podman's socket, from the setting or podman's default.
func PodmanURI(cfg *settings.Config) string {
	if uri := string(cfg.ContainerHost); uri != "" {
		return uri
	}
	uid := os.Geteuid()
	if uid == 0 {
		return "unix:///run/podman/podman.sock"
	}
	return "unix://" + cmp.Or(os.Getenv("XDG_RUNTIME_DIR"), fmt.Sprintf("/run/user/%d", uid)) + "/podman/podman.sock"
}
