package bot

import (
	"context"
	"errors"
	"fmt"

	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// verdict says what a message that could be a task is.
type verdict int

const (
	isTask      verdict = iota
	isAnswer            // to the question of route.task
	isLate              // to a question that has an answer
	isClosed            // to a question that nobody waits for any more
	isAmbiguous         // to one of several questions
	isPart              // of the task that runs
)

// route is where a message goes.
type route struct {
	verdict verdict
	task    *state.Task  // with isAnswer, isLate and isClosed
	among   []state.Task // with isAmbiguous
	alone   bool         // the bot and the sender are the room's only members
}

// routeOf decides what a new message is: what speaks to a question, by reply
// or in its thread, belongs to it, whoever wrote it; and so does the next plain
// message of the person who asked. The decision for an answer holds until the
// question has one; the one for a part while its task runs. The caller holds the
// books.
func (r *room) routeOf(ctx context.Context, row state.Event) (route, error) {
	m, ok := row.Message()
	if !ok {
		return route{}, nil
	}
	if _, _, command := parseCommand(taskText(m)); command {
		return route{}, nil // !task: the others do not come here
	}
	if waiting, err := r.inThread(ctx, row); err != nil {
		return route{}, err
	} else if waiting != nil {
		return route{verdict: isAnswer, task: waiting}, nil
	}
	if about := m.RelatesTo.About(); about != "" {
		told, err := r.bot.Journal.MessageOf(ctx, r.id, about)
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return route{}, fmt.Errorf("look up message: %w", err)
		}
		if err != nil || told.Kind != state.KindReply { // to one that we told something about the questions: as a plain one
			return r.routeTo(ctx, about)
		}
	}
	if key, err := r.joins(ctx, row); err != nil {
		return route{}, err
	} else if key != "" {
		return route{verdict: isPart}, nil
	}
	if r.bot.waits.Count(r.id) == 0 {
		return route{}, nil
	}
	tasks, err := r.bot.Journal.WaitingIn(ctx, r.id)
	if err != nil {
		return route{}, fmt.Errorf("read waiting tasks: %w", err)
	}
	var own []state.Task
	for i := range tasks {
		if task.AskerOf(tasks[i]) != row.Sender {
			continue
		}
		before, err := r.askedBefore(ctx, tasks[i], row)
		if err != nil {
			return route{}, err
		}
		if before {
			own = append(own, tasks[i])
		}
	}
	switch len(own) {
	case 0:
		return route{}, nil
	case 1:
		return route{verdict: isAnswer, task: &own[0]}, nil
	}
	return route{verdict: isAmbiguous, among: own}, nil
}

// routeTo decides about a message that speaks to an event.
func (r *room) routeTo(ctx context.Context, about string) (route, error) {
	task, told, err := r.taskOf(ctx, about)
	if err != nil || task == nil {
		return route{}, err
	}
	switch {
	case asks(told):
		return route{verdict: ofQuestion(task.State, told.Number, len(task.Answers)), task: task}, nil
	case task.State == state.TaskWaiting:
		return route{verdict: isAnswer, task: task}, nil
	}
	return route{}, nil
}

// ofQuestion is the verdict about what speaks to question n of a task that has
// so many answers.
func ofQuestion(stands state.TaskState, n, answers int) verdict {
	switch {
	case n < answers:
		return isLate
	case stands == state.TaskWaiting:
		return isAnswer
	}
	return isClosed
}

// askedBefore tells whether the question of a waiting task stands before a
// message in the room's timeline: what was written before it was asked is no
// answer to it.
func (r *room) askedBefore(ctx context.Context, waiting state.Task, message state.Event) (bool, error) {
	sent, err := r.bot.Journal.Message(ctx, r.env.Task(waiting).Question().Txn())
	if err == nil && sent.Event != "" {
		var echo state.Event
		if echo, err = r.bot.Journal.Event(ctx, r.id, sent.Event); err == nil {
			return echo.Seq < message.Seq, nil
		}
	}
	if errors.Is(err, state.ErrNotFound) {
		err = nil // not in the room yet
	}
	if err != nil {
		return false, fmt.Errorf("look up question: %w", err)
	}
	return false, nil
}

// taskOf is the task that an event belongs to: it asked for the task, or it is
// one of our messages about it, which is told then; nil when there is none.
func (r *room) taskOf(ctx context.Context, event string) (task *state.Task, told state.Message, err error) {
	told, err = r.bot.Journal.MessageOf(ctx, r.id, event)
	var found state.Task
	switch {
	case err == nil && told.Task == "":
		return nil, told, nil
	case err == nil:
		found, err = r.bot.Journal.Task(ctx, told.Task)
	case errors.Is(err, state.ErrNotFound):
		found, err = r.bot.Journal.TaskOf(ctx, r.id, event)
	default:
		return nil, told, fmt.Errorf("look up message: %w", err)
	}
	if errors.Is(err, state.ErrNotFound) {
		return nil, told, nil
	}
	if err != nil {
		return nil, told, fmt.Errorf("look up task: %w", err)
	}
	return &found, told, nil
}

// asks tells whether a message asks, or reminds of, a question.
func asks(m state.Message) bool {
	return m.Kind == state.KindQuestion || m.Kind == state.KindQuestionPart || m.Kind == state.KindReminder
}
