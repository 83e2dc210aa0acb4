package bot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/agent"
	"matrix-tui/sandbox"
	"matrix-tui/state/retry"
	"matrix-tui/workspace"
)

// attempt brings the box up and has the run of the present attempt done in it:
// started if it never was, followed if it was. Errors of podman and the agent
// become an outcome with a sentence; an error is returned for our own books.
func (t *task) attempt(ctx context.Context) (agent.Outcome, error) {
	if t.rec.Attempt == 0 {
		t.plan("")
	}
	if t.rec.Begun.IsZero() {
		t.rec.Begun = time.Now().UTC()
	}
	begun := t.rec.Container != ""
	stoppable, cancel := t.stoppable(ctx)
	defer cancel()
	if begun {
		stoppable = ctx // its run must be stopped in the box
	}
	t.fresh = !begun && t.rec.Tries <= 1 && (t.rec.Approved == nil || t.rec.Approved.Over) // between two tasks, never within one
	box, err := t.ensure(stoppable, begun)
	t.fresh = false
	if stoppable.Err() != nil && ctx.Err() == nil {
		return t.stoppedEarly(), nil
	}
	if err != nil {
		return t.trouble(ctx, err)
	}
	crash("ensured")
	attached := false
	if begun {
		if box.ID != t.rec.Container {
			return agent.Outcome{Ended: agent.Interrupted, Detail: interruptedOften}, nil
		}
		status, err := t.runStatus(ctx, box)
		if err != nil {
			return t.trouble(ctx, err)
		}
		attached = status.State != sandbox.RunNone
	}
	if !attached {
		if t.quoted, err = t.quote(ctx); err != nil {
			return agent.Outcome{}, err
		}
		t.who = t.persona(ctx, box)
		if out, err := t.runApproved(ctx, box); err != nil || out.Ended != "" {
			return out, err
		}
		if err := t.bring(stoppable, box); stoppable.Err() != nil && ctx.Err() == nil {
			return t.stoppedEarly(), nil
		} else if err != nil {
			return agent.Outcome{}, err
		}
		err := t.claim(ctx, box.ID)
		if errors.Is(err, errStopped) {
			return t.stoppedEarly(), nil
		}
		if err != nil {
			return agent.Outcome{}, err
		}
	}
	saved := make(chan struct{})
	go func() { defer close(saved); t.projectSoon(ctx) }() // beside the run
	defer func() { <-saved }()
	if attached {
		t.noted, err = t.countTools()
		if err != nil {
			return agent.Outcome{}, err
		}
	}
	out, err := t.run(ctx, box, attached)
	if err != nil && ctx.Err() == nil {
		return agent.Outcome{}, &lostRun{err}
	}
	if err != nil {
		return agent.Outcome{}, err
	}
	crash("ended")
	return out, nil
}

// run has the agent do the attempt. A box that has bootstrap files, against what
// was known, does not start it: they are read first.
func (t *task) run(ctx context.Context, box *sandbox.Container, attached bool) (agent.Outcome, error) {
	job := t.agentTask(attached)
	if !t.bootstrap.Load() {
		job.Without = bootstrapPaths()
	}
	out, err := t.bot.Agent.Run(ctx, crashing(box), job, t.event)
	if !errors.Is(err, sandbox.ErrFileExists) {
		return out, err
	}
	t.bootstrap.Store(true)
	t.who = t.persona(ctx, box)
	return t.bot.Agent.Run(ctx, crashing(box), t.agentTask(attached), t.event)
}

const interruptedOften = "My container went down again and again while I worked on this; please look at the host, then send the task once more."

// trouble makes an outcome of an error that is not our own books'.
func (t *task) trouble(ctx context.Context, err error) (agent.Outcome, error) {
	if ctx.Err() != nil {
		return agent.Outcome{}, ctx.Err()
	}
	return agent.Outcome{Ended: agent.Crashed, Detail: t.bot.sentence(err)}, nil
}

// ensure brings the room's box up. Podman's service may just be restarting:
// it is waited for, longer when a run of ours is in there.
func (t *task) ensure(ctx context.Context, begun bool) (*sandbox.Container, error) {
	patience := time.Now().Add(30 * time.Second)
	if begun && t.rec.Deadline.After(patience) {
		patience = t.rec.Deadline
	}
	for again := retry.New(250*time.Millisecond, 5*time.Second).Until(patience); ; {
		box, err := t.ensureOnce(ctx)
		if err == nil || !errors.Is(err, sandbox.ErrUnreachable) {
			return box, err
		}
		t.shown.set("podman does not answer, I keep trying")
		if err := again.Wait(ctx, err); err != nil {
			return nil, err
		}
	}
}

func (t *task) ensureOnce(ctx context.Context) (*sandbox.Container, error) {
	b := t.bot
	dir, err := b.Gateway.Open(t.id)
	if err != nil {
		return nil, fmt.Errorf("open gateway: %w", err)
	}
	name := b.Store.Container(t.id)
	box, err := b.Podman.Ensure(ctx, sandbox.Spec{
		Room: t.id, Name: name, VolumesOf: b.Store.VolumesOf(t.id), Image: b.Image, Memory: b.Memory, CPUs: b.CPUs, PIDs: b.PIDs,
		Gateway: dir, Version: b.Version, Fresh: t.fresh,
	})
	if err != nil {
		return nil, fmt.Errorf("ensure box: %w", err)
	}
	if name == "" {
		if err := b.Store.SetContainer(ctx, t.id, box.Name); err != nil {
			b.log.Warn().Err(err).Str("room", t.id).Msg("save container name") // goes with the next write
		}
	}
	return box, nil
}

// boxName names the room's container, and its transcript.
func (r *room) boxName() string {
	if name := r.bot.Store.Container(r.id); name != "" {
		return name
	}
	return sandbox.NameFor(r.id)
}

// runStatus asks the box for the run, over a restart of podman's service.
func (t *task) runStatus(ctx context.Context, box *sandbox.Container) (sandbox.RunStatus, error) {
	for again := retry.New(250*time.Millisecond, 5*time.Second).Until(t.rec.Deadline); ; {
		status, err := box.RunStatus(ctx, t.rec.Run)
		if err == nil || !errors.Is(err, sandbox.ErrUnreachable) {
			return status, err
		}
		if err := again.Wait(ctx, err); err != nil {
			return status, err
		}
	}
}

// claim writes down which run is about to be started, and where, before it is.
// What the room said about the task until now counts; what it says later does
// not. It is errStopped when that is to stop.
func (t *task) claim(ctx context.Context, boxID string) error {
	t.books.Lock()
	defer t.books.Unlock()
	if err := t.reread(ctx); err != nil {
		return err
	}
	if t.stopping.Err() != nil { // there is something new: it goes into this run, with its files
		return errStopped
	}
	t.begin()
	t.rec.Given = len(t.rec.Said)
	t.rec.Container = boxID
	t.rec.Deadline = time.Now().UTC().Add(t.runTime()) // the wait for a slot and the box is not the agent's time
	if t.rec.Attempt == 1 {
		if err := t.bot.Transcripts.Begin(t.boxName(), t.rec.Event, t.text); err != nil {
			return fmt.Errorf("begin transcript: %w", err)
		}
	}
	if err := t.bot.Journal.Claim(ctx, t.row()); err != nil {
		return fmt.Errorf("claim task: %w", err)
	}
	crash("claimed")
	return nil
}

// reread takes over what others have written into the task's record. The
// caller holds the books.
func (t *task) reread(ctx context.Context) error {
	row, err := t.bot.Journal.Task(ctx, t.rec.Key)
	if err != nil {
		return fmt.Errorf("read task again: %w", err)
	}
	if row.StopBy != "" {
		t.rec.StopBy, t.rec.Withdrawn = row.StopBy, row.Withdrawn
		return errStopped
	}
	now := newTask(t.room, row)
	t.exec.Answers, t.rec.Said = now.exec.Answers, row.Said
	t.rec.Text, t.rec.Edited, t.text = row.Text, row.Edited, now.text
	t.exec.Transcript = now.exec.Transcript
	return nil
}

// agentTask is the attempt as the agent gets it.
func (t *task) agentTask(attached bool) agent.Task {
	text, later := t.spoken()
	in := workspace.Input{
		Task: text, Asker: localpart(t.asker()), Interrupted: t.rec.Interrupted,
		Instruction: agent.Instruction, Answers: t.answered(), Resumed: t.rec.Resume && len(t.exec.Answers)+len(later) > 0,
	}
	for _, one := range later {
		in.Steer = append(in.Steer, workspace.Message{Sender: localpart(one.By), Text: wordsOf(one)})
	}
	in.Persona, in.Quote = t.who, t.quoted
	in.Files = t.promptFiles(in.Resumed)
	history := t.bot.Store.History(t.id)
	if !t.rec.Resume {
		for _, turn := range history {
			in.History = append(in.History, workspace.Turn{Role: turn.Role, Content: turn.Content})
		}
	} else if last := len(history) - 1; last >= 0 && ours(history[last].Content) {
		in.Ended = history[last].Content
	}
	return agent.Task{
		Run: t.rec.Run, Session: t.rec.Session, Resume: t.rec.Resume,
		Prompt: workspace.Prompt(in), Model: cmp.Or(t.rules().Model, t.bot.Model), Deadline: t.rec.Deadline,
		Files:     workspaceFiles(text),
		Watch:     []string{workspace.StatusPath},
		Attached:  attached,
		Stop:      t.stopping.Done(),
		Approvals: t.rules().Approvals,
	}
}

// workspaceFiles are what the box must have before the run: task.md anew, the
// two memories only where they are missing.
func workspaceFiles(text string) []sandbox.File {
	files := []sandbox.File{{Path: workspace.TaskPath, Data: workspace.TaskFile(text), Mode: 0o644}}
	for path, first := range workspace.FirstFiles() {
		files = append(files, sandbox.File{Path: path, Data: []byte(first), Mode: 0o644, New: true})
	}
	return files
}
