package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/progress"
	"matrix-tui/bot/recall"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state/sentence"
	"matrix-tui/state/transcripts"
	"matrix-tui/workspace"
)

// attempt is one try at a task: it starts the container and runs the agent in it.
type attempt struct {
	task  *Task
	shown *progress.Notice
	stop  *interrupt
	works func()       // called at the agent's first sign of life
	acted *atomic.Bool // set when the agent calls a tool

	container *sandbox.Container
	model     string
	quoted    *workspace.Quote
	who       []workspace.Text // the agent's persona
	running   []string         // what earlier tasks have left running
	known     recall.Known     // what the room knows about the task
	gave      sync.Once        // the session has seen known
	noted     int              // tool calls added to the transcript before a restart
	waited    bool             // the notice shows what the container keeps waiting for
}

// do starts the run, or reattaches to it. Errors of podman and the agent become an
// outcome with a sentence for people. It returns errors of the journal, and a *lostRun if
// the caller is to try again.
func (a *attempt) do(ctx context.Context) (agent.Outcome, error) {
	t, rec, env := a.task, &a.task.rec, a.task.env
	if rec.Attempt == 0 {
		if err := t.freshen(ctx); err != nil {
			return agent.Outcome{}, err
		}
		t.plan("")
	}
	if rec.Begun.IsZero() {
		rec.Begun = time.Now().UTC()
	}
	started := rec.Container != ""
	if out, err := (allowance{t}).settle(ctx); err != nil || out.Ended != "" {
		return out, err
	}
	if out, err := (compaction{t}).refuse(ctx); err != nil || out.Ended != "" && !started {
		return out, err
	}
	stoppable, cancel := a.stop.within(ctx)
	defer cancel()
	if started {
		stoppable = ctx // the run must be stopped in the container
	}
	if !started {
		if rec.Attempt == 1 && len(t.exec.Answers) == 0 {
			t.awaitWords(stoppable)
		}
		if out := a.closed(); out.Ended != "" && stoppable.Err() == nil {
			return out, nil
		}
	}
	looked, end := func() error { return a.recall(ctx) }, func(bool) {}
	if !started {
		looked, end = a.lookUp(ctx)
	}
	container, err := a.ensure(stoppable, started)
	end(err == nil)
	if stoppable.Err() != nil && ctx.Err() == nil {
		return stoppedEarly(), nil
	}
	if err != nil {
		return crashed(ctx, env, err)
	}
	a.container = container
	crash.At("ensured")
	attached := false
	if started {
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
		if out, err := a.prepare(ctx, stoppable, looked); err != nil || out.Ended != "" {
			return out, err
		}
	}
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

// prepare readies the container for a new run and claims the run. It returns an outcome
// if the task was stopped; stoppable is done then. looked is that of lookUp, or recall.
func (a *attempt) prepare(ctx, stoppable context.Context, looked func() error) (out agent.Outcome, err error) {
	t := a.task
	err = a.reinstall(stoppable)
	if errors.Is(err, errStopped) || stoppable.Err() != nil && ctx.Err() == nil {
		return stoppedEarly(), nil
	}
	if err != nil {
		return out, err
	}
	out, err = a.gate(stoppable)
	if stoppable.Err() != nil && ctx.Err() == nil {
		return stoppedEarly(), nil
	}
	if err != nil || out.Ended != "" {
		return out, err
	}
	a.who = t.env.Persona(ctx, a.container)
	if _, err := t.env.tidy(ctx, a.container, nil); err != nil {
		t.env.Log.Warn().Err(err).Str("room", t.env.ID).Msg("cannot remove what was forgotten from the container")
	}
	if err := looked(); err != nil {
		return out, err
	}
	if out, err = (&approval{t, a.stop, a.shown, a.container}).run(ctx); err != nil || out.Ended != "" {
		return out, err
	}
	a.running = t.env.Left(ctx, a.container)
	err = (&filesIn{t, a.shown, a.container}).copyIn(stoppable)
	if stoppable.Err() != nil && ctx.Err() == nil {
		return stoppedEarly(), nil
	}
	if err != nil {
		return out, err
	}
	setting := t.env.Rules().Model
	if _, known := t.env.Models.Now(setting); !known {
		a.shown.Set("asking the model's API which model to use")
	}
	if a.model, err = t.env.Models.Choose(stoppable, setting); stoppable.Err() != nil && ctx.Err() == nil {
		return stoppedEarly(), nil
	} else if err != nil {
		return agent.Outcome{Ended: agent.ModelError, Detail: sentence.Text(err)}, ctx.Err()
	}
	if err = a.claim(ctx); errors.Is(err, errStopped) {
		return stoppedEarly(), nil
	}
	return out, err
}

// claim records the run and its container before the run starts. The run receives all
// messages stored by now, and none that come later. The error is errStopped after a stop
// request, or if a message has come in whose files must be copied first.
func (a *attempt) claim(ctx context.Context) error {
	t, rec, env := a.task, &a.task.rec, a.task.env
	return t.decide(ctx, func() error {
		if a.stop.now.Err() != nil { // a new message: include it in this run, with its files
			return errStopped
		}
		start(t.exec)
		rec.Given = len(rec.Said)
		rec.Due.At, rec.Due.Why = time.Time{}, ""
		rec.Container = a.container.ID
		rules := env.rules()
		rec.Deadline = time.Now().UTC().Add(rules.Timeout) // excludes the wait for a slot and the container
		rec.Model = a.model
		if rec.Attempt == 1 {
			if err := env.Transcripts.Begin(env.ID, rec.Event, t.text); err != nil {
				return fmt.Errorf("begin transcript: %w", err)
			}
		}
		if err := env.Journal.Tasks.Claim(ctx, t.Row()); err != nil {
			return fmt.Errorf("claim task: %w", err)
		}
		crash.At("claimed")
		return nil
	})
}

// run runs the agent. If the container unexpectedly has bootstrap files, the first start
// fails, and run reads them and starts again.
func (a *attempt) run(ctx context.Context, attached bool) (agent.Outcome, error) {
	env := a.task.env
	job, err := a.agentTask(ctx, attached)
	if err != nil {
		return agent.Outcome{}, err
	}
	job.Needed = env.Sessions(ctx)
	env.OpenModel(a.task.rec)
	job.Without = env.Without()
	env.Warm.Forget(env.ID)
	a.speak()
	defer env.Recall.Begin(env.ID, recall.Speech{})
	out, err := env.Agent.Run(ctx, crashing{a.container}, job, a.event)
	if errors.Is(err, sandbox.ErrFileExists) {
		env.HasBootstrap()
		a.who = env.Persona(ctx, a.container)
		needed := job.Needed
		if job, err = a.agentTask(ctx, attached); err != nil {
			return agent.Outcome{}, err
		}
		job.Needed = needed
		out, err = env.Agent.Run(ctx, crashing{a.container}, job, a.event)
	}
	if err != nil || out.Status.State != sandbox.RunExited || out.Status.Left {
		env.MayLeave()
	}
	if err == nil { // otherwise it may continue
		out = out.WithPrompt(a.task.rec.Model, env.Route.LastPrompt(env.ID)).WithFinish(env.Route.LastFinish(env.ID))
		env.closeModel(a.task.rec.Key)
	}
	return out, err
}

// event shows a step of the run and adds it to the transcript, unless that was done
// before a restart.
func (a *attempt) event(e agent.Event) {
	a.works()
	a.gave.Do(a.noteKnown)
	a.shown.Event(a.task.rec.Run, e)
	switch e.Kind {
	case agent.EventTool:
		a.acted.Store(true)
		if a.noted > 0 {
			a.noted--
			break
		}
		transcriptOf(a.task).add(transcripts.Line{Kind: transcripts.KindTool, Event: a.task.rec.Event, Tool: e.Tool,
			Text: e.Detail})
	case agent.EventSilent:
		note := ""
		if e.Quiet > 0 {
			note = "no output for " + text.Duration(e.Quiet)
		}
		a.shown.Set(note)
	case agent.EventSlow:
		a.shown.Set(fmt.Sprintf("the model is slow: no output for %s", text.Duration(e.Quiet)))
	}
	crash.At("streaming")
}

const interruptedOften = "The container kept going down while I was working on this. If its memory runs out, give me " +
	"a smaller task, or ask the operator to raise SANDBOX_MEMORY. Otherwise, the operator can look into the log."

const overflowedTwice = "The task became too long for the model, in a new session too. The work so far is in " +
	"/workspace. " +
	"Give me a smaller step, or tell me to read less at once; it starts a new session."

// crashed returns an outcome with a sentence about err, or the error of ctx.
func crashed(ctx context.Context, env *Env, err error) (agent.Outcome, error) {
	if ctx.Err() != nil {
		return agent.Outcome{}, ctx.Err()
	}
	return agent.Outcome{Ended: agent.Crashed, Detail: sentence.Log(env.Log, err)}, nil
}

// crashing is a container with a crash point after the start of a run.
type crashing struct{ agent.Container }

func (c crashing) Run(ctx context.Context, spec sandbox.RunSpec, w io.Writer,
	begun func(bool)) (sandbox.RunStatus, error) {
	return c.Container.Run(ctx, spec, w, func(existed bool) {
		crash.At("started")
		begun(existed)
	})
}
