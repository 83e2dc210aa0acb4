package bottest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// shop builds the releases that scripts update to: a git remote with the current module, and a branch for each change.
type shop struct {
	mu     sync.Mutex
	remote string
	built  map[string]string // branch → commit of its release, in the store
	env    []string
	names  sync.Mutex // of the image: podman 4 loses one of two tags that change at the same time
}

// change is a branch's change to the module.
type change struct{ file, old, new string }

// changes are the branches.
var changes = map[string]change{
	"base": {},
	// Newer by a commit, and good.
	"main": {"README.md", "", "\nNewer.\n"},
	// It fails to start.
	"panics": {"cmd/matrix-tui/main.go", "", "\nfunc init() { panic(\"it does not begin\") }\n"},
	// Its doctor does not end.
	"hangs": {"cmd/matrix-tui/doctor/doctor.go", "\tstored := cli.LoadLogin(cfg)\n",
		"\t<-ctx.Done()\n\tstored := cli.LoadLogin(cfg)\n"},
	// Its journal loses its contents.
	"migration": {"state/schema.go", "\tversion, err := j.version(ctx)\n",
		"\t_, _ = j.db.ExecContext(ctx, \"DROP TABLE event\")\n\tversion, err := j.version(ctx)\n"},
	// It fails at its real start after changing the state.
	"early": {"bot/bot.go", "\tif err := b.account.Login(ctx); err != nil {",
		"\t_ = b.Store.Containers.Set(ctx, \"!spoilt\", \"spoilt\")\n\tpanic(\"early failure\")\n\tif err := " +
			"b.account.Login(ctx); err != nil {"},
	// The same, but it hangs.
	"stuck": {"bot/bot.go", "\tif err := b.account.Login(ctx); err != nil {",
		"\t<-ctx.Done()\n\tif err := b.account.Login(ctx); err != nil {"},
	// Its image has a new file, or fails its test.
	"image": {"deploy/image/Containerfile", "WORKDIR /workspace\n",
		"WORKDIR /workspace\nRUN echo new > /etc/recipe\n"},
	"image-bad": {"deploy/image/Containerfile", "WORKDIR /workspace\n",
		"WORKDIR /workspace\nRUN rm /opt/gemini/bin/gemini\n"},
}

// open creates the remote on first use.
func (s *suite) openShop(ctx context.Context) error {
	if s.shop.remote != "" {
		return nil
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		out, err := exec.CommandContext(ctx, "go", "env", name).Output()
		if err != nil {
			return fmt.Errorf("find %s: %w", name, err)
		}
		s.shop.env = append(s.shop.env, name+"="+strings.TrimSpace(string(out)))
	}
	remote := filepath.Join(s.root, "shop", "remote")
	if err := s.copyModule(ctx, remote); err != nil {
		return err
	}
	// The releases contain the scripts' crash points.
	if err := edit(remote, change{"deploy/lib.sh", "exclude_graphdriver_btrfs\"",
		"exclude_graphdriver_btrfs,crashtest\""}); err != nil {
		return err
	}
	if err := git(ctx, remote, "init", "--quiet", "--initial-branch=base"); err != nil {
		return err
	}
	if err := commitAll(ctx, remote, "base: as it was"); err != nil {
		return err
	}
	for name, c := range changes {
		if name == "base" {
			continue
		}
		err := errors.Join(git(ctx, remote, "checkout", "--quiet", "-b", name, "base"), edit(remote, c))
		if err == nil {
			err = commitAll(ctx, remote, name+": something newer")
		}
		if err != nil {
			return fmt.Errorf("create branch %s: %w", name, err)
		}
	}
	if err := git(ctx, remote, "checkout", "--quiet", "main"); err != nil {
		return err
	}
	if err := s.tagAll(ctx, remote); err != nil {
		return err
	}
	s.shop.remote, s.shop.built = remote, map[string]string{}
	return nil
}

// tagAll puts tags on main: v1.0.0 is signed with the shop's key, v1.1.0 with another one, and v1.2.0, the newest, not
// at all.
func (s *suite) tagAll(ctx context.Context, remote string) error {
	for tag, key := range map[string]string{"v1.0.0": s.shopKey(), "v1.1.0": s.shopKey() + "-other"} {
		if out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
			key).CombinedOutput(); err != nil {
			return fmt.Errorf("create key: %w: %s", err, out)
		}
		err := git(ctx, remote, "-c", "user.name=maker", "-c", "user.email=maker@localhost", "-c", "gpg.format=ssh", "-c",
			"user.signingkey="+key,
			"tag", "--sign", "--message", tag, tag, "main")
		if err != nil {
			return err
		}
	}
	return git(ctx, remote, "tag", "v1.2.0", "main")
}

func (s *suite) shopKey() string { return filepath.Join(s.root, "shop", "key") }

// copyModule copies the module's current files.
func (s *suite) copyModule(ctx context.Context, to string) error {
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = s.repo
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("list the module's files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		info, err := os.Stat(filepath.Join(s.repo, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		var data []byte
		if err == nil {
			data, err = os.ReadFile(filepath.Join(s.repo, name))
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, info.Mode().Perm())
		}
		if err != nil {
			return fmt.Errorf("copy the module: %w", err)
		}
	}
	return nil
}

// edit makes a change; old "" is the end of the file.
func edit(dir string, c change) error {
	path := filepath.Join(dir, c.file)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(data) + c.new
	if c.old != "" {
		if !strings.Contains(string(data), c.old) {
			return fmt.Errorf("%s has no %q", c.file, c.old)
		}
		text = strings.Replace(string(data), c.old, c.new, 1)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func git(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

func commitAll(ctx context.Context, dir, subject string) error {
	if err := git(ctx, dir, "add", "--all"); err != nil {
		return err
	}
	return git(ctx, dir, "-c", "user.name=maker", "-c", "user.email=maker@localhost", "-c", "commit.gpgsign=false",
		"commit", "--quiet", "--message", subject)
}

// commitOf is the name of a branch's release.
func (s *suite) commitOf(ctx context.Context, branch string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", branch)
	cmd.Dir = s.shop.remote
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("no branch %s: %w", branch, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// release builds a branch's release in the store, once, and returns its folder.
func (s *suite) release(branch string) (dir string, err error) {
	s.shop.mu.Lock()
	defer s.shop.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	if err := s.openShop(ctx); err != nil {
		return "", err
	}
	store := filepath.Join(s.root, "shop", "store")
	if commit := s.shop.built[branch]; commit != "" {
		return filepath.Join(store, "releases", commit), nil
	}
	program, err := s.program()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, program, "release", "make", "-from", s.shop.remote, "-into", store, branch)
	cmd.Env = append(os.Environ(), s.shop.env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("make release of %s: %w\n%s", branch, err, errs.String())
	}
	s.shop.built[branch] = strings.TrimSpace(out.String())
	return filepath.Join(store, "releases", s.shop.built[branch]), nil
}
