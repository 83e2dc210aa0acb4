package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/bottest/person"
	"matrix-tui/state"
)

// entries is how many entries of a schedule cost next to nothing.
const entries = 1000

// measureSchedule measures how long after its moment a run reaches the model, in a room where nothing else happens, and
// what entries cost that are not due.
func measureSchedule(ctx context.Context, b *bench) (err error) {
	s, room, err := b.openRoom(ctx, "schedule")
	if err != nil {
		return err
	}
	defer s.close(&err)
	if _, err := s.ask(ctx, room, "number 1", "got 1"); err != nil { // the room has its container
		return err
	}
	var late []float64
	for i := range b.n {
		number := fmt.Sprint(1100 + i)
		if err := s.settle(ctx); err != nil {
			return err
		}
		mark := s.mark()
		at := time.Now().Add(25 * time.Second).Truncate(time.Second)
		said := "!schedule at " + at.Format(time.RFC3339) + " number " + number
		if _, err := s.alice.Say(ctx, room, said); err != nil {
			return err
		}
		if _, err := s.alice.Wait(ctx, room, func(m person.Msg) bool {
			return m.Sender == s.ID() && strings.Contains(m.Body, "got "+number)
		}); err != nil {
			return err
		}
		first, _, err := s.asked(mark, "number "+number)
		if err != nil {
			return err
		}
		late = append(late, ms(first.Sub(at)))
	}
	b.table.add("moment of a scheduled task → model request", "ms", 1000, late...)
	if err := errors.Join(s.settle(ctx), s.Stop(ctx)); err != nil {
		return err
	}
	return s.measureEntries(ctx, b, room)
}

// measureEntries compares a bot that has entries with the same one without them, pair by pair.
func (s *scene) measureEntries(ctx context.Context, b *bench, room string) error {
	var bare, busy, memory []float64
	for range b.rounds {
		var mb, share [2]float64
		for i, n := range []int{0, entries} {
			err := s.fillSchedule(ctx, room, n)
			if err == nil { // the first start plans the entries in the bot's time zone
				_, err = s.start(ctx)
			}
			if err == nil {
				err = errors.Join(s.settle(ctx), s.Stop(ctx))
			}
			if err == nil {
				_, err = s.start(ctx)
			}
			if err == nil {
				err = s.settle(ctx)
			}
			if err == nil {
				mb[i], share[i], err = s.idle(ctx)
			}
			if err = errors.Join(err, s.Stop(ctx)); err != nil {
				return err
			}
		}
		bare, busy = append(bare, share[0]), append(busy, share[1]-share[0])
		memory = append(memory, mb[1]-mb[0])
	}
	b.table.add("processor time in 30 s, idle, nothing scheduled", "%", 0, bare...)
	b.table.add("  what 1,000 scheduled tasks cost (pair by pair), in % of one core", "%", 0.1, busy...)
	b.table.add("  and in resident memory", "MB", 1, memory...)
	return nil
}

// fillSchedule gives a room of the bot, which must not be running, n entries that are due tomorrow, in place of those
// that it has.
func (s *scene) fillSchedule(ctx context.Context, room string, n int) (err error) {
	journal, store, err := state.Open(ctx, s.StateDir(), zerolog.Nop())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(), journal.Close()) }()
	all, err := journal.Schedule.In(ctx, room)
	for _, e := range all {
		err = errors.Join(err, journal.Schedule.Remove(ctx, e, "", nil))
	}
	for i := range n {
		now := time.Now().Add(time.Duration(i) * time.Second)
		e := state.Entry{Room: room, Text: fmt.Sprint("summarise what is new in folder ", i), By: s.alice.ID(),
			When: state.When{Cron: "0 8 * * *"}, Missed: state.MissedOnce, Created: now, Zone: "UTC", Next: now.AddDate(0, 0, 1)}
		err = errors.Join(err, journal.Schedule.Add(ctx, e, n, func(e state.Entry) []state.Message {
			return []state.Message{{Txn: fmt.Sprint("fill", e.Created.UnixNano()), Room: room, Kind: state.KindReply, Status: state.Sent}}
		}))
	}
	return err
}
