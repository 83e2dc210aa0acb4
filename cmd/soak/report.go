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

// What an idle bot may hold more at the end than when it was idle before.
const (
	moreMemory     = 10.0 // MB
	moreFiles      = 10
	moreGoroutines = 10
)

// What may be added meanwhile: messages and tasks are kept for a time, so that rows and disk grow with what people do.
// In 105 minutes, an action took 20 rows and 31 KB. The constant parts are for what grows in steps, such as SQLite's
// log.
const (
	moreRows, rowsPerAction = 200, 40
	moreDisk, diskPerAction = 8.0, 0.04 // MB
)

// check compares, room by room, what the homeserver has with what was asked.
func (s *soak) check(ctx context.Context) error {
	for _, r := range s.rooms {
		if err := s.checkRoom(ctx, r.id); err != nil {
			return err
		}
	}
	for _, a := range s.asked {
		s.fail(fmt.Errorf("%s in %s was not checked", a.event, a.room))
	}
	if n := len(s.failed); n > 0 {
		return fmt.Errorf("%d failures: %w", n, errors.Join(s.failed...))
	}
	return nil
}

// checkRoom compares what the homeserver has in a room, in which nobody is active, with what was asked there: exactly
// one answer each, the right one.
func (s *soak) checkRoom(ctx context.Context, id string) error {
	call, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	history, err := s.alice.History(call, id)
	if err != nil {
		return err
	}
	s.mu.Lock()
	var here []asked
	s.asked = slices.DeleteFunc(s.asked, func(a asked) bool {
		if a.room == id {
			here = append(here, a)
		}
		return a.room == id
	})
	s.mu.Unlock()
	for _, a := range here {
		var answers []string
		for _, m := range history {
			if s.answers(m, a.event) && !isQuestion(m) {
				answers = append(answers, m.Body)
			}
		}
		if len(answers) != 1 || a.want != "" && !says(person.Msg{Body: answers[0]}, a.want) {
			s.fail(fmt.Errorf("%s in %s has the answers %q, want one: %q", a.event, a.room, answers, a.want))
		}
	}
	return nil
}

// flat compares the last two idle samples. The bot has worked between them, and was not killed.
func flat(samples []sample) error {
	var idle []sample
	for _, x := range samples {
		if x.idle {
			idle = append(idle, x)
		}
	}
	if len(idle) < 3 { // the first one is of a bot that was killed
		return errors.New("too few samples to compare")
	}
	first, last := idle[len(idle)-2], idle[len(idle)-1]
	acts := last.acts - first.acts
	var errs []error
	if most := first.rows + moreRows + acts*rowsPerAction; last.rows > most {
		errs = append(errs, fmt.Errorf("rows grew from %d to %d with %d actions, more than to %d", first.rows, last.rows,
			acts, most))
	}
	if most := first.disk + moreDisk + float64(acts)*diskPerAction; last.disk > most {
		errs = append(errs, fmt.Errorf("the state folder grew from %.1f to %.1f MB with %d actions, more than to %.1f",
			first.disk, last.disk, acts, most))
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
		fmt.Fprintf(t, "%.0f\t%d\t%.1f\t%d\t%d\t%.1f\t%d\t%d\t%s\t\n", x.at.Minutes(), x.acts, x.memory, x.files,
			x.goroutines, x.disk, x.rows, x.unfinished, idle)
	}
	_ = t.Flush()
}
