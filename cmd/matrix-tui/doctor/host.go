package doctor

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"matrix-tui/bot/capacity"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox"
	"matrix-tui/state/sentence"
)

const (
	leastMemory  = 150 << 20   // available bytes without which nothing starts
	minStorage   = 1 << 30     // free bytes for containers and images
	minSubIDs    = 65536       // IDs that a rootless user needs for its containers
	maxSkew      = time.Minute // between this host's clock and the homeserver's
	lingerFolder = "/var/lib/systemd/linger"
	unitName     = "matrix-tui.service"
)

// checkMemory compares the host's memory with what tasks may use.
func checkMemory(cfg *settings.Config, path string) Finding {
	data, err := os.ReadFile(path)
	if err != nil {
		return skipped("memory: cannot be determined (%v)", settings.Reason(err))
	}
	total, _ := capacity.MemInfo(data, "MemTotal")
	available, ok := capacity.MemInfo(data, "MemAvailable")
	switch {
	case !ok:
		return skipped("memory: %s does not say how much is available", path)
	case available < leastMemory:
		return bad("memory: only %s of %s available: stop programs you do not need, or use a larger host",
			cli.Amount(available), cli.Amount(total))
	case cfg.Engine == settings.Kubernetes:
		return good("memory: %s of %s available on the bot's own machine", cli.Amount(available), cli.Amount(total))
	case cfg.Memory == 0:
		return good("memory: %s of %s available; each container may use all of it (SANDBOX_MEMORY is 0)",
			cli.Amount(available), cli.Amount(total))
	case uint64(cfg.Memory) > total:
		return good("memory: %s of %s available; one container may use more than the host has (SANDBOX_MEMORY is %s): with "+
			"a smaller limit, an oversized task fails alone instead of taking other programs down with it",
			cli.Amount(available), cli.Amount(total), cfg.Memory)
	}
	return good("memory: %s of %s available; each container may use %s, %d tasks run at once", cli.Amount(available),
		cli.Amount(total), cfg.Memory, cfg.MaxParallel)
}

// checkDatabase says what to do about podman's old database before podman 6, which cannot use it.
func checkDatabase() Finding {
	return good("podman keeps its containers and volumes in BoltDB, which podman 6 does not use: before you install " +
		"podman 6, install podman 5.8 and reboot, which moves them to SQLite (or stop the bot and run `podman system " +
		"migrate --migrate-db`); `podman info --format '{{.Host.DatabaseBackend}}'` then says sqlite")
}

// checkHost checks what podman needs of the host: disk space, and for rootless podman
// the user's sub-IDs and lingering.
func checkHost(ctx context.Context, cfg *settings.Config, podman *sandbox.Podman, say func(Finding)) {
	storage, err := podman.Storage(ctx)
	if err != nil {
		say(bad("podman did not report about its host: %s", sentence.Text(err)))
		return
	}
	say(checkStorage(string(cfg.StateDir), storage))
	if database, err := podman.Database(ctx); err == nil && database == "boltdb" {
		say(checkDatabase())
	}
	rootless, err := podman.Rootless(ctx)
	if err != nil || !rootless {
		return
	}
	me, err := user.Current()
	if err != nil {
		say(skipped("sub-IDs and lingering: cannot look up this user (%v)", err))
		return
	}
	say(checkSubIDs(me, "/etc/subuid", "/etc/subgid"))
	say(checkKeyrings(int(cfg.MaxContainers), capacity.Keyrings()))
	if sandbox.UnderSystemd() {
		say(checkLinger(me.Username, lingerFolder))
	}
}

// checkStorage checks the disk of images, containers and volumes.
func checkStorage(stateDir, storage string) Finding {
	free, err := capacity.FreeSpace(storage)
	if err != nil {
		return skipped("podman's storage %s cannot be checked (%v)", storage, err)
	}
	if free.Files < free.LeastFiles {
		return bad("podman's storage %s: only %d more files can be created, but it needs %d: `df -i` shows that, `podman "+
			"image prune` and `matrix-tui rooms -remove-left` delete many", storage, free.Files, free.LeastFiles)
	}
	if free.Bytes < minStorage {
		return bad("podman's storage %s has %s free but needs %s: `podman system df` shows what uses the space, `podman "+
			"image prune` removes unused images", storage, cli.Amount(free.Bytes), cli.Amount(minStorage))
	}
	if state, err := capacity.FreeSpace(stateDir); err == nil && state.Device == free.Device {
		return good("podman's storage %s is on the same disk as the state folder", storage)
	}
	return good("podman's storage %s, %s free", storage, cli.Amount(free.Bytes))
}

// checkSubIDs checks the IDs that users inside containers have outside.
func checkSubIDs(me *user.User, files ...string) Finding {
	for _, file := range files {
		if n := subIDs(file, me); n < minSubIDs {
			return bad("sub-IDs: user %s has %d of the %d IDs in %s that containers need: `usermod --add-subuids "+
				"100000-165535 --add-subgids 100000-165535 %s` (choose a range that no other line uses), then `podman system "+
				"migrate` as that user",
				me.Username, n, minSubIDs, file, me.Username)
		}
	}
	return good("sub-IDs: user %s has enough for containers", me.Username)
}

// subIDs is the largest range of IDs of a user: subuid(5).
func subIDs(file string, me *user.User) (most int) {
	f, err := os.Open(file)
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		parts := strings.Split(strings.TrimSpace(lines.Text()), ":")
		if len(parts) == 3 && (parts[0] == me.Username || parts[0] == me.Uid) {
			if n, err := strconv.Atoi(parts[2]); err == nil {
				most = max(most, n)
			}
		}
	}
	return most
}

// checkKeyrings checks that the kernel has a keyring for each container that may run; most is 0 if no setting says how
// many.
func checkKeyrings(most, keyrings int) Finding {
	const raise = "run `sysctl kernel.keys.maxkeys=20000 kernel.keys.maxbytes=2000000` and write both into a file in " +
		"/etc/sysctl.d (./deploy/install does it)"
	switch {
	case keyrings == 0:
		return skipped("keyrings: the kernel does not say how many a user may have")
	case most > capacity.MostFor(keyrings):
		return bad("keyrings: the kernel allows a user %d, which is enough for %d containers, but MAX_CONTAINERS is %d: "+
			"lower it, or %s", keyrings, capacity.MostFor(keyrings), most, raise)
	case most == 0 && keyrings < 1000:
		return good("keyrings: the kernel allows a user %d, so at most %d containers run at once; for more, %s", keyrings,
			capacity.MostFor(keyrings), raise)
	}
	return good("keyrings: the kernel allows a user %d, one per running container", keyrings)
}

// checkLinger checks that a user's services run without a login.
func checkLinger(name, folder string) Finding {
	if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
		return bad("lingering: podman of user %s stops when %s logs out, and does not start at boot: run `loginctl "+
			"enable-linger %s`", name, name, name)
	}
	return good("lingering: podman of user %s keeps running without a login", name)
}

// checkUnit checks the bot's service if the host runs systemd.
func checkUnit(ctx context.Context, say func(Finding)) {
	if !sandbox.UnderSystemd() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, "systemctl", "show", unitName,
		"--property=LoadState,ActiveState,SubState,UnitFileState").Output()
	if err != nil {
		say(skipped("unit %s: systemctl does not answer (%v)", unitName, err))
		return
	}
	say(unitFinding(string(out)))
}

// unitFinding judges the output of `systemctl show`.
func unitFinding(shown string) Finding {
	is := map[string]string{}
	for line := range strings.Lines(shown) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		is[name] = value
	}
	switch {
	case is["LoadState"] == "not-found":
		return skipped("unit %s is not installed: the bot does not start at boot (./deploy/install sets it up)", unitName)
	case is["ActiveState"] != "active":
		return bad("unit %s is not running (%s, %s): `systemctl start %s` starts it, `journalctl -u %s -n 50` shows why it "+
			"stopped", unitName, is["ActiveState"], is["SubState"], unitName, unitName)
	case is["UnitFileState"] != "enabled":
		return bad("unit %s is running but will not start at boot (%s): run `systemctl enable %s`", unitName,
			is["UnitFileState"], unitName)
	}
	return good("unit %s is running and starts at boot", unitName)
}

// checkClock compares the clock with the homeserver's Date header: tokens, certificates
// and times in rooms depend on it.
func checkClock(ctx context.Context, cfg *settings.Config) Finding {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, string(cfg.Homeserver)+"/_matrix/client/versions", nil)
	if err != nil {
		return skipped("clock: %v", err)
	}
	resp, err := cli.CheckClient.Do(req)
	if err != nil {
		return skipped("clock: the homeserver does not answer")
	}
	defer resp.Body.Close()
	theirs, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return skipped("clock: the homeserver did not send its time")
	}
	return clockFinding(time.Since(theirs))
}

// clockFinding judges how far this host's clock is ahead.
func clockFinding(ahead time.Duration) Finding {
	by, way := ahead.Round(time.Second), "ahead of"
	if by < 0 {
		by, way = -by, "behind"
	}
	if by > maxSkew {
		return bad("clock: this host is %s %s the homeserver: turn on time synchronisation (`timedatectl set-ntp true`; "+
			"`apt-get install systemd-timesyncd` if that is missing)", by, way)
	}
	if by > 2*time.Second {
		return good("clock: in sync with the homeserver, %s %s it", by, way)
	}
	return good("clock: in sync with the homeserver")
}
