// Package timeline reads the timelines of rooms: which events of a batch may be acted
// on, what is missing before them, and the missing events, page by page. It checks
// whether the homeserver still has what it once sent. It never decides what an event
// asks for, and stores nothing.
package timeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// Reader reads the timelines of an account's rooms. It is safe for concurrent use.
type Reader struct {
	Journal *state.Journal
	Account *matrix.Account

	first, again chan struct{} // limit requests for pages
}

// New returns a reader.
func New(journal *state.Journal, account *matrix.Account) *Reader {
	return &Reader{Journal: journal, Account: account, first: make(chan struct{}, parallel),
		again: make(chan struct{}, parallelAgain)}
}

// Event is an event of a timeline.
type Event struct {
	event.Event
	Fresh       bool // it may be acted on; else it is context only
	MustEncrypt bool // if it is a message, it has to be encrypted for that
}

// Batch is what a sync has brought for joined rooms.
type Batch struct {
	Events []Event
	Gaps   []state.Gap // what is missing before them
	Short  []string    // rooms in which some of what was written between the invitation and the join is not read
}

// Read reads what a batch has brought for a room. last is the sync token of the batch
// before, or "". A batch of an initial sync continues from the last known event of each
// room; if there is neither a token nor a known event, its events are older than the
// journal and context only. before and now report whether the room was known to be
// encrypted before and after the batch.
func (r *Reader) Read(ctx context.Context, batch *matrix.Sync, name, last string, before,
	now bool) (b Batch, err error) {
	joined, self := batch.Joined[name], r.Account.UserID()
	if batch.Since != "" {
		joined = withJoin(joined, self)
	}
	gap := state.Gap{Room: name, Token: joined.PrevBatch, Encrypted: gapEncrypted(before, now, joined.Timeline)}
	fresh, missing := true, isLimited(joined, self)
	if batch.Since == "" {
		arrived, known, err := r.known(ctx, name, joined)
		if err != nil {
			return b, err
		}
		fresh = last != "" || !arrived.IsZero()
		missing = missing && fresh && !known
		gap.Since = startOver(arrived)
	}
	if missing {
		b.Gaps = append(b.Gaps, gap)
	}
	if fresh {
		var short bool
		if joined, short = r.sinceInvite(ctx, name, joined); short {
			b.Short = append(b.Short, name)
		}
	}
	events := whileJoined(joined, self)
	clear := clearUntil(before, now, events)
	for i, e := range events {
		b.Events = append(b.Events, Event{e, fresh && !e.Time.Before(gap.Since), i >= clear})
	}
	return b, nil
}

// Unread is Read without looking at more of the events than their time.
func (r *Reader) Unread(ctx context.Context, batch *matrix.Sync, name, last string, now bool) (b Batch, err error) {
	joined := batch.Joined[name]
	gap := state.Gap{Room: name, Token: joined.PrevBatch, Encrypted: state.EncryptedNever}
	if now {
		gap.Encrypted = state.EncryptedAll
	}
	fresh := true
	if batch.Since == "" {
		arrived, err := r.Journal.Events.LastArrival(ctx, name)
		if err != nil {
			return b, err
		}
		fresh = last != "" || !arrived.IsZero()
		gap.Since = startOver(arrived)
	}
	if fresh && joined.Limited && joined.PrevBatch != "" {
		b.Gaps = append(b.Gaps, gap)
	}
	for _, e := range joined.Timeline {
		b.Events = append(b.Events, Event{e, fresh && !e.Time.Before(gap.Since), now})
	}
	return b, nil
}

// clockSlack is how far the clocks of homeservers may differ from this host's.
const clockSlack = 24 * time.Hour

// startOver returns the time before which the events of a room are context only after
// starting over, where the newest known one arrived at a time: they were known, but their
// rows may have been purged. It is never zero: see Judge.
func startOver(arrived time.Time) time.Time {
	if arrived.IsZero() {
		return time.UnixMilli(1)
	}
	return arrived.Add(-clockSlack)
}

// known returns when the newest known event of a room arrived, and whether a timeline
// goes back to a known event.
func (r *Reader) known(ctx context.Context, room string,
	joined matrix.Room) (arrived time.Time, known bool, err error) {
	if arrived, err = r.Journal.Events.LastArrival(ctx, room); err != nil || arrived.IsZero() {
		return arrived, false, err
	}
	hidden, err := r.Journal.Gaps.Hidden(ctx, room)
	if err != nil {
		return arrived, false, err
	}
	seen, err := r.Journal.Events.Known(ctx, room, hidden, ids(joined.Timeline))
	return arrived, len(seen) > 0, err
}

// whileJoined drops the events that were sent while user was not in the room: before a join, and from a leave to the
// next join. What the person who invited the user wrote after the invitation stays: clients send the first message of a
// new chat together with it.
func whileJoined(joined matrix.Room, user string) []event.Event {
	var kept, invited []event.Event // invited: what the inviter has written since the invitation
	in, inviter := true, ""
	for _, e := range joined.State {
		if isInvite(e, user) {
			inviter = e.Sender // before all of the timeline
		}
	}
	for _, e := range joined.Timeline {
		change := e.MembershipChange(user)
		switch {
		case isInvite(e, user):
			inviter, invited = e.Sender, nil
		case change == "join":
			if in {
				kept = nil // no leave before it: the user was outside from the start
			}
			kept = append(kept, invited...)
			in, inviter, invited = true, "", nil
		case change == "leave":
			kept = append(kept, e)
			in, inviter, invited = false, "", nil
			continue
		case inviter != "" && e.Sender == inviter && e.StateKey == nil:
			invited = append(invited, e)
		}
		if in {
			kept = append(kept, e)
		}
	}
	return kept
}

// withJoin puts the user's own join into the timeline if the homeserver reports it as part of the state: before the
// first event that is not older. A join before all of the timeline stays where it is if events are missing: it is among
// them.
func withJoin(joined matrix.Room, user string) matrix.Room {
	isJoin := func(e event.Event) bool { return e.MembershipChange(user) == "join" }
	at := slices.IndexFunc(joined.State, isJoin)
	if at < 0 || slices.ContainsFunc(joined.Timeline, isJoin) {
		return joined
	}
	join, before := joined.State[at], 0
	for before < len(joined.Timeline) && joined.Timeline[before].Time.Before(join.Time) {
		before++
	}
	if before > 0 || !isLimited(joined, user) {
		joined.Timeline = slices.Insert(slices.Clone(joined.Timeline), before, join)
	}
	return joined
}

func isInvite(e event.Event, user string) bool {
	whose, m, ok := e.Member()
	return ok && whose == user && m.Membership == "invite"
}

// isLimited reports whether events are missing before a timeline. What was sent before
// the user's own join is not.
func isLimited(joined matrix.Room, user string) bool {
	return joined.Limited && joined.PrevBatch != "" &&
		!slices.ContainsFunc(joined.Timeline, func(e event.Event) bool { return e.MembershipChange(user) == "join" })
}

// clearUntil returns the index of the first of a room's new events that must be
// encrypted: everything after the event that enabled encryption, or everything
// if encryption was enabled before. before and now report whether the room was
// known to be encrypted before and after the batch.
func clearUntil(before, now bool, events []event.Event) int {
	if before {
		return 0
	}
	for i, e := range events {
		if enablesEncryption(e) {
			return i
		}
	}
	if now { // enabled by an event that is not in this list
		return 0
	}
	return len(events)
}

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

func ids(events []event.Event) []string {
	all := make([]string, 0, len(events))
	for _, e := range events {
		all = append(all, e.ID)
	}
	return all
}

const (
	checkTimeout = 10 * time.Second
	checkEvents  = 50 // newest events among which one of a joined room is looked for
)

// Lost reports whether the homeserver lacks the newest event that it has sent: it was
// wiped or restored from a backup. It may accept its old sync token even then, but the
// token leads nowhere.
func (r *Reader) Lost(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	events, err := r.Journal.Events.Newest(ctx, checkEvents)
	if err != nil || len(events) == 0 {
		return false, err
	}
	joined, err := r.Account.Rooms.Joined(ctx)
	if err != nil {
		return false, fmt.Errorf("list rooms: %w", err)
	}
	for _, e := range events {
		if !slices.Contains(joined, e.Room) {
			continue
		}
		_, err := r.Account.Messages.Get(ctx, e.Room, e.ID)
		if err != nil && (matrix.Temporary(err) || ctx.Err() != nil) {
			return false, fmt.Errorf("look up the newest known event: %w", err)
		}
		return matrix.IsNotFound(err), nil
	}
	return len(joined) == 0, nil // not even a room: perhaps it is a new homeserver
}
