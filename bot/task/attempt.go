package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/crash"
	"matrix-tui/sandbox"
	"matrix-tui/workspace"
)

// attempt brings the container up and has the run of the present attempt done in it:
// started if it never was, followed if it was. Errors of podman and the agent
// become an outcome with a sentence; an error is returned for our own books.
func (w *Work) attempt(ctx context.Context) (agent.Outcome, error) {
	if w.rec.Attempt == 0 {
		w.plan("")
	}
	if w.rec.Begun.IsZero() {
		w.rec.Begun = time.Now().UTC()
	}
	begun := w.rec.Container != ""
	stoppable, cancel := w.stoppable(ctx)
	defer cancel()
	if begun {
		stoppable = ctx // its run must be stopped in the container
	}
	w.fresh = !begun && w.rec.Tries <= 1 && (w.rec.Approved == nil || w.rec.Approved.Over) // between two tasks, never within one
	box, err := w.ensure(stoppable, begun)
	w.fresh = false
	if stoppable.Err() != nil && ctx.Err() == nil {
		return stoppedEarly(), nil
	}
	if err != nil {
		return w.trouble(ctx, err)
	}
	crash.At("ensured")
	attached := false
	if begun {
		if box.ID != w.rec.Container {
			return agent.Outcome{Ended: agent.Interrupted, Detail: interruptedOften}, nil
		}
		status, err := w.runStatus(ctx, box)
		if err != nil {
			return w.trouble(ctx, err)
		}
		attached = status.State != sandbox.RunNone
	}
	if !attached {
		if w.quoted, err = w.quote(ctx); err != nil {
			return agent.Outcome{}, err
		}
		w.who = w.persona(ctx, box)
		if out, err := (&approval{w, box}).run(ctx); err != nil || out.Ended != "" {
			return out, err
		}
		if err := (&filesIn{w, box}).bring(stoppable); stoppable.Err() != nil && ctx.Err() == nil {
			return stoppedEarly(), nil
		} else if err != nil {
			return agent.Outcome{}, err
		}
		err := w.claim(ctx, box.ID)
		if errors.Is(err, errStopped) {
			return stoppedEarly(), nil
		}
		if err != nil {
			return agent.Outcome{}, err
		}
	}
	saved := make(chan struct{})
	go func() { defer close(saved); w.ProjectSoon(ctx) }() // beside the run
	defer func() { <-saved }()
	if attached {
		w.noted, err = w.countTools()
		if err != nil {
			return agent.Outcome{}, err
		}
	}
	out, err := w.run(ctx, box, attached)
	if err != nil && ctx.Err() == nil {
		return agent.Outcome{}, &lostRun{err}
	}
	if err != nil {
		return agent.Outcome{}, err
	}
	crash.At("ended")
	return out, nil
}

// run has the agent do the attempt. A container that has bootstrap files, against what
// was known, does not start it: they are read first.
func (w *Work) run(ctx context.Context, box *sandbox.Container, attached bool) (agent.Outcome, error) {
	job := w.agentTask(attached)
	if !w.env.bootstrap.Load() {
		job.Without = bootstrapPaths()
	}
	out, err := w.env.Agent.Run(ctx, crashing{box}, job, w.event)
	if !errors.Is(err, sandbox.ErrFileExists) {
		return out, err
	}
	w.env.bootstrap.Store(true)
	w.who = w.persona(ctx, box)
	return w.env.Agent.Run(ctx, crashing{box}, w.agentTask(attached), w.event)
}

const interruptedOften = "The container kept going down while I was working on this. Please check the host, then send the task again."

// trouble makes an outcome of an error that is not our own books'.
func (w *Work) trouble(ctx context.Context, err error) (agent.Outcome, error) {
	if ctx.Err() != nil {
		return agent.Outcome{}, ctx.Err()
	}
	return agent.Outcome{Ended: agent.Crashed, Detail: w.env.Sentence(err)}, nil
}

// claim writes down which run is about to be started, and where, before it is.
// What the room said about the task until now counts; what it says later does
// not. It is errStopped when that is to stop.
func (w *Work) claim(ctx context.Context, boxID string) error {
	w.env.Books.Lock()
	defer w.env.Books.Unlock()
	if err := w.reread(ctx); err != nil {
		return err
	}
	if w.stopping.Err() != nil { // there is something new: it goes into this run, with its files
		return errStopped
	}
	w.begin()
	w.rec.Given = len(w.rec.Said)
	w.rec.Container = boxID
	w.rec.Deadline = time.Now().UTC().Add(w.runTime()) // the wait for a slot and the container is not the agent's time
	if w.rec.Attempt == 1 {
		if err := w.env.Transcripts.Begin(w.env.Container(), w.rec.Event, w.text); err != nil {
			return fmt.Errorf("begin transcript: %w", err)
		}
	}
	if err := w.env.Journal.Claim(ctx, w.Row()); err != nil {
		return fmt.Errorf("claim task: %w", err)
	}
	crash.At("claimed")
	return nil
}

// reread takes over what others have written into the task's record. The
// caller holds the books.
func (w *Work) reread(ctx context.Context) error {
	row, err := w.env.Journal.Task(ctx, w.rec.Key)
	if err != nil {
		return fmt.Errorf("read task again: %w", err)
	}
	if row.StopBy != "" {
		w.rec.StopBy, w.rec.Withdrawn = row.StopBy, row.Withdrawn
		return errStopped
	}
	now := w.env.Task(row)
	w.exec.Answers, w.rec.Said = now.exec.Answers, row.Said
	w.rec.Text, w.rec.Edited, w.text = row.Text, row.Edited, now.text
	w.exec.Transcript = now.exec.Transcript
	return nil
}

// crashing is a container with a crash point behind the start of a run.
type crashing struct{ *sandbox.Container }

func (c crashing) StartRun(ctx context.Context, spec sandbox.RunSpec) (bool, error) {
	existed, err := c.Container.StartRun(ctx, spec)
	crash.At("started")
	return existed, err
}

// quote is the message that the task replies to, nil for none.
func (w *Work) quote(ctx context.Context) (*workspace.Quote, error) {
	about := cmp.Or(w.rec.ReplyTo, w.rec.Thread)
	if about == "" {
		return nil, nil
	}
	return w.env.Room.Quote(ctx, w.rec.Home, about)
}
