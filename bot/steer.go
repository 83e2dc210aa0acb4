package bot

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"matrix-tui/agent"
	"matrix-tui/state"
)

// steerText is what somebody said to a task on its walk.
type steerText struct {
	By    string `json:"by"` // user ID
	Text  string `json:"text"`
	Event string `json:"event"`
	// Joined is a message that came right behind the task, by the same person:
	// a part of it.
	Joined bool      `json:"joined,omitempty"`
	At     time.Time `json:"at"`             // of the event, as its server dates it
	File   bool      `json:"file,omitempty"` // the event carries a file
	Edited bool      `json:"edited,omitempty"`
}

// words is the text, or what stands for a file without one.
func (s steerText) words() string {
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
			return r.steer(ctx, one.row, row, steerText{By: row.Sender, Text: text, Event: row.Event, At: row.Time})
		}
	}
	if len(all) > 0 {
		return r.tell(ctx, row, "Nothing runs here that could be steered, but a question waits: reply to it.")
	}
	return r.tell(ctx, row, "Nothing runs here that could be steered. Write it as a task.")
}

// steer gives a running task a text, and ends the row that it came with. The
// caller holds the books.
func (r *room) steer(ctx context.Context, target, row state.Inbound, said steerText) error {
	t, err := newTask(r, target)
	if err != nil {
		return err
	}
	for _, one := range t.rec.Steer {
		if one.Event == row.Event { // noted in a former life
			return r.finish(ctx, row)
		}
	}
	if len(t.rec.Steer) >= maxSteer {
		return r.tell(ctx, row, "I have been told too much about one task already. `!stop` ends it; then write anew what you want.")
	}
	_, said.File = fileOf(row)
	t.rec.Steer = append(t.rec.Steer, said)
	if err := t.note(ctx); err != nil {
		return err
	}
	r.signalStop(t.key, "↪️ taking in what "+localpart(said.By)+" says")
	return r.finish(ctx, row)
}

// joins tells whether a message is a part of the task that runs: by the same
// person, right behind it, and before the agent has done anything.
func (r *room) joins(row state.Inbound) bool {
	r.mu.Lock()
	t := r.current
	r.mu.Unlock()
	if t == nil || r.bot.Debounce <= 0 || t.asker() != row.Sender || !isSpoken(row.Type) || t.row.Seq >= row.Seq || t.acted.Load() {
		return false
	}
	gap := row.Time.Sub(time.UnixMilli(t.lastPart.Load()))
	return gap >= 0 && gap <= r.bot.Debounce
}

// couldJoin tells whether an event that is new is a file that joins the task that
// runs: nobody mentions the bot under each of several files.
func (r *room) couldJoin(e wireEvent) bool {
	m, ok := e.message()
	return ok && m.IsFile() && r.joins(state.Inbound{Sender: e.Sender, Type: e.Type, Time: time.UnixMilli(e.Time), Seq: math.MaxInt64})
}

// join makes a message a part of the task that runs, if it still is one. The
// caller holds the books.
func (r *room) join(ctx context.Context, row state.Inbound, text string) (bool, error) {
	if !r.joins(row) { // the lane has gone on meanwhile
		return false, nil
	}
	r.mu.Lock()
	t := r.current
	r.mu.Unlock()
	if t == nil {
		return false, nil
	}
	target, err := r.bot.Journal.Event(ctx, r.id, t.row.Event)
	if err != nil {
		return false, fmt.Errorf("read running task: %w", err)
	}
	if target.Status != state.Pending && target.Status != state.Running {
		return false, nil
	}
	t.lastPart.Store(row.Time.UnixMilli())
	return true, r.steer(ctx, target, row, steerText{By: row.Sender, Text: text, Event: row.Event, Joined: true, At: row.Time})
}

// steered tells whether the task was told something that no run has heard, and
// readies it for the run that does. The caller has ended the last one.
func (t *task) steered(ctx context.Context, out agent.Outcome) (bool, error) {
	t.books.Lock()
	err := t.reread(ctx)
	t.books.Unlock()
	if errors.Is(err, errStopped) || err == nil && len(t.rec.Steer) == t.rec.Given {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	t.room.rearm(t)
	if t.rec.Box != "" { // a run has heard what came before
		t.rec.Told = t.rec.Given
		t.rec.Used = t.rec.Used.with(t.rec.Begun, out)
		if t.rec.Resuming = out.Session != "" && (t.rec.Resume || t.acted.Load()); t.rec.Resuming {
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
func (t *task) spoken() (text string, later []steerText) {
	text = t.text
	for i, one := range t.rec.Steer {
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
	} else if err == nil && len(t.rec.Steer) > t.rec.Given {
		return errSteered
	}
	return write()
}

// settleDown waits until nobody adds to the task any more, where the newest
// text is a part of it.
func (t *task) settleDown(ctx context.Context) error {
	last := t.rec.Steer[len(t.rec.Steer)-1]
	if !last.Joined {
		return nil
	}
	if wait := time.Until(last.At.Add(t.bot.Debounce)); wait > 0 && wait <= t.bot.Debounce {
		return sleep(ctx, wait)
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
