package bot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/queue"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
)

// room is one room's work: a worker that decides its events, in order, and does at
// once what is no task; one for its tasks; and one for what it sends.
type room struct {
	bot     *Bot
	id      string
	tasks   queue.Worker
	control queue.Worker
	outbox  outbox

	// books is held by whoever decides about a row and writes the decision down
	// where both workers may: what is an answer, what stops, what is claimed. No
	// call to the homeserver or to podman is made meanwhile.
	books sync.Mutex
	env   *task.Env // of the room's tasks

	tombstone *state.Event // waits for the tasks before it; the books are held

	mu        sync.Mutex
	current   *task.Work      // the one that the tasks' worker has taken up
	alarms    time.Time       // when the room was last told of trouble on our side
	cleartext time.Time       // when it was last told of a message in clear
	refused   map[string]bool // types of events that the homeserver did not take here
}

func newRoom(b *Bot, id string) *room {
	r := &room{bot: b, id: id}
	r.env = &task.Env{Deps: b.tasks, ID: id, Room: taskRoom{r}, Books: &r.books}
	r.tasks = queue.Worker{Start: b.startWorker, Work: func() { r.drain(r.nextTask) }}
	r.control = queue.Worker{Start: b.startWorker, Work: func() {
		r.drain(r.undecided())
		r.overdue(b.ctx)
	}}
	r.outbox.init(r)
	return r
}

// wake has both workers look at the journal.
func (r *room) wake() {
	r.control.Wake()
	r.tasks.Wake()
}

// abandon ends the running task, whose run is stopped with its box.
func (r *room) abandon() {
	if t := r.atWork(); t != nil {
		t.Abandon()
	}
}

// drain does what next finds until there is nothing. What cannot be done now,
// because the disk is full for example, is tried again until it can: rows are
// never skipped.
func (r *room) drain(next func(context.Context) (func() error, error)) {
	ctx := r.bot.ctx
	for again := retry.New(time.Second, 30*time.Second); ctx.Err() == nil; {
		do, err := next(ctx)
		if err == nil && do == nil {
			return
		}
		if err == nil {
			err = do()
		}
		if err == nil {
			again.Reset()
			continue
		}
		if ctx.Err() != nil {
			return
		}
		pause := again.Next()
		r.bot.log.Error().Err(err).Str("room", r.id).Dur("again_in_ms", pause).Msg("room queue stalled, retrying")
		if out := (*outsideError)(nil); !errors.As(err, &out) {
			r.alarm(ctx, err)
		}
		if retry.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// nextTask takes up the room's oldest task, or the tombstone that comes before it.
func (r *room) nextTask(ctx context.Context) (func() error, error) {
	r.books.Lock()
	defer r.books.Unlock()
	next, err := r.bot.Journal.NextTask(ctx, r.id)
	none := errors.Is(err, state.ErrNotFound)
	if err != nil && !none {
		return nil, fmt.Errorf("read next task: %w", err)
	}
	if grave := r.tombstone; grave != nil && (none || grave.Seq < next.Seq) {
		return func() error {
			if err := r.doTombstone(ctx, *grave); err != nil {
				return err
			}
			r.books.Lock()
			r.tombstone = nil
			r.books.Unlock()
			r.control.Wake() // there may be another one
			return nil
		}, nil
	}
	if none {
		return nil, nil
	}
	if next.State == state.TaskQueued && !r.allowed(next) {
		return func() error { return r.bot.Journal.FinishTask(ctx, next.Key) }, nil
	}
	t := r.env.Work(ctx, next)
	r.setCurrent(t)
	return func() error {
		defer r.leave(t)
		return t.Do(ctx)
	}, nil
}

// allowed tells whether a task may still begin: who asked for it may have been
// blocked since then.
func (r *room) allowed(rec state.Task) bool {
	return rec.Source == state.FromHTTP || r.bot.mayUse(r.id, rec.Requester, r.bot.isDirect(r.id)).Heard
}

func (r *room) finish(ctx context.Context, row state.Event) error {
	if err := r.bot.Journal.Finish(ctx, r.id, row.ID); err != nil {
		return fmt.Errorf("finish row: %w", err)
	}
	return nil
}

// queue puts messages into the outbox, durably, and has them sent.
func (r *room) queue(ctx context.Context, out ...state.Message) error {
	if err := r.bot.Journal.Queue(ctx, out...); err != nil {
		return fmt.Errorf("queue message: %w", err)
	}
	r.outbox.Wake()
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
	if _, err := r.bot.account.Send(ctx, r.id, event.TypeMessage, "", matrix.Notice(text)); err != nil {
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("tell the room of trouble")
	}
}
