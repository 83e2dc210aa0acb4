// Command demo is the chat of deploy/try: it starts a bot, registers an account for it and one for the person at this
// terminal, and shows the room that the two share. The homeserver must allow open registration.
//
//	demo -program MATRIX-TUI -homeserver URL -dir FOLDER
//
// The bot is the real program in a separate process. Without GEMINI_API_KEY a scripted model answers instead of Gemini,
// and says so in each reply. The demo stores nothing outside FOLDER.
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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs the demo and returns the exit code: 2 for an invalid command line, 1 for any other error.
func run(ctx context.Context, args, environ []string, stdin *os.File, stdout, stderr io.Writer) int {
	d := &demo{environ: environ, stdin: stdin, stdout: stdout}
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&d.program, "program", "", "the `matrix-tui` to run")
	flags.StringVar(&d.homeserver, "homeserver", "", "`URL` of a homeserver with open registration")
	flags.StringVar(&d.dir, "dir", "", "`folder` for the demo's data")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if d.program == "" || d.homeserver == "" || d.dir == "" || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "demo: -program, -homeserver and -dir are needed; ./deploy/try sets them")
		return 2
	}
	if err := d.play(ctx); err != nil {
		fmt.Fprintln(stderr, "demo:", err)
		return 1
	}
	return 0
}
