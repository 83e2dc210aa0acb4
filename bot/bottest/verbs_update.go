package bottest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"matrix-tui/bot/bottest/host"
)

func (sc *script) base() string { return filepath.Join(sc.dir, "base") }

func doReleases(_ context.Context, sc *script, _ bool, args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute) // the compiler's cache may be empty
	defer cancel()
	if err := sc.useReleases(ctx, args); err != nil {
		return err
	}
	if err := sc.nameReleases(ctx); err != nil {
		return err
	}
	sc.mayPanic = true // some are made for it
	sc.ts.Setenv("base", sc.base())
	sc.ts.Setenv("key", sc.suite.shopKey()) // the key that signs tags
	return nil
}

// useReleases puts releases into the script's own folder: base is the running one.
func (sc *script) useReleases(ctx context.Context, branches []string) error {
	releases := filepath.Join(sc.base(), "releases")
	if err := os.MkdirAll(releases, 0o700); err != nil {
		return err
	}
	for _, branch := range append([]string{"base"}, branches...) {
		dir, err := sc.suite.release(branch)
		if err != nil {
			return err
		}
		argv := []string{"cp", "--archive", dir, releases}
		if !sc.smallDisk {
			argv = append(argv, "--link")
		}
		if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("copy release of %s: %w: %s", branch, err, out)
		}
	}
	program, err := sc.suite.program()
	if err != nil {
		return err
	}
	commit, err := sc.suite.commitOf(ctx, "base")
	if err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, program, "release", "use", "-into", sc.base(),
		commit).CombinedOutput(); err != nil {
		return fmt.Errorf("use release: %w: %s", err, out)
	}
	if err := sc.nameImage(ctx); err != nil {
		return err
	}
	for _, pair := range sc.suite.shop.env {
		name, value, _ := strings.Cut(pair, "=")
		sc.bot.set[name] = value
	}
	sc.bot.set["GOPROXY"] = "off"
	sc.bot.set["UPDATE_SOURCE"] = sc.suite.shop.remote
	sc.bot.program = filepath.Join(sc.base(), "current", "matrix-tui")
	return nil
}

// nameReleases sets variables to the branches' commits.
func (sc *script) nameReleases(ctx context.Context) error {
	for branch := range changes {
		commit, err := sc.suite.commitOf(ctx, branch)
		if err != nil {
			return err
		}
		sc.ts.Setenv("release_"+strings.ReplaceAll(branch, "-", "_"), commit)
	}
	return nil
}

// doShelf puts archives where the machine sees them: it has no compiler.
func doShelf(_ context.Context, sc *script, _ bool, args []string) error {
	if sc.machine == nil || sc.machine.containers == nil {
		return fmt.Errorf("machine comes first, and not qemu")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute) // the compiler's cache may be empty
	defer cancel()
	shelf := filepath.Join(sc.machine.dir, "shelf")
	if err := os.MkdirAll(shelf, 0o755); err != nil {
		return err
	}
	for _, branch := range args {
		dir, err := sc.suite.release(branch)
		if err != nil {
			return err
		}
		// It packs itself: the race detector makes compression ten times slower.
		cmd := exec.CommandContext(ctx, filepath.Join(dir, "matrix-tui"), "release", "archive", "-from",
			filepath.Dir(filepath.Dir(dir)), "-into", shelf, filepath.Base(dir))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("pack release of %s: %w: %s", branch, err, out)
		}
	}
	sc.mayPanic = true // some are made for it
	sc.bot.set["UPDATE_SOURCE"] = "archive+file://" + shelf
	return sc.nameReleases(ctx)
}

// doReleasesDisk puts the folder of the releases on its own file system, or changes that one's size.
func doReleasesDisk(_ context.Context, sc *script, _ bool, args []string) error {
	if sc.smallDisk {
		return syscall.Mount("tmpfs", sc.base(), "tmpfs", syscall.MS_REMOUNT, "size="+args[0])
	}
	if err := os.MkdirAll(sc.base(), 0o700); err != nil {
		return err
	}
	sc.smallDisk = true
	return syscall.Mount("tmpfs", sc.base(), "tmpfs", 0, "mode=0700,size="+args[0])
}

// ownImage is the name of the sandbox image for a bot that may replace it.
func (sc *script) ownImage() string { return "localhost/matrix-tui-script-" + sc.name }

// nameImage tags the sandbox image with that name too. The nodes of a cluster have no other than the suite's.
func (sc *script) nameImage(ctx context.Context) error {
	if kube() != "" {
		return nil
	}
	sc.suite.shop.names.Lock()
	defer sc.suite.shop.names.Unlock()
	sc.bot.set["SANDBOX_IMAGE"] = sc.ownImage() + ":latest"
	_, err := host.MustPodman(ctx, "tag", sc.suite.image, sc.ownImage()+":latest")
	return err
}

// removeImages removes the images with that name, after the containers.
func (sc *script) removeImages(ctx context.Context) error {
	if sc.bot.set["SANDBOX_IMAGE"] != sc.ownImage()+":latest" {
		return nil
	}
	sc.suite.shop.names.Lock()
	defer sc.suite.shop.names.Unlock()
	// podman cannot list an image that another script removes meanwhile, so list only these
	out, err := host.MustPodman(ctx, "images", "--filter", "reference="+sc.ownImage()+":*", "--format",
		"{{.Repository}}:{{.Tag}}")
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(out) {
		if !strings.HasPrefix(name, sc.ownImage()+":") {
			continue
		}
		if _, err := host.MustPodman(ctx, "rmi", name); err != nil { // only the name, if the image has others
			return err
		}
	}
	return nil
}

// holder returns the process that holds the state folder's lock, and its program.
func (sc *script) holder() (pid int, exe string) {
	text, err := os.ReadFile(filepath.Join(sc.state(), "lock"))
	if err != nil {
		return 0, ""
	}
	pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	exe, _ = os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return pid, exe
}

// releaseRuns reports whether a release holds the state folder's lock, whoever started it.
func (sc *script) releaseRuns() bool {
	_, exe := sc.holder()
	return sc.bot.program != "" && strings.HasPrefix(exe, sc.base()+"/")
}

func doRuns(ctx context.Context, sc *script, _ bool, args []string) error {
	commit, err := sc.suite.commitOf(ctx, args[0])
	if err != nil {
		return err
	}
	want := filepath.Join(sc.base(), "releases", commit, "matrix-tui")
	var exe string
	err = host.Poll(ctx, func() (bool, error) {
		_, exe = sc.holder()
		return exe == want, nil
	})
	if err != nil {
		return fmt.Errorf("%s runs, not %s: %w", exe, want, err)
	}
	return nil
}

func doSamePID(_ context.Context, sc *script, _ bool, _ []string) error {
	pid, exe := sc.holder()
	if !sc.bot.proc.Alive() || pid != sc.bot.proc.PID() {
		return fmt.Errorf("process %d (%s) has the state folder, process %d was started", pid, exe, sc.bot.proc.PID())
	}
	return nil
}

func doPowerCut(ctx context.Context, sc *script, _ bool, _ []string) error {
	sc.endReleases()
	if sc.bot.proc.Alive() {
		<-sc.bot.proc.Done
	}
	return ctx.Err()
}

func doAllDied(ctx context.Context, sc *script, _ bool, _ []string) error {
	if sc.bot.program == "" || !sc.bot.armed {
		return fmt.Errorf("no release with a crash point runs: releases and killat come first")
	}
	select { // first: while it executes another program, it has none for a moment
	case <-sc.bot.proc.Done:
	case <-ctx.Done():
		return fmt.Errorf("wait for the bot to end: %w", ctx.Err())
	}
	if err := host.Poll(ctx, func() (bool, error) { return len(sc.fromReleases()) == 0, nil }); err != nil {
		return fmt.Errorf("wait for processes %v to end: %w", sc.fromReleases(), err)
	}
	return nil
}

// fromReleases returns the processes that run from the script's releases: the bot, and a
// release that it tries.
func (sc *script) fromReleases() (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		exe, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(exe, sc.base()+"/") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// endReleases kills them all.
func (sc *script) endReleases() {
	if sc.bot.program == "" {
		return
	}
	for range 2 { // what was starting something when it was killed
		for _, pid := range sc.fromReleases() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
