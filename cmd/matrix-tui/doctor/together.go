package doctor

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"matrix-tui/sandbox"
)

// checkTogether looks up what all containers together may use. The bot works without a limit.
func checkTogether(cgroups fs.FS, systemd, rootless bool, uid int) finding {
	if !systemd && rootless {
		return good("all containers together may use all of the host's memory and processes: rootless podman without " +
			"systemd has no control group for all. " +
			"Use a host with systemd, where `deploy/install` limits them, or podman of root (CONTAINER_HOST) with a bot that " +
			"runs as root; or lower MAX_CONTAINERS")
	}
	slice := sandbox.TogetherSlice
	if rootless {
		slice = fmt.Sprintf("user.slice/user-%d.slice/user@%d.service/%s", uid, uid, slice)
	}
	limit, err := fs.ReadFile(cgroups, path.Join(slice, "memory.max"))
	switch is := strings.TrimSpace(string(limit)); {
	case err != nil:
		return skipped("all containers together: no limit can be read; the slice %s appears with the first container",
			sandbox.TogetherSlice)
	case is == "max":
		return good("all containers together may use all of the host's memory: `deploy/install` limits them (%s)",
			sandbox.TogetherSlice)
	default:
		return good("all containers together may use %s bytes of memory", is)
	}
}
