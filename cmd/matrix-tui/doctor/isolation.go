package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox"
	"matrix-tui/state/sentence"
)

// specOf is a container with the limits of the settings.
func specOf(cfg *settings.Config) sandbox.Spec {
	return sandbox.Spec{Image: string(cfg.Image), Memory: int64(cfg.Memory), CPUs: float64(cfg.CPUs),
		PIDs: int64(cfg.PIDs), Files: int64(cfg.Files), Runtime: string(cfg.Runtime)}
}

// checkLimits asks whether podman can set the limits of containers. It starts none.
func checkLimits(ctx context.Context, cfg *settings.Config, podman *sandbox.Podman) Finding {
	switch err := podman.Limited(ctx, specOf(cfg)); {
	case errors.Is(err, sandbox.ErrUnlimited):
		return unlimited(err)
	case err != nil:
		return skipped("isolation: no container is started to check it; podman did not report about its host: %s",
			sentence.Text(err))
	}
	return skipped("isolation: no container is started to check it; podman can set the limits of containers")
}

// unlimited says what an operator can do about sandbox.ErrUnlimited.
func unlimited(err error) Finding {
	return bad("isolation: no task runs, because this host cannot set every limit of a container: for rootless podman, "+
		"systemd must delegate the controllers memory, cpu and pids to the bot's user. ./deploy/install sets that up, and "+
		"it takes effect when user@UID.service starts, as at a reboot. Or set SANDBOX_MEMORY, SANDBOX_CPUS or SANDBOX_PIDS "+
		"to 0 to do without that limit (%v)", err)
}

// fewerFiles says that processes get a lower limit on open files than the settings want.
func fewerFiles(cfg *settings.Config, files int64) string {
	if files >= int64(cfg.Files) {
		return ""
	}
	return fmt.Sprintf("; a process can have %d open files and not %d (SANDBOX_NOFILE), because this process has no "+
		"higher limit (`ulimit -Hn`)", files, cfg.Files)
}

// checkIsolation starts a container and has it verified from inside.
func checkIsolation(ctx context.Context, cfg *settings.Config, podman *sandbox.Podman) Finding {
	err := podman.Check(ctx, specOf(cfg), string(cfg.StateDir))
	switch {
	case errors.Is(err, sandbox.ErrUnlimited):
		return unlimited(err)
	case errors.Is(err, fs.ErrNotExist):
		return skipped("isolation cannot be checked until the state folder exists")
	case errors.Is(err, sandbox.ErrOldImage):
		return bad("isolation: the image is older than the bot and cannot verify it, so no task runs: run " +
			"./deploy/image/build")
	case errors.Is(err, sandbox.ErrRuntime):
		return bad("isolation: no task runs (%v)", err)
	case errors.Is(err, sandbox.ErrWeak):
		return bad("isolation: no task runs (%v): look for settings of podman that weaken containers, in /etc/containers "+
			"and /usr/share/containers (an empty /etc/containers/mounts.conf turns off the mounts of the latter); podman %s "+
			"or later with crun or runc applies all that the bot asks for", err, minPodman)
	case err != nil:
		return bad("isolation: a container could not be checked: %s", sentence.Text(err))
	}
	more := fewerFiles(cfg, sandbox.OpenFiles(int64(cfg.Files)))
	if cfg.Runtime != "" {
		return good("isolation: a container, verified from inside, is as strong as it must be and has a kernel of its own "+
			"(%s)%s", cfg.Runtime, more)
	}
	return good("isolation: a container, verified from inside, is as strong as it must be%s", more)
}
