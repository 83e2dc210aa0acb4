package bot

import (
	"fmt"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// noticeTxn is the transaction ID of the notice after n answers.
func (t *task) noticeTxn(n int) string {
	if n == 0 {
		return t.rec.Key + "-n"
	}
	return fmt.Sprintf("%s-n%d", t.rec.Key, n)
}

// noticeRow is the notice of the task at its present stretch: it replies to the
// task, or to the answer with which it goes on. It is the same after a restart.
func (t *task) noticeRow(text string) state.Message {
	n := len(t.exec.Answers)
	m := notice(text)
	m.RelatesTo = relate(t.origin(), t.anchor())
	if n > 0 {
		about := t.exec.Answers[n-1].Event
		if about == "" {
			about = state.AboutRef(t.question(n - 1))
		}
		m.RelatesTo = relate(t.origin(), about)
	}
	return t.out(state.KindNotice, n, t.noticeTxn(n), m)
}

// closing is the last word on the notice after n answers.
func (t *task) closing(n int, text string) state.Message {
	return t.out(state.KindNoticeEdit, n, t.noticeTxn(n)+"-e", edit(state.AboutRef(t.noticeTxn(n)), notice(text)))
}

// goingOn is what the room is told when a task goes on with an answer.
func goingOn(a agent.Answer, busy bool) string {
	note := "⏳ Going on with the answer that came by HTTP: " + text.Code(a.Answer)
	if a.By != "" {
		note = "⏳ Going on with " + localpart(a.By) + "'s answer"
		if a.Event == "" {
			note += ": " + text.Code(a.Answer)
		}
	}
	if busy {
		note += ", when the running task is done"
	}
	return note + " …"
}
