package bot

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"matrix-tui/agent"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

// wordsOf is what was said, or what stands for a file without words.
func wordsOf(s state.Said) string {
	if s.File && s.Text == "" {
		return fileCame
	}
	return s.Text
}

// maxSteer bounds the texts that one task takes on its walk.
const maxSteer = 64

var errSteered = errors.New("the task was told something new")

// doSteer is !steer: the run is stopped, and its session goes on with the text.
func (r *room) doSteer(ctx context.Context, row state.Inbound, text string) error {
	r.books.Lock()
	defer r.books.Unlock()
	all, err := r.candidates(ctx)
	if err != nil {
		return err
	}
	for _, one := range all {
		if one.running {
			return r.steer(ctx, one.task, row, state.Said{By: row.Sender, Text: text, Event: row.Event, At: row.Time})
		}
	}
	if len(all) > 0 {
		return r.tell(ctx, row, "Nothing runs here that could be steered, but a question waits: reply to it.")
	}
	return r.tell(ctx, row, "Nothing runs here that could be steered. Write it as a task.")
}

// steer gives a task that has no result yet a text, and ends the row that it came
// with. The caller holds the books.
func (r *room) steer(ctx context.Context, target state.Task, row state.Inbound, said state.Said) error {
	for _, one := range target.Said {
		if one.Event == row.Event { // noted in a former life
			return r.finish(ctx, row)
		}
	}
	if len(target.Said) >= maxSteer {
		return r.tell(ctx, row, "I have been told too much about one task already. `!stop` ends it; then write anew what you want.")
	}
	_, said.File = fileOf(row)
	target.Said = append(target.Said, said)
	if err := r.note(ctx, target); err != nil {
		return err
	}
	r.signalStop(target.Key, "↪️ taking in what "+localpart(said.By)+" says")
	return r.finish(ctx, row)
}

// joins tells of which task a message is a part, "" for none: by the same person,
// right behind it, and before the agent has done anything. That is the task at
// work, or the one that is next.
func (r *room) joins(ctx context.Context, row state.Inbound) (key string, err error) {
	if r.bot.Debounce <= 0 || !isSpoken(row.Type) {
		return "", nil
	}
	r.mu.Lock()
	t := r.current
	r.mu.Unlock()
	if t == nil {
		next, err := r.bot.Journal.NextTask(ctx, r.id)
		if errors.Is(err, state.ErrNotFound) || err == nil && next.State != state.TaskQueued {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("look up next task: %w", err)
		}
		t = newTask(r, next)
		t.lastPart.Store(newestPart(next).UnixMilli())
	}
	gap := row.Time.Sub(time.UnixMilli(t.lastPart.Load()))
	if t.asker() != row.Sender || t.taken.Seq >= row.Seq || t.acted.Load() || gap < 0 || gap > r.bot.Debounce {
		return "", nil
	}
	return t.taken.Key, nil
}

// newestPart is when the newest message that belongs to the task was written.
func newestPart(rec state.Task) time.Time {
	at := rec.Time
	for _, said := range rec.Said {
		if said.Joined && said.At.After(at) {
			at = said.At
		}
	}
	return at
}

// couldJoin tells whether an event that is new is a file that joins a task: nobody
// mentions the bot under each of several files.
func (r *room) couldJoin(ctx context.Context, e wireEvent) bool {
	m, ok := e.message()
	if !ok || !m.IsFile() {
		return false
	}
	key, err := r.joins(ctx, state.Inbound{Sender: e.Sender, Type: e.Type, Time: time.UnixMilli(e.Time), Seq: math.MaxInt64})
	return err == nil && key != ""
}

// join makes a message a part of the task that it joins, if there still is one.
// The caller holds the books.
func (r *room) join(ctx context.Context, row state.Inbound, text string) (bool, error) {
	key, err := r.joins(ctx, row)
	if err != nil || key == "" { // the worker has gone on meanwhile
		return false, err
	}
	target, err := r.bot.Journal.Task(ctx, key)
	if err != nil {
		return false, fmt.Errorf("read task: %w", err)
	}
	if target.State != state.TaskQueued && target.State != state.TaskRunning {
		return false, nil
	}
	r.mu.Lock()
	if t := r.current; t != nil {
		t.lastPart.Store(row.Time.UnixMilli())
	}
	r.mu.Unlock()
	return true, r.steer(ctx, target, row, state.Said{By: row.Sender, Text: text, Event: row.Event, Joined: true, At: row.Time})
}

// steered tells whether the task was told something that no run has heard, and
// readies it for the run that does. The caller has ended the last one.
func (t *task) steered(ctx context.Context, out agent.Outcome) (bool, error) {
	t.books.Lock()
	err := t.reread(ctx)
	t.books.Unlock()
	if errors.Is(err, errStopped) || err == nil && len(t.rec.Said) == t.rec.Given {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	t.room.rearm(t)
	if t.rec.Container != "" { // a run has heard what came before
		t.rec.Told = t.rec.Given
		t.rec.Used = state.Usage(used(t.rec.Used).with(t.rec.Begun, out))
		if t.rec.Resumable = out.Session != "" && (t.rec.Resume || t.acted.Load()); t.rec.Resumable {
			t.rec.Session = out.Session
		} else {
			t.rec.Told = 0 // a session that has hardly begun is begun anew, with everything
		}
		t.plan(agent.NeedsInput)
	}
	return true, t.settleDown(ctx)
}

// spoken are the task as the agent is to hear it now, with the parts that came
// right behind it, and what was said later.
func (t *task) spoken() (text string, later []state.Said) {
	text = t.text
	for i, one := range t.rec.Said {
		switch {
		case one.Joined && (t.rec.Told == 0 || !t.rec.Resume):
			if one.Text != "" {
				text += "\n" + one.Text
			}
		case i >= t.rec.Told || !t.rec.Resume:
			later = append(later, one)
		}
	}
	return text, later
}

// unlessSteered writes down how a run came out, unless the task was told
// something that the run has not heard: then it is errSteered.
func (t *task) unlessSteered(ctx context.Context, write func() error) error {
	t.books.Lock()
	defer t.books.Unlock()
	if err := t.reread(ctx); err != nil && !errors.Is(err, errStopped) {
		return err
	} else if err == nil && len(t.rec.Said) > t.rec.Given {
		return errSteered
	}
	return write()
}

// settleDown waits until nobody adds to the task any more, where the newest
// text is a part of it.
func (t *task) settleDown(ctx context.Context) error {
	last := t.rec.Said[len(t.rec.Said)-1]
	if !last.Joined {
		return nil
	}
	if wait := time.Until(last.At.Add(t.bot.Debounce)); wait > 0 && wait <= t.bot.Debounce {
		return retry.Sleep(ctx, wait)
	}
	return nil
}

// rearm lets the task be told to stop once more.
func (r *room) rearm(t *task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.stopNow()
	t.stopping, t.stopNow = context.WithCancel(r.bot.ctx)
}
