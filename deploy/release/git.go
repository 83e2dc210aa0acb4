package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"matrix-tui/state/sentence"
)

const (
	fetchTime = 5 * time.Minute
	gitTime   = time.Minute
	// maxSubjects bounds the list of changes in a message.
	maxSubjects = 20
	// maxHistory bounds the history of a release: an archive is newer than a release that it names.
	maxHistory = 1000
)

// refName matches what may be requested: a branch, a tag, or the beginning of a commit; no expression, and nothing that
// looks like an option.
var refName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/+-]{0,127}$`)

// ValidRef reports whether a text can be the name of a release.
func ValidRef(ref string) bool { return refName.MatchString(ref) && !strings.Contains(ref, "..") }

// mirror is a copy of a git remote in the cache.
type mirror struct {
	dir string
	url string
}

// openMirror creates the mirror if it is missing. A mirror of another remote is replaced.
func openMirror(ctx context.Context, base Base, url string) (*mirror, error) {
	m := &mirror{base.path("cache", "source.git"), url}
	if have, err := m.git(ctx, gitTime, "config", "--get", "remote.origin.url"); err == nil && strings.TrimSpace(have) == url {
		return m, nil
	}
	if err := os.RemoveAll(m.dir); err != nil {
		return nil, fmt.Errorf("remove mirror: %w", err)
	}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return nil, full(fmt.Errorf("create mirror: %w", err), base)
	}
	if _, err := m.git(ctx, gitTime, "init", "--quiet", "--bare"); err != nil {
		return nil, fmt.Errorf("create mirror: %w", err)
	}
	if _, err := m.git(ctx, gitTime, "config", "remote.origin.url", url); err != nil {
		return nil, fmt.Errorf("create mirror: %w", err)
	}
	return m, nil
}

// git runs git in the mirror. It never asks for input.
func (m *mirror) git(ctx context.Context, limit time.Duration, args ...string) (string, error) {
	p := program{dir: m.dir, limit: limit, env: environ("GIT_TERMINAL_PROMPT=0", "GIT_SSH_COMMAND=ssh -oBatchMode=yes", "LC_ALL=C", "GIT_DIR="+m.dir)}
	return p.run(ctx, append([]string{"git", "-c", "gc.autoDetach=false", "-c", "safe.directory=*", "-c", "protocol.ext.allow=never"}, args...)...)
}

// fetch updates the mirror.
func (m *mirror) fetch(ctx context.Context) error {
	_, err := m.git(ctx, fetchTime, "fetch", "--quiet", "--prune", "--force", "--no-write-fetch-head",
		"origin", "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
	if err != nil {
		return sentence.New(err, "The releases cannot be fetched: check UPDATE_SOURCE, and that this host can reach it.").With(linesOf(err))
	}
	return nil
}

// head returns the remote's default branch.
func (m *mirror) head(ctx context.Context) (string, error) {
	out, err := m.git(ctx, gitTime, "ls-remote", "--symref", "origin", "HEAD")
	if err != nil {
		return "", fmt.Errorf("look for the default branch: %w", err)
	}
	for line := range strings.Lines(out) {
		if ref, ok := strings.CutPrefix(line, "ref: "); ok {
			return strings.Fields(ref)[0], nil
		}
	}
	return "", sentence.Newf(errors.New("the remote has no default branch"), "UPDATE_SOURCE has no default branch: name a branch, a tag or a commit.")
}

// newestTag returns the tag with the highest version.
func (m *mirror) newestTag(ctx context.Context) (string, error) {
	out, err := m.git(ctx, gitTime, "for-each-ref", "--count=1", "--sort=-version:refname", "--format=%(refname)", "refs/tags")
	if err != nil {
		return "", fmt.Errorf("look for the newest tag: %w", err)
	}
	if strings.TrimSpace(out) == "" {
		return "", sentence.Newf(errors.New("the remote has no tag"), "UPDATE_SOURCE has no tag, and with UPDATE_KEY set only signed tags and commits are accepted: name a signed commit.")
	}
	return strings.TrimSpace(out), nil
}

// find resolves a request: "" is the newest. It also returns the full name of a tag or branch, "" for a commit ID.
func (m *mirror) find(ctx context.Context, ref string, signed bool) (name, commit string, err error) {
	var names []string
	switch {
	case ref == "" && signed:
		name, err = m.newestTag(ctx)
		names = []string{name}
	case ref == "":
		name, err = m.head(ctx)
		names = []string{name}
	default:
		names = []string{"refs/tags/" + ref, "refs/heads/" + ref}
		if regexp.MustCompile(`^[0-9a-f]{7,40}$`).MatchString(ref) {
			names = append(names, ref)
		}
	}
	if err != nil {
		return "", "", err
	}
	for _, name := range names {
		out, err := m.git(ctx, gitTime, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
		if ctx.Err() != nil {
			return "", "", ctx.Err()
		}
		if err == nil {
			if name == ref {
				name = ""
			}
			return name, strings.TrimSpace(out), nil
		}
	}
	return "", "", sentence.Newf(fmt.Errorf("no %q in the source", ref), "UPDATE_SOURCE has no tag, branch or commit `%s`.", ref)
}

// history returns the ancestors of a commit, newest first.
func (m *mirror) history(ctx context.Context, commit string) ([]Change, error) {
	out, err := m.git(ctx, gitTime, "log", "--max-count="+strconv.Itoa(maxHistory), "--first-parent", "--format=%H %s", commit)
	if err != nil {
		return nil, fmt.Errorf("read history of %s: %w", Short(commit), err)
	}
	var changes []Change
	for _, line := range lastLines(out, maxHistory) {
		hash, subject, _ := strings.Cut(line, " ")
		changes = append(changes, Change{hash, subject})
	}
	return changes, nil
}

// contains reports whether another commit is in the history of a commit. The source may not have one of them.
func (m *mirror) contains(ctx context.Context, commit, other string) bool {
	_, err := m.git(ctx, gitTime, "merge-base", "--is-ancestor", "--end-of-options", other, commit)
	return err == nil
}

// number returns how many commits a commit has in its history, itself included.
func (m *mirror) number(ctx context.Context, commit string) (int, error) {
	out, err := m.git(ctx, gitTime, "rev-list", "--count", commit, "--")
	if err != nil {
		return 0, fmt.Errorf("count the commits of %s: %w", Short(commit), err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return 0, fmt.Errorf("count the commits of %s: %w", Short(commit), err)
	}
	return n, nil
}

// checkout writes the files of a commit into dir.
func (m *mirror) checkout(ctx context.Context, commit, dir string) error {
	archive, err := os.CreateTemp(filepath.Dir(dir), ".source-*")
	if err != nil {
		return fmt.Errorf("make source archive: %w", err)
	}
	defer os.Remove(archive.Name())
	defer archive.Close()
	p := program{dir: m.dir, limit: gitTime, out: archive, env: environ("GIT_DIR=" + m.dir)}
	if _, err := p.run(ctx, "git", "-c", "safe.directory=*", "archive", "--format=tar", commit); err != nil {
		return fmt.Errorf("read commit %s: %w", Short(commit), err)
	}
	if _, err := archive.Seek(0, 0); err != nil {
		return fmt.Errorf("read source archive: %w", err)
	}
	return untar(archive, dir)
}
