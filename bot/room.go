package bot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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

	// books is held by whoever decides about a row and writes the decision down
	// where both lanes may: what is an answer, what stops, what is claimed. No
	// call to the homeserver or to podman is made meanwhile.
	books sync.Mutex

	projecting sync.Mutex // see project

	// bootstrap is whether /workspace was last seen to have bootstrap files. Most
	// rooms have none, and are not asked before each run: see run.
	bootstrap atomic.Bool

	mu        sync.Mutex
	current   *task                   // the one that the tasks' lane has taken up
	cancel    context.CancelCauseFunc // of the running task; nil when none runs
	alarms    time.Time               // when the room was last told of trouble on our side
	cleartext time.Time               // when it was last told of a message in clear
	refused   map[string]bool         // types of events that the homeserver did not take here
}

func newRoom(b *Bot, id string) *room {
	r := &room{bot: b, id: id}
	r.tasks = lane{start: b.startLane, work: func() { r.drain(r.nextTask) }}
	r.control = lane{start: b.startLane, work: func() {
		r.drain(r.nextControl)
		r.overdue(b.ctx)
	}}
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

// drain does what next finds until there is nothing. What cannot be done now,
// because the disk is full for example, is tried again until it can: rows are
// never skipped.
func (r *room) drain(next func(context.Context) (func() error, error)) {
	ctx := r.bot.ctx
	for wait := time.Second; ctx.Err() == nil; {
		do, err := next(ctx)
		if err == nil && do == nil {
			return
		}
		if err == nil {
			err = do()
		}
		if err == nil {
			wait = time.Second
			continue
		}
		if ctx.Err() != nil {
			return
		}
		r.bot.log.Error().Err(err).Str("room", r.id).Dur("again_in_ms", wait).Msg("room work is held up")
		if out := (*outsideError)(nil); !errors.As(err, &out) {
			r.alarm(ctx, err)
		}
		if sleep(ctx, wait) != nil {
			return
		}
		wait = min(2*wait, 30*time.Second)
	}
}

// nextTask takes up the oldest row that stands in the line of the tasks.
func (r *room) nextTask(ctx context.Context) (func() error, error) {
	r.books.Lock()
	defer r.books.Unlock()
	row, k, _, err := r.next(ctx, func(k kind, to route) bool {
		return k == kindTask && to.verdict == isTask || k == kindUnsupported || k == kindTombstone
	})
	switch {
	case err != nil || row == nil:
		return nil, err
	case k == kindUnsupported:
		return func() error { return r.doUnsupported(ctx, *row) }, nil
	case k == kindTombstone:
		return func() error { return r.doTombstone(ctx, *row) }, nil
	}
	t, err := newTask(r, *row)
	if err != nil {
		return nil, err
	}
	r.take(ctx, t)
	return func() error { return r.doTask(ctx, t) }, nil
}

// nextControl finds the oldest row that does not wait for a running task.
func (r *room) nextControl(ctx context.Context) (func() error, error) {
	r.books.Lock()
	defer r.books.Unlock()
	row, k, to, err := r.next(ctx, func(k kind, to route) bool {
		return k == kindTask && to.verdict != isTask || k != kindTask && k != kindUnsupported && k != kindTombstone
	})
	if err != nil || row == nil {
		return nil, err
	}
	return func() error { return r.doControl(ctx, *row, k, to) }, nil
}

// next returns the oldest unfinished row that is wanted, or nil, and where it
// is routed to.
func (r *room) next(ctx context.Context, wanted func(kind, route) bool) (*state.Inbound, kind, route, error) {
	rows, err := r.bot.Journal.Unfinished(ctx, r.id)
	if err != nil {
		return nil, 0, route{}, fmt.Errorf("read unfinished rows: %w", err)
	}
	for i := range rows {
		e, _ := parseEvent(rows[i].Raw)
		got := r.classify(ctx, e)
		begun := rows[i].Status != state.Pending
		if (got == kindArchive || got == kindSealed || got == kindUnreadable) && begun {
			got = kindTask // no longer allowed, or to be read, but begun: it ends as any task
		}
		if got == kindSealed {
			if err := r.waitForKey(ctx, rows[i], e); err != nil {
				return nil, 0, route{}, err
			}
			continue
		}
		if got == kindArchive {
			if err := r.finish(ctx, rows[i]); err != nil {
				return nil, 0, route{}, err
			}
			continue
		}
		var to route
		if got == kindTask && !begun {
			if to, err = r.routeOf(ctx, rows[i], e); err != nil {
				return nil, 0, route{}, err
			}
			if to.verdict == isTask && !r.forUs(ctx, rows[i], e) { // it was let in as an answer, and is none
				if err := r.finish(ctx, rows[i]); err != nil {
					return nil, 0, route{}, err
				}
				continue
			}
		}
		if wanted(got, to) {
			return &rows[i], got, to, nil
		}
	}
	return nil, 0, route{}, nil
}

// classify is classify by the room's policy. What could be the answer to a
// question of ours needs no mention: route says whether it is one.
func (r *room) classify(ctx context.Context, e wireEvent) kind {
	hear := r.bot.hear(ctx, r.id)
	return classify(e, r.bot.UserID(), func(e wireEvent) hearing {
		h := hear(e)
		h.reply = h.reply || h.heard && (r.couldAnswer(e) || r.couldJoin(e))
		return h
	})
}

// forUs tells whether a task is for the bot by the policy alone.
func (r *room) forUs(ctx context.Context, row state.Inbound, e wireEvent) bool {
	return row.Type == typeExecute || classify(e, r.bot.UserID(), r.bot.hear(ctx, r.id)) == kindTask
}

// doControl does one row of the control lane. An error means: not done, try
// again.
func (r *room) doControl(ctx context.Context, row state.Inbound, k kind, to route) error {
	switch k {
	case kindTask:
		return r.doRouted(ctx, row, to)
	case kindCommand:
		return r.doCommand(ctx, row)
	case kindReaction:
		return r.doReaction(ctx, row)
	case kindEdit:
		return r.doEdit(ctx, row)
	case kindRedaction:
		return r.doRedaction(ctx, row)
	case kindUnreadable:
		return r.doUnreadable(ctx, row)
	case kindStranger:
		return r.doStranger(ctx, row)
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
	if _, err := r.bot.send(ctx, r.id, messageType.Type, "", notice(text)); err != nil {
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("tell the room of trouble")
	}
}
