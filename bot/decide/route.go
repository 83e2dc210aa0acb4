package decide

import (
	"matrix-tui/bot/policy"
	"matrix-tui/bot/task"
	"matrix-tui/bot/turn"
	"matrix-tui/state"
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

// facts are what the route of a message depends on.
type facts struct {
	to      policy.Addressee
	mention bool         // the room's rule is that the bot answers only if it is mentioned
	stops   bool         // it is a word that stops the sender's task
	joins   bool         // it may become a part of a task
	open    []state.Task // waiting tasks whose question was in the room before the message
	reply   *turn.About  // what it replies to, unless that is a notice of ours, which makes it a plain message
	root    *turn.About  // the root of its thread
}

// route decides what a new message is. A reply to a question, or a message in its thread, answers it, whoever wrote it;
// so does the next message of the person who requested the task, if it mentions the bot or needs no mention in this
// room. A message to somebody else answers nothing.
func (f facts) route(row state.Event) route {
	switch {
	case f.to == policy.Others:
		return route{}
	case f.stops:
		return route{verdict: isStop}
	}
	thread := row.Relation().Thread()
	for i := range f.open {
		if thread != "" && f.open[i].Thread == thread {
			return route{verdict: isAnswer, task: &f.open[i]}
		}
	}
	switch {
	case f.reply != nil:
		return routeTo(f.reply)
	case f.root != nil:
		if to := routeTo(f.root); to.verdict == isAnswer {
			return to
		}
		return route{} // once the question is answered, its thread is like any other
	case f.joins:
		return route{verdict: isPart}
	case f.mention && f.to != policy.TheBot:
		return route{}
	}
	var own []state.Task
	for _, rec := range f.open {
		if rec.Asker() == row.Sender {
			own = append(own, rec)
		}
	}
	switch m, _ := row.Message(); {
	case len(own) == 0:
		return route{}
	case len(own) > 1:
		return route{verdict: isAmbiguous, among: own}
	case own[0].HeldCommand != "" && task.IsYes(m.Words()) && f.to != policy.TheBot && !row.IsDecrypted():
		return route{verdict: isUnclear}
	}
	return route{verdict: isAnswer, task: &own[0]}
}

// routeTo decides about a message that replies to an event or is in its thread.
func routeTo(about *turn.About) route {
	rec := about.Task
	switch {
	case rec == nil:
		return route{}
	case about.Asks():
		return route{verdict: ofQuestion(rec.State, about.Told.Number, len(rec.Answers)), task: rec}
	case rec.State == state.TaskWaiting:
		return route{verdict: isAnswer, task: rec}
	}
	return route{}
}

// ofQuestion returns the verdict on a reply to question n of a task in state stands with this number of answers.
func ofQuestion(stands state.TaskState, n, answers int) verdict {
	switch {
	case n < answers:
		return isLate
	case stands == state.TaskWaiting:
		return isAnswer
	}
	return isClosed
}
