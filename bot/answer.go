package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
	"matrix-tui/workspace"
)

// doRouted does a message that speaks to a question.
func (r *room) doRouted(ctx context.Context, row state.Inbound, to route) error {
	e, _ := parseEvent(row.Raw)
	m, _ := e.message()
	switch to.verdict {
	case isPart:
		r.books.Lock()
		defer r.books.Unlock()
		joined, err := r.join(ctx, row, taskText(m))
		if err == nil && !joined { // it stands for itself after all
			err = r.enqueue(ctx, row, e)
		}
		return err
	case isAnswer:
		return r.bind(ctx, row, to.task.Key, taskText(m))
	case isLate, isClosed:
		return r.tooLate(ctx, row, *to.task, to.verdict)
	}
	return r.ambiguous(ctx, row, to.among)
}

// doAnswer is !answer: of the question that it replies to, else of the
// sender's own, else of the only one.
func (r *room) doAnswer(ctx context.Context, row state.Inbound, text string) error {
	e, _ := parseEvent(row.Raw)
	m, _ := e.message()
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
	all, err := r.bot.Journal.WaitingIn(ctx, r.id)
	if err != nil {
		return fmt.Errorf("read waiting tasks: %w", err)
	}
	var own []state.Task
	for _, waiting := range all {
		if askerOf(waiting) == row.Sender {
			own = append(own, waiting)
		}
	}
	if len(own) > 0 {
		all = own
	}
	switch len(all) {
	case 0:
		return r.tell(ctx, row, "No question of mine waits here. To give me work, write it without `!answer`.")
	case 1:
		return r.bind(ctx, row, all[0].Key, text)
	}
	return r.ambiguous(ctx, row, all)
}

// bind makes the text of a row the answer of a task, if it still waits for
// one, and ends the row.
func (r *room) bind(ctx context.Context, row state.Inbound, key, text string) error {
	given := agent.Answer{Answer: strings.TrimSpace(text), By: row.Sender}
	if isSpoken(row.Type) {
		given.Event = row.Event
		edited, err := r.editOf(ctx, row)
		if err != nil {
			return err
		}
		if edited != "" {
			given.Answer = edited
		}
		if f, ok := fileOf(row); ok {
			given.Answer = fileAnswer(f, row.Event, given.Answer)
		}
	}
	t, err := r.resume(ctx, key, given, row.Event)
	var over *agent.TransitionError
	switch {
	case errors.Is(err, agent.ErrLimit):
		return r.tell(ctx, row, sentence.Text(err)+" I still wait for an answer.")
	case errors.As(err, &over):
		return r.tooLate(ctx, row, t.rec, isLate)
	}
	return err
}

// resume binds an answer and has the task go on, in one transaction; closes are
// the rows that it ends. It is a *agent.TransitionError when the task does not
// wait, and agent.ErrLimit for an answer that is none.
func (r *room) resume(ctx context.Context, key string, given agent.Answer, closes ...string) (*task, error) {
	r.books.Lock()
	defer r.books.Unlock()
	rec, err := r.bot.Journal.Task(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read task: %w", err)
	}
	t := newTask(r, rec)
	if rec.State != state.TaskWaiting { // its execution may lag behind for a moment
		return t, &agent.TransitionError{ID: t.exec.ID, From: t.exec.State, To: agent.Running}
	}
	if err := t.exec.Resume(given, time.Now()); err != nil {
		return t, err
	}
	t.plan(agent.NeedsInput)
	going := t.noticeRow(goingOn(t.exec.Answers[len(t.exec.Answers)-1], r.busy(t.rec.Key)))
	if err := r.bot.Journal.Resume(ctx, t.row(), []state.Message{going}, closes...); err != nil {
		return t, fmt.Errorf("bind answer: %w", err)
	}
	crash("bound")
	r.bot.waits.drop(t.rec.Key)
	r.bot.count.answered()
	r.tasks.wake()
	r.outbox.wake()
	r.bot.log.Info().Str("room", r.id).Str("execution", t.exec.ID).Msg("question answered")
	r.bot.start(func() { t.noteAnswer(); t.projectSoon(r.bot.ctx) })
	return t, nil
}

// noteAnswer puts the newest answer into the transcript.
func (t *task) noteAnswer() {
	last := len(t.exec.Answers) - 1
	a := t.exec.Answers[last]
	t.noteOnce(state.Line{Kind: state.KindUser, Room: t.id, Event: answerEvent(t.rec.Key, last, a), Text: a.Answer})
}

// answerEvent names an answer: its message, or what stands for it.
func answerEvent(key string, n int, a agent.Answer) string {
	if a.Event != "" {
		return a.Event
	}
	return fmt.Sprintf("%s-a%d", key, n)
}

// tooLate tells that a question has its answer, or that nobody waits for one.
func (r *room) tooLate(ctx context.Context, row state.Inbound, task state.Task, v verdict) error {
	if v == isClosed {
		return r.tell(ctx, row, "That question is closed: the task is over. Write it again if you still want it done.")
	}
	by := "by HTTP"
	if answers := task.Answers; len(answers) > 0 && answers[len(answers)-1].By != "" {
		by = "by " + text.Code(answers[len(answers)-1].By)
	}
	return r.tell(ctx, row, "That question is answered already, "+by+": the first answer stands. `!task` with a text gives me other work.")
}

// ambiguous asks which of several questions is meant.
func (r *room) ambiguous(ctx context.Context, row state.Inbound, among []state.Task) error {
	ask := "Several questions of mine wait for you here, so I have taken that for none of them. Please reply to the one that you mean:\n"
	for _, waiting := range among[:min(len(among), 10)] {
		t := newTask(r, waiting)
		first, _, _ := strings.Cut(t.exec.CurrentQuestion, "\n")
		ask += "\n- " + text.Code(first) + " " + t.link(ctx, t.question(len(t.exec.Answers)))
	}
	return r.tell(ctx, row, ask)
}

// answered is what the agent is told of its questions.
func (t *task) answered() []workspace.Answered {
	var out []workspace.Answered
	for i, a := range t.exec.Answers {
		text := a.Answer
		if i == len(t.exec.Answers)-1 && t.isHeld() {
			text = t.verdictOn(a)
		}
		out = append(out, workspace.Answered{Question: a.Question, Answer: text, By: localpart(a.By)})
	}
	return out
}

// localpart is the short name of a user ID.
func localpart(user string) string {
	local, _, _ := strings.Cut(strings.TrimPrefix(user, "@"), ":")
	return local
}
