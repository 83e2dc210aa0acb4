// Package cli has what the subcommands share: flags, settings, exit codes, the stored login, and requests to web APIs.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state/sentence"
)

// App is what a subcommand gets from the process.
type App struct {
	Environ        []string
	Dir            string // working folder
	Stdin          *os.File
	Stdout, Stderr io.Writer
}

// Command is one subcommand. It reads its own flags from args.
type Command struct {
	Name, About string // about is "" for internal subcommands
	Run         func(ctx context.Context, a *App, args []string) error
}

// Dispatch runs one subcommand and returns the exit code.
func Dispatch(ctx context.Context, a *App, commands []Command, args []string) int {
	if len(args) == 0 {
		usage(commands, a.Stderr)
		return 2
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(commands, a.Stdout)
		return 0
	}
	for _, c := range commands {
		if c.Name == args[0] {
			return exitCode(a.Stderr, c.Run(ctx, a, args[1:]))
		}
	}
	fmt.Fprintf(a.Stderr, "matrix-tui: unknown subcommand %q\n", args[0])
	usage(commands, a.Stderr)
	return 2
}

func usage(commands []Command, w io.Writer) {
	fmt.Fprint(w, "usage: matrix-tui SUBCOMMAND\n\n")
	for _, c := range commands {
		if c.About == "" {
			continue
		}
		fmt.Fprintf(w, "  %-11s %s\n", c.Name, c.About)
	}
	fmt.Fprint(w, "\nSettings are environment variables, or lines in a .env file here or in STATE_DIR.\n")
}

// ErrSaid ends the process with code 1 if everything has been printed already.
var ErrSaid = errors.New("said already")

// UsageError is an invalid command line.
type UsageError struct{ Text string }

func (e *UsageError) Error() string { return e.Text }

// exitCode prints what went wrong and returns the exit code.
func exitCode(stderr io.Writer, err error) int {
	var settings *settings.Error
	var usage *UsageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, ErrSaid):
		return 1
	case errors.As(err, &settings), errors.As(err, &usage):
		fmt.Fprintf(stderr, "matrix-tui: %s\n", err)
		return 2
	}
	fmt.Fprintf(stderr, "matrix-tui: %s\n", sentence.Text(err))
	return 1
}

// Flags returns a subcommand's flag set.
func (a *App) Flags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet("matrix-tui "+name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // exitCode reports an error, once
	flags.Usage = func() {}
	return flags
}

// Parse parses a command line without arguments.
func (a *App) Parse(flags *flag.FlagSet, args []string) error {
	given, err := a.ParseAll(flags, args, "")
	if err == nil && len(given) > 0 {
		err = &UsageError{fmt.Sprintf("%s: unexpected argument %q", flags.Name(), given[0])}
	}
	return err
}

// ParseOne parses a command line with exactly one argument; what is its name in messages.
func (a *App) ParseOne(flags *flag.FlagSet, args []string, what string) (string, error) {
	given, err := a.ParseAll(flags, args, what)
	if err == nil && len(given) != 1 {
		err = &UsageError{fmt.Sprintf("%s takes one argument, %s", flags.Name(), what)}
	}
	if err != nil {
		return "", err
	}
	return given[0], nil
}

// ParseAll parses flags before, between and after arguments. What follows "--" is an argument.
func (a *App) ParseAll(flags *flag.FlagSet, args []string, what string) (given []string, err error) {
	rest := []string{}
	if i := slices.Index(args, "--"); i >= 0 {
		args, rest = args[:i], args[i+1:]
	}
	for {
		switch err := flags.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			fmt.Fprintln(a.Stdout, strings.TrimSpace("usage: "+flags.Name()+" [flags] "+what))
			flags.SetOutput(a.Stdout)
			flags.PrintDefaults()
			return nil, err
		case err != nil:
			return nil, &UsageError{err.Error()}
		case flags.NArg() == 0:
			return append(given, rest...), nil
		}
		given, args = append(given, flags.Arg(0)), flags.Args()[1:]
	}
}

// Config reads a subcommand's settings; fixed are those that it sets itself.
func (a *App) Config(fixed map[string]string) (*settings.Config, error) {
	return settings.Load(fixed, a.Environ, a.Dir)
}

// Logger writes JSON lines, or readable lines if w is a terminal.
func Logger(w io.Writer, level settings.Level) zerolog.Logger {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: "15:04:05.000"}
	}
	return zerolog.New(w).Level(zerolog.Level(level)).With().Timestamp().Logger()
}
