// Command scripted-model serves the Gemini API from a script; see package matrix-tui/agent/agenttest.
//
//	scripted-model [-listen 127.0.0.1:0] [FILE]
//
// The first line it prints is its base URL. Without FILE it uses the demo's script. If SCRIPTED_MODEL_KEY is set in
// the environment, it refuses other API keys. It ends on SIGTERM and SIGINT.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"

	"matrix-tui/agent/agenttest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "scripted-model:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("scripted-model", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "host:port to listen on")
	verbose := flags.Bool("v", false, "log each request to standard error")
	if err := flags.Parse(args); err != nil {
		return err
	}
	script := agenttest.Demo()
	switch flags.NArg() {
	case 0:
	case 1:
		data, err := os.ReadFile(flags.Arg(0))
		if err != nil {
			return err
		}
		if script, err = agenttest.Load(data); err != nil {
			return fmt.Errorf("%s: %w", flags.Arg(0), err)
		}
	default:
		return fmt.Errorf("one script at most, got %d", flags.NArg())
	}
	log := zerolog.Nop()
	if *verbose {
		log = zerolog.New(os.Stderr).With().Timestamp().Logger()
	}
	server := agenttest.New(script, log)
	server.RequireKey(os.Getenv("SCRIPTED_MODEL_KEY"))
	return server.Serve(ctx, *listen, func(url string) { fmt.Println(url) })
}
