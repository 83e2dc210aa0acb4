package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"matrix-tui/state/sentence"
)

const (
	trialTime   = 60 * time.Second
	offlineTime = 60 * time.Second
)

// errTrial means that a release failed its trial.
var errTrial = errors.New("trial failed")

// try runs the new release's version, its doctor, and a start on a copy of the state.
func (u *Updater) try(ctx context.Context, commit string) error {
	if err := u.Base.Check(commit); err != nil {
		return err
	}
	dir := u.Base.path("trial")
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove an older trial: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := copyState(ctx, u.State, dir, !u.Offline); err != nil {
		return err
	}
	program := u.Base.Program(commit)
	for _, one := range []struct {
		args  []string
		limit time.Duration
		fails string
	}{
		{[]string{"version"}, offlineTime, "does not start"},
		{[]string{"doctor", "--offline"}, offlineTime, "does not work on this host"},
		{[]string{"trial", "--state", dir}, trialTime, "did not pass its trial on a copy of my state"},
	} {
		if err := u.tryOne(ctx, program, one.limit, one.args...); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return sentence.Newf(fmt.Errorf("try release %s: %w: %w", commit, errTrial, err),
				"Release `%s` %s: %s.", commit, one.fails, reasonOf(err)).With(linesOf(err))
		}
	}
	return nil
}

func (u *Updater) tryOne(ctx context.Context, path string, limit time.Duration, args ...string) error {
	out, err := program{limit: limit, env: environ()}.run(ctx, append([]string{path}, args...)...)
	if err == nil && args[0] == "trial" && !slices.Contains(strings.Fields(out), "ready") {
		err = &runError{errors.New("it did not say that it is ready"), lastLines(out, 10)}
	}
	return err
}

// reasonOf returns a short description of a program's failure.
func reasonOf(err error) string {
	var ran *runError
	if errors.As(err, &ran) {
		text := ran.Error()
		if _, after, ok := strings.Cut(text, ": "); ok {
			text = after
		}
		return text
	}
	return err.Error()
}

// clean removes secrets from the lines in an error.
func (u *Updater) clean(err error) error {
	lines := linesOf(err)
	if len(lines) == 0 {
		return err
	}
	text := readable(strings.Join(lines, "\n") + "\n")
	for _, secret := range u.Secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "redacted")
		}
	}
	return sentence.New(err, sentence.Text(err)).With(lastLines(text, 10))
}
