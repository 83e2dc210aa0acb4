package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/state"
)

// The answers to a command that needs a yes.
const yesKey, noKey = "✅", "❌"

// maxApproved bounds what is told of an approved command's output, in bytes: its
// beginning is dropped.
const maxApproved = 16 << 10

// maxShown is the longest command that a person is asked about, in bytes: all of
// it must be seen before the yes.
const maxShown = 32 << 10

// isHeld tells whether the newest question is about a command.
func (t *task) isHeld() bool { return t.rec.HeldCommand != "" }

func (t *task) held() agent.Held {
	return agent.Held{Command: t.rec.HeldCommand, Dir: t.rec.HeldDir}
}

// approvalQuestion asks for a yes to a command.
func approvalQuestion(h agent.Held) string {
	return fmt.Sprintf("May I run this command in %s?\n\n%s", text.Code(h.Dir), text.Fence(text.Reveal(h.Command)))
}

// isYes tells a plain yes from everything else, which runs nothing.
func isYes(answer string) bool {
	answer = strings.ToLower(strings.TrimRight(strings.TrimSpace(answer), "!.\uFE0F"))
	return slices.Contains([]string{yesKey, "👍", "yes", "y", "ok", "okay", "approve", "approved", "run it", "go ahead"}, answer)
}

// verdictOn is what the agent is told of a person's answer about a command.
func (t *task) verdictOn(a agent.Answer) string {
	switch {
	case t.rec.Approved != nil:
		return "yes. The command was run for you, once: do not run it again. " + t.rec.Approved.Result + "\n" + t.rec.Approved.Output
	case a.Answer == noKey || strings.EqualFold(a.Answer, "no"):
		return "no: the command was not run. Do not run it, nor do the same in another way; say what is left undone."
	}
	return "the command was not run, because the answer is not a plain yes: " + a.Answer
}

// runApproved runs the command that somebody has said yes to, exactly once,
// and keeps what came of it in the record. An outcome is returned when the task
// was told to stop.
func (t *task) runApproved(ctx context.Context, box *sandbox.Container) (agent.Outcome, error) {
	answers := t.exec.Answers
	if !t.isHeld() || len(answers) == 0 || t.rec.Approved != nil && t.rec.Approved.Over {
		return agent.Outcome{}, nil
	}
	if t.rec.Approved == nil {
		run, err := t.claimApproved(ctx, box.ID)
		if errors.Is(err, errStopped) {
			return t.stoppedEarly(), nil
		}
		if err != nil || !run {
			return agent.Outcome{}, err
		}
	}
	id := t.question(len(answers)-1) + "-run"
	t.shown.tool("approved", t.rec.HeldCommand)
	output := &tail{max: maxApproved}
	status := sandbox.RunStatus{State: sandbox.RunNone}
	if t.rec.Approved.Container == box.ID {
		_, err := box.StartRun(ctx, agent.ApprovedRun(id, t.held(), gateway.Placeholder))
		if err == nil {
			crash("approved")
			status, err = t.followApproved(ctx, box, id, output)
		}
		if ctx.Err() != nil {
			return agent.Outcome{}, ctx.Err()
		}
		if err != nil {
			return agent.Outcome{}, &lostRun{err}
		}
	}
	t.rec.Approved.Over, t.rec.Approved.Output, t.rec.Approved.Result = true, output.String(), approvedResult(status)
	if err := t.noteRecord(ctx); err != nil && !errors.Is(err, errStopped) {
		return agent.Outcome{}, err
	} else if err != nil {
		return agent.Outcome{Ended: agent.Stopped, Detail: "Stopped after the command that was allowed. " + t.rec.Approved.Result}, nil
	}
	if err := box.RemoveRun(ctx, id); err != nil && ctx.Err() == nil {
		t.bot.log.Warn().Err(err).Str("room", t.id).Msg("tidy up after a command")
	}
	return agent.Outcome{}, nil
}

// claimApproved writes down that the command is about to be run in a box, if
// the newest answer is a yes.
func (t *task) claimApproved(ctx context.Context, boxID string) (bool, error) {
	t.books.Lock()
	defer t.books.Unlock()
	if err := t.reread(ctx); err != nil {
		return false, err
	}
	answers := t.exec.Answers
	if !isYes(answers[len(answers)-1].Answer) {
		return false, nil
	}
	t.rec.Approved = &state.Command{Container: boxID}
	return true, t.note(ctx)
}

// noteRecord stores the record as it stands.
func (t *task) noteRecord(ctx context.Context) error {
	t.books.Lock()
	defer t.books.Unlock()
	if err := t.reread(ctx); err != nil {
		return err
	}
	return t.note(ctx)
}

// note stores the task as it stands. The caller holds the books.
func (t *task) note(ctx context.Context) error { return t.room.note(ctx, t.row()) }

// note stores a task that has no result yet. The caller holds the books.
func (r *room) note(ctx context.Context, rec state.Task) error {
	if err := r.bot.Journal.Note(ctx, rec); err != nil {
		return fmt.Errorf("note task: %w", err)
	}
	return nil
}

// followApproved reads the command's run to its end, or ends it when the task's
// time is over or somebody wants it to stop.
func (t *task) followApproved(ctx context.Context, box *sandbox.Container, id string, output *tail) (sandbox.RunStatus, error) {
	reading, cancel := t.stoppable(ctx)
	defer cancel()
	reading, timer := context.WithTimeout(reading, t.runTime())
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
		return "The container went down meanwhile, so that its outcome is not known: look what came of it before you do anything else."
	case status.Signal != "":
		return "It was ended by " + status.Signal + ". Its output:"
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
