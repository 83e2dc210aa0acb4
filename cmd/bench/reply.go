package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"matrix-tui/sandbox"
)

// rest is the pause before each sample, for background work of the last one.
const rest = 500 * time.Millisecond

// measureReply measures the same prompt in turns: answered by the bot in a room where the agent waits, and by a bare
// `podman exec` of the CLI in the same container, with the argv and the environment that the bot uses, in a separate
// session that grows alike.
func measureReply(ctx context.Context, b *bench) (err error) {
	s, room, err := b.openRoom(ctx, "reply")
	if err != nil {
		return err
	}
	defer s.close(&err)
	bare, err := s.captureIn(ctx, room)
	if err != nil {
		return err
	}
	defer bare.close(ctx, &err)
	var replies, bares, ours, shares, before, after, bareBefore, bareAfter []float64
	for i := range b.n {
		number := fmt.Sprint(1100 + i)
		if err := s.settle(ctx); err != nil {
			return err
		}
		if err := s.parked(ctx, room); err != nil {
			return err
		}
		mark := s.mark()
		begun := time.Now()
		reply, err := s.ask(ctx, room, "number "+number, "got "+number)
		if err != nil {
			return err
		}
		first, last, err := s.asked(mark, "number "+number)
		if err != nil {
			return err
		}
		before, after = append(before, ms(first.Sub(begun))), append(after, ms(begun.Add(reply).Sub(last)))
		if err := s.settle(ctx); err != nil {
			return err
		}
		mark = s.mark()
		run, err := bare.run(ctx, "number "+number, "got "+number)
		if err != nil {
			return err
		}
		alone := run.took
		if first, last, err = s.asked(mark, "number "+number); err != nil {
			return err
		}
		bareBefore, bareAfter = append(bareBefore, ms(first.Sub(run.begun))),
			append(bareAfter, ms(run.begun.Add(alone).Sub(last)))
		replies, bares, ours = append(replies, ms(reply)), append(bares, ms(alone)), append(ours, ms(reply-alone))
		shares = append(shares, ms(reply)/ms(alone))
	}
	b.table.add("send → reply, the agent waits in the room", "ms", 250, replies...)
	b.table.add("the same prompt by bare podman exec … gemini -p", "ms", 0, bares...)
	b.table.add("send → reply divided by bare podman exec (pair by pair)", "×", 0.2, shares...)
	b.table.add("send → reply minus bare podman exec (pair by pair)", "ms", 0, ours...)
	b.table.add("  send → model request", "ms", 0, before...)
	b.table.add("  podman exec → model request", "ms", 0, bareBefore...)
	b.table.add("  the model has answered → reply", "ms", 0, after...)
	b.table.add("  the model has answered → podman exec ends", "ms", 0, bareAfter...)
	return nil
}

// parked waits until an agent waits in the room and uses no processor time.
func (s *scene) parked(ctx context.Context, room string) error { return s.parkedIn(ctx, 1, room) }

// parkedIn waits until agents wait in n of the rooms and use no processor time.
func (s *scene) parkedIn(ctx context.Context, n int, rooms ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var containers []string
	for _, room := range rooms {
		containers = append(containers, sandbox.NameFor(room))
	}
	if err := s.Bot.Parked(ctx, n, containers...); err != nil {
		return fmt.Errorf("agents do not wait in %d of the rooms: %w", n, err)
	}
	return nil
}

// settle waits until the bot has no work left.
func (s *scene) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := s.Quiet(ctx); err != nil {
		return err
	}
	return pause(ctx, rest)
}

// mark returns the number of the model's newest request.
func (s *scene) mark() int {
	if all := s.Model().Requests(); len(all) > 0 {
		return all[len(all)-1].Seq
	}
	return 0
}

// asked returns when the model first and last received a person's message.
func (s *scene) asked(mark int, said string) (first, last time.Time, err error) {
	for _, r := range s.Model().Requests() {
		if r.Seq > mark && strings.Contains(r.User, said) {
			if last = r.Time; first.IsZero() {
				first = r.Time
			}
		}
	}
	if first.IsZero() {
		return first, last, fmt.Errorf("no request to the model: %s", said)
	}
	return first, last, nil
}
