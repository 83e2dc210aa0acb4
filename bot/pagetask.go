package bot

import (
	"cmp"
	"context"
	"errors"
	"path"

	"matrix-tui/agent"
	"matrix-tui/bot/decide"
	"matrix-tui/bot/task"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/execution"
	"matrix-tui/state/sentence"
)

// TaskView is a task's page.
type TaskView struct {
	*execution.Execution
	RoomID   string // the task's; Execution.Room is that of its question
	RoomName string
	By       string // name of whoever asked for it
	Progress string // what it is at, in Markdown; "" unless it runs
	Result   string // the message with its result, in Markdown; "" before there is one
	Around   string // what the agent said before and after its open question, in Markdown
	Number   int    // of the open question, from 1; 0 for none
	Until    string // how long that stays open
	Yes      string // the answer that says yes to a command or to more tokens; "" if that is not the question
	Options  []Option
	Used     string     // its steps, time and tokens, without those of the current run; or ""
	Came     []TaskFile // with the task and its answers
	Sent     []TaskFile // with its result
	Sending  bool       // more of them may come
	Plan     []string   // what to do, as a program has said
	Steps    []state.Call
	Earlier  bool // there were more steps
	Stopped  bool // by somebody
}

// TaskFile is a file that came with a task or that it has sent.
type TaskFile struct {
	Name    string
	Size    int64  // in bytes; 0 if unknown
	Missing string // why the agent did not get it, or ""
}

// Option is an answer that the question offers.
type Option struct{ Name, Answer string }

// Task returns a task's page, or ErrNoExecution if there is no such task, or none for the visitor.
func (p Page) Task(ctx context.Context, v state.Visitor, id string) (view TaskView, err error) {
	r, rec, err := p.task(ctx, v, id)
	if err != nil {
		return view, err
	}
	t := r.env.Task(rec)
	view = TaskView{Execution: t.Execution(), RoomID: r.id, RoomName: p.names([]string{r.id})[r.id],
		By: p.bot.tasks.NameOf(rec.Asker()), Result: rec.Result, Used: task.Figures(rec.Used, failed(rec.Calls)),
		Sending: rec.State == state.TaskAnswered, Plan: rec.Commands, Steps: rec.Calls, Stopped: wasStopped(rec)}
	view.Earlier = rec.Used.Steps > len(view.Steps)
	if view.Came, view.Sent, err = filesOf(ctx, p.bot.Journal, rec); err != nil {
		return view, err
	}
	view.Number = view.QuestionNumber()
	if w := r.turn.Current(); w != nil && w.Key() == rec.Key {
		now, _ := w.Progress()
		view.Progress = now.Text
	}
	if view.Number == 0 {
		return view, nil
	}
	question := t.Question()
	view.Around = rec.Around
	view.Until = question.Until()
	if question.Grants() {
		view.Yes = "yes " + question.Code()
		return view, nil
	}
	for _, o := range question.Options() {
		view.Options = append(view.Options, Option{text.OneLine(o.Answer, 80), o.Answer})
	}
	return view, nil
}

// failed counts the calls of tools that have failed.
func failed(calls []state.Call) (n int) {
	for _, call := range calls {
		if call.Failed {
			n++
		}
	}
	return n
}

// filesOf returns the files that came with a task, and those that were sent with its result.
func filesOf(ctx context.Context, journal *state.Journal, rec state.Task) (came, sent []TaskFile, err error) {
	for _, f := range rec.Files {
		came = append(came, TaskFile{text.OneLine(cmp.Or(f.Name, path.Base(f.Path)), 200), f.Size, f.Missing})
	}
	if rec.Ended != string(agent.Completed) {
		return came, nil, nil
	}
	messages, err := journal.Messages.FilesOf(ctx, rec.Room, rec.Key)
	for _, m := range messages {
		if m.File != nil { // nil if its message was removed
			sent = append(sent, TaskFile{Name: text.OneLine(m.Body, 200), Size: m.File.Size})
		}
	}
	return came, sent, err
}

// task returns a task that the visitor may see, with its room, or ErrNoExecution.
func (p Page) task(ctx context.Context, v state.Visitor, id string) (*room, state.Task, error) {
	rec, err := p.bot.Programs().execution(ctx, id)
	if err != nil {
		return nil, rec, err
	}
	switch ok, err := p.sees(ctx, v, rec.Room); {
	case err != nil:
		return nil, rec, err
	case !ok:
		return nil, rec, ErrNoExecution
	}
	return p.bot.room(rec.Room), rec, nil
}

// Answer answers question number of a task. said is what the visitor is told if the answer does not count.
func (p Page) Answer(ctx context.Context, v state.Visitor, id string, number int,
	answer string) (said string, err error) {
	r, rec, err := p.task(ctx, v, id)
	if err != nil {
		return "", err
	}
	said, err = decide.AnswerOnPage(ctx, r.decider, v, rec.Key, number, answer)
	return said, moved(err)
}

// Stop cancels a task. said is what the visitor is told if it has ended.
func (p Page) Stop(ctx context.Context, v state.Visitor, id string) (said string, err error) {
	r, rec, err := p.task(ctx, v, id)
	if err != nil {
		return "", err
	}
	done, err := r.decider.End(ctx, rec.Key, v.User)
	if err == nil && !done {
		said = "That task has already ended."
	}
	return said, moved(err)
}

// moved says that a task has just moved to its room's successor: the page of the task is there, too.
func moved(err error) error {
	if errors.Is(err, state.ErrNotFound) {
		return sentence.New(err, "This task is moving to another room. Try again in a moment.")
	}
	return err
}
