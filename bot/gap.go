package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/bot/crash"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/timeline"
	"matrix-tui/state"
	"matrix-tui/state/retry"
	"matrix-tui/state/sentence"
)

// gapQuiet is the number of failed requests for missing events before the room is told.
const gapQuiet = 3

// wakeGaps fills gaps in these rooms, first where something waits for that.
func (b *Bot) wakeGaps(rooms, busy []string) {
	waits := map[string]bool{}
	for _, name := range busy {
		waits[name] = true
	}
	for _, now := range []bool{true, false} {
		for _, name := range rooms {
			if waits[name] == now {
				b.room(name).gaps.Wake()
			}
		}
	}
}

// fillGaps fills the room's gaps, page by page, and retries as often as necessary. The
// room's newer events wait for that, other rooms do not.
func (r *room) fillGaps() {
	ctx := r.bot.ctx
	again, failed := retry.New(time.Second, 5*time.Minute), 0
	for ctx.Err() == nil {
		g, err := r.bot.Journal.Gaps.Get(ctx, r.id)
		if errors.Is(err, state.ErrNotFound) {
			return
		}
		if err == nil {
			err = r.bot.work.Guard(r.id, "filling a gap", func() error { return r.fillPage(ctx, g, failed > 0) })
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

// fillPage stores the next page of a gap; again says that the last request has failed.
func (r *room) fillPage(ctx context.Context, g state.Gap, again bool) error {
	b := r.bot
	page, err := b.timeline.Page(ctx, g, again)
	if err != nil {
		return r.endGap(ctx, g, err)
	}
	in := &admission{bot: b}
	for _, e := range page.Events {
		in.add(ctx, e)
	}
	if err := in.settle(ctx); err != nil {
		return err
	}
	var told []state.Message
	if page.Short {
		told = append(told, r.unread(page))
	}
	fresh, closed, err := b.Journal.Gaps.CommitPage(ctx, page.Gap, in.rows, page.Last, told...)
	if errors.Is(err, state.ErrNotFound) {
		in.drop(ctx)
		return nil // replaced, or the bot has left the room
	}
	if err != nil {
		return err
	}
	crash.At("gap")
	b.log.Info().Str("room", r.id).Int("events", len(fresh)).Bool("closed", closed).Msg("filled a page of a gap in the timeline")
	if page.Short {
		b.log.Warn().Str("room", r.id).Int("pages", page.Gap.Pages+1).Msg("gap in the timeline closed: it is too large")
	}
	in.finish(ctx, fresh)
	if closed {
		r.gapClosed()
	}
	return nil
}

// unread tells the room that what was said before the last page of a gap is not read.
func (r *room) unread(last timeline.Page) state.Message {
	before := ""
	if !last.Before.IsZero() {
		before = ", and nothing before " + last.Before.Format("2 January 2006, 15:04 MST")
	}
	return r.notice(state.KindUnread, state.Hash(fmt.Sprint(r.id, "\x00", last.Gap.Low))+"-unread",
		"⚠️ I missed too many messages here to read them all: I have read only the newest ones"+before+". If you sent me something earlier, send it again.")
}

// unreadBefore tells the room that not everything that was written since the invitation is read.
func (r *room) unreadBefore(ctx context.Context, next string) {
	m := r.notice(state.KindUnread, state.Hash(r.id+"\x00"+next)+"-unread", "⚠️ I could not read everything that was written here before I joined. If you sent me something, send it again.")
	if err := r.queue(ctx, m); err != nil && ctx.Err() == nil {
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("cannot tell the room what was not read before the join")
	}
}

// endGap closes a gap whose events the homeserver does not have; otherwise it returns
// err. If the bot starts over, that replaces the gap.
func (r *room) endGap(ctx context.Context, g state.Gap, err error) error {
	switch r.bot.timeline.Judge(ctx, g, err) {
	case timeline.Retry:
		return err
	case timeline.StartOver:
		r.bot.startOver.Store(true)
		r.bot.account.SyncNow()
		return err
	}
	r.bot.log.Warn().Err(err).Str("room", r.id).Msg("gap in the timeline closed: the homeserver does not have its events")
	if _, _, err := r.bot.Journal.Gaps.CommitPage(ctx, g, nil, true); err != nil && !errors.Is(err, state.ErrNotFound) {
		return err
	}
	r.gapClosed()
	return nil
}

// gapClosed wakes the workers that may have waited for a gap.
func (r *room) gapClosed() {
	r.wake()
	r.outbox.Wake()
}
