package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/workspace"
)

// attempt is one try at a task: the container comes up, and the run of the present
// attempt is done in it.
type attempt struct {
	task  *Task
	shown *progress
	stop  *interrupt
	acted *atomic.Bool // set when the agent calls a tool

	container *sandbox.Container
	quoted    *workspace.Quote
	who       []workspace.Text // the agent's persona
	noted     int              // tool calls that a former life has put into the transcript
}

// do starts the run if it never was, and follows it if it was. Errors of podman and
// the agent become an outcome with a sentence; an error is returned for our own
// books.
func (a *attempt) do(ctx context.Context) (agent.Outcome, error) {
	t, rec, env := a.task, &a.task.rec, a.task.env
	if rec.Attempt == 0 {
		t.plan("")
	}
	if rec.Begun.IsZero() {
		rec.Begun = time.Now().UTC()
	}
	begun := rec.Container != ""
	stoppable, cancel := a.stop.within(ctx)
	defer cancel()
	if begun {
		stoppable = ctx // its run must be stopped in the container
	}
	container, err := a.ensure(stoppable, begun)
	if stoppable.Err() != nil && ctx.Err() == nil {
		return stoppedEarly(), nil
	}
	if err != nil {
		return crashed(ctx, env, err)
	}
	a.container = container
	crash.At("ensured")
	attached := false
	if begun {
		if container.ID != rec.Container {
			return agent.Outcome{Ended: agent.Interrupted, Detail: interruptedOften}, nil
		}
		status, err := a.status(ctx)
		if err != nil {
			return crashed(ctx, env, err)
		}
		attached = status.State != sandbox.RunNone
	}
	if !attached {
		if out, err := a.prepare(ctx, stoppable); err != nil || out.Ended != "" {
			return out, err
		}
	}
	saved := make(chan struct{})
	go func() { defer close(saved); env.ProjectSoon(ctx, rec.Key) }() // beside the run
	defer func() { <-saved }()
	if attached {
		if a.noted, err = transcriptOf(t).tools(); err != nil {
			return agent.Outcome{}, err
		}
	}
	out, err := a.run(ctx, attached)
	if err != nil && ctx.Err() == nil {
		return agent.Outcome{}, &lostRun{err}
	}
	if err != nil {
		return agent.Outcome{}, err
	}
	crash.At("ended")
	return out, nil
}

// prepare readies the container for a new run, and claims the run. An outcome is
// returned when the task was told to stop: stoppable has ended then.
func (a *attempt) prepare(ctx, stoppable context.Context) (out agent.Outcome, err error) {
	t := a.task
	if about := cmp.Or(t.rec.ReplyTo, t.rec.Thread); about != "" {
		if a.quoted, err = t.env.Room.Quote(ctx, t.rec.Home, about); err != nil {
			return out, err
		}
	}
	a.who = persona(ctx, t.env, a.container)
	if out, err = (&approval{t, a.stop, a.shown, a.container}).run(ctx); err != nil || out.Ended != "" {
		return out, err
	}
	err = (&filesIn{t, a.shown, a.container}).copyIn(stoppable)
	if stoppable.Err() != nil && ctx.Err() == nil {
		return stoppedEarly(), nil
	}
	if err != nil {
		return out, err
	}
	if err = a.claim(ctx); errors.Is(err, errStopped) {
		return stoppedEarly(), nil
	}
	return out, err
}

// claim writes down which run is about to be started, and where, before it is.
// What the room said about the task until now counts; what it says later does
// not. It is errStopped when that is to stop.
func (a *attempt) claim(ctx context.Context) error {
	t, rec, env := a.task, &a.task.rec, a.task.env
	return t.decide(ctx, func() error {
		if a.stop.now.Err() != nil { // there is something new: it goes into this run, with its files
			return errStopped
		}
		start(t.exec)
		rec.Given = len(rec.Said)
		rec.Container = a.container.ID
		rec.Deadline = time.Now().UTC().Add(env.rules().Timeout) // the wait for a slot and the container is not the agent's time
		if rec.Attempt == 1 {
			if err := env.Transcripts.Begin(env.Container(), rec.Event, t.text); err != nil {
				return fmt.Errorf("begin transcript: %w", err)
			}
		}
		if err := env.Journal.Claim(ctx, t.Row()); err != nil {
			return fmt.Errorf("claim task: %w", err)
		}
		crash.At("claimed")
		return nil
	})
}

// run has the agent do the attempt. A container that has bootstrap files, against what
// was known, does not start it: they are read first.
func (a *attempt) run(ctx context.Context, attached bool) (agent.Outcome, error) {
	env, job := a.task.env, a.agentTask(attached)
	if !env.bootstrap.Load() {
		job.Without = bootstrapPaths()
	}
	out, err := env.Agent.Run(ctx, crashing{a.container}, job, a.event)
	if !errors.Is(err, sandbox.ErrFileExists) {
		return out, err
	}
	env.bootstrap.Store(true)
	a.who = persona(ctx, env, a.container)
	return env.Agent.Run(ctx, crashing{a.container}, a.agentTask(attached), a.event)
}

// event shows a step of the run, and puts it into the transcript, unless a former
// life has.
func (a *attempt) event(e agent.Event) {
	a.shown.event(a.task.rec.Run, e)
	switch e.Kind {
	case agent.EventTool:
		a.acted.Store(true)
		if a.noted > 0 {
			a.noted--
			break
		}
		transcriptOf(a.task).add(state.Line{Kind: state.KindTool, Event: a.task.rec.Event, Tool: e.Tool, Text: e.Detail})
	case agent.EventText:
		a.shown.set("")
	case agent.EventSlow:
		a.shown.set(fmt.Sprintf("the model is slow: no output for %s", text.Duration(e.Quiet)))
	}
	crash.At("streaming")
}

const interruptedOften = "The container kept going down while I was working on this. Please check the host, then send the task again."

// trouble makes an outcome of an error that is not our own books'.
func crashed(ctx context.Context, env *Env, err error) (agent.Outcome, error) {
	if ctx.Err() != nil {
		return agent.Outcome{}, ctx.Err()
	}
	return agent.Outcome{Ended: agent.Crashed, Detail: env.Sentence(err)}, nil
}

// crashing is a container with a crash point behind the start of a run.
type crashing struct{ agent.Container }

func (c crashing) StartRun(ctx context.Context, spec sandbox.RunSpec) (bool, error) {
	existed, err := c.Container.StartRun(ctx, spec)
	crash.At("started")
	return existed, err
}
