package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/state"
)

// The answers to a command that needs a yes.
const YesKey, NoKey = "✅", "❌"

// maxApproved bounds what is told of an approved command's output, in bytes: its
// beginning is dropped.
const maxApproved = 16 << 10

// maxShown is the longest command that a person is asked about, in bytes: all of
// it must be seen before the yes.
const maxShown = 32 << 10

// IsHeld tells whether the newest question is about a command.
func (t *Task) IsHeld() bool { return t.rec.HeldCommand != "" }

func (t *Task) held() agent.Held {
	return agent.Held{Command: t.rec.HeldCommand, Dir: t.rec.HeldDir}
}

// approvalQuestion asks for a yes to a command.
func approvalQuestion(h agent.Held) string {
	return fmt.Sprintf("May I run this command in %s?\n\n%s", text.Code(h.Dir), text.Fence(text.Reveal(h.Command)))
}

// IsYes tells a plain yes from everything else, which runs nothing.
func IsYes(answer string) bool {
	answer = strings.ToLower(strings.TrimRight(strings.TrimSpace(answer), "!.\uFE0F"))
	return slices.Contains([]string{YesKey, "👍", "yes", "y", "ok", "okay", "approve", "approved", "run it", "go ahead"}, answer)
}

// verdictOn is what the agent is told of a person's answer about a command.
func (t *Task) verdictOn(a agent.Answer) string {
	switch {
	case t.rec.Approved != nil:
		return "yes. The command was run for you, once: do not run it again. " + t.rec.Approved.Result + "\n" + t.rec.Approved.Output
	case a.Answer == NoKey || strings.EqualFold(a.Answer, "no"):
		return "no: the command was not run. Do not run it, nor do the same in another way; say what is left undone."
	}
	return "the command was not run, because the answer is not a plain yes: " + a.Answer
}

// approval is a command that somebody was asked to allow, in the container that it
// is run in.
type approval struct {
	work *Work
	box  *sandbox.Container
}

// run runs the command that somebody has said yes to, exactly once,
// and keeps what came of it in the record. An outcome is returned when the task
// was told to stop.
func (a *approval) run(ctx context.Context) (agent.Outcome, error) {
	w, box := a.work, a.box
	answers := w.exec.Answers
	if !w.IsHeld() || len(answers) == 0 || w.rec.Approved != nil && w.rec.Approved.Over {
		return agent.Outcome{}, nil
	}
	if w.rec.Approved == nil {
		run, err := a.claim(ctx)
		if errors.Is(err, errStopped) {
			return stoppedEarly(), nil
		}
		if err != nil || !run {
			return agent.Outcome{}, err
		}
	}
	id := w.question(len(answers)-1) + "-run"
	w.shown.tool("approved", w.rec.HeldCommand)
	output := &tail{max: maxApproved}
	status := sandbox.RunStatus{State: sandbox.RunNone}
	if w.rec.Approved.Container == box.ID {
		_, err := box.StartRun(ctx, agent.ApprovedRun(id, w.held(), gateway.Placeholder))
		if err == nil {
			crash.At("approved")
			status, err = a.follow(ctx, id, output)
		}
		if ctx.Err() != nil {
			return agent.Outcome{}, ctx.Err()
		}
		if err != nil {
			return agent.Outcome{}, &lostRun{err}
		}
	}
	w.rec.Approved.Over, w.rec.Approved.Output, w.rec.Approved.Result = true, output.String(), approvedResult(status)
	if err := a.note(ctx); err != nil && !errors.Is(err, errStopped) {
		return agent.Outcome{}, err
	} else if err != nil {
		return agent.Outcome{Ended: agent.Stopped, Detail: "Stopped after the command that was allowed. " + w.rec.Approved.Result}, nil
	}
	if err := box.RemoveRun(ctx, id); err != nil && ctx.Err() == nil {
		w.env.Log.Warn().Err(err).Str("room", w.env.ID).Msg("tidy up after a command")
	}
	return agent.Outcome{}, nil
}

// claim writes down that the command is about to be run in the container, if
// the newest answer is a yes.
func (a *approval) claim(ctx context.Context) (bool, error) {
	w := a.work
	w.env.Books.Lock()
	defer w.env.Books.Unlock()
	if err := w.reread(ctx); err != nil {
		return false, err
	}
	answers := w.exec.Answers
	if !IsYes(answers[len(answers)-1].Answer) {
		return false, nil
	}
	w.rec.Approved = &state.Command{Container: a.box.ID}
	return true, w.Note(ctx)
}

// note stores the record as it stands.
func (a *approval) note(ctx context.Context) error {
	w := a.work
	w.env.Books.Lock()
	defer w.env.Books.Unlock()
	if err := w.reread(ctx); err != nil {
		return err
	}
	return w.Note(ctx)
}

// follow reads the command's run to its end, or ends it when the task's
// time is over or somebody wants it to stop.
func (a *approval) follow(ctx context.Context, id string, output *tail) (sandbox.RunStatus, error) {
	w, box := a.work, a.box
	reading, cancel := w.stoppable(ctx)
	defer cancel()
	reading, timer := context.WithTimeout(reading, w.runTime())
	defer timer()
	status, err := box.FollowRun(reading, id, 0, output)
	if err == nil || reading.Err() == nil || ctx.Err() != nil {
		return status, err
	}
	ending, done := context.WithTimeout(ctx, 90*time.Second)
	defer done()
	if err := box.StopRun(ending, id); err != nil {
		return status, err
	}
	return box.RunStatus(ending, id)
}

// approvedResult says how an approved command ended.
func approvedResult(status sandbox.RunStatus) string {
	switch {
	case status.State == sandbox.RunNone || status.State == sandbox.RunInterrupted:
		return "The container went down in the meantime, so the outcome is unknown: check it before you do anything else."
	case status.Signal != "":
		return "It was killed by " + status.Signal + ". Its output:"
	}
	return fmt.Sprintf("Its exit code was %d. Its output:", status.Code)
}

// tail keeps the end of what is written to it.
type tail struct {
	max int
	b   []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - t.max; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

// String is what was kept, with U+FFFD for what is no UTF-8.
func (t *tail) String() string { return strings.ToValidUTF8(string(t.b), "\uFFFD") }
