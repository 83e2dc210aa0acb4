package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"matrix-tui/agent"
	"matrix-tui/bot/container"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/recall"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/transcripts"
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
	transcriptOf(t).once(transcripts.KindAssistant, t.Question().Txn(), t.exec.CurrentQuestion)
	if err := s.keepSession(ctx); err != nil && ctx.Err() == nil {
		env.Log.Warn().Err(err).Str("room", env.ID).Msg("cannot save the session yet")
	}
	env.Settle(t.rec.Run)
}

// remember saves session and history in the journal.
func (s settlement) remember(ctx context.Context) error {
	env := s.t.env
	var both errgroup.Group
	if s.t.rec.Summary != "" {
		both.Go(func() error { return compaction(s).apply(ctx) })
	} else {
		both.Go(func() error { return s.keepSession(ctx) })
	}
	if !s.t.rec.Compact && !quiet(&s.t.rec) {
		both.Go(func() error { return env.Store.Conversations.Append(ctx, env.ID, turns(s.t)...) })
	}
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
	defer env.Settle(t.rec.Run)
	if !hasOutbox(t) && t.rec.StatusLine == "" && env.Recall == nil {
		return nil
	}
	running, err := env.Ensure(ctx, false, nil)
	if err != nil {
		return errors.Join(err, filesLater(ctx, t))
	}
	if hasOutbox(t) {
		if err := (outbox{t, running}).send(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			env.Log.Warn().Err(err).Str("room", env.ID).Msg("cannot send files")
		}
	}
	if t.rec.StatusLine != "" {
		if err := container.WriteStatus(ctx, running, t.rec); err != nil {
			return err
		}
	}
	if queued, err := env.Journal.Tasks.Count(ctx, env.ID, state.TaskQueued); err == nil && queued > 0 {
		return nil // the next task does not wait for it, and does it at its end
	}
	if _, err = syncFiles(ctx, env, running, nil); errors.Is(err, recall.ErrLarge) {
		err = nil // the log says so
	}
	_, untidy := env.tidy(ctx, running, nil)
	return errors.Join(err, untidy)
}
