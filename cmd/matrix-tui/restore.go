package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/clean"
)

func restoreCommand(ctx context.Context, a *app, args []string) error {
	flags := a.flags("restore")
	volumes := flags.Bool("volumes", false, "also restore the rooms' files, if the backup contains them")
	force := flags.Bool("force", false, "move existing state aside, and empty existing volumes")
	file, err := a.parseOne(flags, args, "FILE")
	if err != nil {
		return err
	}
	cfg, err := a.config(nil)
	if err != nil {
		return err
	}
	if file == "-" {
		spool, err := spooled(a.stdin, string(cfg.StateDir))
		if err != nil {
			return err
		}
		defer os.Remove(spool)
		file = spool
	} else if !filepath.IsAbs(file) {
		file = filepath.Join(a.dir, file)
	}
	names, err := checkSums(file) // before anything is touched
	if err != nil {
		return err
	}
	m, err := readManifest(file)
	if err != nil {
		return err
	}
	r := &restore{cfg: cfg, dir: string(cfg.StateDir), file: file, manifest: m, names: names, force: *force, say: a.stdout}
	if *volumes {
		if r.podman, err = sandbox.Connect(ctx, string(cfg.ContainerHost), zerolog.Nop()); err != nil {
			return fmt.Errorf("connect to podman: %w", err)
		}
		defer r.podman.Close()
	}
	if err := r.all(ctx); err != nil {
		return err
	}
	r.farewell()
	return nil
}

// spooled stores a backup from a pipe in a file, because it is read more than once.
func spooled(in io.Reader, dir string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make state folder %s: %w", dir, reason(err))
	}
	f, err := os.CreateTemp(dir, ".restore-") // mode 0600
	if err != nil {
		return "", fmt.Errorf("store the backup in %s: %w", dir, reason(err))
	}
	_, err = io.Copy(f, in)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("store the backup in %s: %w", dir, err), os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// readManifest reads a backup's manifest.
func readManifest(file string) (m manifest, err error) {
	err = eachMember(file, func(name string, _ int64, r io.Reader) error {
		if name != "manifest.json" {
			return nil
		}
		data, err := readAtMost(r, maxExtra)
		if err != nil {
			return err
		}
		return json.Unmarshal(data, &m)
	})
	switch {
	case err != nil:
		return m, fmt.Errorf("read the backup's manifest: %w", err)
	case m.Format == 0:
		return m, errDamaged
	case m.Format > backupFormat:
		return m, fmt.Errorf("the backup was made by a newer matrix-tui (%s): restore it with that version", clean.Short(m.Version, 80))
	}
	return m, nil
}

// restore is a restore in progress.
type restore struct {
	cfg       *Config
	dir, file string
	manifest  manifest
	names     map[string]bool // of the backup's members
	force     bool
	podman    *sandbox.Podman // nil: no volumes
	say       io.Writer
	aside     string // where the state that was there is now
}

// all locks the state folder, so that no bot starts on a partial state.
func (r *restore) all(ctx context.Context) (err error) {
	lock, err := state.Lock(r.dir)
	if err != nil {
		return err
	}
	defer closing(&err, lock.Close)
	if err := ownAs(filepath.Join(r.dir, "lock"), r.dir); err != nil {
		return err
	}
	held, err := heldState(r.dir)
	if err != nil {
		return fmt.Errorf("look into %s: %w", r.dir, err)
	}
	if len(held) > 0 && !r.force {
		return fmt.Errorf("%s already contains a bot's state (%s): set STATE_DIR to an empty folder, or use -force to move the old state aside", r.dir, strings.Join(held, ", "))
	}
	tmp, err := os.MkdirTemp(r.dir, ".restore-")
	if err != nil {
		return fmt.Errorf("make a folder in %s: %w", r.dir, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := r.unpack(ctx, tmp); err != nil {
		return err
	}
	if err := r.podmanPart(ctx); err != nil { // before the state: a second try finds the folder as it was
		return err
	}
	if err := r.moveAside(held); err != nil {
		return err
	}
	return moveIn(tmp, r.dir)
}

// unpack writes the state's files to a folder and prepares them for use.
func (r *restore) unpack(ctx context.Context, to string) error {
	err := eachMember(r.file, func(name string, _ int64, in io.Reader) error {
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
	if r.podman == nil {
		return nil
	}
	if len(r.manifest.Volumes) == 0 {
		return errors.New("the backup contains no volumes: it was made without -volumes")
	}
	in := &volumesIn{ctx: ctx, r: r}
	defer in.abandon()
	err := eachMember(r.file, in.take)
	return errors.Join(err, in.finish())
}

// moveAside keeps the previous state in a folder named after the current time.
func (r *restore) moveAside(held []string) error {
	if len(held) == 0 {
		return nil
	}
	r.aside = filepath.Join(r.dir, "before-restore-"+time.Now().UTC().Format("20060102T150405Z"))
	if err := os.Mkdir(r.aside, 0o700); err != nil {
		return fmt.Errorf("move the present state aside: %w", err)
	}
	for _, name := range held {
		if err := os.Rename(filepath.Join(r.dir, name), filepath.Join(r.aside, name)); err != nil {
			return fmt.Errorf("move the present state aside: %w", err)
		}
	}
	return ownAs(r.aside, r.dir)
}

// moveIn moves everything from one folder to another; the login comes last. An existing
// .env stays: it was written for this host.
func moveIn(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("move the restored state into place: %w", err)
	}
	for _, login := range []bool{false, true} {
		for _, e := range entries {
			if (e.Name() == "account.json") != login {
				continue
			}
			if _, err := os.Lstat(filepath.Join(to, ".env")); e.Name() == ".env" && err == nil {
				continue
			}
			if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
				return fmt.Errorf("move the restored state into place: %w", err)
			}
		}
	}
	dir, err := os.Open(to)
	if err != nil {
		return fmt.Errorf("move the restored state into place: %w", err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// heldState returns the names in a folder that belong to a bot's state.
func heldState(dir string) (held []string, err error) {
	err = state.Walk(dir, func(name string, d fs.DirEntry) error {
		switch {
		case name == ".":
			return nil
		case name == state.TranscriptFolder && d.IsDir(), d.Type().IsRegular() && name != ".env" && isState(name, 0),
			strings.HasPrefix(name, "journal.db"), strings.HasPrefix(name, "crypto.db"):
			held = append(held, name)
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return held, err
}

// ownAs gives a file that root created to the owner of a folder.
func ownAs(path, folder string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		return os.Lchown(path, int(owner.Uid), int(owner.Gid))
	}
	return nil
}

// farewell says what was restored, and what must not be done now.
func (r *restore) farewell() {
	m := r.manifest
	fmt.Fprintf(r.say, "Restored the state of %s to %s, as of %s.\n", clean.Short(m.User, 80), r.dir, m.Made.Local().Format(minute))
	if r.aside != "" {
		fmt.Fprintf(r.say, "The previous state is in %s.\n", r.aside)
	}
	if len(m.Volumes) > 0 && r.podman == nil {
		fmt.Fprintln(r.say, "The backup also contains the rooms' files: use -volumes to restore them.")
	}
	if m.User != "" && string(r.cfg.User) != "" && string(r.cfg.User) != m.User && !strings.HasPrefix(m.User, "@"+string(r.cfg.User)+":") {
		fmt.Fprintf(r.say, "MATRIX_USER is %s, a different account: the bot will not use this login.\n", r.cfg.User)
	}
	fmt.Fprint(r.say, "Make sure that the original bot no longer runs on any host: two bots with one login lose each other's messages.\n",
		"Run `matrix-tui doctor` to see what this host still needs.\n")
}
