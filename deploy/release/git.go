package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"matrix-tui/state/sentence"
)

const (
	gitTime = 5 * time.Minute
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
type mirror struct{ dir, url string }

// openMirror brings the mirror up to date.
func openMirror(ctx context.Context, base Base, url string) (*mirror, error) {
	m := &mirror{base.path("cache", "source.git"), url}
	err := os.MkdirAll(m.dir, 0o700)
	if err == nil {
		_, err = m.git(ctx, "init", "--quiet", "--bare")
	}
	if err != nil {
		return nil, full(fmt.Errorf("create mirror: %w", err), base)
	}
	_, err = m.git(ctx, "fetch", "--quiet", "--prune", "--force", "--no-write-fetch-head", url,
		"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
	if err != nil {
		return nil, failed(err, "The releases cannot be fetched: check UPDATE_SOURCE, and that this host can reach it.")
	}
	return m, nil
}

// git runs git in the mirror. It never asks for input.
func (m *mirror) git(ctx context.Context, args ...string) (string, error) {
	env := []string{"GIT_TERMINAL_PROMPT=0", "GIT_SSH_COMMAND=ssh -oBatchMode=yes", "LC_ALL=C", "GIT_DIR=" + m.dir}
	argv := []string{"git", "-c", "gc.autoDetach=false", "-c", "safe.directory=*", "-c", "protocol.ext.allow=never"}
	out, err := program{limit: gitTime, env: env}.run(ctx, append(argv, args...)...)
	return strings.TrimSpace(out), err
}

var defaultBranch = regexp.MustCompile(`(?m)^ref: (\S+)\tHEAD$`)

// newest returns the name of the newest release: the default branch, or the tag with the highest version if it must be
// signed.
func (m *mirror) newest(ctx context.Context, signed bool) (string, error) {
	if signed {
		tag, err := m.git(ctx, "for-each-ref", "--count=1", "--sort=-version:refname", "--format=%(refname)", "refs/tags")
		if err == nil && tag == "" {
			err = sentence.Newf(errors.New("no tag"),
				"UPDATE_SOURCE has no tag, and with UPDATE_KEY set only signed tags and commits are accepted: "+
					"name a signed commit.")
		}
		return tag, err
	}
	out, err := m.git(ctx, "ls-remote", "--symref", m.url, "HEAD")
	found := defaultBranch.FindStringSubmatch(out)
	if err != nil || found == nil {
		return "", failed(fmt.Errorf("look for the default branch: %w", err),
			"UPDATE_SOURCE has no default branch: name a branch, a tag or a commit.")
	}
	return found[1], nil
}

var commitID = regexp.MustCompile(`^[0-9a-f]{7,40}$`)

// find resolves a request: "" is the newest. It also returns the full name of a tag or branch, "" for a commit ID.
func (m *mirror) find(ctx context.Context, ref string, signed bool) (name, commit string, err error) {
	names := []string{"refs/tags/" + ref, "refs/heads/" + ref}
	if ref == "" {
		if names[0], err = m.newest(ctx, signed); err != nil {
			return "", "", err
		}
	}
	if commitID.MatchString(ref) {
		names = append(names, ref)
	}
	for _, name := range names {
		out, err := m.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
		if err == nil && name == ref {
			return "", out, nil
		}
		if err == nil || ctx.Err() != nil {
			return name, out, ctx.Err()
		}
	}
	return "", "", sentence.Newf(fmt.Errorf("no %q in the source", ref),
		"UPDATE_SOURCE has no tag, branch or commit `%s`.", ref)
}

// describe returns what the release of a commit says about itself.
func (m *mirror) describe(ctx context.Context, name, commit string) (Info, error) {
	out, err := m.git(ctx, "log", "--max-count="+strconv.Itoa(maxHistory), "--first-parent", "--format=%H %s", commit)
	if err != nil {
		return Info{}, fmt.Errorf("read history of %s: %w", Short(commit), err)
	}
	info := Info{Commit: commit, Version: strings.TrimPrefix(strings.TrimPrefix(name, "refs/tags/"), "refs/heads/"),
		Built: time.Now().UTC()}
	for line := range strings.SplitSeq(out, "\n") {
		hash, subject, _ := strings.Cut(line, " ")
		info.History = append(info.History, Change{hash, subject})
	}
	return info, nil
}

// age says how a commit relates to that of the running release. The source may not have one of them.
func (m *mirror) age(ctx context.Context, commit, running string) age {
	within := func(old, new string) bool {
		_, err := m.git(ctx, "merge-base", "--is-ancestor", "--end-of-options", old, new)
		return err == nil
	}
	switch {
	case within(running, commit):
		return newer
	case within(commit, running):
		return older
	}
	return unknown
}

// checkout writes the files of a commit into dir.
func (m *mirror) checkout(ctx context.Context, commit, dir string) error {
	archive := dir + ".tar"
	defer os.Remove(archive)
	_, err := m.git(ctx, "archive", "--format=tar", "--output="+archive, commit)
	var f *os.File
	if err == nil {
		f, err = os.Open(archive)
	}
	if err != nil {
		return fmt.Errorf("read commit %s: %w", Short(commit), err)
	}
	defer f.Close()
	return untar(f, dir)
}
