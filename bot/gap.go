package bot

import (
	"context"
	"fmt"
	"slices"

	"matrix-tui/bot/matrix"
	"matrix-tui/state/event"
)

const (
	gapPage  = 100 // events a /messages request asks for
	gapPages = 100 // so a gap of 10,000 events is filled, no more
)

// timeline returns a room's new events, oldest first, with the gap of a
// limited timeline filled from /messages back to the last known event. What
// was said while we were not in the room is left out: it was not said to us.
// old tells that the events are from before this state folder, and are kept
// as context only.
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
			b.log.Warn().Err(err).Str("room", room).Msg("the gap stays open")
		}
		events = append(older, events...)
	}
	return whileJoined(events, b.UserID()), last == "" && since == "", nil
}

// whileJoined leaves out what was sent while user was not in the room: before
// a join, and after a leave up to the next join.
func whileJoined(events []event.Event, user string) []event.Event {
	var kept []event.Event
	in := true
	for _, e := range events {
		switch e.MembershipChange(user) {
		case "join":
			if in {
				kept = nil // no leave before it: we were outside from the start
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

// joinsIn tells whether our own join is among the events.
func (b *Bot) joinsIn(events []event.Event) bool {
	return slices.ContainsFunc(events, func(e event.Event) bool { return e.MembershipChange(b.UserID()) == "join" })
}

// fillGap reads backwards until an event is known, or until our own join.
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
	b.log.Info().Str("room", room).Int("events", len(older)).Msg("gap filled to the beginning or to the limit")
	slices.Reverse(older)
	return older, nil
}
