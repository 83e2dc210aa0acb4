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
// Releases run three more: trial, update-watch and update-guard.
//
// This package reads the settings and connects the parts; other packages decide
// what the bot does. It never talks to podman or Matrix except through them.
//
// The exit code is 0 after a normal end, 2 if the settings or the command line
// are invalid, and 1 for everything else.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// commit is set by builds that know it: -ldflags "-X main.commit=abc123".
var commit string

// commands are the subcommands, in the order in which the usage lists them.
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
	{"trial", "", trialCommand},
	{"update-watch", "", watchCommand},
	{"update-guard", "", guardCommand},
}

func main() {
	built = commit
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	ctx, stop := untilSignal(context.Background())
	a := &app{environ: os.Environ(), dir: dir, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	code := dispatch(ctx, a, commands, os.Args[1:])
	stop()
	os.Exit(code)
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
