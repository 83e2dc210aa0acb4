package admit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"matrix-tui/bot/crash"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/outbox"
	"matrix-tui/bot/queue"
	"matrix-tui/bot/timeline"
	"matrix-tui/state"
	"matrix-tui/state/retry"
	"matrix-tui/state/sentence"
)

// gapQuiet is the number of failed requests for missing events before the room is told.
const gapQuiet = 3

// gaps are the workers that fill the gaps of rooms.
type gaps struct {
	mu      sync.Mutex
	workers map[string]*queue.Worker // by room
}

// FillGaps fills the gaps in all rooms, first where something waits for that.
func (a *Admission) FillGaps(ctx context.Context) error {
	rooms, err := a.Journal.Gaps.Rooms(ctx)
	if err != nil {
		return fmt.Errorf("list rooms with gaps: %w", err)
	}
	busy, err := a.Journal.Events.UnfinishedRooms(ctx)
	if err != nil {
		return fmt.Errorf("list unfinished rooms: %w", err)
	}
	a.wakeGaps(rooms, busy)
	return nil
}

// wakeGaps fills the gaps in these rooms, first in busy ones.
func (a *Admission) wakeGaps(rooms, busy []string) {
	for _, now := range []bool{true, false} {
		for _, room := range rooms {
			if slices.Contains(busy, room) == now {
				a.gapWorker(room).Wake()
			}
		}
	}
}

func (a *Admission) gapWorker(room string) *queue.Worker {
	a.gaps.mu.Lock()
	defer a.gaps.mu.Unlock()
	w := a.gaps.workers[room]
	if w == nil {
		w = &queue.Worker{Group: a.Group, Work: func() { a.fill(a.Group.Context, room) }}
		if a.gaps.workers == nil {
			a.gaps.workers = map[string]*queue.Worker{}
		}
		a.gaps.workers[room] = w
	}
	return w
}

// fill fills a room's gaps, page by page, and retries as often as necessary. The
// room's newer events wait for that, other rooms do not.
func (a *Admission) fill(ctx context.Context, room string) {
	again, failed := retry.New(time.Second, 5*time.Minute), 0
	for ctx.Err() == nil {
		g, err := a.Journal.Gaps.Get(ctx, room)
		if errors.Is(err, state.ErrNotFound) {
			return
		}
		if err == nil {
			err = a.Group.Guard(room, "filling a gap", func() error { return a.fillPage(ctx, g, failed > 0) })
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
		a.Group.Log.Warn().Err(err).Str("room", room).Dur("again_in_ms", pause).
			Msg("cannot fill a gap in the timeline, retrying")
		if failed++; failed >= gapQuiet {
			a.Rooms.Alarm(ctx, room, sentence.New(err,
				"The homeserver does not return the messages that I missed in this room. Newer ones here wait for them."))
		}
		if retry.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// fillPage stores the next page of a gap; again says that the last request has failed.
func (a *Admission) fillPage(ctx context.Context, g state.Gap, again bool) error {
	page, err := a.Timeline.Page(ctx, g, again)
	if err != nil {
		return a.endGap(ctx, g, err)
	}
	rows, err := a.rows(ctx, page.Events)
	if err != nil {
		return err
	}
	var told []state.Message
	if page.Short {
		a.Group.Log.Warn().Str("room", g.Room).Int("pages", page.Gap.Pages+1).
			Msg("gap in the timeline closed: it is too large")
		told = append(told, unread(page))
	}
	fresh, closed, err := a.Journal.Gaps.CommitPage(ctx, page.Gap, rows, page.Last, told...)
	if errors.Is(err, state.ErrNotFound) { // replaced, or the bot has left the room
		for _, row := range rows {
			a.Upgrades.Drop(ctx, row)
		}
		return nil
	}
	if err != nil {
		return err
	}
	crash.At("gap")
	a.Group.Log.Info().Str("room", g.Room).Int("events", len(fresh)).Bool("closed",
		closed).Msg("filled a page of a gap in the timeline")
	a.finish(ctx, fresh)
	if closed {
		a.Rooms.Wake(g.Room)
	}
	return nil
}

// unread tells the room that what was said before the last page of a gap is not read.
func unread(last timeline.Page) state.Message {
	before := ""
	if !last.Before.IsZero() {
		before = ", and nothing before " + last.Before.Format("2 January 2006, 15:04 MST")
	}
	txn := state.Hash(fmt.Sprint(last.Gap.Room, "\x00", last.Gap.Low)) + "-unread"
	return outbox.Notice(last.Gap.Room, state.KindUnread, txn,
		"⚠️ I missed too many messages here to read them all: I have read only the newest ones"+before+
			". If you sent me something earlier, send it again.")
}

// endGap closes a gap whose events the homeserver does not have; otherwise it returns
// err. If the bot starts over, that replaces the gap.
func (a *Admission) endGap(ctx context.Context, g state.Gap, err error) error {
	switch a.Timeline.Judge(ctx, g, err) {
	case timeline.Retry:
		return err
	case timeline.StartOver:
		a.startOver.Store(true)
		a.Account.SyncNow()
		return err
	}
	a.Group.Log.Warn().Err(err).Str("room",
		g.Room).Msg("gap in the timeline closed: the homeserver does not have its events")
	if _, _, err := a.Journal.Gaps.CommitPage(ctx, g, nil, true); err != nil && !errors.Is(err, state.ErrNotFound) {
		return err
	}
	a.Rooms.Wake(g.Room)
	return nil
}
