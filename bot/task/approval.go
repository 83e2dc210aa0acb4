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
	"matrix-tui/bot/progress"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/execution"
)

// YesKey and NoKey are the reactions that approve and refuse a command.
const YesKey, NoKey = "✅", "❌"

// maxApproved bounds the output of an approved command that the agent sees, in bytes.
// The beginning is dropped.
const maxApproved = 16 << 10

// maxShown is the longest command that a person is asked to approve, as shown, in bytes. A
// person must see all of it, in one message.
const maxShown = 8 << 10

// isShown reports whether the question fits into one message with all of a command.
func (q Question) isShown(h agent.Held) bool {
	asked := approvalQuestion(h)
	return len(asked) <= maxShown && q.t.env.Room.FitsHalf(asked)
}

// approvalQuestion returns the question whether to run a command.
func approvalQuestion(h agent.Held) string {
	return fmt.Sprintf("May I run this command in %s?\n\n%s", text.Code(text.Reveal(h.Dir)),
		text.Fence(text.Reveal(h.Command)))
}

// IsYes reports whether an answer is a plain yes. Nothing else runs a command.
func IsYes(answer string) bool {
	answer = strings.ToLower(strings.TrimRight(strings.TrimSpace(answer), "!.\uFE0F"))
	return slices.Contains([]string{YesKey, "👍", "yes", "y", "ok", "okay", "approve", "approved", "run it", "go ahead"},
		answer)
}

// beginsYes reports whether the first word of an answer, or the first two, are a yes.
func beginsYes(answer string) bool {
	words := wordsOf(answer)
	return len(words) > 0 && IsYes(words[0]) || len(words) > 1 && IsYes(words[0]+" "+words[1])
}

// denies reports whether a word of an answer is a no.
func denies(answer string) bool {
	no := []string{"no", "not", "never", "nein", "stop", "cancel", "abort", NoKey, "✘", "2"}
	return slices.ContainsFunc(wordsOf(answer),
		func(word string) bool { return slices.Contains(no, word) || strings.HasSuffix(word, "n't") })
}

func wordsOf(answer string) []string {
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(answer, "’", "'")))
	for i := range words {
		words[i] = strings.Trim(words[i], ".,:;!?")
	}
	return words
}

// verdictOn returns the text with which the agent learns the decision about a command.
func verdictOn(a execution.Answer, approved *state.Command) string {
	switch {
	case approved != nil:
		return "yes. The command was run for you, once: do not run it again. " + approved.Result + "\n" + approved.Output
	case a.Answer == NoKey || strings.EqualFold(a.Answer, "no"):
		return "no: the command was not run. Do not run it, and do not do the same in another way; say what is left undone."
	}
	return "the command was not run, because the answer is not a plain yes: " + a.Answer
}

// approval runs a command that needs approval.
type approval struct {
	t         *Task
	stop      *interrupt
	shown     *progress.Notice
	container *sandbox.Container
}

// run runs the approved command, if there is one, at most once, and records its output.
// It returns an outcome if the task was stopped.
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
	a.shown.Tool("approved", rec.HeldCommand)
	output := &tail{max: maxApproved}
	status := sandbox.RunStatus{State: sandbox.RunNone}
	if rec.Approved.Container == a.container.ID {
		held := agent.Held{Command: rec.HeldCommand, Dir: rec.HeldDir}
		_, err := a.container.StartRun(ctx, agent.ApprovedRun(id, held, t.env.rules().Zone))
		if err == nil {
			crash.At("approved")
			status, err = a.follow(ctx, id, output)
			t.env.MayLeave()
		}
		if ctx.Err() != nil {
			return agent.Outcome{}, ctx.Err()
		}
		if err != nil {
			return agent.Outcome{}, &lostRun{err}
		}
	}
	fault := approvedFault(status)
	a.shown.ToolResult("approved", fault)
	rec.Approved.Over, rec.Approved.Failed, rec.Approved.Output, rec.Approved.Result = true, fault != "", output.String(),
		approvedResult(status)
	err := t.decide(ctx, func() error { return t.env.Note(ctx, t.Row()) })
	if errors.Is(err, errStopped) {
		return agent.Outcome{Ended: agent.Stopped, Detail: "Stopped after the approved command. " + rec.Approved.Result}, nil
	}
	if err != nil {
		return agent.Outcome{}, err
	}
	if err := a.container.RemoveRun(ctx, id); err != nil && ctx.Err() == nil {
		t.env.Log.Warn().Err(err).Str("room", t.env.ID).Msg("cannot remove the output of an approved command")
	}
	return agent.Outcome{}, nil
}

// claim records that the command is about to run in the container, if the newest answer
// is a yes.
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

// follow waits for the command to end, and stops it at the time limit of a task or on a
// stop request.
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

// approvedFault returns how an approved command failed, or "".
func approvedFault(status sandbox.RunStatus) string {
	switch {
	case status.State == sandbox.RunNone || status.State == sandbox.RunInterrupted:
		return "interrupted"
	case status.Signal != "":
		return status.Signal
	case status.Code != 0:
		return fmt.Sprintf("exit code %d", status.Code)
	}
	return ""
}

// approvedResult returns a sentence about how an approved command ended.
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

// String returns the kept bytes, with U+FFFD for invalid UTF-8.
func (t *tail) String() string { return strings.ToValidUTF8(string(t.b), "\uFFFD") }
