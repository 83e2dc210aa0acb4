package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"matrix-tui/bot/person"
)

const crowd = 200 // rooms that say something at the same moment

// measureCrowd has very many rooms say one message each, all at once, to a bot
// that has no container for any of them. Acknowledged is a message when its room
// has a word of the bot's about it, as a person sees it.
func measureCrowd(ctx context.Context, b *bench) (err error) {
	s, err := b.open(ctx, "crowd")
	if err != nil {
		return err
	}
	defer s.close(&err)
	rooms, err := s.joined(ctx, b, crowd)
	if err != nil {
		return err
	}
	for _, room := range rooms {
		s.Own(room)
	}
	if _, err := s.start(ctx); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	before, err := resident(s.PID())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	begun := time.Now()
	acknowledged, answered := make([]float64, crowd), make([]float64, crowd)
	group, asking := errgroup.WithContext(ctx)
	for i, room := range rooms {
		group.Go(func() error {
			event, err := s.alice.Say(asking, room, fmt.Sprint("number ", i))
			if err != nil {
				return err
			}
			if _, err := s.alice.Wait(asking, room, func(m person.Msg) bool { return m.Sender == s.ID() && m.ReplyTo == event }); err != nil {
				return err
			}
			acknowledged[i] = time.Since(begun).Seconds()
			final, err := s.final(asking, room, event)
			answered[i] = time.Since(begun).Seconds()
			if want := fmt.Sprint("got ", i); err == nil && !says(final, want) {
				err = fmt.Errorf("answered by %q, not by %q", final.Body, want)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	peak, err := memory(s.PID(), "VmHWM")
	if err != nil {
		return err
	}
	b.say("%d rooms at once: memory %.1f MB before, %.1f at most", crowd, before, peak)
	b.table.add("200 rooms at once → each message acknowledged in its room (max is the last)", "s", 5, acknowledged...)
	b.table.add("the same → answered, their containers made", "s", 0, answered...)
	b.table.add("the same, the bot's memory at most", "MB", 120, peak)
	return nil
}
