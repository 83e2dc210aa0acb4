package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/bot/policy"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// verdict says what a message is that could be a task.
type verdict int

const (
	isTask      verdict = iota
	isAnswer            // to the question of route.task
	isLate              // to a question that was answered before
	isClosed            // to a question whose task has ended
	isAmbiguous         // to one of several open questions
	isPart              // of the task that is running or next
	isStop              // of the sender's running task
	isUnclear           // a plain, unencrypted "yes" while a command waits for approval
)

// route says where a message goes.
type route struct {
	verdict verdict
	task    *state.Task  // with isAnswer, isLate and isClosed
	among   []state.Task // with isAmbiguous
}

// routeOf decides what a new message is. A reply to a question, or a message in its
// thread, answers it, whoever wrote it; so does the next message of the person who
// requested the task, if it mentions the bot or needs no mention in this room. A message
// to somebody else answers nothing. The caller holds r.turn.
func (r *room) routeOf(ctx context.Context, row state.Event, alone bool) (route, error) {
	m, ok := row.Message()
	if !ok {
		return route{}, nil
	}
	to := r.bot.addressee(m)
	if to == policy.Others {
		return route{}, nil
	}
	if r.stop.Wanted(ctx, row.Event, r.bot.UserID(), r.bot.profile.Name()) {
		return route{verdict: isStop}, nil
	}
	if waiting, err := r.inThread(ctx, row); err != nil {
		return route{}, err
	} else if waiting != nil {
		return route{verdict: isAnswer, task: waiting}, nil
	}
	if found, plain, err := r.related(ctx, m.RelatesTo); err != nil || !plain {
		return found, err
	}
	if key, err := r.joins(ctx, row); err != nil {
		return route{}, err
	} else if key != "" {
		return route{verdict: isPart}, nil
	}
	needsMention := r.bot.policy.Room(r.id).Reply.In(alone) != policy.All
	if r.bot.waits.Count(r.id) == 0 || needsMention && to != policy.TheBot {
		return route{}, nil
	}
	tasks, err := r.bot.Journal.Tasks.WaitingIn(ctx, r.id)
	if err != nil {
		return route{}, fmt.Errorf("read waiting tasks: %w", err)
	}
	var own []state.Task
	for i := range tasks {
		if tasks[i].Asker() != row.Sender {
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
		if own[0].HeldCommand != "" && task.IsYes(m.Words()) && to != policy.TheBot && !row.IsDecrypted() {
			return route{verdict: isUnclear, task: &own[0]}, nil
		}
		return route{verdict: isAnswer, task: &own[0]}, nil
	}
	return route{verdict: isAmbiguous, among: own}, nil
}

// related decides about a message by what it replies to, or else by the root of its thread. plain means that it counts as
// any other message.
func (r *room) related(ctx context.Context, rel event.Relation) (to route, plain bool, err error) {
	if about := rel.ReplyTo(); about != "" {
		told, err := r.bot.Journal.Messages.Of(ctx, r.id, about)
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return route{}, false, fmt.Errorf("look up message: %w", err)
		}
		if err != nil || told.Kind != state.KindReply { // a reply to one of our notices counts as a plain message
			to, err = r.routeTo(ctx, about)
			return to, false, err
		}
	}
	root := rel.Thread()
	if root == "" {
		return route{}, true, nil
	}
	to, err = r.routeTo(ctx, root)
	if to.verdict != isAnswer {
		to = route{} // once the question is answered, its thread is like any other
	}
	return to, false, err
}

// routeTo decides about a message that replies to an event or is in its thread.
func (r *room) routeTo(ctx context.Context, about string) (route, error) {
	a, err := r.turn.About(ctx, about)
	task := a.Task
	if err != nil || task == nil {
		return route{}, err
	}
	switch {
	case a.Asks():
		return route{verdict: ofQuestion(task.State, a.Told.Number, len(task.Answers)), task: task}, nil
	case task.State == state.TaskWaiting:
		return route{verdict: isAnswer, task: task}, nil
	}
	return route{}, nil
}

// ofQuestion returns the verdict on a reply to question n of a task in state stands
// with this number of answers.
func ofQuestion(stands state.TaskState, n, answers int) verdict {
	switch {
	case n < answers:
		return isLate
	case stands == state.TaskWaiting:
		return isAnswer
	}
	return isClosed
}

// lateTime is how much older than a question a message may be and still answer it.
const lateTime = time.Minute

// writtenBefore reports whether a message was written before a question, by the clock
// of the homeserver that both come from. Clocks of different servers are not compared.
func writtenBefore(message, question event.Event) bool {
	_, theirs, _ := strings.Cut(message.Sender, ":")
	_, ours, _ := strings.Cut(question.Sender, ":")
	return theirs == ours && question.Time.Sub(message.Time) > lateTime
}

// askedBefore reports whether the question of a waiting task is before a message in
// the room's timeline. A message that was written before the question does not
// answer it, even if the homeserver delivers it later.
func (r *room) askedBefore(ctx context.Context, waiting state.Task, message state.Event) (bool, error) {
	sent, err := r.env.Shown(ctx, r.env.Task(waiting).Question().Txn())
	if err == nil && sent.Event != "" {
		var echo state.Event
		if echo, err = r.bot.Journal.Events.Get(ctx, r.id, sent.Event); err == nil {
			return echo.Seq < message.Seq && !writtenBefore(message.Event, echo.Event), nil
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
