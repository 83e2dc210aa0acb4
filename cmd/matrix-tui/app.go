package main

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

	"matrix-tui/state/sentence"
)

// app is what a subcommand gets from the process.
type app struct {
	environ        []string
	dir            string // working folder
	stdin          *os.File
	stdout, stderr io.Writer
}

// command is one subcommand. It reads its own flags from args.
type command struct {
	name, about string // about is "" for internal subcommands
	run         func(ctx context.Context, a *app, args []string) error
}

// dispatch runs one subcommand and returns the exit code.
func dispatch(ctx context.Context, a *app, commands []command, args []string) int {
	if len(args) == 0 {
		usage(commands, a.stderr)
		return 2
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(commands, a.stdout)
		return 0
	}
	for _, c := range commands {
		if c.name == args[0] {
			return exitCode(a.stderr, c.run(ctx, a, args[1:]))
		}
	}
	fmt.Fprintf(a.stderr, "matrix-tui: unknown subcommand %q\n", args[0])
	usage(commands, a.stderr)
	return 2
}

func usage(commands []command, w io.Writer) {
	fmt.Fprint(w, "usage: matrix-tui SUBCOMMAND\n\n")
	for _, c := range commands {
		if c.about == "" {
			continue
		}
		fmt.Fprintf(w, "  %-11s %s\n", c.name, c.about)
	}
	fmt.Fprint(w, "\nSettings are environment variables, or lines in a .env file here or in STATE_DIR.\n")
}

// errSaid ends the process with code 1 if everything has been printed already.
var errSaid = errors.New("said already")

// usageError is an invalid command line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// exitCode prints what went wrong and returns the exit code.
func exitCode(stderr io.Writer, err error) int {
	var settings *SettingsError
	var usage *usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errSaid):
		return 1
	case errors.As(err, &settings), errors.As(err, &usage):
		fmt.Fprintf(stderr, "matrix-tui: %s\n", err)
		return 2
	}
	fmt.Fprintf(stderr, "matrix-tui: %s\n", sentence.Text(err))
	return 1
}

// flags returns a subcommand's flag set.
func (a *app) flags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet("matrix-tui "+name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // exitCode reports an error, once
	flags.Usage = func() {}
	return flags
}

// parse parses a command line without arguments.
func (a *app) parse(flags *flag.FlagSet, args []string) error {
	given, err := a.parseAll(flags, args, "")
	if err == nil && len(given) > 0 {
		err = &usageError{fmt.Sprintf("%s: unexpected argument %q", flags.Name(), given[0])}
	}
	return err
}

// parseOne parses a command line with exactly one argument; what is its name in messages.
func (a *app) parseOne(flags *flag.FlagSet, args []string, what string) (string, error) {
	given, err := a.parseAll(flags, args, what)
	if err == nil && len(given) != 1 {
		err = &usageError{fmt.Sprintf("%s takes one argument, %s", flags.Name(), what)}
	}
	if err != nil {
		return "", err
	}
	return given[0], nil
}

// parseAll parses flags before, between and after arguments. What follows "--" is an argument.
func (a *app) parseAll(flags *flag.FlagSet, args []string, what string) (given []string, err error) {
	rest := []string{}
	if i := slices.Index(args, "--"); i >= 0 {
		args, rest = args[:i], args[i+1:]
	}
	for {
		switch err := flags.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			fmt.Fprintln(a.stdout, strings.TrimSpace("usage: "+flags.Name()+" [flags] "+what))
			flags.SetOutput(a.stdout)
			flags.PrintDefaults()
			return nil, err
		case err != nil:
			return nil, &usageError{err.Error()}
		case flags.NArg() == 0:
			return append(given, rest...), nil
		}
		given, args = append(given, flags.Arg(0)), flags.Args()[1:]
	}
}

// config reads a subcommand's settings; fixed are those that it sets itself.
func (a *app) config(fixed map[string]string) (*Config, error) {
	return LoadConfig(fixed, a.environ, a.dir)
}

// logger writes JSON lines, or readable lines if w is a terminal.
func logger(w io.Writer, level Level) zerolog.Logger {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: "15:04:05.000"}
	}
	return zerolog.New(w).Level(zerolog.Level(level)).With().Timestamp().Logger()
}
