package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"matrix-tui/bot/bottest/person"
)

var awayFor = regexp.MustCompile(`I was away for (\S+?)\. `)

// measureUpdate makes the bot update itself to releases that are already built: how long it is away, how long a message
// sent meanwhile waits, and its costs before and after. Then to two bad releases.
func measureUpdate(ctx context.Context, b *bench) (err error) {
	s, err := b.open(ctx, "update")
	if err != nil {
		return err
	}
	defer s.close(&err)
	b.say("building releases")
	if err := s.Releases(ctx, "main", "early", "stuck"); err != nil {
		return err
	}
	s.Set(map[string]string{"MATRIX_OWNERS": s.alice.ID(), "MATRIX_ALLOW": s.alice.ID()})
	before, err := s.costs(ctx, b)
	if err != nil {
		return err
	}
	room, err := s.room(ctx)
	if err != nil {
		return err
	}
	if _, err := s.ask(ctx, room, "number 0", "got 0"); err != nil {
		return err
	}
	var away, warm, waited []float64
	for i := range b.rounds {
		for j, branch := range []string{"main", "base"} {
			n := 1 + 4*i + 2*j
			took, err := s.ask(ctx, room, fmt.Sprint("number ", n), fmt.Sprint("got ", n))
			if err != nil {
				return err
			}
			warm = append(warm, ms(took))
			event, err := s.update(ctx, room, branch)
			if err != nil {
				return err
			}
			if took, err = s.ask(ctx, room, fmt.Sprint("number ", n+1), fmt.Sprint("got ", n+1)); err != nil {
				return err
			}
			waited = append(waited, ms(took))
			told, err := s.after(ctx, room, event, "Updated from")
			if err != nil {
				return err
			}
			d, err := awayTime(told.Body)
			if err != nil {
				return err
			}
			away = append(away, d.Seconds())
		}
	}
	event, err := s.update(ctx, room, "main")
	if err == nil {
		_, err = s.after(ctx, room, event, "Updated from")
	}
	if err != nil {
		return err
	}
	if err := errors.Join(s.settle(ctx), s.Stop(ctx)); err != nil {
		return err
	}
	after, err := s.costs(ctx, b)
	if err != nil {
		return err
	}
	back, err := s.failing(ctx, room) // after this another process is the bot
	if err != nil {
		return err
	}
	b.table.add("update: the bot is away", "s", 5, away...)
	b.table.add("message sent as a release takes over → reply", "ms", 0, waited...)
	b.table.add("the same before, without an update", "ms", 0, warm...)
	b.table.add("a release that ends before it is ready: takes over → the room is told that the old one is back", "s", 75,
		back[0])
	b.table.add("one that hangs", "s", 75, back[1])
	b.table.add("start → ready, the release before / after the update", "ms", 0, before.start...)
	b.table.add("  after", "ms", 0, after.start...)
	b.table.add("resident memory, idle, before the update", "MB", 0, before.memory...)
	b.table.add("  after", "MB", 0, after.memory...)
	return nil
}

// costs are a release's startup time and memory.
type costs struct{ start, memory []float64 }

// costs starts the bot a few times; it is running afterwards.
func (s *scene) costs(ctx context.Context, b *bench) (c costs, err error) {
	for i := range b.rounds {
		took, err := s.start(ctx)
		if err != nil {
			return c, err
		}
		mb, err := s.rested(ctx)
		if err == nil && i+1 < b.rounds {
			err = s.Stop(ctx)
		}
		if err != nil {
			return c, err
		}
		c.start, c.memory = append(c.start, ms(took)), append(c.memory, mb)
	}
	return c, nil
}

// update requests a release and waits until it takes over.
func (s *scene) update(ctx context.Context, room, branch string) (event string, err error) {
	if event, err = s.alice.Say(ctx, room, "!self_update "+branch); err != nil {
		return "", err
	}
	_, err = s.after(ctx, room, event, "takes over now")
	return event, err
}

// failing updates to a release that exits and to one that hangs, and returns the seconds until the room was told that
// the update failed.
func (s *scene) failing(ctx context.Context, room string) (took [2]float64, err error) {
	for i, branch := range []string{"early", "stuck"} {
		event, err := s.update(ctx, room, branch)
		if err != nil {
			return took, err
		}
		begun := time.Now()
		if _, err := s.after(ctx, room, event, "failed"); err != nil {
			return took, err
		}
		took[i] = time.Since(begun).Seconds()
	}
	return took, nil
}

// after waits for the bot's first message after an event that contains a word.
func (s *scene) after(ctx context.Context, room, event, word string) (person.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	behind := false
	return s.alice.Wait(ctx, room, func(m person.Msg) bool {
		behind = behind || m.Event == event
		return behind && m.Sender == s.ID() && strings.Contains(m.Body, word)
	})
}

// awayTime extracts how long the bot says it was away.
func awayTime(told string) (time.Duration, error) {
	found := awayFor.FindStringSubmatch(told)
	if found == nil {
		return 0, fmt.Errorf("%q does not tell how long it was away", told)
	}
	return time.ParseDuration(found[1])
}
