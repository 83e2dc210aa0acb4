package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"matrix-tui/bot/bottest/person"
)

const (
	busyRooms = 200 // rooms where people talk while the bot is down
	missed    = 60  // messages in each of them: more than one sync returns
	asking    = 20  // of these rooms end with a task

	answering = 10 * time.Minute // how long those may take
	// systemd ends a bot that is silent for 60 s (WatchdogSec in deploy/units). It is told that the bot lives every 20 s.
	mostSilence = 20
)

// readyGoal is the goal for a start with so many rooms, in milliseconds; 0 = none.
func readyGoal(rooms int) float64 {
	if rooms > 1000 {
		return 0
	}
	return 5000
}

// measureScale measures a bot that knows very many rooms: its start, its memory, and how it catches up after half a
// day in which people talked in many of them. It checks that each task among the missed messages is answered. A missed
// goal is a failure.
func measureScale(ctx context.Context, b *bench) (err error) {
	s, err := b.open(ctx, "scale")
	if err != nil {
		return err
	}
	defer s.close(&err)
	if _, err := s.start(ctx); err != nil { // sets the display name, before there are rooms to tell
		return err
	}
	if err := errors.Join(s.settle(ctx), s.Stop(ctx)); err != nil {
		return err
	}
	s.alice.Close() // she does not look on: see joined
	all, err := s.joined(ctx, b, b.scale)
	if err != nil {
		return err
	}
	b.say("%s created", rooms(b.scale))
	if b.analyze {
		if err := b.host.Analyze(ctx); err != nil {
			return err
		}
	}
	if err := s.seed(all, nil); err != nil {
		return err
	}
	// The rooms are for people: they mention the bot when they want something.
	if err := os.WriteFile(filepath.Join(s.StateDir(), "policy.yaml"), []byte("defaults: {reply: mention_only}\n"),
		0o600); err != nil {
		return err
	}
	// A first start reads all rooms at once, and gives the homeserver as much time for that as it needs.
	journal, err := filepath.Glob(filepath.Join(s.StateDir(), "journal.db*"))
	for _, file := range journal {
		err = errors.Join(err, os.Remove(file))
	}
	if err != nil {
		return err
	}
	first, err := s.start(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(s.settle(ctx), s.Stop(ctx)); err != nil {
		return err
	}
	b.table.add("first start → ready, in "+rooms(b.scale)+" already", "ms", 0, ms(first))
	var ready, idle, peak []float64
	for range b.rounds {
		took, err := s.start(ctx)
		if err != nil {
			return err
		}
		mb, err := s.rested(ctx)
		if err != nil {
			return err
		}
		most, err := memory(s.PID(), "VmHWM")
		if err := errors.Join(err, s.Stop(ctx)); err != nil {
			return err
		}
		ready, idle, peak = append(ready, ms(took)), append(idle, mb), append(peak, most)
	}
	b.table.add("start → ready, "+rooms(b.scale)+" known", "ms", readyGoal(b.scale), ready...)
	b.table.add("  resident memory, idle", "MB", 0, idle...)
	b.table.add("  resident memory at most", "MB", 0, peak...)
	s.alice.Close()
	if s.alice, err = b.host.Person(ctx, "alice-scale", "password-alice"); err != nil {
		return err
	}
	return s.catchUp(ctx, b, all[:min(busyRooms, len(all)-1)], all[len(all)-1])
}

// catchUp measures the start after messages were missed in these rooms, how long a command in a quiet one waits
// meanwhile, and whether the watchdog would have ended the bot.
func (s *scene) catchUp(ctx context.Context, b *bench, busy []string, quiet string) (err error) {
	var talk errgroup.Group
	talk.SetLimit(8)
	tasks := make([]string, asking)
	for i, room := range busy {
		if i < asking {
			s.Own(room)
		}
		talk.Go(func() error {
			for n := range missed {
				if _, err := s.alice.Say(ctx, room, fmt.Sprintf("We still have to look at point %d of the list, don't we?",
					n)); err != nil {
					return err
				}
			}
			if i >= asking {
				return nil
			}
			event, err := s.alice.Say(ctx, room, fmt.Sprintf("number %d %s", i, s.ID()))
			tasks[i] = event
			return err
		})
	}
	if err := talk.Wait(); err != nil {
		return err
	}
	b.say("%d messages sent in each of %s", missed, rooms(len(busy)))
	dog, err := s.watch()
	if err != nil {
		return err
	}
	defer dog.close(&err)
	begun := time.Now()
	ready, err := s.start(ctx)
	if err != nil {
		return err
	}
	probing, stop := context.WithCancel(ctx)
	defer stop()
	var lag []float64
	var probe errgroup.Group
	probe.Go(func() (err error) {
		lag, err = s.lag(probing, quiet)
		return err
	})
	busyAtReady, err := processorTime(s.PID())
	if err != nil {
		return err
	}
	waiting, done := context.WithTimeout(ctx, answering)
	defer done()
	answered, err := each(waiting, begun, busy[:asking], func(ctx context.Context, i int) error {
		final, err := s.final(ctx, busy[i], tasks[i])
		if err != nil {
			return fmt.Errorf("task %d of %d among the missed messages is not answered: %w", i+1, asking, err)
		}
		if want := fmt.Sprint("got ", i); !says(final, want) {
			return fmt.Errorf("task %d of %d among the missed messages is answered by %q, not by %q", i+1, asking, final.Body,
				want)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for strings.Count(s.Log(), `"closed":true`) < len(busy) {
		if err := pause(waiting, 10*time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d gaps are filled: %w", strings.Count(s.Log(), `"closed":true`), len(busy), err)
		}
	}
	filled := time.Since(begun)
	stop()
	if err := probe.Wait(); err != nil {
		return err
	}
	silent, err := dog.silence()
	if err != nil {
		return err
	}
	most, err := memory(s.PID(), "VmHWM")
	busyAtEnd, failed := processorTime(s.PID())
	if err := errors.Join(err, failed, s.Stop(ctx)); err != nil {
		return err
	}
	what := fmt.Sprintf("%d messages missed in each of %s", missed, rooms(len(busy)))
	server, err := s.firstAnswer()
	if err != nil {
		return err
	}
	b.table.add(what+": start → ready", "ms", 0, ms(ready))
	b.table.add("    the homeserver's answer to the first /sync", "ms", 0, ms(server))
	b.table.add("    the rest", "ms", readyGoal(b.scale), ms(ready-server))
	b.table.add("    processor time of the bot until then", "ms", 0, ms(busyAtReady))
	b.table.add("  start → every gap filled", "s", 0, filled.Seconds())
	b.table.add("    processor time of the bot until then", "ms", 0, ms(busyAtEnd))
	b.table.add(fmt.Sprintf("  start → answer, %d tasks among them", asking), "s", 0, answered...)
	b.table.add("  command in a quiet room → reply, meanwhile", "ms", 0, lag...)
	b.table.add("  longest time that the watchdog is not told that the bot is alive", "s", mostSilence, silent.Seconds())
	b.table.add("  resident memory at most", "MB", 0, most)
	return nil
}

var readyLine = regexp.MustCompile(`"homeserver_ms":([0-9.]+).*"message":"ready"`)

// firstAnswer returns how long the homeserver took to begin its answer to the first /sync of the bot that runs.
func (s *scene) firstAnswer() (time.Duration, error) {
	all := readyLine.FindAllStringSubmatch(s.Log(), -1)
	if len(all) == 0 {
		return 0, errors.New("the bot's log does not say how long the homeserver took")
	}
	took, err := strconv.ParseFloat(all[len(all)-1][1], 64)
	return time.Duration(took * float64(time.Millisecond)), err
}

// lag returns how long commands take from the message to the reply, one after the other until ctx ends.
func (s *scene) lag(ctx context.Context, room string) (took []float64, err error) {
	for {
		begun := time.Now()
		event, err := s.alice.Say(ctx, room, "!status")
		if err == nil {
			_, err = s.alice.Wait(ctx, room, func(m person.Msg) bool { return m.Sender == s.ID() && m.ReplyTo == event })
		}
		if err == nil {
			took = append(took, ms(time.Since(begun)))
			err = pause(ctx, time.Second)
		}
		if ctx.Err() != nil {
			return took, nil
		}
		if err != nil {
			return took, err
		}
	}
}
