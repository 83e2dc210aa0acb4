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
//	matrix-tui alive        fail if the running bot is stuck
//	matrix-tui release      build, select and pack releases
//	matrix-tui seccomp      print the containers' seccomp profile
//	matrix-tui version      print the version
//
// This package has only the table of subcommands. The packages below it do the work, one for each job.
//
// The exit code is 0 after a normal end, 2 if the settings or the command line
// are invalid, and 1 for everything else.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"matrix-tui/cmd/matrix-tui/account"
	"matrix-tui/cmd/matrix-tui/backup"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/doctor"
	"matrix-tui/cmd/matrix-tui/engine"
	"matrix-tui/cmd/matrix-tui/memories"
	"matrix-tui/cmd/matrix-tui/releases"
	"matrix-tui/cmd/matrix-tui/rooms"
	"matrix-tui/cmd/matrix-tui/serve"
)

// commit is set by builds that know it: -ldflags "-X main.commit=abc123".
var commit string

// commands are the subcommands, in the order in which the usage lists them.
var commands = []cli.Command{
	{Name: "run", About: "run the bot", Run: serve.Run},
	{Name: "doctor", About: "check configuration and host, and say how to fix problems", Run: doctor.Command},
	{Name: "login", About: "log in without a password, with a link and a code", Run: account.Login},
	{Name: "rooms", About: "list the rooms and their containers", Run: rooms.Command},
	{Name: "trust", About: "trust a user's new identity after a reset", Run: account.Trust},
	{Name: "logs", About: "show what happened in a room recently", Run: rooms.Logs},
	{Name: "memory", About: "search and correct what the rooms remember", Run: memories.Command},
	{Name: "backup", About: "write the bot's state into one file", Run: backup.Command},
	{Name: "restore", About: "restore a backup into an empty state folder", Run: backup.Restore},
	{Name: "self-update", About: "install the newest release, or a given one", Run: releases.SelfUpdate},
	{Name: "alive", About: "fail if the running bot is stuck: for a pod's probe", Run: serve.Alive},
	{Name: "release", About: "build, use or pack a release", Run: releases.Make},
	{Name: "seccomp", About: "print the seccomp profile of containers, for the nodes of a cluster", Run: engine.Seccomp},
	{Name: "version", About: "print the version", Run: releases.Version},
	// Releases before this one ask for a trial when they update to it; now the doctor is the trial.
	{Name: "trial", Run: func(context.Context, *cli.App, []string) error { return nil }},
}

func main() {
	cli.Built = commit
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	ctx, stop := untilSignal(context.Background())
	a := &cli.App{Environ: os.Environ(), Dir: dir, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	code := cli.Dispatch(ctx, a, commands, os.Args[1:])
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
