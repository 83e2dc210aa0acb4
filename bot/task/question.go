package task

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/progress"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/execution"
	"matrix-tui/state/sentence"
)

// Question is a task's open question or, if there is none, its next one.
type Question struct{ t *Task }

// Txn returns the transaction ID of the question.
func (q Question) Txn() string { return questionTxn(q.t.rec.Key, len(q.t.exec.Answers)) }

// IsHeld reports whether the newest question is about a command that needs approval.
func (q Question) IsHeld() bool { return q.t.rec.HeldCommand != "" }

// Options returns the answers that a reaction can select.
func (q Question) Options() []agent.Option {
	if q.IsHeld() {
		return []agent.Option{{Key: YesKey, Answer: YesKey}, {Key: NoKey, Answer: NoKey}}
	}
	return agent.Options(q.t.exec.CurrentQuestion)
}

// Line returns the first line of the question with a link to it.
func (q Question) Line(ctx context.Context) string {
	first, _, _ := strings.Cut(q.t.exec.CurrentQuestion, "\n")
	return text.Code(first) + " " + link(ctx, q.t, q.Txn())
}

// Instead follows a message's transaction ID in that of the sentence that took its place.
const Instead = "-s"

// Shown returns a message of the bot, or the sentence that took its place because the homeserver rejects it.
func (e *Env) Shown(ctx context.Context, txn string) (state.Message, error) {
	sent, err := e.Journal.Messages.Get(ctx, txn)
	if err != nil || sent.Status != state.Refused {
		return sent, err
	}
	if other, err := e.Journal.Messages.Get(ctx, txn+Instead); !errors.Is(err, state.ErrNotFound) {
		return other, err
	}
	return sent, nil
}

// link returns a matrix.to link to a message of the bot, or "" if it is not in the room yet.
func link(ctx context.Context, t *Task, txn string) string {
	sent, err := t.env.Shown(ctx, txn)
	if err != nil || sent.Event == "" {
		return ""
	}
	return t.env.Room.Link(sent.Room, sent.Event, t.rec.Asker())
}

// ask makes the task wait for an answer. If that is impossible, it returns an outcome
// with the reason, otherwise an empty one.
func (q Question) ask(ctx context.Context, out agent.Outcome, noticed bool,
	shown *progress.Notice) (agent.Outcome, error) {
	if out.Held != nil && !q.isShown(*out.Held) {
		out.Ended, out.Text = agent.Crashed, ""
		out.Detail = fmt.Sprintf("The agent wanted to run a command that needs approval but is too long to show (%s). "+
			"Split the task into smaller steps.", text.Size(int64(len(out.Held.Command))))
		return out, nil
	}
	err := q.pose(ctx, out, noticed, shown)
	switch {
	case errors.Is(err, execution.ErrLimit):
		out.Ended, out.Detail, out.Text = agent.Crashed, sentence.Text(err), ""
		return out, nil
	case errors.Is(err, errStopped): // at the last moment
		out.Ended, out.Detail, out.Text = agent.Stopped, "Stopped before I asked.", ""
		return out, nil
	}
	return agent.Outcome{}, err
}

// pose stores the question of a run, its messages and the task's new state in one
// transaction. The task then waits and uses no worker and no slot. The error is
// execution.ErrLimit if the task has asked too often, errStopped after a stop request, and
// errSteered if there is a new message.
func (q Question) pose(ctx context.Context, out agent.Outcome, noticed bool, shown *progress.Notice) error {
	t, rec, env := q.t, &q.t.rec, q.t.env
	rec.Budget = 0
	if out.Ended == agent.Limited {
		signal, err := env.Budget.Question(ctx, env.ID)
		if err != nil {
			return fmt.Errorf("read the room's tokens: %w", err)
		}
		out.Signal, rec.Budget = signal, len(t.exec.Answers)+1
	}
	question, about := out.Signal.Question, out.Signal.Context
	rec.HeldCommand, rec.HeldDir, rec.Nonce = "", "", rand.Text()
	if out.Held != nil {
		rec.HeldCommand, rec.HeldDir = out.Held.Command, out.Held.Dir
	}
	if out.Ended == agent.NeedsApproval {
		question, about = approvalQuestion(*out.Held), "the task needs it"
		if asker := rec.Asker(); asker != "" {
			about = env.NameOf(asker) + "'s task needs it"
		}
	}
	now := env.Clock.Now()
	if err := t.exec.Ask(question, about, env.Clock.In(env.rules().QuestionTimeout), now); err != nil {
		return err
	}
	if rec.Resumable = out.Session != ""; rec.Resumable {
		rec.Session = out.Session
	}
	rec.Used = state.Usage(used(rec.Used).with(rec.Begun, out))
	rec.Calls = callsOf(rec.Calls, out)
	rec.Approved = nil
	rec.Around = joined(text.Cut(out.Signal.Before, maxAround), text.Cut(out.Signal.After, maxAround))
	said := q.messages(ctx)
	if noticed {
		_, details := shown.Outcome()
		closing := t.Voice().closing(len(t.exec.Answers), "⏸ Paused for a question after "+
			text.Duration(time.Since(rec.Begun)), details)
		said = append([]Message{closing}, said...)
	}
	rows := env.Room.Render(ctx, said...)
	if err := t.decide(ctx, func() error {
		if len(rec.Said) > rec.Given {
			return errSteered
		}
		return env.Journal.Tasks.Wait(ctx, t.Row(), rows)
	}); err != nil {
		return fmt.Errorf("store question: %w", err)
	}
	crash.At("asked")
	q.schedule(q.due())
	env.Room.Wake()
	env.Count.Asked()
	env.Log.Info().Str("room", env.ID).Str("event", rec.Event).Str("execution", t.exec.ID).Msg("question asked")
	settlement{t}.pause(ctx)
	return nil
}
