package bot

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/bot/task"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// Most of it is shown that fits into an edit, whatever it is.
func TestProgressFits(t *testing.T) {
	if encrypted := maxNotice*4/3 + 1000; encrypted >= 20_000 {
		t.Fatalf("%d bytes encrypted", encrypted)
	}
	for _, c := range []struct {
		name, detail string
		steps        int // shown of 20
	}{
		{"letters", strings.Repeat("x", 200), 10},
		{"backticks", strings.Repeat("`", 200), 10},
		{"quotes", strings.Repeat(`"`, 200), 10},
		{"HTML", strings.Repeat("<&>", 70), 10},
		{"four bytes each", strings.Repeat("😀", 200), 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			var steps text.Steps
			steps.Begin("run")
			for i := range 20 {
				steps.Call(fmt.Sprint(i), strings.Repeat("<", 64), c.detail)
				steps.Result(fmt.Sprint(i), "x", c.detail, true)
			}
			shown := steps.Progress(time.Hour, strings.Repeat("slow ", 300), taskRoom{}.Fits)
			data, err := json.Marshal(edit("$e", notice(shown)))
			if err != nil || len(data) > maxNotice {
				t.Errorf("%d bytes, %v", len(data), err)
			}
			if n := strings.Count(shown, "🔧 step "); n != c.steps {
				t.Errorf("%d steps are shown", n)
			}
		})
	}
}

// A client that knows no edits, or no HTML, shows the steps too.
func TestProgressEdit(t *testing.T) {
	var steps text.Steps
	steps.Begin("run")
	steps.Call("a", "run_shell_command", "echo <b>")
	steps.Result("a", "run_shell_command", "output", false)
	m := edit("$e", notice(steps.Progress(12*time.Second, "", taskRoom{}.Fits)))
	const fallback = "⏳ Working on it · 12 s · step 1\n💻 step 1: run_shell_command `echo <b>` ✓"
	const rich = "⏳ Working on it · 12 s · step 1<br>\n💻 step 1: run_shell_command <code>echo &lt;b&gt;</code> ✓"
	got := []string{m.Body, m.FormattedBody, m.NewContent.Body, m.NewContent.FormattedBody}
	if diff := cmp.Diff([]string{"* " + fallback, "* " + rich, fallback, rich}, got); diff != "" {
		t.Error(diff)
	}
}

// The row of a message says what it is about, and to which task it belongs: what
// the content refers to is put in when it is sent.
func TestRender(t *testing.T) {
	r := taskRoom{newRoom(&Bot{}, "!den:here")}
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
