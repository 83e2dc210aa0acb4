package bot

import (
	"slices"
	"strings"
	"testing"
	"time"

	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// The rows of a long message say of which task they are and which part.
func TestRender(t *testing.T) {
	d := newDeciding(t, everything)
	r := taskRoom{d.room}
	text := func(kind state.Kind, txn string, number int, body string) state.Message {
		return state.Message{Kind: kind, Txn: txn, Task: "k", Number: number, Body: body, Relation: state.Reply, Target: "$1"}
	}
	rows := r.Render(t.Context(),
		task.Message{Message: text(state.KindFinal, "k-f0", 0, strings.Repeat("long ", 10000)), Long: &task.Long{Name: "answer", Kind: state.KindFinal, Txn: "k-f"}},
		task.Message{Message: text(state.KindQuestion, "k-q1", 1, strings.Repeat("long ", 10000)), Long: &task.Long{Name: "question", Kind: state.KindQuestionPart, Txn: "k-q1-"}},
		task.Message{Message: text(state.KindNotice, "k-n1", 1, "x")},
	)
	if len(rows) < 7 {
		t.Errorf("only %d rows", len(rows))
	}
	for _, m := range rows {
		if m.Task != "k" || m.Room != "!den:here" {
			t.Errorf("%s is of task %q in room %q", m.Txn, m.Task, m.Room)
		}
		if _, kind, number := state.KindOfTxn(strings.Replace(m.Txn, "k", "0123456789abcdef0123", 1)); kind != m.Kind || number != m.Number {
			t.Errorf("%s is %s %d; its row says %s %d", m.Txn, kind, number, m.Kind, m.Number)
		}
	}
}

// A message replies to what it is about only if something else was said in between, and then names that.
func TestQuote(t *testing.T) {
	d := newDeciding(t, everything)
	r := taskRoom{d.room}
	d.says("$task", "@ann:here", "m.room.message", `{"msgtype":"m.text","body":"do it"}`, 0)
	d.says("$more", "@ann:here", "m.room.message", `{"msgtype":"m.text","body":"well"}`, 0)
	for name, c := range map[string]struct {
		since string
		parts []string
		want  state.Relation
	}{
		"it follows its task":   {"$task", []string{"$more"}, ""},
		"another one's message": {"$task", nil, state.Reply},
		"about a question":      {"", []string{"$more"}, state.Reply},
	} {
		m := task.Message{Message: state.Message{Task: "k", Body: "done", Relation: state.Reply, Target: "$task"}, Since: c.since, Parts: c.parts}
		if got := r.Render(t.Context(), m)[0]; got.Relation != c.want || (got.Target != "") != (c.want != "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Before a quoted message the agent reads what was said, not how tasks went: the room does not show that any more.
func TestQuoteLeavesOutNotices(t *testing.T) {
	d := newDeciding(t, everything)
	d.says("$1", "@ann:here", "m.room.message", `{"msgtype":"m.text","body":"the moth is brown"}`, time.Minute)
	d.says("$2", "@bot:here", "m.room.message", `{"msgtype":"m.notice","body":"⏳ Working on it"}`, time.Minute)
	d.says("$3", "@bot:here", "m.room.message", `{"msgtype":"m.text","body":"counted"}`, time.Minute)
	d.says("$4", "@bob:here", "m.room.message", `{"msgtype":"m.notice","body":"build failed"}`, time.Minute)
	d.text("$5", "@ann:here", "why?", time.Minute)
	quote, err := taskRoom{d.room}.Quote(t.Context(), d.id, "$5")
	if err != nil || quote == nil {
		t.Fatal(quote, err)
	}
	var got []string
	for _, line := range quote.Before {
		got = append(got, line.Text)
	}
	if want := []string{"the moth is brown", "counted", "build failed"}; !slices.Equal(got, want) {
		t.Errorf("before it: %q, want %q", got, want)
	}
}
