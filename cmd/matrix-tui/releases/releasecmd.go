package releases

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/deploy/release"
)

const releaseUsage = `matrix-tui release takes one of
  make -from DIR_OR_GIT_REMOTE -into BASE [REF]   build a release, and print its commit
  use -into BASE COMMIT                           make it the current one
  archive -from BASE -into DIR [COMMIT]           pack one (the current) for hosts without Go`

// Make builds and installs releases; deploy/install uses it.
func Make(ctx context.Context, a *cli.App, args []string) error {
	if len(args) == 0 {
		return &cli.UsageError{Text: releaseUsage}
	}
	flags := a.Flags("release " + args[0])
	from := flags.String("from", "", "where it comes from")
	into := flags.String("into", "", "the folder that gets it")
	if err := flags.Parse(args[1:]); err != nil {
		return &cli.UsageError{Text: err.Error()}
	}
	target, err := filepath.Abs(*into)
	base, fromErr := filepath.Abs(*from)
	if err := errors.Join(err, fromErr); err != nil {
		return fmt.Errorf("find the folders: %w", err)
	}
	made, ref := "", flags.Arg(0)
	switch {
	case *into == "" || flags.NArg() > 1 || *from == "" && args[0] != "use":
		return &cli.UsageError{Text: releaseUsage}
	case args[0] == "make":
		made, err = release.Make(ctx, release.Base(target), *from, ref, a.Stderr)
	case args[0] == "use":
		return release.Base(target).Use(ref)
	case args[0] == "archive":
		made, err = release.Base(base).Archive(ctx, ref, target)
	default:
		return &cli.UsageError{Text: releaseUsage}
	}
	if err == nil {
		_, err = fmt.Fprintln(a.Stdout, made)
	}
	return err
}
