package task

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"matrix-tui/agent"
	"matrix-tui/state"
)

// Work is one task that the room's worker has taken up. Only the worker calls Do
// and Close; the other methods are for everybody, at any time.
type Work struct {
	task  *Task           // the worker's alone
	taken state.Task      // as it was when it was taken up: it never changes
	life  context.Context // ends with the bot

	stop     *interrupt
	abandon  atomic.Pointer[context.CancelCauseFunc] // nil unless it is worked on
	shown    atomic.Pointer[progress]                // nil before the room sees anything of it
	acted    atomic.Bool                             // the agent has called a tool
	lastPart atomic.Int64                            // when the newest message that belongs to the task was written, ms
	done     chan struct{}                           // closed when the worker is done with it
}

// Work takes a task up. The caller holds the books, calls Do, and in the end
// Close; ctx ends with the bot.
func (e *Env) Work(ctx context.Context, rec state.Task) *Work {
	w := &Work{task: e.Task(rec), taken: rec, life: ctx, stop: &interrupt{life: ctx}, done: make(chan struct{})}
	w.stop.rearm()
	w.lastPart.Store(newestPart(rec).UnixMilli())
	if rec.StopBy != "" || len(rec.Said) > rec.Given { // the run waits for the rest of what is said: see steered
		w.stop.raise()
	}
	return w
}

// Close ends what Env.Work began.
func (w *Work) Close() {
	w.stop.raise()
	close(w.done)
}

// Key names the task.
func (w *Work) Key() string { return w.taken.Key }

// Left is closed when the worker is done with the task.
func (w *Work) Done() <-chan struct{} { return w.done }

// Stop has the task look at its record, in which somebody has noted that it is to
// end, or something new for it to hear; note tells the room why.
func (w *Work) Stop(note string) {
	if shown := w.shown.Load(); shown != nil {
		shown.set(note)
	}
	w.stop.raise()
}

// Abandon has the task end without a word, because the bot is no longer in the
// room; its run is stopped with its container.
func (w *Work) Abandon() {
	if cancel := w.abandon.Load(); cancel != nil {
		(*cancel)(errRoomGone)
	}
}

// GiveUp ends the task as failed, without a message: its caller says why.
func (w *Work) GiveUp(ctx context.Context, why string) error { return giveUp(ctx, w.task, why) }

// Stands is how far the task is, as the room is told it.
func (w *Work) Progress() (p Progress, shown bool) {
	if now := w.shown.Load(); now != nil {
		return now.now(), true
	}
	return Progress{}, false
}

// Takes reports whether a message that somebody wrote then may still join the task,
// as a part of it.
func (w *Work) Takes(row state.Event) bool {
	return !w.acted.Load() && joins(&w.taken, row, time.UnixMilli(w.lastPart.Load()), w.task.env.Debounce)
}

// Took notes that a message has joined the task.
func (w *Work) Took(at time.Time) { w.lastPart.Store(at.UnixMilli()) }

// interrupt reaches a worker when somebody wants its task to end, or to hear
// something new. Anybody may raise it; the rest is the worker's.
type interrupt struct {
	life context.Context // ends with the bot

	mu   sync.Mutex
	now  context.Context // has ended when it was raised
	stop context.CancelFunc
}

func (i *interrupt) raise() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stop()
}

// rearm lets it be raised once more.
func (i *interrupt) rearm() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stop != nil {
		i.stop()
	}
	i.now, i.stop = context.WithCancel(i.life)
}

// within is a context that ends when the interrupt is raised, too.
func (i *interrupt) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(i.now, cancel)
	return ctx, func() { unhook(); cancel() }
}

// stoppedEarly is the outcome of a task that was stopped before its run began.
func stoppedEarly() agent.Outcome {
	return agent.Outcome{Ended: agent.Stopped, Detail: "Nothing of it had begun."}
}
