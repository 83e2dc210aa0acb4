package timeline

import (
	"context"
	"slices"

	"matrix-tui/bot/matrix"
	"matrix-tui/state/event"
)

// maxInvited is the number of pages that are read between an invitation and a join.
const maxInvited = 5

// sinceInvite adds what lies between the invitation and a timeline that begins after it and has the account's own join:
// with it, whileJoined finds what the inviter wrote. short reports that some of it is not read. It makes requests while
// the batch waits, so it gives up early.
func (r *Reader) sinceInvite(ctx context.Context, name string, joined matrix.Room) (all matrix.Room, short bool) {
	self := r.Account.UserID()
	invited := func(e event.Event) bool { return isInvite(e, self) }
	at := slices.IndexFunc(joined.Timeline, func(e event.Event) bool { return e.MembershipChange(self) == "join" })
	if !joined.Limited || joined.PrevBatch == "" || at < 0 || slices.ContainsFunc(joined.Timeline[:at], invited) {
		return joined, false
	}
	if _, m, _ := joined.Timeline[at].Member(); m.Before != "invite" && !slices.ContainsFunc(joined.State, invited) {
		return joined, false
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	var older []event.Event // newest first
	for token, pages := joined.PrevBatch, 1; ; pages++ {
		chunk, end, err := r.Account.Messages.Page(ctx, name, token, pageSize)
		if err != nil {
			return joined, true
		}
		i := slices.IndexFunc(chunk, invited)
		if older = append(older, chunk[:max(i+1, 0)]...); i < 0 {
			older = append(older, chunk...)
		}
		last := i >= 0 || end == "" || end == token
		if token = end; last || pages >= maxInvited {
			slices.Reverse(older)
			joined.Timeline = append(older, joined.Timeline...)
			return joined, !last
		}
	}
}
