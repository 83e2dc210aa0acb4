package task

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sync/errgroup"

	"matrix-tui/bot/crash"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/workspace"
)

// settle writes down what came of an answered task, and is done with it. Each step
// may be repeated.
func (t *Task) settle(ctx context.Context) error {
	t.env.Room.Wake()
	if err := t.endTranscript(); err != nil {
		return fmt.Errorf("end transcript: %w", err)
	}
	if err := t.remember(ctx); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	crash.At("saved")
	if err := t.tidy(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t.env.Log.Warn().Err(err).Str("room", t.env.ID).Msg("tidy up after a task")
	}
	if err := t.env.Journal.FinishTask(ctx, t.rec.Key); err != nil {
		return fmt.Errorf("finish task: %w", err)
	}
	crash.At("finished")
	return nil
}

// remember puts session and history into state.json, at once, so that they can
// share a write.
func (t *Task) remember(ctx context.Context) error {
	var both errgroup.Group
	both.Go(func() error { return t.keepSession(ctx) })
	both.Go(func() error { return t.env.Store.AppendHistory(ctx, t.env.ID, t.remembered()...) })
	both.Go(func() error { return t.env.project(ctx, t.rec.Key) })
	return both.Wait()
}

// keepSession makes the task's session the room's, unless somebody has had the
// room begin anew since the task began.
func (t *Task) keepSession(ctx context.Context) error {
	now := t.env.Store.Session(t.env.ID)
	if !t.rec.Resumable || now != t.rec.BaseSession && now != t.rec.Session {
		return nil
	}
	return t.env.Store.SetSession(ctx, t.env.ID, t.rec.Session)
}

// remembered are the turns of the task for the room's history: what was asked
// for, each question with its answer, and the result.
func (t *Task) remembered() []state.Turn {
	turns := []state.Turn{{Role: "user", Content: t.text, Event: t.rec.Event}}
	for _, said := range t.rec.Said {
		turns = append(turns, state.Turn{Role: "user", Content: WordsOf(said), Event: said.Event})
	}
	for i, a := range t.exec.Answers {
		turns = append(turns,
			state.Turn{Role: "assistant", Content: a.Question, Event: t.question(i)},
			state.Turn{Role: "user", Content: a.Answer, Event: answerEvent(t.rec.Key, i, a)})
	}
	return append(turns, state.Turn{Role: "assistant", Content: text.Cut(t.rec.Result, historyText), Event: t.rec.Event})
}

// tidy sends what lies in the outbox of the container, leaves the line in status.md
// that the agent forgot, and removes the run's output from the container. It does not wait for a container that is not there.
func (t *Task) tidy(ctx context.Context) error {
	if t.rec.Run == "" || t.rec.Container == "" {
		return nil
	}
	box, err := t.env.Ensure(ctx, false)
	if err != nil {
		return errors.Join(err, t.filesLater(ctx))
	}
	if err := t.sendFiles(ctx, box); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t.env.Log.Warn().Err(err).Str("room", t.env.ID).Msg("send files")
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
func (t *Task) removeRun(ctx context.Context) error {
	box, err := t.env.Ensure(ctx, false)
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
