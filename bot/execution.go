package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// project brings state.json up to an execution as the journal has it now,
// whoever changed it. The journal's record is the truth; this is what people
// and programs read, and what is left when the journal is lost.
func (r *room) project(ctx context.Context, key string) error {
	r.projecting.Lock() // what is read first must not be written last
	defer r.projecting.Unlock()
	rec, err := r.bot.Journal.Task(ctx, key)
	if err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	return newTask(r, rec).put(ctx)
}

// put writes the task's execution into state.json.
func (t *task) put(ctx context.Context) error {
	data, err := json.Marshal(t.exec)
	if err != nil {
		return fmt.Errorf("marshal execution: %w", err)
	}
	if err := t.bot.Store.PutExecution(ctx, t.id, data); err != nil {
		return fmt.Errorf("save execution: %w", err)
	}
	return nil
}

// projectSoon is project where the walk does not depend on it: what could not
// be written goes with the next write, or is made up at the next start.
func (t *task) projectSoon(ctx context.Context) {
	if err := t.project(ctx, t.rec.Key); err != nil && ctx.Err() == nil {
		t.bot.log.Warn().Err(err).Str("room", t.id).Msg("execution is saved later")
	}
}

// takeUpWaiting has the questions of former lives waited for again, and says so
// where a task was lost with the journal.
func (b *Bot) takeUpWaiting(ctx context.Context) error {
	tasks, err := b.Journal.Waiting(ctx)
	if err != nil {
		return fmt.Errorf("list waiting tasks: %w", err)
	}
	waiting := map[string]bool{}
	var saves errgroup.Group // at once, so that they share a write
	for _, rec := range tasks {
		t := newTask(b.room(rec.Room), rec)
		t.waitUntil(t.due())
		waiting[t.exec.ID] = true
		if t.exec.Room != rec.Room { // the room has moved, and its questions have not
			if err := t.room.askAgain(ctx); err != nil {
				return err
			}
			continue
		}
		if t.exec.QuestionEvent == "" { // sent, perhaps, but not pinned
			if err := t.look(ctx, rec.Key); err != nil {
				return err
			}
			continue
		}
		if t.differs() {
			saves.Go(func() error { t.projectSoon(ctx); return nil })
		}
	}
	_ = saves.Wait()
	return b.loseOrphans(ctx, waiting)
}

// differs tells whether state.json has the execution otherwise.
func (t *task) differs() bool {
	_, stored, ok := t.bot.Store.Execution(t.exec.ID)
	data, err := json.Marshal(t.exec)
	return !ok || err != nil || string(stored) != string(data)
}

// lost is what a task is told that the journal no longer knows.
const lost = "I lost track of this task, because my journal was damaged or replaced. What was done so far is in /workspace: please send the task again."

// loseOrphans fails the unfinished executions of state.json that no task of the
// journal stands for, and says so in their rooms. Those that wait are known.
func (b *Bot) loseOrphans(ctx context.Context, waiting map[string]bool) error {
	for _, raw := range b.Store.Unfinished() {
		var e agent.Execution
		if err := json.Unmarshal(raw, &e); err != nil {
			b.log.Warn().Err(err).Msg("an execution in state.json cannot be read")
			continue
		}
		if waiting[e.ID] {
			continue
		}
		_, err := b.Journal.TaskByExecution(ctx, e.ID)
		if err == nil {
			continue // it goes on, or has ended and tells so itself
		}
		if !errors.Is(err, state.ErrNotFound) {
			return fmt.Errorf("look for execution %s: %w", e.ID, err)
		}
		b.begun(&e)
		if err := e.Fail(lost, time.Now()); err != nil {
			continue
		}
		data, err := json.Marshal(&e)
		if err != nil {
			return fmt.Errorf("marshal execution: %w", err)
		}
		if err := b.Store.PutExecution(ctx, e.Room, data); err != nil {
			return fmt.Errorf("save execution: %w", err)
		}
		r := b.room(e.Room)
		m := rendered("⚠️ " + lost)
		if e.TaskEvent != "" {
			m.RelatesTo = replyTo(e.TaskEvent)
		}
		if err := r.queue(ctx, r.out(state.KindLost, hash(e.ID)+"-lost", m)); err != nil {
			return err
		}
	}
	return nil
}

// begun is pending → running where that has not been.
func (b *Bot) begun(e *agent.Execution) {
	if e.State == agent.Pending {
		_ = e.Start(time.Now())
	}
}

// remembered are the turns of the task for the room's history: what was asked
// for, each question with its answer, and the result.
func (t *task) remembered() []state.Turn {
	turns := []state.Turn{{Role: "user", Content: t.text, Event: t.rec.Event}}
	for _, said := range t.rec.Said {
		turns = append(turns, state.Turn{Role: "user", Content: wordsOf(said), Event: said.Event})
	}
	for i, a := range t.exec.Answers {
		turns = append(turns,
			state.Turn{Role: "assistant", Content: a.Question, Event: t.question(i)},
			state.Turn{Role: "user", Content: a.Answer, Event: answerEvent(t.rec.Key, i, a)})
	}
	return append(turns, state.Turn{Role: "assistant", Content: text.Cut(t.rec.Result, historyText), Event: t.rec.Event})
}

// outcome enters how the task ended into its execution.
func (t *task) outcome(out agent.Outcome, text string) {
	e, now := t.exec, time.Now()
	t.begin()
	if out.Ended == agent.Completed {
		_ = e.Complete(text, nil, now)
		return
	}
	_ = e.Fail(out.Detail, now) // refused where it waited, and has failed already
}

// giveUpWaiting ends the tasks that wait in a room that is gone.
func (r *room) giveUpWaiting(ctx context.Context) error {
	r.books.Lock()
	defer r.books.Unlock()
	tasks, err := r.bot.Journal.WaitingIn(ctx, r.id)
	if err != nil {
		return fmt.Errorf("read waiting tasks: %w", err)
	}
	for _, rec := range tasks {
		t := newTask(r, rec)
		if err := t.giveUp(ctx, "The room was left while the task waited for an answer."); err != nil {
			return err
		}
		r.bot.waits.drop(t.rec.Key)
	}
	return nil
}

// askAgain asks the questions that have moved here with their room: nobody can
// answer in the old one.
func (r *room) askAgain(ctx context.Context) error {
	r.books.Lock()
	defer r.books.Unlock()
	tasks, err := r.bot.Journal.WaitingIn(ctx, r.id)
	if err != nil {
		return fmt.Errorf("read waiting tasks: %w", err)
	}
	for _, rec := range tasks {
		t := newTask(r, rec)
		if t.exec.Room == r.id {
			continue
		}
		t.exec.Room, t.exec.QuestionEvent = r.id, ""
		t.exec.Deadline = time.Now().Add(t.patience()).UTC()
		if err := r.bot.Journal.Wait(ctx, t.row(), t.questionRows(ctx, "", "")); err != nil {
			return fmt.Errorf("ask again: %w", err)
		}
		t.waitUntil(t.due())
		t.projectSoon(ctx)
	}
	return nil
}
