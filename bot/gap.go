package bot

import (
	"context"
	"fmt"
	"slices"

	"matrix-tui/bot/matrix"
	"matrix-tui/state/event"
)

const (
	gapPage  = 100 // events per /messages request
	gapPages = 100 // requests per gap, so at most 10,000 events
)

// timeline returns a room's new events, oldest first. It fills the gap of a
// limited timeline from /messages, back to the last known event, and leaves out
// what was sent while the bot was not in the room. old reports that the events are
// older than the state directory and are kept as context only.
func (b *Bot) timeline(ctx context.Context, room, since string, joined matrix.Room) (events []event.Event, old bool, err error) {
	events = joined.Timeline
	last, err := b.Journal.LastEvent(ctx, room)
	if err != nil {
		return nil, false, fmt.Errorf("read last event: %w", err)
	}
	if joined.Limited && joined.PrevBatch != "" && since != "" && !b.joinsIn(events) {
		older, err := b.fillGap(ctx, room, joined.PrevBatch)
		if err != nil && (matrix.Transient(err) || ctx.Err() != nil) {
			return nil, false, err
		}
		if err != nil {
			b.log.Warn().Err(err).Str("room", room).Msg("cannot fill a gap in the timeline")
		}
		events = append(older, events...)
	}
	return whileJoined(events, b.UserID()), last == "" && since == "", nil
}

// whileJoined drops the events that were sent while user was not in the room:
// before a join, and from a leave to the next join.
func whileJoined(events []event.Event, user string) []event.Event {
	var kept []event.Event
	in := true
	for _, e := range events {
		switch e.MembershipChange(user) {
		case "join":
			if in {
				kept = nil // no leave before it: the user was outside from the start
			}
			in = true
		case "leave":
			kept, in = append(kept, e), false
			continue
		}
		if in {
			kept = append(kept, e)
		}
	}
	return kept
}

// joinsIn reports whether the bot's own join is among the events.
func (b *Bot) joinsIn(events []event.Event) bool {
	return slices.ContainsFunc(events, func(e event.Event) bool { return e.MembershipChange(b.UserID()) == "join" })
}

// fillGap reads backwards from a token to the first known event, to the bot's own
// join, or to the limit, and returns the events, oldest first.
func (b *Bot) fillGap(ctx context.Context, room, from string) ([]event.Event, error) {
	var older []event.Event
	for page := 0; page < gapPages && from != ""; page++ {
		chunk, all, end, err := b.account.Messages(ctx, room, from, gapPage)
		if err != nil {
			return nil, err
		}
		ids := make([]string, 0, len(chunk))
		for _, e := range chunk {
			ids = append(ids, e.ID)
		}
		seen, err := b.Journal.Known(ctx, room, ids)
		if err != nil {
			return nil, fmt.Errorf("look up events: %w", err)
		}
		for _, e := range chunk {
			if seen[e.ID] {
				slices.Reverse(older)
				return older, nil
			}
			older = append(older, e)
			if e.MembershipChange(b.UserID()) == "join" {
				slices.Reverse(older)
				return older, nil
			}
		}
		if end == from || all == 0 {
			break
		}
		from = end
	}
	b.log.Info().Str("room", room).Int("events", len(older)).Msg("gap filled up to the start of the room or the limit")
	slices.Reverse(older)
	return older, nil
}
