package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"matrix-tui/bot/bottest/person"
)

const crowd = 200 // rooms that send a message at the same moment

// measureCrowd sends one message in each of very many rooms at once, to a bot that has no container for any of them. A
// message counts as acknowledged when a person sees the bot's first reaction to it in the room.
func measureCrowd(ctx context.Context, b *bench) (err error) {
	s, err := b.open(ctx, "crowd")
	if err != nil {
		return err
	}
	defer s.close(&err)
	// The bot sets its display name at the first start; with rooms it would change in each of them.
	if _, err := s.start(ctx); err != nil {
		return err
	}
	if err := errors.Join(s.settle(ctx), s.Stop(ctx)); err != nil {
		return err
	}
	rooms, err := s.joined(ctx, b, crowd)
	if err != nil {
		return err
	}
	for _, room := range rooms {
		s.Own(room)
	}
	// The rooms are not direct chats: without this the bot would want a mention.
	if err := os.WriteFile(filepath.Join(s.StateDir(), "policy.yaml"), []byte("defaults: {reply: all}\n"),
		0o600); err != nil {
		return err
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
	b.say("%d rooms created", crowd)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	begun := time.Now()
	events := make([]string, crowd)
	acknowledged, err := each(ctx, begun, rooms, func(ctx context.Context, i int) (err error) {
		events[i], err = s.heard(ctx, rooms[i], fmt.Sprint("number ", i))
		return err
	})
	if err != nil {
		return err
	}
	b.say("%d rooms at once: acknowledged after %.1f s", crowd, slices.Max(acknowledged))
	answered, err := each(ctx, begun, rooms, func(ctx context.Context, i int) error {
		final, err := s.final(ctx, rooms[i], events[i])
		if want := fmt.Sprint("got ", i); err == nil && !says(final, want) {
			err = fmt.Errorf("answered by %q, not by %q", final.Body, want)
		}
		return err
	})
	if err != nil {
		return err
	}
	peak, err := memory(s.PID(), "VmHWM")
	if err != nil {
		return err
	}
	b.say("all answered after %.1f s; memory %.1f MB before, %.1f at most", slices.Max(answered), before, peak)
	if err := s.Stop(ctx); err != nil {
		return err
	}
	echoed, err := s.echo(ctx, b, rooms)
	if err != nil {
		return err
	}
	b.table.add("200 rooms at once, one message each → the last one acknowledged", "s", 5, slices.Max(acknowledged))
	b.table.add("the same with a client in the bot's place that does nothing else", "s", 0, slices.Max(echoed))
	b.table.add("the same → the last one answered, containers created", "s", 0, slices.Max(answered))
	b.table.add("the same, the bot's memory at most", "MB", 120, peak)
	return nil
}

// heard sends a message and waits for the bot's first reply.
func (s *scene) heard(ctx context.Context, room, text string) (event string, err error) {
	if event, err = s.alice.Say(ctx, room, text); err != nil {
		return "", err
	}
	_, err = s.alice.Wait(ctx, room, func(m person.Msg) bool { return m.Sender == s.ID() && m.ReplyTo == event })
	return event, err
}

// echo measures the share of the homeserver and the person's client: a bare client of the bot's account replies to
// every message.
func (s *scene) echo(ctx context.Context, b *bench, rooms []string) ([]float64, error) {
	name, password := s.Login()
	self, err := b.host.Person(ctx, name, password)
	if err != nil {
		return nil, err
	}
	defer self.Close()
	group, ctx := errgroup.WithContext(ctx)
	var took []float64
	group.Go(func() (err error) {
		took, err = each(ctx, time.Now(), rooms, func(ctx context.Context, i int) error {
			_, err := s.heard(ctx, rooms[i], fmt.Sprint("echo ", i))
			return err
		})
		return err
	})
	for i, room := range rooms {
		group.Go(func() error {
			m, err := self.Wait(ctx, room, func(m person.Msg) bool { return m.Body == fmt.Sprint("echo ", i) })
			if err == nil {
				_, err = self.Reply(ctx, room, m.Event, "heard")
			}
			return err
		})
	}
	return took, group.Wait()
}

// each calls something for all rooms at once and returns, for each room, the seconds from begun until it returned.
func each(ctx context.Context, begun time.Time, rooms []string,
	do func(ctx context.Context, i int) error) ([]float64, error) {
	took := make([]float64, len(rooms))
	group, ctx := errgroup.WithContext(ctx)
	for i := range rooms {
		group.Go(func() error {
			err := do(ctx, i)
			took[i] = time.Since(begun).Seconds()
			return err
		})
	}
	return took, group.Wait()
}
