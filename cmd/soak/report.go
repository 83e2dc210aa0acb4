package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"matrix-tui/bot/bottest/person"
)

// What an idle bot may hold more at the end than when the last phase had begun.
const (
	moreMemory     = 10.0 // MB
	moreFiles      = 10
	moreGoroutines = 10
)

// What the last phase may add: messages and tasks are kept for a time, so that rows and disk grow with what people do. In
// two hours, an action took 19 rows and 17 KB. The constant parts are for what grows in steps, such as SQLite's log.
const (
	moreRows, rowsPerAction = 200, 40
	moreDisk, diskPerAction = 8.0, 0.04 // MB
)

// check compares, room by room, what the homeserver has with what was asked: exactly one answer each, the right one.
func (s *soak) check(ctx context.Context) error {
	histories := map[string][]person.Msg{}
	for _, a := range s.asked {
		history, ok := histories[a.room]
		if !ok {
			if !slices.ContainsFunc(s.rooms, func(r *room) bool { return r.id == a.room }) {
				continue // she has left it; what came until then was checked
			}
			call, cancel := context.WithTimeout(ctx, time.Minute)
			var err error
			history, err = s.alice.History(call, a.room)
			cancel()
			if err != nil {
				return err
			}
			histories[a.room] = history
		}
		var answers []string
		for _, m := range history {
			if s.answers(m, a.event) && !isQuestion(m) {
				answers = append(answers, m.Body)
			}
		}
		if len(answers) != 1 || !says(person.Msg{Body: answers[0]}, a.want) {
			s.fail(fmt.Errorf("%s in %s has the answers %q, want one: %q", a.event, a.room, answers, a.want))
		}
	}
	if n := len(s.failed); n > 0 {
		return fmt.Errorf("%d failures: %w", n, errors.Join(s.failed...))
	}
	return nil
}

// flat compares the samples of the last phase, in which the bot was not killed: its first one with the last, idle one.
func flat(samples []sample) error {
	end := slices.IndexFunc(samples, func(x sample) bool { return x.idle })
	if end < 0 || end+2 >= len(samples) {
		return errors.New("too few samples to compare: run longer")
	}
	first, last := samples[end+1], samples[len(samples)-1]
	acts := last.acts - first.acts
	var errs []error
	if most := first.rows + moreRows + acts*rowsPerAction; last.rows > most {
		errs = append(errs, fmt.Errorf("rows grew from %d to %d with %d actions, more than to %d", first.rows, last.rows, acts, most))
	}
	if most := first.disk + moreDisk + float64(acts)*diskPerAction; last.disk > most {
		errs = append(errs, fmt.Errorf("the state folder grew from %.1f to %.1f MB with %d actions, more than to %.1f", first.disk, last.disk, acts, most))
	}
	if last.memory > first.memory+moreMemory {
		errs = append(errs, fmt.Errorf("memory grew from %.1f to %.1f MB", first.memory, last.memory))
	}
	if last.files > first.files+moreFiles {
		errs = append(errs, fmt.Errorf("open files grew from %d to %d", first.files, last.files))
	}
	if last.goroutines > first.goroutines+moreGoroutines {
		errs = append(errs, fmt.Errorf("goroutines grew from %d to %d", first.goroutines, last.goroutines))
	}
	if last.unfinished != 0 {
		errs = append(errs, fmt.Errorf("%d rows are unfinished at the end", last.unfinished))
	}
	return errors.Join(errs...)
}

// print prints at most thirty samples, always those at the end of a phase.
func (s *soak) print(w io.Writer) {
	fmt.Fprintf(w, "%d rooms, %d actions", len(s.rooms), s.next)
	for _, v := range []victim{theBot, theHomeserver, thePodman} {
		fmt.Fprintf(w, ", %d kills of the %s", s.kills[v], v)
	}
	fmt.Fprintf(w, ", %d failures\n\n", len(s.failed))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "minute\tactions\tmemory MB\tfiles\tgoroutines\tstate MB\trows\tunfinished\t\t")
	step := len(s.samples)/30 + 1
	for i, x := range s.samples {
		if i%step != 0 && !x.idle {
			continue
		}
		idle := ""
		if x.idle {
			idle = "idle"
		}
		fmt.Fprintf(t, "%.0f\t%d\t%.1f\t%d\t%d\t%.1f\t%d\t%d\t%s\t\n", x.at.Minutes(), x.acts, x.memory, x.files, x.goroutines, x.disk, x.rows, x.unfinished, idle)
	}
	_ = t.Flush()
}
