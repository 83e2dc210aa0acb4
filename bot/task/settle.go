package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"matrix-tui/agent"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/workspace"
)

// settlement records a result outside the journal. Every step may be repeated.
type settlement struct{ t *Task }

// finish settles an answered task and marks it as finished.
func (s settlement) finish(ctx context.Context) error {
	t, env := s.t, s.t.env
	env.Room.Wake()
	if err := transcriptOf(t).end(cmp.Or(t.rec.Summary, t.rec.Result), t.rec.Ended); err != nil {
		return fmt.Errorf("end transcript: %w", err)
	}
	if err := s.remember(ctx); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	crash.At("saved")
	s.learn(ctx)
	crash.At("learned")
	if err := s.tidy(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		env.Log.Warn().Err(err).Str("room", env.ID).Msg("cannot tidy up after a task")
	}
	if err := env.Journal.Tasks.Finish(ctx, t.rec.Key); err != nil {
		return fmt.Errorf("finish task: %w", err)
	}
	crash.At("finished")
	return nil
}

// pause settles a task that waits for an answer. After a crash, [Env.Restore] does what
// is missing.
func (s settlement) pause(ctx context.Context) {
	t, env := s.t, s.t.env
	transcriptOf(t).once(state.KindAssistant, t.Question().Txn(), t.exec.CurrentQuestion)
	env.ProjectSoon(ctx, t.rec.Key)
	if err := s.keepSession(ctx); err != nil && ctx.Err() == nil {
		env.Log.Warn().Err(err).Str("room", env.ID).Msg("cannot save the session yet")
	}
	env.settled.add(t.rec.Run)
}

// remember saves session, history and execution in state.json, concurrently so that they
// can share a write.
func (s settlement) remember(ctx context.Context) error {
	env := s.t.env
	var both errgroup.Group
	if s.t.rec.Summary != "" {
		both.Go(func() error { return compaction(s).apply(ctx) })
	} else {
		both.Go(func() error { return s.keepSession(ctx) })
	}
	if !s.t.rec.Compact {
		both.Go(func() error { return env.Store.Conversations.Append(ctx, env.ID, turns(s.t)...) })
	}
	both.Go(func() error { return env.project(ctx, s.t.rec.Key) })
	return both.Wait()
}

// keepSession makes the task's session the room's session, unless the room was reset
// since the task began.
func (s settlement) keepSession(ctx context.Context) error {
	rec, env := &s.t.rec, s.t.env
	now := env.Store.Conversations.SessionMark(env.ID)
	useless := rec.Ended == string(agent.Overflow) || rec.Ended == string(agent.HistoryRefused)
	if useless && now == rec.BaseSession {
		return env.Store.Conversations.SetSession(ctx, env.ID, "") // nobody can continue it
	}
	if !rec.Resumable || now != rec.BaseSession && now != rec.Session {
		return nil
	}
	return env.Store.Conversations.SetSession(ctx, env.ID, rec.Session)
}

// turns returns the task's part of the room's history: the task, later messages, each
// question with its answer, and the result.
func turns(t *Task) []state.Turn {
	turns := []state.Turn{{Role: "user", Content: t.text, Event: t.rec.Event}}
	for _, said := range t.rec.Said {
		turns = append(turns, state.Turn{Role: "user", Content: WordsOf(said), Event: said.Event})
	}
	for i, a := range t.exec.Answers {
		turns = append(turns,
			state.Turn{Role: "assistant", Content: a.Question, Event: questionTxn(t.rec.Key, i)},
			state.Turn{Role: "user", Content: a.Answer, Event: answerEvent(t.rec.Key, i, a)})
	}
	return append(turns, state.Turn{Role: "assistant", Content: text.Cut(t.rec.Result, historyText), Event: t.rec.Event})
}

// tidy sends the files in the outbox, adds the line to status.md that the agent forgot,
// and gives up the run's output. It does not retry if the container is unavailable.
func (s settlement) tidy(ctx context.Context) error {
	t, env := s.t, s.t.env
	if t.rec.Run == "" || t.rec.Container == "" {
		return nil
	}
	defer env.settled.add(t.rec.Run)
	if !hasOutbox(t) && t.rec.StatusLine == "" && env.Recall == nil {
		return nil
	}
	container, err := env.Ensure(ctx, false)
	if err != nil {
		return errors.Join(err, filesLater(ctx, t))
	}
	if hasOutbox(t) {
		if err := (outbox{t, container}).send(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			env.Log.Warn().Err(err).Str("room", env.ID).Msg("cannot send files")
		}
	}
	if t.rec.StatusLine != "" {
		if err := writeStatus(ctx, container, t.rec); err != nil {
			return err
		}
	}
	if queued, err := env.Journal.Tasks.Count(ctx, env.ID, state.TaskQueued); err == nil && queued > 0 {
		return nil // the next task does not wait for it, and does it at its end
	}
	_, err = env.Recall.Sync(ctx, env.ID, container, nil)
	_, untidy := env.tidy(ctx, container, nil)
	return errors.Join(err, untidy)
}

// settledRuns are runs whose output is no longer needed. The container forgets them when the next run starts, because a
// command just for that takes as long as a start; those of a process that has ended, when it has too many.
type settledRuns struct {
	mu  sync.Mutex
	ids []string
}

// maxSettled bounds the list: a room's container may not start a run for a long time.
const maxSettled = 100

func (s *settledRuns) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids = append(s.ids, id); len(s.ids) > maxSettled {
		s.ids = s.ids[1:]
	}
}

// take empties the list.
func (s *settledRuns) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := s.ids
	s.ids = nil
	return ids
}

// writeStatus completes the entry in status.md unless that was done before a restart: then
// the file does not have its size after the run any more, or contains the entry near its
// end if that size is -1. What the agent wrote is replaced in a copy, so that nothing is
// lost in between. The agent controls the path, so anything but a regular file is an error.
func writeStatus(ctx context.Context, container *sandbox.Container, rec state.Task) error {
	const script = `[ ! -L "$1" ] && { [ ! -e "$1" ] || [ -f "$1" ]; } || exit 3
if [ "$3" -lt 0 ]; then
	[ ! -e "$1" ] || ! tail -c 65536 -- "$1" | tr '\n' '\001' | grep -qF -- "$(printf %s "$2" | tr '\n' '\001')" || exit 0
else
	[ "$(stat -c %s -- "$1" 2>/dev/null || echo 0)" -le "$3" ] || exit 0
fi
[ "$4" -gt 0 ] || { printf %s "$2" >> "$1"; exit; }
[ "$(stat -c %s -- "$1")" = "$3" ] || exit 0
new=$(mktemp -- "$1.XXXXXX") && cp -p -- "$1" "$new" && truncate -s "$4" -- "$new" && printf %s "$2" >> "$new" && mv -T -- "$new" "$1" || { rm -f -- "$new"; exit 4; }`
	res, err := container.Exec(ctx, sandbox.Cmd{Argv: []string{"sh", "-c", script, "sh", workspace.StatusPath, rec.StatusLine,
		strconv.FormatInt(rec.StatusSize, 10), strconv.FormatInt(rec.StatusFrom, 10)}})
	if err != nil {
		return fmt.Errorf("write status.md: %w", err)
	}
	if res.Code != 0 {
		return fmt.Errorf("write status.md: exit %d", res.Code)
	}
	return nil
}
