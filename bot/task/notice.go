package task

import (
	"fmt"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// noticeTxn is the transaction ID of the notice after n answers.
func (t *Task) noticeTxn(n int) string {
	if n == 0 {
		return t.rec.Key + "-n"
	}
	return fmt.Sprintf("%s-n%d", t.rec.Key, n)
}

// message is a text in reply to the task.
func (t *Task) message(number int, text string) Message {
	return Message{Task: t.rec.Key, Number: number, Text: text, Origin: t.origin(), About: t.anchor()}
}

// bare is a notice about the task that replies to nothing.
func (t *Task) bare(kind state.Kind, txn, text string) Message {
	return Message{Kind: kind, Task: t.rec.Key, Txn: txn, Text: text, Notice: true}
}

// origin is where the task was asked for.
func (t *Task) origin() Origin { return Origin{t.rec.Event, t.rec.Thread, t.Moved()} }

// notice is the notice of the task at its present stretch: it replies to the
// task, or to the answer with which it goes on. It is the same after a restart.
func (t *Task) notice(text string) Message {
	n := len(t.exec.Answers)
	m := t.message(n, text)
	m.Kind, m.Txn, m.Notice = state.KindNotice, t.noticeTxn(n), true
	if n > 0 {
		if m.About = t.exec.Answers[n-1].Event; m.About == "" {
			m.About = state.AboutRef(t.question(n - 1))
		}
	}
	return m
}

// closing is the last word on the notice after n answers.
func (t *Task) closing(n int, text string) Message {
	m := t.bare(state.KindNoticeEdit, t.noticeTxn(n)+"-e", text)
	m.Number, m.Edits = n, t.noticeTxn(n)
	return m
}

// The reactions to a task: it is in line, it is worked on, it was done, it was
// not.
const (
	queuedKey = "⏳"
	eyesKey   = "👀"
	doneKey   = "✅"
	failedKey = "❌"
)

// InLine shows that a task is in line behind another one.
func (t *Task) InLine() Message {
	return t.reaction(state.KindReaction, 0, t.rec.Key+"-queued", t.rec.Event, queuedKey)
}

// begun shows that a task is worked on, and no longer in line.
func (t *Task) begun() []Message {
	if t.rec.Source == state.FromHTTP || t.Moved() {
		return nil
	}
	return []Message{t.reaction(state.KindReaction, 0, t.rec.Key+"-eyes", t.rec.Event, eyesKey), t.redaction(t.rec.Key + "-queued")}
}

// ended shows how a task ended. One that never got its turn is in line until
// then.
func (t *Task) ended(how agent.Ended) []Message {
	if t.rec.Source == state.FromHTTP || t.Moved() {
		return nil
	}
	key := failedKey
	if how == agent.Completed {
		key = doneKey
	}
	return []Message{
		t.redaction(t.rec.Key + "-eyes"), t.redaction(t.rec.Key + "-queued"),
		t.reaction(state.KindReaction, 0, t.rec.Key+"-end", t.rec.Event, key),
	}
}

// reaction is a reaction to an event.
func (t *Task) reaction(kind state.Kind, number int, txn, about, key string) Message {
	return Message{Kind: kind, Task: t.rec.Key, Number: number, Txn: txn, About: about, Reaction: key}
}

// redaction takes the event of a transaction back, if there is one.
func (t *Task) redaction(txn string) Message {
	return Message{Kind: state.KindRedaction, Task: t.rec.Key, Txn: txn + "-x", Redacts: txn}
}

// Arrival shows a task that came by HTTP in its room, once.
func (t *Task) Arrival() Message {
	return t.bare(state.KindArrival, t.rec.Key+"-t", "📥 A task came by HTTP:\n\n"+text.Fence(text.Cut(t.text, 4<<10)))
}
