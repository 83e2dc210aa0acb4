package bottest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"matrix-tui/bot/bottest/baddisk"
	"matrix-tui/bot/bottest/host"
)

// doReboot cuts the power of the bot and its containers. Everything on a tmpfs is gone: the folders that containers
// mount from outside the state folder. The containers come back as podman-restart.service starts them, or not at all;
// then the bot starts.
func doReboot(ctx context.Context, sc *script, _ bool, _ []string) error {
	if sc.bot.proc.Alive() {
		if err := sc.killBot(ctx); err != nil {
			return err
		}
	}
	containers, err := sc.standing(ctx, "--all")
	if err != nil {
		return err
	}
	for _, container := range containers {
		if err := sc.powerOff(ctx, container); err != nil {
			return err
		}
	}
	for _, container := range containers {
		// podman start --all --filter restart-policy=always, for this script's containers; one that cannot start (its
		// mount is gone) is left to the bot, as on a real host
		if _, stderr, code, err := host.Podman(ctx, "start", "--filter", "restart-policy=always", "--filter",
			"name=^"+container+"$"); err != nil {
			return err
		} else if code != 0 {
			sc.ts.Logf("podman-restart: %s", strings.TrimSpace(stderr))
		}
	}
	if err := sc.launchBot(ctx); err != nil {
		return err
	}
	return sc.ready(ctx)
}

// powerOff kills a container and removes what it has bind-mounted from the host.
func (sc *script) powerOff(ctx context.Context, container string) error {
	binds, err := host.MustPodman(ctx, "inspect", "--format",
		`{{range .Mounts}}{{if eq .Type "bind"}}{{.Source}}{{"\n"}}{{end}}{{end}}`, container)
	if err != nil {
		return err
	}
	if _, err := host.MustPodman(ctx, "stop", "--time", "0", container); err != nil {
		return err
	}
	for _, dir := range strings.Fields(binds) {
		if !strings.Contains(dir, "matrix-tui") && !strings.HasPrefix(dir, sc.dir) {
			return fmt.Errorf("the container mounts %s, which is not ours", dir)
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("drop %s: %w", dir, err)
		}
	}
	return nil
}

// standing returns the script's containers that podman has, by name.
func (sc *script) standing(ctx context.Context, options ...string) ([]string, error) {
	out, err := host.MustPodman(ctx, append([]string{"ps", "--format", "{{.Names}}"}, options...)...)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range strings.Fields(out) {
		for _, container := range sc.containers {
			if name == container {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

func doHomeserver(ctx context.Context, sc *script, _ bool, args []string) error {
	switch args[0] {
	case "own":
		if sc.bot.id != "" || len(sc.people) > 0 {
			return fmt.Errorf("an own homeserver comes before the bot and its people")
		}
		home, err := host.NewHomeserver(filepath.Join(sc.dir, "home"), sc.home.Software)
		if err != nil {
			return err
		}
		sc.home, sc.ownHome = home, true
		sc.ts.Setenv("home", home.Data())
		return home.Start(ctx)
	case "stop", "start", "wiped", "limit":
		if !sc.ownHome {
			return fmt.Errorf("the shared homeserver stays as it is: homeserver own comes first")
		}
		switch {
		case args[0] == "stop":
			return sc.home.Stop(ctx)
		case args[0] == "start":
			var err error
			if sc.mayBeLost, err = sc.lastSent(ctx); err != nil {
				return err
			}
			return sc.home.Start(ctx)
		case args[0] == "wiped":
			return sc.wipeHomeserver(ctx)
		case len(args) == 2:
			return sc.home.Limit(ctx, sc.home.Data(), args[1])
		}
	}
	return fmt.Errorf("usage: homeserver own|stop|start|wiped|limit USER")
}

// wipeHomeserver starts the homeserver without its data. The bot's account is made again; people need `user` again.
func (sc *script) wipeHomeserver(ctx context.Context) error {
	if err := sc.home.Stop(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(sc.home.Data()); err != nil {
		return fmt.Errorf("wipe homeserver: %w", err)
	}
	if err := sc.home.Start(ctx); err != nil {
		return err
	}
	clear(sc.rooms)
	clear(sc.said)
	sc.bot.id = ""
	return sc.account(ctx)
}

func doStateDir(ctx context.Context, sc *script, _ bool, args []string) error {
	if sc.bot.proc != nil || args[0] != "bad" && args[0] != "tmpfs" {
		return fmt.Errorf("usage: statedir tmpfs SIZE, or statedir bad disk, before the first start")
	}
	if args[0] == "bad" {
		real := filepath.Join(sc.dir, "disk")
		if err := os.Mkdir(real, 0o700); err != nil {
			return err
		}
		var err error
		sc.disk, err = baddisk.Mount(real, sc.state())
		return err
	}
	if err := syscall.Mount("tmpfs", sc.state(), "tmpfs", 0, "mode=0700,size="+args[1]); err != nil {
		return fmt.Errorf("mount a small file system (needs root): %w", err)
	}
	sc.tmpfs = true
	return nil
}

// doDisk makes operations on files of a bad disk fail, or ends that.
func doDisk(ctx context.Context, sc *script, _ bool, args []string) error {
	switch {
	case sc.disk == nil:
		return fmt.Errorf("statedir bad disk comes first")
	case args[0] == "failed":
		err := host.Poll(ctx, func() (bool, error) {
			n, err := sc.disk.Failed()
			return n > 0, err
		})
		if err != nil {
			return fmt.Errorf("nothing has failed: %w", err)
		}
		return nil
	case args[0] == "works":
		return sc.disk.Work()
	case len(args) != 2:
		return fmt.Errorf("usage: see disk in verbs.go")
	}
	return sc.disk.Fail(args[0], args[1])
}

func doStateFile(_ context.Context, sc *script, _ bool, args []string) error {
	path := filepath.Join(sc.state(), "state.json")
	filler := filepath.Join(sc.state(), "filler")
	if args[0] != "truncate-half" && !sc.tmpfs {
		return fmt.Errorf("%s needs a file system of its own: statedir tmpfs SIZE", args[0])
	}
	switch args[0] {
	case "truncate-half":
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()/2)
	case "readonly":
		return syscall.Mount("tmpfs", sc.state(), "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	case "writable":
		return syscall.Mount("tmpfs", sc.state(), "tmpfs", syscall.MS_REMOUNT, "")
	case "resize":
		if len(args) != 2 {
			return fmt.Errorf("usage: statefile resize SIZE")
		}
		return syscall.Mount("tmpfs", sc.state(), "tmpfs", syscall.MS_REMOUNT, "size="+args[1])
	case "free":
		return os.Remove(filler)
	case "fill":
		return fill(filler)
	}
	return fmt.Errorf("unknown: %s", args[0])
}

// fill writes a file until the disk is completely full.
func fill(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for chunk := make([]byte, 64<<10); len(chunk) > 0; {
		if _, err := f.Write(chunk); err != nil {
			chunk = chunk[:len(chunk)/2]
		}
	}
	return nil
}
