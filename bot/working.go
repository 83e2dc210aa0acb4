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
		return t.key + "-n"
	}
	return fmt.Sprintf("%s-n%d", t.key, n)
}

// noticeRow is the notice of the task at its present stretch: it replies to the
// task, or to the answer with which it goes on. It is the same after a restart.
func (t *task) noticeRow(text string) state.Outbound {
	n := len(t.rec.Execution.Answers)
	m := notice(text)
	m.RelatesTo = relate(t.row, t.anchor())
	if n > 0 {
		about := t.rec.Execution.Answers[n-1].Event
		if about == "" {
			about = txnRef + t.question(n-1)
		}
		m.RelatesTo = relate(t.row, about)
	}
	return t.room.out(t.noticeTxn(n), t.row.Event, m)
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
