package bot

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/workspace"
)

// historyText bounds the part of an answer that the task record carries to the
// history, in bytes; the store's own bound is not larger.
const historyText = 16 << 10

// answer puts the result of a run into the outbox.
func (t *task) answer(ctx context.Context, out agent.Outcome) error {
	n := len(t.exec.Answers)
	return t.conclude(ctx, out, nil, t.closing(n, t.summary(out)))
}

// conclude puts the end of a task into the outbox, in one transaction with the
// task's new state and the end of other rows, closes: from here on the task is
// never run again. The messages in more go behind the result. It is errSteered,
// and nothing is written, when a task that runs was told something new.
func (t *task) conclude(ctx context.Context, out agent.Outcome, closes []string, more ...state.Message) error {
	waited := t.exec.State == agent.Failed || t.exec.State == agent.WaitingForInput
	result := t.finalText(out)
	t.outcome(out, result)
	t.rec.Ended = string(out.Ended)
	if t.rec.Result = text.Cut(result, historyText); t.exec.State == agent.Done {
		t.rec.Result = t.exec.Results[0].Output
	}
	if t.rec.Resumable = out.Session != "" && out.Ended != agent.SessionGone; t.rec.Resumable {
		t.rec.Session = out.Session
	}
	grown, after := growth(out.Status, workspace.StatusPath)
	if waited {
		after = -1 // what the file was like at the end of its run says nothing
	}
	if t.rec.StatusSize = after; !grown || out.Ended == agent.Stopped {
		t.rec.StatusLine = workspace.StatusLines(time.Now(), t.text, statusOutcome(out))
	}
	rows := append(t.finals(ctx, result+t.footer(ctx, out)), more...)
	rows = append(rows, t.endedRows(out.Ended)...)
	write := func() error { return t.bot.Journal.Answer(ctx, t.row(), rows, closes...) }
	if !waited { // else the caller holds the books
		answer := write
		write = func() error { return t.unlessSteered(ctx, answer) }
	}
	if err := write(); err != nil {
		return fmt.Errorf("record answer: %w", err)
	}
	crash("answered")
	t.outbox.wake()
	t.bot.count.ended(out.Ended, t.cost(out))
	t.bot.log.Info().Str("room", t.id).Str("event", t.rec.Event).Str("ended", string(out.Ended)).
		Int64("tokens", out.Usage.Total).Dur("took_ms", time.Since(t.rec.Begun)).Msg("task answered")
	return nil
}

// settle writes down what came of an answered task, and is done with it. Each step
// may be repeated.
func (t *task) settle(ctx context.Context) error {
	b := t.bot
	t.outbox.wake()
	if err := t.endTranscript(); err != nil {
		return fmt.Errorf("end transcript: %w", err)
	}
	if err := t.remember(ctx); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	crash("saved")
	if err := t.tidy(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b.log.Warn().Err(err).Str("room", t.id).Msg("tidy up after a task")
	}
	if err := t.bot.Journal.FinishTask(ctx, t.rec.Key); err != nil {
		return fmt.Errorf("finish task: %w", err)
	}
	crash("finished")
	return nil
}

// remember puts session and history into state.json, at once, so that they can
// share a write.
func (t *task) remember(ctx context.Context) error {
	var both errgroup.Group
	both.Go(func() error { return t.keepSession(ctx) })
	both.Go(func() error { return t.bot.Store.AppendHistory(ctx, t.id, t.remembered()...) })
	both.Go(func() error { return t.project(ctx, t.rec.Key) })
	return both.Wait()
}

// keepSession makes the task's session the room's, unless somebody has had the
// room begin anew since the task began.
func (t *task) keepSession(ctx context.Context) error {
	now := t.bot.Store.Session(t.id)
	if !t.rec.Resumable || now != t.rec.BaseSession && now != t.rec.Session {
		return nil
	}
	return t.bot.Store.SetSession(ctx, t.id, t.rec.Session)
}

// tidy sends what lies in the outbox of the box, leaves the line in status.md
// that the agent forgot, and removes the run's output from the box. It does not wait for a box that is not there.
func (t *task) tidy(ctx context.Context) error {
	if t.rec.Run == "" || t.rec.Container == "" {
		return nil
	}
	box, err := t.ensureOnce(ctx)
	if err != nil {
		return errors.Join(err, t.filesLater(ctx))
	}
	if err := t.sendFiles(ctx, box); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t.bot.log.Warn().Err(err).Str("room", t.id).Msg("send files")
	}
	if t.rec.StatusLine != "" {
		if err := appendLine(ctx, box, t.rec.StatusLine, t.rec.StatusSize); err != nil {
			return err
		}
	}
	if box.ID != t.rec.Container {
		return nil
	}
	return box.RemoveRun(ctx, t.rec.Run)
}

// removeRun removes the output of a run that has been read.
func (t *task) removeRun(ctx context.Context) error {
	box, err := t.ensureOnce(ctx)
	if err != nil || box.ID != t.rec.Container {
		return err
	}
	return box.RemoveRun(ctx, t.rec.Run)
}

// appendLine adds to status.md, unless a former life has done it: then the file
// has grown beyond the size it had after the run, or, where that is -1, has the
// line at its end. The file is the agent's, and may be anything: only a regular
// one is written to.
func appendLine(ctx context.Context, box *sandbox.Container, line string, after int64) error {
	const script = `[ ! -L "$1" ] && { [ ! -e "$1" ] || [ -f "$1" ]; } || exit 3
if [ "$3" -lt 0 ]; then
	[ ! -e "$1" ] || ! tail -c 65536 -- "$1" | tr '\n' '\001' | grep -qF -- "$(printf %s "$2" | tr '\n' '\001')" || exit 0
else
	[ "$(stat -c %s -- "$1" 2>/dev/null || echo 0)" -le "$3" ] || exit 0
fi
printf %s "$2" >> "$1"`
	res, err := box.Exec(ctx, sandbox.Cmd{Argv: []string{"sh", "-c", script, "sh", workspace.StatusPath, line, strconv.FormatInt(after, 10)}})
	if err != nil {
		return fmt.Errorf("append to status.md: %w", err)
	}
	if res.Code != 0 {
		return fmt.Errorf("append to status.md: exit %d", res.Code)
	}
	return nil
}

// statusOutcome is the outcome for status.md: the first line of the answer.
func statusOutcome(out agent.Outcome) string {
	text := out.Detail
	if out.Ended == agent.Completed {
		text = out.Text
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}

// growth tells whether a watched file is longer than at the start, and how
// long it is, in bytes.
func growth(status sandbox.RunStatus, path string) (grown bool, after int64) {
	for _, w := range status.Watch {
		if w.Path == path {
			return w.After > w.Before, w.After
		}
	}
	return false, 0
}
