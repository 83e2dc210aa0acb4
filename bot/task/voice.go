package task

import (
	"fmt"
	"strconv"
	"strings"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// Voice creates a task's messages from its record, so a restart does not change them. It
// never sends any.
type Voice struct{ t *Task }

// Reactions to the event of a task.
const (
	queuedKey  = "⏳"
	eyesKey    = "👀" // running
	doneKey    = "✅"
	warningKey = "⚠️" // there is an answer, but the command that was approved last has failed
	failedKey  = "❌"
	stoppedKey = "⏹"
)

// noticeTxn returns the transaction ID of a task's notice after n answers.
func noticeTxn(key string, n int) string {
	if n == 0 {
		return key + "-n"
	}
	return fmt.Sprintf("%s-n%d", key, n)
}

// questionTxn returns the transaction ID of a task's question after n answers. Further
// parts of a long question are …-qN-1 and so on, the options …-qN-rI, the reminder …-qN-w.
func questionTxn(key string, n int) string { return key + "-q" + strconv.Itoa(n) }

// arrivalTxn returns the transaction ID of the message that shows a task from HTTP.
func arrivalTxn(key string) string { return key + "-t" }

// reply returns a reply to the task's event or, for a task from HTTP, to its arrival message.
func (v Voice) reply(number int, text string) Message {
	rec := &v.t.rec
	m := Message{Message: state.Message{Task: rec.Key, Number: number, Body: text}, Parts: v.parts()}
	if rec.Source == state.FromHTTP {
		return v.to(m, "", arrivalTxn(rec.Key), rec.Event)
	}
	return v.to(m, rec.Event, "", rec.Event)
}

// to makes a message a reply to an event or to a message of ours, if anything else has been said since.
func (v Voice) to(m Message, event, about, since string) Message {
	o := OriginOf(v.t.rec)
	if m.Message, m.Since = o.Reply(m.Message, event, about), since; o.Moved || o.Thread != "" {
		m.Since = ""
	}
	return m
}

// parts returns the events, besides the task's own, that belong to it.
func (v Voice) parts() (events []string) {
	for _, said := range v.t.rec.Said {
		events = append(events, said.Event)
	}
	for _, a := range v.t.exec.Answers {
		events = append(events, a.Event)
	}
	return events
}

// bare returns a notice that is not a reply.
func (v Voice) bare(kind state.Kind, suffix, text string) Message {
	return Message{Message: state.Message{Kind: kind, Task: v.t.rec.Key, Txn: v.t.rec.Key + suffix, Body: text,
		Notice: true}}
}

// long returns a reply of any length: with loud a text that mentions the asker, else a
// notice. A very long text becomes a file called name.
func (v Voice) long(name, text string, loud bool) Message {
	m := v.reply(0, text)
	m.Notice, m.Long = !loud, &Long{Name: name, Before: v.reminder()}
	if loud {
		m.Mention = v.t.rec.Asker()
	}
	return m
}

// maxReminder bounds the quoted text of a task from another room, in bytes.
const maxReminder = 200

// reminder returns a quote of the task if messages in this room cannot reply to it.
func (v Voice) reminder() string {
	if !v.t.rec.Moved() {
		return ""
	}
	about := text.Cut(strings.Join(strings.Fields(v.t.text), " "), maxReminder)
	if rec := &v.t.rec; rec.Source == state.FromSchedule {
		who := ""
		if asker := rec.Asker(); asker != "" {
			who = v.t.env.NameOf(asker)
		}
		return "> " + scheduledText(rec.Scheduled, who, v.t.env.rules().Zone) + ": " + about + "\n\n"
	}
	if asker := v.t.rec.Asker(); asker != "" {
		about = v.t.env.NameOf(asker) + ": " + about
	}
	return "> " + about + "\n\n"
}

// notice returns the progress notice: a reply to the task or to the newest answer.
func (v Voice) notice(text string) Message {
	n := len(v.t.exec.Answers)
	m := v.reply(n, text)
	m.Kind, m.Txn, m.Notice = state.KindNotice, noticeTxn(v.t.rec.Key, n), true
	if n == 0 {
		return m
	}
	answer := v.t.exec.Answers[n-1].Event
	if answer == "" {
		return v.to(m, "", questionTxn(v.t.rec.Key, n-1), "")
	}
	return v.to(m, answer, "", answer)
}

// closing returns the final edit of the notice after n answers. It shows the details on a click.
func (v Voice) closing(n int, text, details string) Message {
	m := v.bare(state.KindNoticeEdit, "", text)
	m.Number, m.Relation, m.About = n, state.Edit, noticeTxn(v.t.rec.Key, n)
	m.Txn, m.Details = m.About+"-e", details
	return m
}

// final returns the message of the result. That of a compaction is a notice.
func (v Voice) final(text string, loud bool) Message {
	m := v.long("answer", text, loud && !v.t.rec.Compact)
	m.Kind, m.Txn = state.KindFinal, v.t.rec.Key+"-f0"
	m.Long.Kind, m.Long.Txn = state.KindFinal, v.t.rec.Key+"-f"
	return m
}

// Arrival returns the message that shows a task from HTTP in its room.
func (v Voice) Arrival() Message {
	return v.bare(state.KindArrival, arrivalTxn(""), "📥 Task received over HTTP:\n\n"+
		text.Fence(text.Cut(v.t.text, 4<<10)))
}

// newSession returns the notice that the task continues in a new session, and why.
func (v Voice) newSession(why agent.Ended) Message {
	key, said := "-overflow", "Our conversation has become too long for the model."
	if why == agent.HistoryRefused {
		key, said = "-refused", "The model's API refused the history of our session."
	}
	return v.bare(state.KindReply, key,
		"📚 "+said+" I am trying again in a new session, with the latest messages of this room.")
}

// lost returns the notice about packages that could not be reinstalled.
func (v Voice) lost() Message {
	names, notes := "", ""
	for _, lost := range v.t.rec.Lost {
		if strings.HasPrefix(lost, "(") {
			notes += " " + lost
		} else {
			names += " " + lost
		}
	}
	if names = strings.TrimSpace(names); names != "" {
		names = " " + text.Code(text.Cut(names, maxAround))
	}
	return v.bare(state.KindReply, "-packages-"+state.Hash(v.t.rec.Restored),
		"📦 The container is new. These packages were installed in the old one and could not be reinstalled:"+names+notes)
}

// Queued returns the reaction for a queued task.
func (v Voice) Queued() Message { return v.react("-queued", queuedKey) }

// started returns the reactions for a task that is no longer queued but running.
func (v Voice) started() []Message {
	if v.t.rec.Source == state.FromHTTP || v.t.rec.Moved() {
		return nil
	}
	return []Message{v.react("-eyes", eyesKey), v.redact("-queued")}
}

// Unqueued returns the reactions for a task that was stopped or withdrawn, if it is still queued and so will not run.
func (v Voice) Unqueued() []Message {
	if rec := &v.t.rec; rec.State != state.TaskQueued || rec.Source == state.FromHTTP || v.t.rec.Moved() {
		return nil
	}
	out := []Message{v.redact("-queued")}
	if !v.t.rec.Withdrawn {
		out = append(out, v.react("-end", stoppedKey))
	}
	return out
}

// ended returns the reactions for the end of a task. It may still have been queued.
func (v Voice) ended(how agent.Ended) []Message {
	if v.t.rec.Source == state.FromHTTP || v.t.rec.Moved() {
		return nil
	}
	key := failedKey
	switch rec := &v.t.rec; {
	case how == agent.Completed && rec.Approved != nil && rec.Approved.Failed:
		key = warningKey
	case how == agent.Completed:
		key = doneKey
	case how == agent.Stopped && rec.StopBy != "":
		key = stoppedKey
	}
	return []Message{v.redact("-eyes"), v.redact("-queued"), v.react("-end", key)}
}

// react returns a reaction to the task.
func (v Voice) react(suffix, key string) Message {
	rec := &v.t.rec
	return Message{Message: state.Message{Kind: state.KindReaction, Task: rec.Key, Txn: rec.Key + suffix,
		Relation: state.Reaction, Target: rec.Event, Body: key}}
}

// redact returns the redaction of such a reaction.
func (v Voice) redact(suffix string) Message {
	return redaction(v.t.rec.Key, v.t.rec.Key+suffix)
}

// redaction returns the redaction of a message of ours about a task.
func redaction(task, txn string) Message {
	return Message{Message: state.Message{Kind: state.KindRedaction, Task: task, Txn: txn + "-x",
		Relation: state.Redaction, About: txn}}
}
