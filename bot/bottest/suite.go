package bottest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"matrix-tui/bot/bottest/host"
	"matrix-tui/sandbox"
)

const buildTags = "remote,containers_image_openpgp,goolm,exclude_graphdriver_btrfs,crashtest"

// raceFlags build with the race detector, except for the part of SQLite that is translated from C: watching that takes
// 43% of the bot's CPU time. deploy/test uses the same flags, so that packages are compiled once.
var raceFlags = []string{"-race", "-gcflags=modernc.org/sqlite/lib=-race=false",
	"-gcflags=modernc.org/libc/...=-race=false", "-gcflags=modernc.org/memory=-race=false"}

const defaultImage = "localhost/matrix-tui-sandbox:latest"

// suite is shared by all scripts of a test run.
type suite struct {
	root    string                 // /tmp/mtc-<pid>; short, because it contains sockets
	repo    string                 // the module's folder
	program func() (string, error) // builds the bot, once
	image   string
	runtime string           // SANDBOX_RUNTIME, for the bots and their podman services
	home    *host.Homeserver // of the scripts
	synapse *host.Homeserver // of those on Synapse, started by the first of them
	counter atomic.Int32
	shop    shop              // of releases
	drills  map[string]*drill // of the scripts that Kills plays, by name
	wiping  sync.Mutex        // of the cluster's volumes
}

// Run runs every script in dir. If something is missing on the host (podman, the image, the homeserver), it skips, or
// fails if MATRIX_TUI_E2E=require is set.
func Run(t *testing.T, dir string) {
	s := openSuite(t)
	files, err := prepare(dir, filepath.Join(s.root, "scripts"), s.home.Name(), s.lacksSynapse())
	if err != nil {
		t.Fatal(err)
	}
	s.play(t, files)
}

// openSuite returns a suite whose program is built.
func openSuite(t *testing.T) *suite {
	ctx, cancel := context.WithTimeout(t.Context(), hung)
	defer cancel()
	s, err := newSuite(ctx)
	if s != nil {
		t.Cleanup(func() {
			if err := s.close(); err != nil {
				t.Errorf("clean up after the scripts: %v", err)
			}
		})
	}
	var missing *missingError
	switch {
	case errors.As(err, &missing) && os.Getenv("MATRIX_TUI_E2E") != "require":
		t.Skipf("CONVERSATION SCRIPTS NOT RUN: %v (MATRIX_TUI_E2E=require makes this a failure)", err)
	case err != nil:
		t.Fatal(err)
	}
	if _, err := s.program(); err != nil { // before any script's time starts
		t.Fatal(err)
	}
	if kube() != "" {
		if err := s.onCluster(ctx, "volumes"); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// play runs these scripts.
func (s *suite) play(t *testing.T, files []string) {
	all := &plays{T: t}
	testscript.RunT(all, testscript.Params{
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               s.setup,
		Cmds:                commands(),
	})
	all.run()
}

// plays is a testscript.T that collects the scripts of a test, or stands for one of them. They run in their order, as
// many at once as -parallel says; package testing would run parallel tests in any order, and a long script that starts
// last would run alone at the end.
type plays struct {
	*testing.T
	next []func()
}

func (p *plays) Run(name string, f func(testscript.T)) {
	p.next = append(p.next, func() {
		p.T.Run(name, func(t *testing.T) { f(&plays{T: t}) })
	})
}

// Parallel does nothing: run plays several scripts at once.
//
//lint:hides package testing must not order the scripts
func (p *plays) Parallel() {}

func (p *plays) Verbose() bool { return testing.Verbose() }

func (p *plays) run() {
	atOnce, _ := flag.Lookup("test.parallel").Value.(flag.Getter).Get().(int)
	queue := make(chan func())
	var workers sync.WaitGroup
	for range max(1, atOnce) {
		workers.Go(func() {
			for play := range queue {
				play()
			}
		})
	}
	for _, play := range p.next {
		queue <- play
	}
	close(queue)
	workers.Wait()
}

// missingError says what a host lacks.
type missingError struct{ what string }

func (e *missingError) Error() string { return e.what }

// newSuite looks for the parts and starts the homeserver. After an error the suite, if there is one, must still be
// closed.
func newSuite(ctx context.Context) (*suite, error) {
	s := &suite{image: os.Getenv("SANDBOX_IMAGE"), runtime: os.Getenv("SANDBOX_RUNTIME")}
	if s.image == "" {
		s.image = defaultImage
	}
	if _, err := exec.LookPath("podman"); err != nil {
		return nil, &missingError{"podman is not installed"}
	}
	if _, _, code, err := host.Podman(ctx, "image", "exists", s.image); err != nil || code != 0 {
		return nil, &missingError{fmt.Sprintf("image %s does not exist: build it with deploy/image/build", s.image)}
	}
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("find the module: %w", err)
	}
	s.repo = filepath.Dir(strings.TrimSpace(string(mod)))
	deploy := filepath.Join(s.repo, "deploy")
	software, err := host.Chosen(deploy)
	if err != nil {
		return nil, err
	}
	if lacks := software.Missing(); lacks != "" {
		return nil, &missingError{lacks}
	}
	sweep(ctx)
	s.root = filepath.Join("/tmp", "mtc-"+strconv.Itoa(os.Getpid()))
	if err := os.MkdirAll(s.root, 0o700); err != nil {
		return nil, fmt.Errorf("create folder of the scripts: %w", err)
	}
	if size := os.Getenv("MATRIX_TUI_IN_MEMORY"); size != "" {
		if err := syscall.Mount("tmpfs", s.root, "tmpfs", 0, "mode=0700,size="+size); err != nil {
			return nil, fmt.Errorf("mount folder of the scripts: %w", err)
		}
	}
	s.program = sync.OnceValues(s.build)
	if s.home, err = host.NewHomeserver(filepath.Join(s.root, "homeserver"), software); err != nil {
		return s, err
	}
	if s.synapse, err = host.NewHomeserver(filepath.Join(s.root, "synapse"), host.Synapse(deploy)); err != nil {
		return s, err
	}
	return s, s.home.Start(ctx)
}

// runtimePath is what podman's services are started with.
func (s *suite) runtimePath() string {
	if s.runtime == sandbox.GVisor {
		return filepath.Join(s.repo, "deploy", "host", "runsc")
	}
	return s.runtime
}

// lacksSynapse says why the copies of scripts for Synapse cannot run, "" if they can, or must.
func (s *suite) lacksSynapse() string {
	if os.Getenv("MATRIX_TUI_E2E") == "require" {
		return ""
	}
	return s.synapse.Missing()
}

// build compiles the bot with its crash points, and with the race detector if the tests have it.
func (s *suite) build() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*hung)
	defer cancel()
	bin := filepath.Join(s.root, "matrix-tui")
	argv := []string{"build", "-buildvcs=false", "-tags", buildTags, "-o", bin}
	if race {
		argv = append(argv, raceFlags...)
	}
	cmd := exec.CommandContext(ctx, "go", append(argv, "./cmd/matrix-tui")...)
	cmd.Dir = s.repo
	cmd.Env = os.Environ()
	if race {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the bot: %w\n%s", err, out)
	}
	return bin, nil
}

// close stops the homeserver and removes the folder.
func (s *suite) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	err := errors.Join(s.home.Stop(ctx), s.synapse.Stop(ctx))
	if os.Getenv("MATRIX_TUI_KEEP") == "" {
		_ = syscall.Unmount(s.root, syscall.MNT_DETACH) // if it is in memory
		err = errors.Join(err, os.RemoveAll(s.root))
	}
	return err
}

// sweep removes what a killed earlier run left behind: its containers, from its list, its mounts and its folder.
func sweep(ctx context.Context) {
	sweepMachines(ctx)
	roots, _ := filepath.Glob("/tmp/mtc-*")
	for _, root := range roots {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(root), "mtc-"))
		if err != nil || syscall.Kill(pid, 0) == nil {
			continue
		}
		lists, _ := filepath.Glob(filepath.Join(root, "*", "containers"))
		for _, list := range lists {
			names, err := os.ReadFile(list)
			if err != nil {
				continue
			}
			if err := host.RemoveContainers(ctx, strings.Fields(string(names))); err != nil {
				fmt.Fprintln(os.Stderr, "bottest: sweep:", err)
			}
			_ = syscall.Unmount(filepath.Join(filepath.Dir(list), "state"), syscall.MNT_DETACH)
			_ = syscall.Unmount(filepath.Join(filepath.Dir(list), "base"), syscall.MNT_DETACH)
		}
		_ = syscall.Unmount(root, syscall.MNT_DETACH)
		_ = os.RemoveAll(root)
	}
}
