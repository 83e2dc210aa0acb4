package task

import (
	"fmt"
	"strconv"
	"strings"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// Voice makes the messages of a task from its record: the same ones in each life
// of the bot. It sends none.
type Voice struct{ t *Task }

// The reactions to a task: it is in line, it is worked on, it was done, it was
// not.
const (
	queuedKey = "⏳"
	eyesKey   = "👀"
	doneKey   = "✅"
	failedKey = "❌"
)

// noticeTxn is the transaction ID of a task's notice after n answers.
func noticeTxn(key string, n int) string {
	if n == 0 {
		return key + "-n"
	}
	return fmt.Sprintf("%s-n%d", key, n)
}

// questionTxn is the transaction ID of a task's question after n answers. What
// does not fit into one message goes on as …-qN-1 and so on; the options are
// …-qN-rI, the reminder is …-qN-w.
func questionTxn(key string, n int) string { return key + "-q" + strconv.Itoa(n) }

// arrivalTxn is the transaction ID of what shows a task that came by HTTP.
func arrivalTxn(key string) string { return key + "-t" }

// reply is a text in reply to the task, or to what shows it in its room.
func (v Voice) reply(number int, text string) Message {
	rec := &v.t.rec
	m := Message{Task: rec.Key, Number: number, Text: text, Origin: Origin{rec.Event, rec.Thread, v.t.Moved()}, About: rec.Event}
	if rec.Source == state.FromHTTP {
		m.About = state.AboutRef(arrivalTxn(rec.Key))
	}
	return m
}

// bare is a notice about the task that replies to nothing.
func (v Voice) bare(kind state.Kind, suffix, text string) Message {
	return Message{Kind: kind, Task: v.t.rec.Key, Txn: v.t.rec.Key + suffix, Text: text, Notice: true}
}

// long is a text in reply to the task, loud or as a notice that no phone rings
// for. Name is what it is called as a file.
func (v Voice) long(name, text string, loud bool) Message {
	m := v.reply(0, text)
	m.Notice, m.Long = !loud, &Long{Name: name, Before: v.reminder()}
	if loud {
		m.Mention = AskerOf(v.t.rec)
	}
	return m
}

// maxReminder bounds what a text reminds of a task in another room, in bytes.
const maxReminder = 200

// reminder after before a text that cannot reply to what it is about.
func (v Voice) reminder() string {
	if !v.t.Moved() {
		return ""
	}
	about := text.Cut(strings.Join(strings.Fields(v.t.text), " "), maxReminder)
	if asker := AskerOf(v.t.rec); asker != "" {
		about = Localpart(asker) + ": " + about
	}
	return "> " + about + "\n\n"
}

// notice is the notice of the task at its present stretch: it replies to the
// task, or to the answer with which it goes on.
func (v Voice) notice(text string) Message {
	n := len(v.t.exec.Answers)
	m := v.reply(n, text)
	m.Kind, m.Txn, m.Notice = state.KindNotice, noticeTxn(v.t.rec.Key, n), true
	if n > 0 {
		if m.About = v.t.exec.Answers[n-1].Event; m.About == "" {
			m.About = state.AboutRef(questionTxn(v.t.rec.Key, n-1))
		}
	}
	return m
}

// closing is the last word on the notice after n answers.
func (v Voice) closing(n int, text string) Message {
	m := v.bare(state.KindNoticeEdit, "", text)
	m.Number, m.Edits = n, noticeTxn(v.t.rec.Key, n)
	m.Txn = m.Edits + "-e"
	return m
}

// final is the message of the result.
func (v Voice) final(text string, loud bool) Message {
	m := v.long("answer", text, loud)
	m.Kind, m.Txn = state.KindFinal, v.t.rec.Key+"-f0"
	m.Long.Kind, m.Long.Txn = state.KindFinal, v.t.rec.Key+"-f"
	return m
}

// Arrival shows a task that came by HTTP in its room, once.
func (v Voice) Arrival() Message {
	return v.bare(state.KindArrival, arrivalTxn(""), "📥 A task came by HTTP:\n\n"+text.Fence(text.Cut(v.t.text, 4<<10)))
}

// Queued shows that a task is in line behind another one.
func (v Voice) Queued() Message { return v.react("-queued", queuedKey) }

// begun shows that a task is worked on, and no longer in line.
func (v Voice) begun() []Message {
	if v.t.rec.Source == state.FromHTTP || v.t.Moved() {
		return nil
	}
	return []Message{v.react("-eyes", eyesKey), v.redact("-queued")}
}

// ended shows how a task ended. One that never got its turn is in line until
// then.
func (v Voice) ended(how agent.Ended) []Message {
	if v.t.rec.Source == state.FromHTTP || v.t.Moved() {
		return nil
	}
	key := failedKey
	if how == agent.Completed {
		key = doneKey
	}
	return []Message{v.redact("-eyes"), v.redact("-queued"), v.react("-end", key)}
}

// react is a reaction to the task.
func (v Voice) react(suffix, key string) Message {
	rec := &v.t.rec
	return Message{Kind: state.KindReaction, Task: rec.Key, Txn: rec.Key + suffix, About: rec.Event, Reaction: key}
}

// redact takes such a reaction back, if there is one.
func (v Voice) redact(suffix string) Message {
	txn := v.t.rec.Key + suffix
	return Message{Kind: state.KindRedaction, Task: v.t.rec.Key, Txn: txn + "-x", Redacts: txn}
}
