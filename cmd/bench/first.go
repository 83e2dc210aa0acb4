package main

import (
	"context"
	"fmt"
	"time"
)

// typing is how long a person takes to write a first message.
const typing = 3 * time.Second

// measureFirst measures the first message of new rooms: written at once when the bot has said hello, and by somebody
// who types for three seconds. In turns with that, a bare `podman exec` of the CLI answers the same prompt in the
// container of an older room.
func measureFirst(ctx context.Context, b *bench) (err error) {
	s, old, err := b.openRoom(ctx, "first")
	if err != nil {
		return err
	}
	defer s.close(&err)
	bare, err := s.captureIn(ctx, old)
	if err != nil {
		return err
	}
	defer bare.close(ctx, &err)
	var atOnce, typed, bares, shares []float64
	for i := range b.n {
		number := fmt.Sprint(1100 + i)
		first, err := s.first(ctx, number, 0)
		if err != nil {
			return err
		}
		second, err := s.first(ctx, number, typing)
		if err != nil {
			return err
		}
		if err := s.settle(ctx); err != nil {
			return err
		}
		alone, err := bare.run(ctx, "number "+number, "got "+number)
		if err != nil {
			return err
		}
		atOnce, typed, bares = append(atOnce, ms(first)), append(typed, ms(second)), append(bares, ms(alone.took))
		shares = append(shares, ms(second)/ms(alone.took))
	}
	b.table.add("first message of a new room, sent at once → reply", "ms", 0, atOnce...)
	b.table.add("the same, sent 3 s after the bot's greeting → reply", "ms", 0, typed...)
	b.table.add("the same prompt by bare podman exec … gemini -p in a room in use", "ms", 0, bares...)
	b.table.add("sent 3 s after the greeting → reply, divided by bare podman exec (pair by pair)", "×", 0.6, shares...)
	return nil
}

// first measures the first message of a new room, sent so long after the bot's greeting. The bot leaves the room then.
func (s *scene) first(ctx context.Context, number string, wait time.Duration) (time.Duration, error) {
	if err := s.settle(ctx); err != nil {
		return 0, err
	}
	room, err := s.room(ctx)
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, wait); err != nil {
		return 0, err
	}
	took, err := s.ask(ctx, room, "number "+number, "got "+number)
	if err != nil {
		return 0, err
	}
	return took, s.alice.Kick(ctx, room, s.ID())
}
