package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox"
	"matrix-tui/state/sentence"
)

const (
	podmanTime = time.Minute // of all that podman is asked: on a slow host its first answer takes long
	minPodman  = "4.3"

	untestedPodman = "6"
)

// checkPodman checks the socket, the service behind it, its version, the image and the isolation of a container, as far
// as each is reachable. Offline it starts no container: an update asks that before the image is built that it needs.
func checkPodman(ctx context.Context, cfg *settings.Config, offline bool, say func(Finding)) {
	ctx, cancel := context.WithTimeout(ctx, podmanTime)
	defer cancel()
	uri := cli.PodmanURI(cfg)
	socket := checkSocket(uri)
	say(socket)
	if socket.Bad {
		say(skipped("podman and image cannot be checked without the socket"))
		return
	}
	podman, err := sandbox.Connect(ctx, uri, zerolog.Nop())
	var have string
	if err == nil {
		defer podman.Close()
		have, err = podman.Version(ctx)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		say(bad("podman at %s does not answer: the host may be overloaded, or podman's service may be stuck; run this "+
			"again once `podman info` works for the bot's user", uri))
		return
	case podman == nil:
		say(bad("podman at %s: %s", uri, sentence.Text(err)))
		return
	case err != nil:
		say(bad("podman at %s did not report its version: %s", uri, sentence.Text(err)))
	case !atLeast(have, minPodman):
		say(bad("podman %s at %s is too old: install %s or later (Debian 12 and Ubuntu 24.04 have it)", have, uri, minPodman))
	case atLeast(have, untestedPodman):
		say(good("podman %s at %s; the bot was tested with podman 4.3 to 5.8", have, uri))
	default:
		say(good("podman %s at %s", have, uri))
	}
	checkHost(ctx, cfg, podman, say)
	say(checkRuntime(ctx, cfg, podman))
	image := string(cfg.Image)
	switch id, err := podman.ImageID(ctx, image); {
	case errors.Is(err, sandbox.ErrImageMissing):
		say(bad("image %s is missing: run ./deploy/image/build, or set SANDBOX_IMAGE to one that `podman images` shows",
			image))
	case err != nil:
		say(bad("image %s: %s", image, sentence.Text(err)))
	default:
		say(good("image %s (%s)", image, id[:min(len(id), 12)]))
		if offline {
			say(checkLimits(ctx, cfg, podman))
		} else {
			say(checkIsolation(ctx, cfg, podman))
		}
	}
}

// checkSocket checks that this user may use podman's socket.
func checkSocket(uri string) Finding {
	unit := "systemctl enable --now podman.socket"
	if os.Geteuid() != 0 {
		unit = "systemctl --user enable --now podman.socket"
	}
	path := strings.TrimPrefix(uri, "unix://")
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return bad("socket %s: %v; start it with `%s`, or set CONTAINER_HOST", path, settings.Reason(err), unit)
	case info.Mode()&fs.ModeSocket == 0:
		return bad("socket %s: this is not a socket; set CONTAINER_HOST to podman's socket, or start podman with `%s`", path,
			unit)
	case unix.Access(path, unix.R_OK|unix.W_OK) != nil:
		return bad("socket %s: permission denied for this user; use rootless podman (`systemctl --user enable --now "+
			"podman.socket`), or run as the socket's owner", path)
	}
	return good("socket %s", path)
}

// atLeast compares version numbers; a suffix such as -dev is ignored.
func atLeast(have, want string) bool {
	h, w := strings.Split(have, "."), strings.Split(want, ".")
	for i := range w {
		var a, b int
		if i < len(h) {
			_, _ = fmt.Sscanf(h[i], "%d", &a) // no number counts as 0
		}
		_, _ = fmt.Sscanf(w[i], "%d", &b)
		if a != b {
			return a > b
		}
	}
	return true
}
