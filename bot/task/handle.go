package task

import (
	"context"
	"time"

	"matrix-tui/agent"
	"matrix-tui/state"
)

// Work takes a task up. The caller holds the books, calls Do, and in the end
// Close; ctx ends with the bot.
func (e *Env) Work(ctx context.Context, rec state.Task) *Work {
	w := &Work{Task: e.Task(rec), life: ctx, left: make(chan struct{})}
	w.stopping, w.stopNow = context.WithCancel(ctx)
	w.lastPart.Store(newestPart(rec).UnixMilli())
	if rec.StopBy != "" || len(rec.Said) > rec.Given { // the run waits for the rest of what is said: see steered
		w.stopNow()
	}
	return w
}

// Close ends what Env.Work began.
func (w *Work) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopNow()
	close(w.left)
}

// Left is closed when the worker is done with the task.
func (w *Work) Left() <-chan struct{} { return w.left }

// Stop has the task look at its record, in which somebody has noted that it is to
// end, or something new for it to hear; note tells the room why.
func (w *Work) Stop(note string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shown != nil {
		w.shown.set(note)
	}
	w.stopNow()
}

// Abandon has the task end without a word, because the bot is no longer in the
// room; its run is stopped with its container.
func (w *Work) Abandon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.abandon != nil {
		w.abandon(errRoomGone)
	}
}

// Stands is how far the task is, as the room is told it.
func (w *Work) Stands() (p Progress, shown bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shown == nil {
		return Progress{}, false
	}
	p.Step, p.Elapsed = w.shown.now()
	p.InLine = w.shown.inLine()
	return p, true
}

// Takes tells whether a message that somebody wrote then may still join the task,
// as a part of it.
func (w *Work) Takes(row state.Event) bool {
	return !w.acted.Load() && w.joins(row, time.UnixMilli(w.lastPart.Load()))
}

// Took notes that a message has joined the task.
func (w *Work) Took(at time.Time) { w.lastPart.Store(at.UnixMilli()) }

// rearm lets the task be told to stop once more.
func (w *Work) rearm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopNow()
	w.stopping, w.stopNow = context.WithCancel(w.life)
}

// show makes p what the room sees of the task.
func (w *Work) show(p *progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shown = p
}

func (w *Work) setAbandon(cancel context.CancelCauseFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.abandon = cancel
}

// stoppable is a context that ends when the task is to stop, too.
func (w *Work) stoppable(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(w.stopping, cancel)
	return ctx, func() { unhook(); cancel() }
}

// stoppedEarly is the outcome of a task that was stopped before its run began.
func stoppedEarly() agent.Outcome {
	return agent.Outcome{Ended: agent.Stopped, Detail: "Nothing of it had begun."}
}
