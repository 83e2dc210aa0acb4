package bot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"matrix-tui/state"
)

// Reasons for which a running task is left.
var (
	errRoomGone = errors.New("the bot is no longer in the room")
)

// room is one room's queue: a lane for its tasks, in order, one for what does
// not wait for a running task, and one for what it sends.
type room struct {
	bot     *Bot
	id      string
	tasks   lane
	control lane
	outbox  outbox

	mu     sync.Mutex
	cancel context.CancelCauseFunc // of the running task; nil when none runs
	alarms time.Time               // when the room was last told of trouble on our side
}

func newRoom(b *Bot, id string) *room {
	r := &room{bot: b, id: id}
	r.tasks = lane{start: b.start, work: func() { r.drain(kindTask, kindUnsupported, kindTombstone) }}
	r.control = lane{start: b.start, work: func() { r.drain(kindInvite, kindGreeting, kindLeft, kindGone) }}
	r.outbox.init(r)
	return r
}

// wake has both lanes look at the journal.
func (r *room) wake() {
	r.control.wake()
	r.tasks.wake()
}

// abandon ends the running task, whose run is stopped with its box.
func (r *room) abandon(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel != nil {
		r.cancel(cause)
	}
}

// drain does the room's unfinished rows of some kinds, oldest first, until
// there is none. A row that cannot be done now, because the disk is full for
// example, is tried again until it can: rows are never skipped.
func (r *room) drain(kinds ...kind) {
	ctx := r.bot.ctx
	for wait := time.Second; ctx.Err() == nil; {
		row, k, err := r.next(ctx, kinds)
		if err == nil && row == nil {
			return
		}
		if err == nil {
			err = r.do(ctx, *row, k)
		}
		if err == nil {
			wait = time.Second
			continue
		}
		if ctx.Err() != nil {
			return
		}
		r.bot.log.Error().Err(err).Str("room", r.id).Dur("again_in_ms", wait).Msg("room work is held up")
		r.alarm(ctx, err)
		if sleep(ctx, wait) != nil {
			return
		}
		wait = min(2*wait, 30*time.Second)
	}
}

// next returns the oldest unfinished row of the kinds, or nil.
func (r *room) next(ctx context.Context, kinds []kind) (*state.Inbound, kind, error) {
	rows, err := r.bot.Journal.Unfinished(ctx, r.id)
	if err != nil {
		return nil, 0, fmt.Errorf("read unfinished rows: %w", err)
	}
	for i := range rows {
		e, _ := parseEvent(rows[i].Raw)
		got := classify(e, r.bot.UserID(), r.bot.allowed)
		if got == kindArchive && rows[i].Status != state.Pending {
			got = kindTask // no longer allowed, but begun: it ends as any task
		}
		if got == kindArchive {
			if err := r.finish(ctx, rows[i]); err != nil {
				return nil, 0, err
			}
			continue
		}
		for _, k := range kinds {
			if k == got {
				return &rows[i], k, nil
			}
		}
	}
	return nil, 0, nil
}

// do does one row. An error means: not done, try again.
func (r *room) do(ctx context.Context, row state.Inbound, k kind) error {
	switch k {
	case kindTask:
		return r.doTask(ctx, row)
	case kindUnsupported:
		return r.doUnsupported(ctx, row)
	case kindTombstone:
		return r.doTombstone(ctx, row)
	case kindInvite:
		return r.doInvite(ctx, row)
	case kindGreeting:
		return r.doGreeting(ctx, row)
	case kindLeft:
		return r.doLeft(ctx, row)
	case kindGone:
		return r.doGone(ctx, row)
	}
	return r.finish(ctx, row)
}

func (r *room) finish(ctx context.Context, row state.Inbound) error {
	if err := r.bot.Journal.Finish(ctx, r.id, row.Event); err != nil {
		return fmt.Errorf("finish row: %w", err)
	}
	return nil
}

// queue puts messages into the outbox, durably, and has them sent.
func (r *room) queue(ctx context.Context, out ...state.Outbound) error {
	if err := r.bot.Journal.Queue(ctx, out...); err != nil {
		return fmt.Errorf("queue message: %w", err)
	}
	r.outbox.wake()
	return nil
}

// alarm tells the room of trouble on our side that holds its work up, at most
// every ten minutes, past the journal, which may be what is in trouble.
func (r *room) alarm(ctx context.Context, err error) {
	r.mu.Lock()
	quiet := time.Since(r.alarms) < 10*time.Minute
	if !quiet {
		r.alarms = time.Now()
	}
	r.mu.Unlock()
	if quiet {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text := r.bot.sentence(err) + " I keep trying; nothing is lost."
	if _, err := r.bot.client.SendMessageEvent(ctx, roomID(r.id), messageType, notice(text)); err != nil {
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("tell the room of trouble")
	}
}
