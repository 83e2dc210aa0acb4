package bot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/queue"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
	"matrix-tui/state/sentence"
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

// undecided gives the room's pending events one after the other, oldest first.
// One that stays pending (its key is missing, or it is a tombstone) is passed.
func (r *room) undecided() func(context.Context) (func() error, error) {
	var passed int64
	return func(ctx context.Context) (func() error, error) {
		rows, err := r.bot.Journal.Pending(ctx, r.id, passed, 1)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		return func() error {
			err := r.decide(ctx, rows[0])
			if err == nil {
				passed = rows[0].Seq
			}
			return err
		}, nil
	}
}

// decide makes an event a task, or does at once what else it wants. An error
// means: not decided, try again.
func (r *room) decide(ctx context.Context, row state.Event) error {
	row, err := r.bot.decrypted(ctx, row)
	if err != nil {
		return err
	}
	alone := r.bot.mayBeAlone(r.id)
	if alone && r.classify(ctx, row.Event, true) != r.classify(ctx, row.Event, false) { // else nobody has to be asked
		if alone, err = r.bot.isAlone(ctx, r.id); err != nil {
			return err
		}
	}
	k, to, err := r.kindOf(ctx, row, alone)
	if err != nil {
		return err
	}
	if k == kindTask && to.verdict != isTask {
		return r.doRouted(ctx, row, to)
	}
	return r.doControl(ctx, row, k)
}

// kindOf is what an event is. A task is in the queue when it returns.
func (r *room) kindOf(ctx context.Context, row state.Event, alone bool) (k kind, to route, err error) {
	r.books.Lock()
	defer r.books.Unlock()
	if k = r.classify(ctx, row.Event, alone); k != kindTask {
		return k, to, nil
	}
	to, err = r.routeOf(ctx, row)
	to.alone = alone
	if err == nil && to.verdict == isTask {
		err = r.enqueue(ctx, row, alone)
	}
	return k, to, err
}

// enqueue makes an event a task in the room's queue, and shows when that is in
// line behind another one. The caller holds the books.
func (r *room) enqueue(ctx context.Context, row state.Event, alone bool) error {
	if classify(row.Event, r.bot.UserID(), r.bot.hear(ctx, r.id, alone)) != kindTask {
		return r.finish(ctx, row) // it was let in as an answer, and is none
	}
	rec, err := taskFrom(row)
	if errors.Is(err, agent.ErrLimit) {
		return r.tell(ctx, row, sentence.Text(err))
	}
	if err != nil {
		return err
	}
	var out []state.Message
	if t := r.env.Task(rec); !t.Moved() {
		_, err := r.bot.Journal.NextTask(ctx, r.id)
		if err == nil {
			out = r.env.Room.Render(ctx, t.InLine())
		} else if !errors.Is(err, state.ErrNotFound) {
			return fmt.Errorf("read next task: %w", err)
		}
	}
	err = r.bot.Journal.Enqueue(ctx, rec, out...)
	if errors.Is(err, state.ErrFinished) {
		return nil // it has moved to the room's successor
	}
	if err != nil {
		return err
	}
	crash.At("queued")
	if len(out) > 0 {
		r.outbox.Wake()
	}
	r.tasks.Wake()
	return nil
}

// classify is classify by the room's policy. What could be the answer to a
// question of ours needs no mention: route says whether it is one.
func (r *room) classify(ctx context.Context, e event.Event, alone bool) kind {
	hear := r.bot.hear(ctx, r.id, alone)
	return classify(e, r.bot.UserID(), func(e event.Event) hearing {
		h := hear(e)
		h.reply = h.reply || h.heard && (r.couldAnswer(e) || r.couldJoin(ctx, e))
		return h
	})
}

// doControl does what an event wants that is no task, and ends it.
func (r *room) doControl(ctx context.Context, row state.Event, k kind) error {
	switch k {
	case kindTask:
		return nil // it is in the queue
	case kindUndecrypted:
		return r.waitForKey(ctx, row)
	case kindTombstone:
		r.books.Lock()
		defer r.books.Unlock()
		if r.tombstone == nil {
			r.tombstone = &row
			r.tasks.Wake()
		}
		return nil
	case kindUnsupported:
		return r.doUnsupported(ctx, row)
	case kindCommand:
		return r.doCommand(ctx, row)
	case kindReaction:
		return r.doReaction(ctx, row)
	case kindEdit:
		return r.doEdit(ctx, row)
	case kindRedaction:
		return r.doRedaction(ctx, row)
	case kindUndecryptable:
		return r.doUndecryptable(ctx, row)
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
