// Command soak lets people work with the bot for hours in many rooms, half of them encrypted, while the bot, the
// homeserver and podman's service are killed again and again. It fails if a message is lost or answered twice, if an
// answer is bound to the wrong question, or if the bot's memory, descriptors, goroutines or disk keep growing.
// deploy/soak builds the bot and runs this command.
//
// Homeserver, podman and Gemini CLI are real; only the model is scripted. The bot runs with the default settings of a
// script, at log level info. In the last third of the time the bot itself is not killed, so that what it holds can be
// compared. It removes whatever it starts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"matrix-tui/bot/bottest"
)

func main() {
	var (
		program = flag.String("program", "", "the bot's binary `file`, as users run it")
		length  = flag.Duration("for", 2*time.Hour, "how long people work")
		rooms   = flag.Int("rooms", 50, "rooms; half of them are encrypted")
		people  = flag.Int("people", 3, "rooms in which something is asked at the same time")
		pause   = flag.Duration("pause", time.Minute, "time between two kills, on average")
		seed    = flag.Uint64("seed", 0, "`number` that decides what happens; 0 chooses one")
	)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	s := &soak{
		length: *length, pause: *pause, people: max(1, *people), begun: time.Now(),
		dice: newDice(*seed), busy: map[string]bool{},
	}
	s.say("seed %d", *seed)
	err := s.run(ctx, *program, max(4, *rooms))
	s.print(os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// run does everything, and returns all that went wrong.
func (s *soak) run(ctx context.Context, program string, rooms int) (err error) {
	if program == "" {
		return errors.New("-program is missing")
	}
	if s.host, err = bottest.OpenHost(ctx, program); err != nil {
		return fmt.Errorf("prepare the host: %w", err)
	}
	defer func() { err = errors.Join(err, s.host.Close()) }()
	if err := s.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.makeRooms(ctx, rooms); err != nil {
		return err
	}
	s.say("%d rooms created", rooms)
	if err := s.phase(ctx, "with kills of the bot", s.length*2/3, []victim{theBot, theHomeserver, thePodman}); err != nil {
		return err
	}
	if err := s.restart(ctx); err != nil { // what it holds is compared from here on
		return err
	}
	for _, part := range []string{"the bot lives", "the bot lives on"} { // idle samples at the end of both are compared
		if err := s.phase(ctx, part, s.length/6, []victim{theHomeserver, thePodman}); err != nil {
			return err
		}
	}
	return errors.Join(s.check(ctx), flat(s.samples))
}

// say prints progress on stderr.
func (s *soak) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "soak: %5.0f s  %s\n", time.Since(s.begun).Seconds(), fmt.Sprintf(format, args...))
}

// newDice returns a source of decisions.
func newDice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }
