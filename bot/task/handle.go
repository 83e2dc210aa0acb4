package task

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/progress"
	"matrix-tui/state"
)

// Work is the task that the room's worker is processing. Only the worker calls Do and
// Close; the other methods are safe for concurrent use.
type Work struct {
	task  *Task           // owned by the worker
	taken state.Task      // the record when the work started; never changes
	life  context.Context // cancelled when the bot stops

	stop     *interrupt
	abandon  atomic.Pointer[context.CancelCauseFunc] // nil unless Do is running
	shown    atomic.Pointer[progress.Notice]         // nil until the notice is queued
	acted    atomic.Bool                             // the agent has called a tool
	lastPart atomic.Int64                            // time of the newest message that belongs to the task, in ms
	worded   atomic.Bool                             // words have joined it
	done     chan struct{}                           // closed by Close
}

// Work returns the Work of a task. The caller holds Env.Decisions, calls Do and
// finally Close. The bot cancels ctx when it stops.
func (e *Env) Work(ctx context.Context, rec state.Task) *Work {
	w := &Work{task: e.Task(rec), taken: rec, life: ctx, stop: &interrupt{life: ctx}, done: make(chan struct{})}
	w.stop.rearm()
	w.lastPart.Store(newestPart(rec).UnixMilli())
	if rec.StopBy != "" || len(rec.Said) > rec.Given { // handle these before the run: see steered
		w.stop.raise()
	}
	return w
}

// Close releases the Work and closes Done.
func (w *Work) Close() {
	w.stop.raise()
	close(w.done)
}

// Key returns the task's key.
func (w *Work) Key() string { return w.taken.Key }

// Requester returns the user ID of who asked for the task; of a task from HTTP, the bot's own.
func (w *Work) Requester() string { return w.taken.Requester }

// Seq returns the place of the task in the order of events.
func (w *Work) Seq() int64 { return w.taken.Seq }

// Done returns a channel that is closed when the worker has left the task.
func (w *Work) Done() <-chan struct{} { return w.done }

// Stop makes the task reread its record, where the caller has stored a stop request or
// a new message. The notice shows note as the reason.
func (w *Work) Stop(note string) {
	if shown := w.shown.Load(); shown != nil {
		shown.Set(note)
	}
	w.stop.raise()
}

// Abandon ends the task without a message because the bot is no longer in the room.
// The run stops with its container.
func (w *Work) Abandon() {
	if cancel := w.abandon.Load(); cancel != nil {
		(*cancel)(errRoomGone)
	}
}

// GiveUp marks the task as failed without a message; the caller tells the room why.
func (w *Work) GiveUp(ctx context.Context, why string) error { return giveUp(ctx, w.task, why) }

// Progress returns what the notice shows; shown is false before there is one.
func (w *Work) Progress() (p progress.Progress, shown bool) {
	if now := w.shown.Load(); now != nil {
		return now.Now(), true
	}
	return progress.Progress{}, false
}

// Takes reports whether a message may still join the task as a part of it.
func (w *Work) Takes(row state.Event) bool {
	return !w.acted.Load() && joins(&w.taken, wordless(&w.taken) && !w.worded.Load(), row,
		time.UnixMilli(w.lastPart.Load()), w.task.env.Debounce)
}

// Took records that a message written at a time has joined the task; words says that it is not just a file.
func (w *Work) Took(at time.Time, words bool) {
	w.lastPart.Store(at.UnixMilli())
	if words {
		w.worded.Store(true)
	}
}

// interrupt tells a worker to stop its task or to read a new message. Any goroutine may
// raise it; only the worker calls the other methods.
type interrupt struct {
	life context.Context // cancelled when the bot stops

	mu   sync.Mutex
	now  context.Context // cancelled by raise
	stop context.CancelFunc
}

func (i *interrupt) raise() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stop()
}

// rearm resets the interrupt so that it can be raised again.
func (i *interrupt) rearm() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stop != nil {
		i.stop()
	}
	i.now, i.stop = context.WithCancel(i.life)
}

// within returns a copy of ctx that is also cancelled when the interrupt is raised.
func (i *interrupt) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(i.now, cancel)
	return ctx, func() { unhook(); cancel() }
}

// stoppedEarly is the outcome of a task that was stopped before its run started.
func stoppedEarly() agent.Outcome {
	return agent.Outcome{Ended: agent.Stopped, Detail: "The task had not started."}
}
