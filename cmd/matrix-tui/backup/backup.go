// Package backup writes what the bot keeps into one file, and restores it.
package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/transcripts"
)

// databases are the SQLite files, in the order in which they are copied: keys that are
// newer than the journal do no harm, older ones do.
var databases = []string{"journal.db", "crypto.db"}

// maxExtra bounds files in the state folder that this package does not know, such as a
// persona, in bytes. Larger ones are not backed up.
const maxExtra = 4 << 20

// manifest is the first member of a backup.
type manifest struct {
	Format     int       `json:"format"` // backupFormat
	Made       time.Time `json:"made"`
	Version    string    `json:"version"`
	Homeserver string    `json:"homeserver,omitempty"`
	User       string    `json:"user,omitempty"`
	// Running reports that the bot was running when the copy was made.
	Running bool `json:"running"`
	// Volumes are the rooms whose volumes are included, by folder name.
	Volumes map[string]string `json:"volumes,omitempty"`
}

// backupFormat is 2 since backups have no list of checksums.
const backupFormat = 2

func Command(ctx context.Context, a *cli.App, args []string) (err error) {
	flags := a.Flags("backup")
	volumes := flags.Bool("volumes", false, "include the rooms' files: /workspace and /root of each")
	file, err := a.ParseOne(flags, args, "FILE")
	if err != nil {
		return err
	}
	cfg, err := a.Config(nil)
	if err != nil {
		return err
	}
	b := &backup{cfg: cfg, dir: string(cfg.StateDir), say: a.Stderr}
	summary := a.Stdout
	if file == "-" {
		b.out, summary = a.Stdout, a.Stderr
	} else if !filepath.IsAbs(file) {
		file = filepath.Join(a.Dir, file)
	}
	if b.running = state.InUse(b.dir); *volumes {
		if err := b.connect(ctx, cli.Logger(a.Stderr, settings.Level(zerolog.WarnLevel))); err != nil {
			return err
		}
		defer cli.Closing(&err, b.disconnect)
	}
	size, err := b.write(ctx, file)
	if err != nil {
		return err
	}
	fmt.Fprintf(summary, "%s: %s, %d files", file, cli.Amount(uint64(size)), b.files)
	if b.podman != nil {
		fmt.Fprintf(summary, ", the volumes of %d rooms", b.rooms)
	}
	fmt.Fprint(summary, "\nIt contains the bot's login and keys: store it where nobody else can read it.\n")
	if b.left > 0 {
		fmt.Fprintf(a.Stderr, "matrix-tui: could not back up the volumes of %d rooms\n", b.left)
		return cli.ErrSaid
	}
	return nil
}

// backup is a backup in progress.
type backup struct {
	cfg    *settings.Config
	dir    string
	say    io.Writer
	podman sandbox.Engine // nil: no volumes
	end    func()         // of its use
	out    io.Writer      // instead of a file; nil: none

	running bool // the bot runs
	lock    *state.DirLock

	files, rooms, left int
}

// write creates the backup under a temporary name beside file and renames it when it is
// complete; for out, it is created in the state folder.
func (b *backup) write(ctx context.Context, file string) (size int64, err error) {
	beside := filepath.Dir(file)
	if b.out != nil {
		beside = b.dir
	} else if _, err := os.Lstat(file); err == nil {
		return 0, &cli.UsageError{Text: file + " already exists: choose another name, or move it away"}
	}
	if _, err := os.Stat(filepath.Join(b.dir, "state.json")); err != nil {
		return 0, fmt.Errorf("no bot state in %s (%w): set STATE_DIR to the bot's state folder, and run this as the bot's "+
			"user or as root", b.dir, settings.Reason(err))
	}
	tmp, err := os.MkdirTemp(beside, ".matrix-tui-backup-") // 0700: SQLite makes files that others may read
	if err != nil {
		return 0, fmt.Errorf("create a folder in %s: %w", beside, settings.Reason(err))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	out, err := os.OpenFile(filepath.Join(tmp, "backup"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return 0, fmt.Errorf("create backup: %w", err)
	}
	defer out.Close()
	archive := newPacker(out)
	if err := b.fill(ctx, archive, tmp); err != nil {
		return 0, err
	}
	if err := errors.Join(archive.tar.Close(), archive.zip.Close(), out.Sync()); err != nil {
		return 0, fmt.Errorf("write backup: %w", err)
	}
	info, err := out.Stat()
	if err != nil {
		return 0, fmt.Errorf("inspect the backup: %w", err)
	}
	if b.out != nil {
		_, err = io.Copy(b.out, io.NewSectionReader(out, 0, info.Size()))
	} else {
		err = os.Rename(out.Name(), file)
	}
	if err != nil {
		return 0, fmt.Errorf("deliver the backup: %w", err)
	}
	return info.Size(), nil
}

// fill packs everything, the manifest first.
func (b *backup) fill(ctx context.Context, to *packer, tmp string) error {
	stored := cli.LoadLogin(b.cfg)
	m := manifest{Format: backupFormat, Made: time.Now().UTC(), Version: cli.Version(), Homeserver: stored.Homeserver,
		User: stored.UserID, Running: b.running}
	names, err := b.volumeNames(ctx)
	if err != nil {
		return err
	}
	m.Volumes = names
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	if err := to.add(manifestName, int64(len(data)), strings.NewReader(string(data))); err != nil {
		return err
	}
	for _, name := range databases {
		path := filepath.Join(b.dir, name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue // crypto.db, before the first login
		}
		if err := state.Snapshot(ctx, path, filepath.Join(tmp, name)); err != nil {
			return err
		}
		if err := b.pack(to, filepath.Join(tmp, name), name); err != nil {
			return err
		}
		if err := os.Remove(filepath.Join(tmp, name)); err != nil {
			return err
		}
	}
	paths, err := stateFiles(b.dir)
	if err != nil {
		return fmt.Errorf("list the state folder: %w", err)
	}
	for _, path := range paths {
		if err := b.pack(to, filepath.Join(b.dir, path), path); err != nil {
			return err
		}
	}
	for name, room := range names {
		if err := b.packVolumes(ctx, to, name, room); err != nil {
			return err
		}
	}
	return nil
}

// pack adds one file of the state folder, unless it has disappeared.
func (b *backup) pack(to *packer, path, name string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("back up %s: %w", name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("back up %s: %w", name, err)
	}
	b.files++
	return to.add("state/"+name, info.Size(), f)
}

// stateFiles are the files in a state folder that a restart needs, except the
// databases. Anything else, such as releases and sockets, belongs to the host.
func stateFiles(dir string) (paths []string, err error) {
	err = state.Walk(dir, func(name string, d fs.DirEntry) error {
		if d.IsDir() {
			if name != "." && name != transcripts.Folder {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err == nil && info.Mode().IsRegular() && (filepath.Dir(name) != "." || isState(name, info.Size())) {
			paths = append(paths, name)
		}
		return err
	})
	return paths, err
}

// isState reports whether a file in the state folder is part of a backup.
func isState(name string, size int64) bool {
	switch name {
	case "state.json", "account.json", "crypto.key", "recovery-key", "policy.yaml", "pairing.json", ".env":
		return true
	}
	return size <= maxExtra && !strings.HasPrefix(name, ".") && !strings.Contains(name, ".corrupt-") &&
		!slices.ContainsFunc(databases, func(db string) bool { return strings.HasPrefix(name, db) }) &&
		!strings.HasSuffix(name, ".tar.gz")
}
