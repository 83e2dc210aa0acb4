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
func verdictOn(a agent.Answer, approved *state.Command) string {
	switch {
	case approved != nil:
		return "yes. The command was run for you, once: do not run it again. " + approved.Result + "\n" + approved.Output
	case a.Answer == NoKey || strings.EqualFold(a.Answer, "no"):
		return "no: the command was not run. Do not run it, and do not do the same in another way; say what is left undone."
	}
	return "the command was not run, because the answer is not a plain yes: " + a.Answer
}

// approval is a command that somebody was asked to allow, in the container that it
// is run in.
type approval struct {
	t         *Task
	stop      *interrupt
	shown     *progress
	container *sandbox.Container
}

// run runs the command that somebody has said yes to, exactly once,
// and keeps what came of it in the record. An outcome is returned when the task
// was told to stop.
func (a *approval) run(ctx context.Context) (agent.Outcome, error) {
	t, rec := a.t, &a.t.rec
	answers := t.exec.Answers
	if !t.Question().IsHeld() || len(answers) == 0 || rec.Approved != nil && rec.Approved.Over {
		return agent.Outcome{}, nil
	}
	if rec.Approved == nil {
		run, err := a.claim(ctx)
		if errors.Is(err, errStopped) {
			return stoppedEarly(), nil
		}
		if err != nil || !run {
			return agent.Outcome{}, err
		}
	}
	id := questionTxn(rec.Key, len(answers)-1) + "-run"
	a.shown.tool("approved", rec.HeldCommand)
	output := &tail{max: maxApproved}
	status := sandbox.RunStatus{State: sandbox.RunNone}
	if rec.Approved.Container == a.container.ID {
		held := agent.Held{Command: rec.HeldCommand, Dir: rec.HeldDir}
		_, err := a.container.StartRun(ctx, agent.ApprovedRun(id, held, gateway.Placeholder))
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
	rec.Approved.Over, rec.Approved.Output, rec.Approved.Result = true, output.String(), approvedResult(status)
	err := t.decide(ctx, func() error { return t.env.Note(ctx, t.Row()) })
	if errors.Is(err, errStopped) {
		return agent.Outcome{Ended: agent.Stopped, Detail: "Stopped after the approved command. " + rec.Approved.Result}, nil
	}
	if err != nil {
		return agent.Outcome{}, err
	}
	if err := a.container.RemoveRun(ctx, id); err != nil && ctx.Err() == nil {
		t.env.Log.Warn().Err(err).Str("room", t.env.ID).Msg("tidy up after a command")
	}
	return agent.Outcome{}, nil
}

// claim writes down that the command is about to be run in the container, if
// the newest answer is a yes.
func (a *approval) claim(ctx context.Context) (yes bool, err error) {
	t := a.t
	err = t.decide(ctx, func() error {
		if yes = IsYes(t.Given().Answer); !yes {
			return nil
		}
		t.rec.Approved = &state.Command{Container: a.container.ID}
		return t.env.Note(ctx, t.Row())
	})
	return yes, err
}

// follow reads the command's run to its end, or ends it when the task's
// time is over or somebody wants it to stop.
func (a *approval) follow(ctx context.Context, id string, output *tail) (sandbox.RunStatus, error) {
	reading, cancel := a.stop.within(ctx)
	defer cancel()
	reading, timer := context.WithTimeout(reading, a.t.env.rules().Timeout)
	defer timer()
	status, err := a.container.FollowRun(reading, id, 0, output)
	if err == nil || reading.Err() == nil || ctx.Err() != nil {
		return status, err
	}
	ending, done := context.WithTimeout(ctx, 90*time.Second)
	defer done()
	if err := a.container.StopRun(ending, id); err != nil {
		return status, err
	}
	return a.container.RunStatus(ending, id)
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
