package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"matrix-tui/bot/command"
	"matrix-tui/bot/media"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/execution"
	"matrix-tui/state/sentence"
)

// Answer answers the question that the message in row replies to, else the sender's own question, else the only open
// one.
func (r *Room) Answer(ctx context.Context, row state.Event, text string) error {
	if about := row.Relation().About(); about != "" {
		found, err := r.About(ctx, about)
		if err != nil {
			return err
		}
		switch to := routeTo(found); to.verdict {
		case isAnswer:
			return r.bind(ctx, row, to.task.Key, text)
		case isLate, isClosed:
			return r.tooLate(ctx, row, *to.task, to.verdict)
		}
	}
	all, err := r.Env.Journal.Tasks.WaitingIn(ctx, r.Env.ID)
	if err != nil {
		return fmt.Errorf("read waiting tasks: %w", err)
	}
	others := func(rec state.Task) bool { return rec.Asker() != row.Sender }
	if own := slices.DeleteFunc(slices.Clone(all), others); len(own) > 0 {
		all = own
	}
	switch len(all) {
	case 0:
		return r.Out.Tell(ctx, row, "I have no open question here. To start a task, send it without `!answer`.")
	case 1:
		return r.bind(ctx, row, all[0].Key, text)
	}
	return r.ambiguous(ctx, row, all)
}

// bind makes the text of a row the answer to a task's question, if the task still waits for one, and finishes the row.
func (r *Room) bind(ctx context.Context, row state.Event, key, text string) error {
	rec, err := r.Env.Journal.Tasks.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	question := r.Env.Task(rec).Question()
	if rest, named := r.Judge.Named(text); named && question.Grants() {
		text = rest
	}
	given := execution.Answer{Answer: strings.TrimSpace(text), By: row.Sender}
	if row.Spoken() {
		given.Event = row.ID
		edited, err := r.editOf(ctx, row)
		if err != nil {
			return err
		}
		if yes, _ := question.Affirms(edited); yes {
			return r.Out.Tell(ctx, row, editApproves)
		}
		if edited != "" {
			given.Answer = edited
		}
		if f, ok := media.FileOf(row.Event); ok {
			given.Answer = task.FileAnswer(f, given.Answer)
		}
	}
	said := ""
	if given.Answer, said, err = r.Proof.Granted(ctx, row, question, given.Answer); err != nil {
		return err
	}
	if said != "" {
		return r.Out.Tell(ctx, row, said)
	}
	t, err := r.Resume(ctx, key, given, len(rec.Answers)+1, row.ID)
	var over *execution.TransitionError
	switch {
	case errors.Is(err, execution.ErrLimit):
		return r.Out.Tell(ctx, row, sentence.Text(err)+" I am still waiting for an answer.")
	case errors.As(err, &over):
		return r.tooLate(ctx, row, t.Row(), isLate)
	}
	return err
}

// editApproves is said about an edit that would approve something: it may belong to any message of its sender.
const editApproves = "An edit cannot say yes to this. Send your answer as a new message."

// editOf returns the new text of a message that was edited before it was processed, or "".
func (r *Room) editOf(ctx context.Context, row state.Event) (text string, err error) {
	edit, err := r.Env.Journal.Events.PendingEdit(ctx, r.Env.ID, row.ID, row.Sender)
	if errors.Is(err, state.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read pending edit: %w", err)
	}
	if said, err := r.Proof.Missing(ctx, edit.Event, policy.ProofAll); err != nil || said != "" {
		return "", err
	}
	m, _ := edit.Message()
	return command.WithoutAnswer(m.NewWords()), nil
}

// Resume stores an answer and continues the task: see [task.Env.Resume].
func (r *Room) Resume(ctx context.Context, key string, given execution.Answer, number int,
	closes ...string) (*task.Task, error) {
	t, err := r.Env.Resume(ctx, key, given, number, r.Busy, closes...)
	if err != nil {
		return t, err
	}
	r.Wake()
	r.Env.Group.Start(t.NoteAnswer)
	return t, nil
}

// tooLate says that a question was already answered or is closed.
func (r *Room) tooLate(ctx context.Context, row state.Event, rec state.Task, v verdict) error {
	said := lateText(r.Env, rec, v == isClosed)
	if v != isClosed {
		said += " `!task TEXT` starts another task."
	}
	return r.Out.Tell(ctx, row, said)
}

// lateText says that a question was already answered or is closed.
func lateText(env *task.Env, rec state.Task, closed bool) string {
	if closed {
		return "That question is closed: the task has ended. Send the task again if you still want it done."
	}
	by := "over HTTP"
	if answers := rec.Answers; len(answers) > 0 && answers[len(answers)-1].By != "" {
		by = "by " + env.NameOf(answers[len(answers)-1].By)
	}
	return "That question was already answered " + by + ": the first answer stands."
}

// ambiguous asks which of several questions is meant.
func (r *Room) ambiguous(ctx context.Context, row state.Event, among []state.Task) error {
	ask := "I have several open questions here, so I did not use this as an answer. Please reply to the question you " +
		"mean:\n"
	for _, waiting := range among[:min(len(among), 10)] {
		ask += "\n- " + r.Env.Task(waiting).Question().Line(ctx)
	}
	return r.Out.Tell(ctx, row, ask)
}
