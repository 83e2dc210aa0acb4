package main

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"matrix-tui/sandbox"
)

// checkTogether looks up what all containers together may use. The bot works without a limit.
func checkTogether(cgroups fs.FS, rootless bool, uid int) finding {
	slice := sandbox.TogetherSlice
	if rootless {
		slice = fmt.Sprintf("user.slice/user-%d.slice/user@%d.service/%s", uid, uid, slice)
	}
	limit, err := fs.ReadFile(cgroups, path.Join(slice, "memory.max"))
	switch is := strings.TrimSpace(string(limit)); {
	case err != nil:
		return skipped("all containers together: no limit can be read; the slice %s appears with the first container", sandbox.TogetherSlice)
	case is == "max":
		return good("all containers together may use all of the host's memory: `deploy/install` limits them (%s)", sandbox.TogetherSlice)
	default:
		return good("all containers together may use %s bytes of memory", is)
	}
}
