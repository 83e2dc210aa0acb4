// Command matrix-tui is a Matrix bot. Gemini CLI does the tasks of each room, in
// a podman container that belongs to that room.
//
//	matrix-tui run          run the bot
//	matrix-tui doctor       check what the bot needs, and say how to fix it
//	matrix-tui login        log in without a password
//	matrix-tui rooms        list the rooms and their containers
//	matrix-tui trust        trust the new identity of a user who has reset it
//	matrix-tui logs         show what happened in a room
//	matrix-tui memory       search and correct what the rooms remember
//	matrix-tui backup       write everything the bot keeps into one file
//	matrix-tui restore      restore a backup into an empty state directory
//	matrix-tui self-update  install the newest release
//	matrix-tui release      build, select and pack releases
//	matrix-tui version      print the version
//
// An update runs one more, trial, in the release that it tries.
//
// This package reads the settings and connects the parts; other packages decide
// what the bot does. It never talks to podman or Matrix except through them.
//
// The exit code is 0 after a normal end, 2 if the settings or the command line
// are invalid, and 1 for everything else.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

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

var commands = []command{
	{"run", "run the bot", runCommand},
	{"doctor", "check configuration and host, and say how to fix problems", doctorCommand},
	{"login", "log in without a password, with a link and a code", loginCommand},
	{"rooms", "list the rooms and their containers", roomsCommand},
	{"trust", "trust a user's new identity after a reset", trustCommand},
	{"logs", "show what happened in a room recently", logsCommand},
	{"memory", "search and correct what the rooms remember", memoryCommand},
	{"backup", "write the bot's state into one file", backupCommand},
	{"restore", "restore a backup into an empty state folder", restoreCommand},
	{"self-update", "install the newest release, or a given one", selfUpdateCommand},
	{"release", "build and install a release", releaseCommand},
	{"version", "print the version", versionCommand},
	{"demo", "", demoCommand},
	{"trial", "", trialCommand},
}

func main() {
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	ctx, stop := untilSignal(context.Background())
	a := &app{environ: os.Environ(), dir: dir, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	code := a.main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// main runs one subcommand and returns the exit code.
func (a *app) main(ctx context.Context, args []string) int {
	if len(args) == 0 {
		a.usage(a.stderr)
		return 2
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		a.usage(a.stdout)
		return 0
	}
	for _, c := range commands {
		if c.name == args[0] {
			return a.exitCode(c.run(ctx, a, args[1:]))
		}
	}
	fmt.Fprintf(a.stderr, "matrix-tui: unknown subcommand %q\n", args[0])
	a.usage(a.stderr)
	return 2
}

func demoCommand(context.Context, *app, []string) error {
	return &usageError{"the chat in this terminal is ./deploy/try now"}
}

func (a *app) usage(w io.Writer) {
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
func (a *app) exitCode(err error) int {
	var settings *SettingsError
	var usage *usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errSaid):
		return 1
	case errors.As(err, &settings), errors.As(err, &usage):
		fmt.Fprintf(a.stderr, "matrix-tui: %s\n", err)
		return 2
	}
	fmt.Fprintf(a.stderr, "matrix-tui: %s\n", sentence.Text(err))
	return 1
}

// flags returns a subcommand's flag set.
func (a *app) flags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet("matrix-tui "+name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // exitCode reports an error, once
	flags.Usage = func() {}
	return flags
}

func (a *app) parse(flags *flag.FlagSet, args []string) error {
	if err := a.parseFlags(flags, args, ""); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return &usageError{fmt.Sprintf("%s: unexpected argument %q", flags.Name(), flags.Arg(0))}
	}
	return nil
}

func (a *app) parseFlags(flags *flag.FlagSet, args []string, more string) error {
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(a.stdout, "usage: %s [flags]%s\n", flags.Name(), more)
		flags.SetOutput(a.stdout)
		flags.PrintDefaults()
		return err
	case err != nil:
		return &usageError{err.Error()}
	}
	return nil
}

// parseOne parses a command line with exactly one argument, before or after the flags;
// what is its name in messages.
func (a *app) parseOne(flags *flag.FlagSet, args []string, what string) (string, error) {
	var given []string
	for {
		if err := a.parseFlags(flags, args, " "+what); err != nil {
			return "", err
		}
		if flags.NArg() == 0 {
			break
		}
		given, args = append(given, flags.Arg(0)), flags.Args()[1:]
	}
	if len(given) != 1 {
		return "", &usageError{fmt.Sprintf("%s takes one argument, %s", flags.Name(), what)}
	}
	return given[0], nil
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

// untilSignal returns a context that ends with the first SIGTERM or SIGINT, for an
// orderly shutdown; a second signal exits at once. The returned function stops
// watching.
func untilSignal(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			sig, ok := <-signals
			if !ok {
				return
			}
			if number, is := sig.(syscall.Signal); is && n > 0 {
				os.Exit(128 + int(number))
			}
			cancel()
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		<-done
		cancel()
	}
}
