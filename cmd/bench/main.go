// Command bench measures the bot on this host and prints a table: what was
// measured, how often, the median with minimum and maximum, and the goal.
// deploy/bench builds the bot and runs this command.
//
// Homeserver, podman and Gemini CLI are real; only the model is scripted and
// answers at once. It reports nothing it has not measured. A missed goal is not
// a failure, except in section scale: the exit code only tells whether something
// broke. It removes whatever it starts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"matrix-tui/bot/bottest"
)

// bench is one run of the program.
type bench struct {
	host       *bottest.Host
	n          int  // samples of a number
	rounds     int  // samples of slow measurements
	rooms      int  // rooms of the largest bot
	containers int  // its containers, at most one per room
	scale      int  // rooms of section scale
	analyze    bool // see Host.Analyze
	begun      time.Time
	table      table
}

// section measures a few numbers that belong together.
type section struct {
	name  string
	do    func(context.Context, *bench) error
	drill bool // measured only if -only is given; a missed goal is a failure
}

var sections = []section{
	{name: "state", do: measureState},
	{name: "message", do: measureMessage},
	{name: "reply", do: measureReply},
	{name: "first", do: measureFirst},
	{name: "answer", do: measureAnswer},
	{name: "parked", do: measureParked},
	{name: "gateway", do: measureGateway},
	{name: "rooms", do: measureRooms},
	{name: "crowd", do: measureCrowd},
	{name: "burst", do: measureBurst},
	{name: "waiting", do: measureWaiting},
	{name: "schedule", do: measureSchedule},
	{name: "page", do: measurePage},
	{name: "update", do: measureUpdate},
	{name: "idle", do: measureIdle},                  // memory and start, with many rooms
	{name: "engine", do: measureEngine, drill: true}, // what other sections compare with podman's command line
	{name: "scale", do: measureScale, drill: true},
}

func main() {
	var (
		program    = flag.String("program", "", "the bot's binary `file`, as users run it")
		n          = flag.Int("n", 10, "samples of each number")
		rounds     = flag.Int("rounds", 3, "samples of each slow measurement")
		rooms      = flag.Int("rooms", 500, "rooms of the largest bot")
		containers = flag.Int("containers", 200, "containers of the largest bot")
		only       = flag.String("only", "",
			"measure the sections that match this `regexp`: state message reply first answer parked gateway rooms "+
				"crowd burst waiting schedule page update idle; or engine, the rows that rooms in a cluster have as well, "+
				"whose folder is in MATRIX_TUI_KUBE; or scale, which takes long")
		scale   = flag.Int("scale", 1000, "rooms of section scale")
		analyze = flag.Bool("analyze", false,
			"in section scale, run ANALYZE on the homeserver's databases first, as Dendrite needs with thousands of rooms on "+
				"SQLite")
		limit = flag.Duration("timeout", 40*time.Minute, "stop measuring after this")
	)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	b := &bench{n: max(1, *n), rounds: max(1, min(*rounds, *n)), rooms: max(50, *rooms), containers: max(10, *containers),
		scale: max(asking+1, *scale), analyze: *analyze, begun: time.Now()}
	err := b.run(ctx, *program, *only)
	b.table.print(os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run runs the matching sections. A failing section does not stop the others.
func (b *bench) run(ctx context.Context, program, only string) (err error) {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("read -only: %w", err)
	}
	if program == "" {
		return errors.New("-program is missing")
	}
	b.table.host = describeHost(ctx)
	b.host, err = bottest.OpenHost(ctx, program)
	if err != nil {
		return fmt.Errorf("prepare the host: %w", err)
	}
	defer func() { err = errors.Join(err, b.host.Close()) }()
	for _, s := range sections {
		if s.drill && only == "" || !wanted.MatchString(s.name) || ctx.Err() != nil {
			continue
		}
		b.say("section %s", s.name)
		before := len(b.table.rows)
		failed := s.do(ctx, b)
		if s.drill {
			failed = errors.Join(failed, b.table.missed(before))
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("section %s: %w", s.name, failed))
		}
	}
	b.say("done")
	return errors.Join(err, ctx.Err())
}

// say prints progress on stderr.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: %4.0f s  %s\n", time.Since(b.begun).Seconds(), fmt.Sprintf(format, args...))
}
