// Package doctor checks configuration and host, and says how to fix what is wrong. It changes nothing.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"matrix-tui/bot/capacity"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/state/damage"
)

const (
	checkTime = 15 * time.Second                                          // of one check
	minSpace  = 512 << 20                                                 // free bytes that a state folder needs
	maxState  = 107 - len("/"+cli.GatewayFolder+"/0123456789abcdef/sock") // bytes of its path: it contains sockets
)

// Command is the subcommand doctor.
func Command(ctx context.Context, a *cli.App, args []string) error {
	flags := a.Flags("doctor")
	offline := flags.Bool("offline", false, "skip checks that need the homeserver or the model")
	model := flags.Bool("model", false, "only check the model: the key, each configured model, and embeddings")
	if err := a.Parse(flags, args); err != nil {
		return err
	}
	cfg, err := a.Config(nil)
	if err != nil {
		return err
	}
	if *model {
		failed := false
		checkModels(ctx, cfg, func(f Finding) { failed = failed || f.Bad; fmt.Fprintln(a.Stdout, f) })
		if failed {
			return cli.ErrSaid
		}
		return nil
	}
	if !examine(ctx, cfg, *offline, a.Stdout) {
		return cli.ErrSaid
	}
	return nil
}

// examine runs every check, prints a line for each, and reports whether all passed. It
// changes nothing that a running bot would notice.
func examine(ctx context.Context, cfg *settings.Config, offline bool, w io.Writer) bool {
	failed := 0
	say := func(f Finding) {
		if f.Bad {
			failed++
		}
		fmt.Fprintln(w, f)
	}
	stored := cli.LoadLogin(cfg)
	checkHere(ctx, cfg, stored, offline, say)
	if !offline { // an update asks offline, while the unit is what it is about to change
		checkUnit(ctx, say)
	}
	for _, r := range remotes(cfg, stored) {
		if offline {
			say(skipped("%s is not checked offline", r.name))
			continue
		}
		say(r.find(ctx, cfg, checkTime))
	}
	if offline {
		say(skipped("model is not checked offline"))
	} else {
		checkModels(ctx, cfg, say)
	}
	switch failed {
	case 0:
		fmt.Fprintln(w, "All checks passed.")
	case 1:
		fmt.Fprintln(w, "1 check failed: its line says how to fix it.")
	default:
		fmt.Fprintf(w, "%d checks failed: each line says how to fix it. Start at the top.\n", failed)
	}
	return failed == 0
}

// checkHere runs the checks of the settings and of this host, the closest first. Offline it starts no container.
func checkHere(ctx context.Context, cfg *settings.Config, stored cli.StoredLogin, offline bool, say func(Finding)) {
	if cfg.Maintenance {
		say(skipped("MAINTENANCE is set: the bot does nothing until you remove the setting and start it again"))
	}
	missing := cfg.Missing(stored.Fits(cfg))
	for _, problem := range missing {
		say(bad("setting %s", problem))
	}
	if len(missing) == 0 {
		say(good("all required settings are set"))
	}
	say(checkState(string(cfg.StateDir)))
	say(checkPolicy(string(cfg.StateDir)))
	say(checkIndex(ctx, cfg))
	say(checkMemory(cfg, "/proc/meminfo"))
	if cfg.Engine != settings.Kubernetes && gateway.BehindNAT() && len(cfg.Deny) == 0 {
		say(good("network: this host has no public IPv4 address of its own. If one leads to it, as behind 1:1 NAT, name it " +
			"in SANDBOX_DENY: containers must not reach the host there. The bot knows it only if the homeserver sees it"))
	}
	limited, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	if cfg.APIListen != "" {
		say(checkAPI(limited, cfg))
	}
	if cfg.WebListen != "" || cfg.WebURL != "" {
		say(checkPage(limited, cfg))
	}
	if cfg.Engine == settings.Kubernetes {
		checkCluster(ctx, cfg, say)
	} else {
		checkPodman(ctx, cfg, offline, say)
	}
}

// checkState checks that the state folder is writable and has space. It leaves nothing
// behind and takes no lock.
func checkState(dir string) Finding {
	if len(dir) > maxState {
		return bad("state folder %s: the path is %d bytes long, but sockets inside it allow at most %d: set STATE_DIR to a "+
			"shorter path", dir, len(dir), maxState)
	}
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		parent := filepath.Dir(dir)
		for parent != "/" {
			if _, err := os.Stat(parent); err == nil {
				break
			}
			parent = filepath.Dir(parent)
		}
		if unix.Access(parent, unix.W_OK) != nil {
			return bad("state folder %s does not exist: create it for the bot's user (install -d -m 0700 -o USER %s), or set "+
				"STATE_DIR", dir, dir)
		}
		return good("state folder %s will be created at the first start", dir)
	}
	if err != nil {
		return bad("state folder %s cannot be accessed (%v): make the bot's user its owner, or set STATE_DIR", dir,
			settings.Reason(err))
	}
	if !info.IsDir() {
		return bad("state folder %s is a file: move it away, or set STATE_DIR to a folder", dir)
	}
	gate := filepath.Join(dir, cli.GatewayFolder)
	if info, err := os.Stat(gate); err == nil && info.Mode().Perm()&0o077 != 0 {
		return bad("state folder %s: other users of this host can reach the sockets in %s, and use the model through them: "+
			"run chmod 0700 %s", dir, gate, gate)
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err == nil {
		_, err = probe.Write(make([]byte, 4096))
		err = errors.Join(err, probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return bad("state folder %s is not writable (%v): make the bot's user its owner, make it writable, or set STATE_DIR",
			dir, settings.Reason(err))
	}
	for _, name := range []string{"journal.db", "crypto.db"} {
		if damage.Marked(filepath.Join(dir, name)) {
			return bad("state folder %s: %s is damaged: restart the bot, which replaces it, and check the disk", dir, name)
		}
	}
	free, err := capacity.FreeSpace(dir)
	if err != nil {
		return bad("state folder %s: cannot determine the free space (%v)", dir, err)
	}
	if free.Files < free.LeastFiles {
		return bad("state folder %s: only %d more files can be created there, but it needs %d (`df -i`): delete small "+
			"files, or set STATE_DIR to a folder on another disk", dir, free.Files, free.LeastFiles)
	}
	if free.Bytes < minSpace {
		return bad("state folder %s has %s free but needs %s: free some space, or set STATE_DIR to a folder on a larger disk",
			dir, cli.Amount(free.Bytes), cli.Amount(minSpace))
	}
	return good("state folder %s is writable, %s free", dir, cli.Amount(free.Bytes))
}
