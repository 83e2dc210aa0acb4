package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/state/sentence"
)

// end has the task wait, or ends it, as its run came out; or it is errSteered:
// the task goes on, with something new.
func (t *task) end(ctx context.Context, out agent.Outcome) error {
	for {
		steered, err := t.steered(ctx, out)
		if err != nil {
			return err
		}
		if steered {
			return errSteered
		}
		rec, execution := t.rec, *t.exec
		if err := t.conclusion(ctx, out); !errors.Is(err, errSteered) {
			return err
		}
		t.rec, t.exec = rec, &execution // told in the last moment
	}
}

// conclusion asks, or answers and settles.
func (t *task) conclusion(ctx context.Context, out agent.Outcome) (err error) {
	t.untype()
	if t.withdrawn() {
		if err := t.queue(ctx, t.closing(0, "🗑 Taken back before it began.")); err != nil {
			return err
		}
		return t.giveUp(ctx, takenBack)
	}
	if out.Ended == agent.NeedsInput || out.Ended == agent.NeedsApproval {
		if out, err = t.asked(ctx, out); out.Ended == "" {
			return err
		}
	}
	if err := t.answer(ctx, out); err != nil {
		return err
	}
	return t.settle(ctx)
}

const takenBack = "The message was taken back before the task began."

// withdrawn tells a task whose message was taken back before it began.
func (t *task) withdrawn() bool { return t.rec.Withdrawn && t.rec.Container == "" }

// asked has the task wait for an answer; where that cannot be, the outcome is
// why, and otherwise empty.
func (t *task) asked(ctx context.Context, out agent.Outcome) (agent.Outcome, error) {
	if out.Held != nil && len(out.Held.Command) > maxShown {
		out.Ended, out.Text = agent.Crashed, ""
		out.Detail = fmt.Sprintf("The agent wanted to run a command that needs a yes, and that is too long to be shown to you (%s). Give me the task in smaller steps.", text.Size(int64(len(out.Held.Command))))
		return out, nil
	}
	err := t.ask(ctx, out)
	switch {
	case errors.Is(err, agent.ErrLimit):
		out.Ended, out.Detail, out.Text = agent.Crashed, sentence.Text(err), ""
		return out, nil
	case errors.Is(err, errStopped): // in the last moment
		out.Ended, out.Detail, out.Text = agent.Stopped, "Stopped before I asked.", ""
		return out, nil
	}
	return agent.Outcome{}, err
}

// giveUp ends a task whose room is gone; nobody is told.
func (t *task) giveUp(ctx context.Context, why string) error {
	t.projecting.Lock()
	defer t.projecting.Unlock()
	t.begin()
	if err := t.exec.Fail(why, time.Now()); err == nil {
		if err := t.put(ctx); err != nil {
			t.bot.log.Warn().Err(err).Str("room", t.id).Msg("save execution")
		}
	}
	if err := t.bot.Journal.FinishTask(ctx, t.rec.Key); err != nil {
		return fmt.Errorf("finish task: %w", err)
	}
	return nil
}
