package bot

import (
	"slices"
	"strings"
	"testing"
	"time"

	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// The row of a message says which message it refers to and which task it belongs to. The
// event ID is put into the content when the message is sent.
func TestRender(t *testing.T) {
	d := newDeciding(t, everything)
	r := taskRoom{d.room}
	here := task.Origin{Event: "$1"}
	rows := r.Render(t.Context(),
		task.Message{Kind: state.KindFinal, Txn: "k-f0", Task: "k", Text: strings.Repeat("long ", 10000), Origin: here, About: "$1",
			Long: &task.Long{Name: "answer", Kind: state.KindFinal, Txn: "k-f"}},
		task.Message{Kind: state.KindQuestion, Txn: "k-q1", Task: "k", Number: 1, Text: strings.Repeat("long ", 10000), Origin: here, About: "$1", Notice: true,
			Long: &task.Long{Name: "question", Kind: state.KindQuestionPart, Txn: "k-q1-"}},
		task.Message{Kind: state.KindNotice, Txn: "k-n1", Task: "k", Number: 1, Text: "x", Notice: true, Origin: here, About: state.AboutRef("k-q0")},
		task.Message{Kind: state.KindNoticeEdit, Txn: "k-n1-e", Task: "k", Number: 1, Text: "x", Notice: true, Edits: "k-n1"},
		task.Message{Kind: state.KindOption, Txn: "k-q1-r0", Task: "k", Number: 1, About: state.AboutRef("k-q1"), Reaction: "1"},
		task.Message{Kind: state.KindRedaction, Txn: "k-eyes-x", Task: "k", Redacts: "k-eyes"},
		task.Message{Kind: state.KindArrival, Txn: "k-t", Task: "k", Text: "x", Notice: true},
	)
	if len(rows) < 11 {
		t.Errorf("only %d rows", len(rows))
	}
	for _, m := range rows {
		if m.Task != "k" || m.Room != "!den:here" {
			t.Errorf("%s is of task %q in room %q", m.Txn, m.Task, m.Room)
		}
		if _, kind, number := state.KindOfTxn(strings.Replace(m.Txn, "k", "0123456789abcdef0123", 1)); kind != m.Kind || number != m.Number {
			t.Errorf("%s is %s %d; its row says %s %d", m.Txn, kind, number, m.Kind, m.Number)
		}
		if has := strings.Contains(string(m.Content), state.AboutRef("")); has != (m.About != "") {
			t.Errorf("%s is about %q: %s", m.Txn, m.About, m.Content)
		}
	}
}

// A message replies to what it is about only if something else was said in between, and then names that. In a thread it
// always does.
func TestQuote(t *testing.T) {
	d := newDeciding(t, everything)
	r := taskRoom{d.room}
	d.says("$task", "@ann:here", "m.room.message", `{"msgtype":"m.text","body":"do it"}`, 0)
	d.says("$more", "@ann:here", "m.room.message", `{"msgtype":"m.text","body":"well"}`, 0)
	answer := task.Message{Task: "k", Text: "done", About: "$task", Since: "$task", Origin: task.Origin{Event: "$task"}, Parts: []string{"$more"}}
	if rel := r.relation(t.Context(), answer); rel != nil {
		t.Errorf("it follows its task, and replies: %+v", rel)
	}
	for name, change := range map[string]func(m *task.Message){
		"in a thread":           func(m *task.Message) { m.Origin.Thread = "$root" },
		"another one's message": func(m *task.Message) { m.Parts = nil },
		"about a question":      func(m *task.Message) { m.Since = "" },
	} {
		m := answer
		if change(&m); r.relation(t.Context(), m) == nil {
			t.Errorf("%s: no reply", name)
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
