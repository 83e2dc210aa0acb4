package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"matrix-tui/agent"
	"matrix-tui/state"
)

// maxAttempts bounds how often a task is begun again because its session was
// gone or its box went down.
const maxAttempts = 5

// record is what the journal keeps of a task that has begun.
type record struct {
	Attempt     int       `json:"attempt"`
	Run         string    `json:"run"`     // the run of this attempt, in its box
	Box         string    `json:"box"`     // ID of the container it was started in
	Session     string    `json:"session"` // the CLI's session
	Resume      bool      `json:"resume"`  // the session existed before this attempt
	Interrupted bool      `json:"interrupted,omitempty"`
	Begun       time.Time `json:"begun"`    // of the first attempt
	Deadline    time.Time `json:"deadline"` // of this attempt

	// Set once the answer is in the outbox.
	Ended    agent.Ended `json:"ended,omitempty"`
	Answer   string      `json:"answer,omitempty"`   // for the history, cut
	Line     string      `json:"line,omitempty"`     // for status.md; empty when the agent wrote one
	Status   int64       `json:"status,omitempty"`   // size of status.md at the end of the run
	Resuming bool        `json:"resuming,omitempty"` // the session can be gone on with
}

// lostRun is a run that could not be followed to its end: its box may be gone,
// or only podman's answer.
type lostRun struct{ err error }

func (e *lostRun) Error() string { return "lose sight of run: " + e.err.Error() }
func (e *lostRun) Unwrap() error { return e.err }

// task is one row on its walk.
type task struct {
	*room
	row   state.Inbound
	key   string
	text  string
	rec   record
	shown *progress
	noted int // tool calls that a former life has put into the transcript
}

// doTask takes a task from where its row stands to its end. An error means
// that our own books could not be kept; everything else is an answer.
func (r *room) doTask(ctx context.Context, row state.Inbound) error {
	t := &task{room: r, row: row, key: taskKey(row)}
	e, _ := parseEvent(row.Raw)
	m, _ := e.message()
	t.text = taskText(m)
	if len(row.Task) > 0 {
		if err := json.Unmarshal(row.Task, &t.rec); err != nil {
			return fmt.Errorf("read task record: %w", err)
		}
	}
	crash("picked")
	if row.Status == state.Answered {
		return t.settle(ctx)
	}
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.setCancel(cancel)
	defer r.setCancel(nil)

	out, err := t.perform(working)
	if errors.Is(context.Cause(working), errRoomGone) {
		return r.finish(ctx, row)
	}
	if err != nil {
		return err
	}
	if err := t.answer(ctx, out); err != nil {
		return err
	}
	r.untype()
	return t.settle(ctx)
}

func (r *room) setCancel(cancel context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel = cancel
}

// perform has the task done, in as many attempts as it takes, while the room
// sees how far it is.
func (t *task) perform(ctx context.Context) (agent.Outcome, error) {
	var err error
	if t.shown, err = t.showProgress(ctx); err != nil {
		return agent.Outcome{}, err
	}
	defer t.shown.stop()
	if !t.bot.slots.TryAcquire(1) {
		t.shown.set("waiting for other rooms' tasks to end")
		if err := t.bot.slots.Acquire(ctx, 1); err != nil {
			return agent.Outcome{}, err
		}
	}
	defer t.bot.slots.Release(1)
	t.shown.set("")
	for lost := 0; ; {
		out, err := t.attempt(ctx)
		var gone *lostRun
		if errors.As(err, &gone) {
			if lost++; lost < maxAttempts {
				t.bot.log.Warn().Err(err).Str("room", t.id).Msg("looking for the run again")
				if err := sleep(ctx, time.Duration(lost)*time.Second/2); err != nil {
					return out, err
				}
				continue
			}
			return t.trouble(ctx, gone.err)
		}
		if err != nil {
			return out, err
		}
		again := out.Ended == agent.SessionGone || out.Ended == agent.Interrupted
		if !again || t.rec.Attempt >= maxAttempts {
			return out, nil
		}
		t.bot.log.Info().Str("room", t.id).Str("run", t.rec.Run).Str("ended", string(out.Ended)).Msg("another attempt")
		t.plan(out.Ended)
	}
}

// plan makes the record of the next attempt from the end of the last one.
func (t *task) plan(last agent.Ended) {
	now := time.Now().UTC()
	t.rec.Attempt++
	t.rec.Run = fmt.Sprintf("%s-%d", t.key, t.rec.Attempt)
	t.rec.Box = ""
	t.rec.Deadline = now.Add(t.bot.CodingTimeout)
	switch last {
	case agent.SessionGone:
		t.rec.Session, t.rec.Resume = uuid.NewString(), false
	case agent.Interrupted:
		t.rec.Interrupted, t.rec.Resume = true, true
	default:
		t.rec.Begun = now
		t.rec.Session, t.rec.Resume = t.bot.Store.Session(t.id), true
		if t.rec.Session == "" {
			t.rec.Session, t.rec.Resume = uuid.NewString(), false
		}
	}
}
