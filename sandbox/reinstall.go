package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"matrix-tui/sandbox/boxinit"
)

const (
	// maxReinstalled bounds the packages of a Reinstall.
	maxReinstalled = 100
	// reinstallTime bounds how long a Reinstall takes, in seconds.
	reinstallTime = "240"
)

// reinstallScript installs the packages that apt knows: all at once, or one by one if that fails.
const reinstallScript = `apt-get -q update
set -- $(apt-cache pkgnames | grep -Fx "$(printf '%s\n' "$@")")
[ $# -gt 0 ] || exit 0
apt-get -q -y install "$@" || for name; do apt-get -q -y install "$name"; done`

// Reinstall installs Debian packages in the container with its own apt: as many as it may of those that were passed on.
// It returns those that are missing afterwards, and notes that were passed on about others. It ends after four minutes
// at most. What happens once in a container does not happen again: after a crash of the bot, Reinstall waits for the
// end of the first one. It goes on in the container when ctx ends.
func (c *Container) Reinstall(ctx context.Context, names []string) (missing []string, err error) {
	var wanted []string
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, "("):
			missing = append(missing, name)
		case packageName.MatchString(name) && len(wanted) < maxReinstalled:
			wanted = append(wanted, name)
		case packageName.MatchString(name):
			missing = append(missing, name)
		}
	}
	if names = wanted; len(names) == 0 {
		return missing, nil
	}
	argv := append([]string{"timeout", "-k", "5", reinstallTime, "sh", "-c", reinstallScript, "sh"}, names...)
	status, err := c.Run(ctx, RunSpec{
		ID: boxinit.ReinstallRun, Argv: argv, Dir: "/", MaxOutput: 256 << 10,
		Env: append(Outward(), "DEBIAN_FRONTEND=noninteractive"),
	}, io.Discard, func(bool) {})
	if err == nil && status.State != RunExited { // it went down with its container: the next try begins anew
		err = cmp.Or(c.RemoveRun(ctx, boxinit.ReinstallRun), errLost)
	}
	if err != nil {
		return append(names, missing...), fmt.Errorf("reinstall packages: %w", err)
	}
	asking, cancel := context.WithTimeout(ctx, packageTime)
	defer cancel()
	// It fails if one of them is unknown, and prints the others.
	result, err := c.Exec(asking, Cmd{Argv: append([]string{"dpkg-query", "-W", "-f", `${Package} ${db:Status-Status}\n`},
		names...), Dir: "/"})
	if err != nil {
		return append(names, missing...), fmt.Errorf("list reinstalled packages: %w", err)
	}
	there := strings.Split(string(result.Stdout), "\n")
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(there, name+" installed") })
	return append(names, missing...), nil
}
