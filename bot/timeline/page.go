package timeline

import (
	"context"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

const (
	pageSize = 100                         // events of a page
	maxPages = 2 * state.MaxGap / pageSize // of a gap; a homeserver may return short pages

	// Requests at the same time, so that their pages fit into memory. Those for rooms whose last request has failed are
	// counted separately and may take longer, so that they do not hold up other rooms.
	parallel      = 4
	parallelAgain = 2
	requestTime   = 15 * time.Second
)

// Page is a page of a gap.
type Page struct {
	Events []Event   // newest first
	Gap    state.Gap // for the page after this one
	Last   bool      // there is no page after this one
	Short  bool      // it is the last one only because of the limit
	Before time.Time // if it is Short: nothing from before then is read; zero if that is unknown
}

// Page requests the next page of a gap. The last page ends at the first event that was
// known before the gap, at the account's own join, at the start of the room or at the
// limit. A page without events need not be the last one: the homeserver leaves out events
// that the account must not see. again says that the last request for it has failed.
func (r *Reader) Page(ctx context.Context, g state.Gap, again bool) (p Page, err error) {
	chunk, end, err := r.messages(ctx, g, again)
	if err != nil {
		return p, err
	}
	known, err := r.Journal.Events.Known(ctx, g.Room, g.Hides, ids(chunk))
	if err != nil {
		return p, err
	}
	p.Gap, p.Last = g, end == "" || end == g.Token
	p.Gap.Token = end
	p.cut(chunk, known, r.Account.UserID())
	if !p.Last && g.Pages+1 >= maxPages {
		p.Last, p.Short = true, true
		if n := len(p.Events); n > 0 {
			p.Before = p.Events[n-1].Time
		}
	}
	if !p.Before.IsZero() && p.Before.Before(g.Since) {
		p.Short = false // what is older is context only
	}
	return p, nil
}

// cut takes the events that belong to the gap.
func (p *Page) cut(chunk []event.Event, known map[string]bool, self string) {
	for _, e := range chunk {
		if known[e.ID] {
			p.Last = true
			return
		}
		if int64(len(p.Events)) > p.Gap.Next-p.Gap.Low {
			p.Last, p.Short, p.Before = true, true, e.Time
			return
		}
		p.Events = append(p.Events, Event{e, !e.Time.Before(p.Gap.Since), p.Gap.Encrypted != state.EncryptedNever})
		if p.Gap.Encrypted == state.EncryptedLater && enablesEncryption(e) {
			p.Gap.Encrypted = state.EncryptedNever
		}
		if e.MembershipChange(self) == "join" {
			p.Last = true
			return
		}
	}
}

func (r *Reader) messages(ctx context.Context, g state.Gap, again bool) (chunk []event.Event, end string, err error) {
	slots := r.first
	if again {
		slots = r.again
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	if !again {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTime)
		defer cancel()
	}
	return r.Account.Messages.Page(ctx, g.Room, g.Token, pageSize)
}

// Verdict says what to do after a request for a page has failed.
type Verdict int

const (
	Retry     Verdict = iota // the homeserver, or a proxy in front of it, has trouble
	Close                    // the events do not exist, or the account is no longer in the room
	StartOver                // the homeserver rejects the token; it may have been restored
)

// Judge judges an error of Page. A gap of a new start does not lead to another one.
func (r *Reader) Judge(ctx context.Context, g state.Gap, err error) Verdict {
	switch {
	case matrix.IsNotFound(err):
		return Close
	case matrix.IsTokenRejected(err) && g.Since.IsZero():
		return StartOver
	case matrix.IsTokenRejected(err):
		return Close
	case matrix.IsForbidden(err):
		if in, err := r.Account.Rooms.IsIn(ctx, g.Room); err == nil && !in {
			return Close
		}
	}
	return Retry
}
