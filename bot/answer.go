package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"matrix-tui/agent"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/stop"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/execution"
	"matrix-tui/state/sentence"
)

// doRouted handles a message that is not a new task: a part of a task, or a
// message about a question.
func (r *room) doRouted(ctx context.Context, row state.Event, to route) error {
	m, _ := row.Message()
	switch to.verdict {
	case isPart:
		r.turn.Lock()
		defer r.turn.Unlock()
		joined, err := r.join(ctx, row, m.Words())
		if err == nil && !joined { // the task has started meanwhile: this is a new one
			err = r.enqueue(ctx, row)
		}
		return err
	case isAnswer:
		return r.bind(ctx, row, to.task.Key, m.Words())
	case isLate, isClosed:
		return r.tooLate(ctx, row, *to.task, to.verdict)
	case isStop:
		return r.stop.Stop(ctx, row)
	case isUnclear:
		return r.tell(ctx, row, "To run the command, reply `yes` to my question or send `!answer yes`: a plain `yes` could be meant for somebody else.")
	}
	return r.ambiguous(ctx, row, to.among)
}

// doAnswer runs !answer. It answers the question that the message replies to,
// else the sender's own question, else the only open one.
func (r *room) doAnswer(ctx context.Context, row state.Event, text string) error {
	m, _ := row.Message()
	if about := m.RelatesTo.About(); about != "" {
		to, err := r.routeTo(ctx, about)
		if err != nil {
			return err
		}
		switch to.verdict {
		case isAnswer:
			return r.bind(ctx, row, to.task.Key, text)
		case isLate, isClosed:
			return r.tooLate(ctx, row, *to.task, to.verdict)
		}
	}
	all, err := r.bot.Journal.Tasks.WaitingIn(ctx, r.id)
	if err != nil {
		return fmt.Errorf("read waiting tasks: %w", err)
	}
	var own []state.Task
	for _, waiting := range all {
		if waiting.Asker() == row.Sender {
			own = append(own, waiting)
		}
	}
	if len(own) > 0 {
		all = own
	}
	switch len(all) {
	case 0:
		return r.tell(ctx, row, "I have no open question here. To start a task, send it without `!answer`.")
	case 1:
		return r.bind(ctx, row, all[0].Key, text)
	}
	return r.ambiguous(ctx, row, all)
}

// bind makes the text of a row the answer to a task's question, if the task still
// waits for one, and finishes the row.
func (r *room) bind(ctx context.Context, row state.Event, key, text string) error {
	rec, err := r.bot.Journal.Tasks.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	question := r.env.Task(rec).Question()
	if rest, named := policy.AfterName(text, r.bot.UserID(), r.bot.profile.Name()); named && question.Grants() {
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
			return r.tell(ctx, row, editApproves)
		}
		if edited != "" {
			given.Answer = edited
		}
		if f, ok := fileOf(row.Event); ok {
			given.Answer = task.FileAnswer(f, given.Answer)
		}
	}
	said := ""
	if given.Answer, said, err = r.bot.proof.Granted(ctx, row, question, given.Answer); err != nil {
		return err
	}
	if said != "" {
		return r.tell(ctx, row, said)
	}
	t, err := r.resume(ctx, key, given, len(rec.Answers)+1, row.ID)
	var over *execution.TransitionError
	switch {
	case errors.Is(err, execution.ErrLimit):
		return r.tell(ctx, row, sentence.Text(err)+" I am still waiting for an answer.")
	case errors.As(err, &over):
		return r.tooLate(ctx, row, t.Row(), isLate)
	}
	return err
}

// editApproves is said about an edit that would approve something: it may belong to any message of its sender.
const editApproves = "An edit cannot say yes to this. Send your answer as a new message."

// resume stores an answer and continues the task: see [task.Env.Resume].
func (r *room) resume(ctx context.Context, key string, given execution.Answer, number int, closes ...string) (*task.Task, error) {
	t, err := r.env.Resume(ctx, key, given, number, r.turn.Busy, closes...)
	if err != nil {
		return t, err
	}
	r.turn.Wake()
	r.bot.work.Start(func() { t.NoteAnswer(r.bot.ctx) })
	return t, nil
}

// tooLate says that a question was already answered or is closed.
func (r *room) tooLate(ctx context.Context, row state.Event, rec state.Task, v verdict) error {
	if v == isClosed {
		return r.tell(ctx, row, "That question is closed: the task has ended. Send the task again if you still want it done.")
	}
	by := "over HTTP"
	if answers := rec.Answers; len(answers) > 0 && answers[len(answers)-1].By != "" {
		by = "by " + r.env.NameOf(answers[len(answers)-1].By)
	}
	return r.tell(ctx, row, "That question was already answered "+by+": the first answer stands. `!task TEXT` starts another task.")
}

// ambiguous asks which of several questions is meant.
func (r *room) ambiguous(ctx context.Context, row state.Event, among []state.Task) error {
	ask := "I have several open questions here, so I did not use this as an answer. Please reply to the question you mean:\n"
	for _, waiting := range among[:min(len(among), 10)] {
		ask += "\n- " + r.env.Task(waiting).Question().Line(ctx)
	}
	return r.tell(ctx, row, ask)
}

// doReaction handles a reaction that selects an option or stops a task, and
// ignores any other.
func (r *room) doReaction(ctx context.Context, row state.Event) error {
	react, _ := row.Reaction()
	a, err := r.turn.About(ctx, react.EventID)
	if err != nil {
		return err
	}
	target, about := a.Task, a.Told
	if target == nil {
		return r.finish(ctx, row)
	}
	if strings.TrimRight(react.Key, "\uFE0F") == stop.Key {
		return r.stop.One(ctx, target.Key, row)
	}
	if !a.Asks() {
		return r.undo(ctx, row, react.Key, about)
	}
	q, n := r.env.Task(*target).Question(), about.Number
	switch v := ofQuestion(target.State, n, len(target.Answers)); v {
	case isAnswer:
		answer, ok := agent.Chosen(q.Options(), react.Key)
		if !ok {
			break
		}
		return r.bind(ctx, row, target.Key, answer)
	case isLate:
		asked := target.Answers[n].Question
		if _, ok := agent.Chosen(agent.Options(asked), react.Key); ok || react.Key == task.YesKey || react.Key == task.NoKey {
			return r.tooLate(ctx, row, *target, v)
		}
	}
	return r.finish(ctx, row)
}
