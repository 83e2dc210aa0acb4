package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"matrix-tui/bot/crash"
	"matrix-tui/bot/matrix"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
	"matrix-tui/state/sentence"
)

const (
	gapPage     = 100                        // events per /messages request
	gapPages    = 2 * state.MaxGap / gapPage // requests per gap; a homeserver may return short pages
	gapParallel = 4                          // requests at the same time, so that their pages fit into memory
	gapQuiet    = 3                          // attempts before the room is told
)

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

// isLimited reports whether events are missing before a timeline. What was sent before
// the bot's own join is not.
func (b *Bot) isLimited(joined matrix.Room) bool {
	return joined.Limited && joined.PrevBatch != "" && !slices.ContainsFunc(joined.Timeline, b.isOwnJoin)
}

func (b *Bot) isOwnJoin(e event.Event) bool { return e.MembershipChange(b.UserID()) == "join" }

// gapEncrypted says which events of the gap before a timeline must be encrypted: see
// clearUntil.
func gapEncrypted(before, now bool, timeline []event.Event) state.Encrypted {
	switch {
	case before:
		return state.EncryptedAll
	case now && !slices.ContainsFunc(timeline, enablesEncryption):
		return state.EncryptedLater
	}
	return state.EncryptedNever
}

func enablesEncryption(e event.Event) bool { return e.IsState(event.TypeEncryption) }

// fillGaps fills the room's gaps, page by page, and retries as often as necessary. The
// room's newer events wait for that, other rooms do not.
func (r *room) fillGaps() {
	ctx := r.bot.ctx
	again, failed := retry.New(time.Second, 5*time.Minute), 0
	for ctx.Err() == nil {
		g, err := r.bot.Journal.Gap(ctx, r.id)
		if errors.Is(err, state.ErrNotFound) {
			return
		}
		if err == nil {
			err = r.fillPage(ctx, g)
		}
		if err == nil {
			again.Reset()
			failed = 0
			continue
		}
		if ctx.Err() != nil {
			return
		}
		pause := matrix.RetryAfter(err, again.Next())
		r.bot.log.Warn().Err(err).Str("room", r.id).Dur("again_in_ms", pause).Msg("cannot fill a gap in the timeline, retrying")
		if failed++; failed >= gapQuiet {
			r.alarm(ctx, sentence.New(err, "The homeserver does not return the messages that I missed in this room. Newer ones here wait for them."))
		}
		if retry.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// fillPage stores the next page of a gap. The gap is closed at the first event that was
// known before it, at the bot's own join, and at the limits.
func (r *room) fillPage(ctx context.Context, g state.Gap) error {
	b := r.bot
	chunk, all, end, err := b.messages(ctx, r.id, g.Token)
	if err != nil {
		return r.endGap(ctx, g, err)
	}
	ids := make([]string, 0, len(chunk))
	for _, e := range chunk {
		ids = append(ids, e.ID)
	}
	known, err := b.Journal.Known(ctx, r.id, g.Hides, ids)
	if err != nil {
		return err
	}
	last := end == "" || end == g.Token || all == 0 || g.Pages+1 >= gapPages
	in := &admission{bot: b}
	for _, e := range chunk {
		if known[e.ID] {
			last = true
			break
		}
		in.add(ctx, e, !e.Time.Before(g.Since), g.Encrypted != state.EncryptedNever)
		if g.Encrypted == state.EncryptedLater && enablesEncryption(e) {
			g.Encrypted = state.EncryptedNever
		}
		if b.isOwnJoin(e) {
			last = true
			break
		}
	}
	if err := in.settle(ctx); err != nil {
		return err
	}
	g.Token = end
	fresh, closed, err := b.Journal.CommitPage(ctx, g, in.rows, last)
	if errors.Is(err, state.ErrNotFound) {
		return nil // the bot has left the room meanwhile
	}
	if err != nil {
		return fmt.Errorf("commit page of a gap: %w", err)
	}
	crash.At("gap")
	b.log.Info().Str("room", r.id).Int("events", len(fresh)).Bool("closed", closed).Msg("filled a page of a gap in the timeline")
	in.finish(ctx, fresh)
	if closed {
		r.wake()
	}
	return nil
}

// messages requests a page of a room's timeline.
func (b *Bot) messages(ctx context.Context, room, from string) (chunk []event.Event, all int, end string, err error) {
	select {
	case b.pages <- struct{}{}:
		defer func() { <-b.pages }()
	case <-ctx.Done():
		return nil, 0, "", ctx.Err()
	}
	return b.account.Messages(ctx, room, from, gapPage)
}

// endGap closes a gap if err says that its events do not exist or that the bot is no
// longer in the room, and else returns err: the homeserver, or a proxy in front of it,
// has trouble.
func (r *room) endGap(ctx context.Context, g state.Gap, err error) error {
	switch {
	case matrix.IsNotFound(err), matrix.IsTokenRejected(err):
	case matrix.IsForbidden(err):
		if in, inErr := r.bot.isIn(ctx, r.id); inErr != nil || in {
			return err
		}
	default:
		return err
	}
	r.bot.log.Warn().Err(err).Str("room", r.id).Msg("gap in the timeline closed: the homeserver does not have its events")
	if _, _, err := r.bot.Journal.CommitPage(ctx, g, nil, true); err != nil && !errors.Is(err, state.ErrNotFound) {
		return fmt.Errorf("close gap: %w", err)
	}
	r.wake()
	return nil
}
