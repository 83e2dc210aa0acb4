package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/engine"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
	"matrix-tui/state/sentence"
)

func Restore(ctx context.Context, a *cli.App, args []string) error {
	flags := a.Flags("restore")
	volumes := flags.Bool("volumes", false, "also restore the rooms' files, if the backup contains them")
	force := flags.Bool("force", false, "move existing state aside, and empty existing volumes")
	file, err := a.ParseOne(flags, args, "FILE")
	if err != nil {
		return err
	}
	cfg, err := a.Config(nil)
	if err != nil {
		return err
	}
	if file == "-" {
		spool, err := spooled(a.Stdin, string(cfg.StateDir))
		if err != nil {
			return err
		}
		defer os.Remove(spool)
		file = spool
	} else if !filepath.IsAbs(file) {
		file = filepath.Join(a.Dir, file)
	}
	m, names, err := survey(file) // before anything is touched
	if err != nil {
		return err
	}
	r := &restore{cfg: cfg, dir: string(cfg.StateDir), file: file, manifest: m, names: names, volumes: *volumes,
		force: *force, say: a.Stdout, log: cli.Logger(a.Stderr, settings.Level(zerolog.WarnLevel))}
	if err := r.all(ctx); err != nil {
		return err
	}
	r.farewell()
	return nil
}

// spooled stores a backup from a pipe in a file, because it is read more than once.
func spooled(in io.Reader, dir string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create state folder %s: %w", dir, settings.Reason(err))
	}
	f, err := os.CreateTemp(dir, ".restore-") // mode 0600
	if err != nil {
		return "", fmt.Errorf("store the backup in %s: %w", dir, settings.Reason(err))
	}
	n, err := io.Copy(f, in)
	if err == nil && n == 0 {
		err = sentence.New(io.ErrUnexpectedEOF, "nothing came in on standard input; `kubectl exec` passes it on with -i only")
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("store the backup in %s: %w", dir, err), os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// restore is a restore in progress.
type restore struct {
	cfg       *settings.Config
	dir, file string
	manifest  manifest
	names     map[string]bool // of the backup's members
	volumes   bool            // restore them, too
	force     bool
	podman    sandbox.Engine // with volumes, while the lock is held
	say       io.Writer
	log       zerolog.Logger
	aside     string // where the state that was there is now
}

// all locks the state folder, so that no bot starts on a partial state.
func (r *restore) all(ctx context.Context) (err error) {
	lock, err := state.Lock(r.dir)
	if err != nil {
		return err
	}
	defer cli.Closing(&err, lock.Close)
	if err := ownAs(filepath.Join(r.dir, "lock"), r.dir); err != nil {
		return err
	}
	held, err := heldState(r.dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", r.dir, err)
	}
	if len(held) > 0 && !r.force {
		return fmt.Errorf("%s already contains a bot's state (%s): set STATE_DIR to an empty folder, or use -force to move "+
			"the old state aside", r.dir, strings.Join(held, ", "))
	}
	tmp, err := os.MkdirTemp(r.dir, ".restore-")
	if err != nil {
		return fmt.Errorf("create a folder in %s: %w", r.dir, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := r.unpack(ctx, tmp); err != nil {
		return err
	}
	if err := r.podmanPart(ctx); err != nil { // before the state: a second try finds the folder as it was
		return err
	}
	if err := errors.Join(r.moveAside(held), memory.Delete(ctx, r.dir)); err != nil {
		return err
	}
	return moveIn(tmp, r.dir)
}

// unpack writes the state's files to a folder and prepares them for use.
func (r *restore) unpack(ctx context.Context, to string) error {
	err := eachMember(r.file, func(name string, in io.Reader) error {
		inner, ok := strings.CutPrefix(name, "state/")
		if !ok {
			return ctx.Err()
		}
		if err := os.MkdirAll(filepath.Join(to, path.Dir(inner)), 0o700); err != nil {
			return fmt.Errorf("restore %s: %w", inner, err)
		}
		out, err := os.OpenFile(filepath.Join(to, inner), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("restore %s: %w", inner, err)
		}
		_, err = io.Copy(out, in)
		if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
			return fmt.Errorf("restore %s: %w", inner, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range databases {
		if r.names["state/"+name] {
			if err := state.CheckDatabase(ctx, filepath.Join(to, name)); err != nil {
				return err
			}
		}
	}
	if err := e2ee.Revive(ctx, to, r.manifest.Running); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return ownAs(path, r.dir)
	})
}

// podmanPart fills the volumes of the rooms that are complete in the backup.
func (r *restore) podmanPart(ctx context.Context) error {
	if !r.volumes {
		return nil
	}
	if len(r.manifest.Volumes) == 0 {
		return errors.New("the backup contains no volumes: it was made without -volumes")
	}
	podman, end, err := engine.ForVolumes(ctx, r.cfg, r.log)
	if err != nil {
		return err
	}
	defer end()
	r.podman = podman
	in := &volumesIn{ctx: ctx, r: r}
	defer in.abandon()
	err = eachMember(r.file, in.take)
	return errors.Join(err, in.finish())
}

// farewell says what was restored, and what must not be done now.
func (r *restore) farewell() {
	m := r.manifest
	fmt.Fprintf(r.say, "Restored the state of %s to %s, as of %s.\n", clean.Short(m.User, 80), r.dir,
		m.Made.Local().Format(cli.Minute))
	if r.aside != "" {
		fmt.Fprintf(r.say, "The previous state is in %s.\n", r.aside)
	}
	if len(m.Volumes) > 0 && !r.volumes {
		fmt.Fprintln(r.say, "The backup also contains the rooms' files: use -volumes to restore them.")
	}
	if m.User != "" && string(r.cfg.User) != "" && string(r.cfg.User) != m.User &&
		!strings.HasPrefix(m.User, "@"+string(r.cfg.User)+":") {
		fmt.Fprintf(r.say, "MATRIX_USER is %s, a different account: the bot will not use this login.\n", r.cfg.User)
	}
	fmt.Fprint(r.say, "Make sure that the original bot no longer runs on any host: two bots with one login lose each "+
		"other's messages.\n",
		"Run `matrix-tui doctor` to see what this host still needs.\n")
}
