package bot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/scrub"
	"matrix-tui/state/transcripts"
)

// What a redacted message said is in no record that is kept or shown: not in the task, the history, the execution and the
// transcript, and the room's session ends. That includes messages that were added to a task, and answers.
func TestRedactedEverywhere(t *testing.T) {
	d := newDeciding(t, everything)
	ctx := t.Context()
	const secret = "hunter2"
	d.text("$1", "@ann:here", "log in with "+secret, time.Minute)
	d.decides()
	rec := d.running("$1")
	rec.Said = []state.Said{{By: "@ann:here", Text: "no, with x" + secret, Event: "$2"}, {By: "@ann:here", Text: "and hurry", Event: "$4"}}
	rec.Given, rec.Session = 2, "s1"
	rec.Answers = []state.Answer{{Question: "Really?", Answer: "I said " + secret, By: "@ann:here", Event: "$3"}}
	rec.Ended = "completed"
	if err := d.env.Note(ctx, rec); err != nil {
		t.Fatal(err)
	}
	turns := []state.Turn{{Role: "user", Content: rec.Text, Event: "$1"}, {Role: "assistant", Content: "Done.", Event: "$1"}}
	for _, said := range rec.Said {
		turns = append(turns, state.Turn{Role: "user", Content: said.Text, Event: said.Event})
	}
	turns = append(turns, state.Turn{Role: "user", Content: rec.Answers[0].Answer, Event: "$3"})
	for _, err := range []error{
		d.bot.Transcripts.Begin(d.env.ID, "$1", rec.Text),
		d.bot.Transcripts.Append(d.env.ID, transcripts.Line{Kind: transcripts.KindUser, Event: "$3", Text: rec.Answers[0].Answer}),
		d.bot.Store.Conversations.Append(ctx, d.id, turns...), d.bot.Store.Conversations.SetSession(ctx, d.id, "s1"), d.bot.Journal.Tasks.Finish(ctx, rec.Key),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, ev := range []string{"$1", "$2", "$3"} {
		d.says(ev+"x", "@ann:here", "m.room.redaction", `{"redacts":"`+ev+`"}`, time.Second)
	}
	d.decides()

	if rec, _ = d.bot.Journal.Tasks.Get(ctx, rec.Key); rec.Text != scrub.Deleted || rec.Said[0].Text != scrub.Deleted || rec.Said[1].Text != "and hurry" || rec.Answers[0].Answer != scrub.Deleted {
		t.Errorf("the task has %q, %v, %v", rec.Text, rec.Said, rec.Answers)
	}
	lines, _, err := d.bot.Transcripts.Load(d.env.ID)
	if err != nil || len(lines) != 2 || lines[0].Text != scrub.Deleted {
		t.Errorf("the transcript has %v (%v)", lines, err)
	}
	history, err := d.bot.Store.Conversations.History(t.Context(), d.id)
	if err != nil {
		t.Fatal(err)
	}
	for i, turn := range history {
		if want := i == 1 || i == 3; (turn.Content == scrub.Deleted) == want {
			t.Errorf("the history has %v", turn)
		}
	}
	if s := d.bot.Store.Conversations.Session(d.id); s != "" {
		t.Errorf("the next task continues session %s", s)
	}
	execution, err := d.bot.Programs().Execution(ctx, task.ExecutionID(d.id, "$1"))
	if err != nil || strings.Contains(string(execution), secret) || !strings.Contains(string(execution), scrub.Deleted) {
		t.Errorf("the execution is %s", execution)
	}
	if err := d.bot.Store.Close(); err != nil { // state.json follows in the background
		t.Fatal(err)
	}
	for _, name := range []string{"state.json", "transcripts/" + d.env.Name() + ".jsonl"} {
		if data, err := os.ReadFile(filepath.Join(d.bot.StateDir, name)); err != nil || strings.Contains(string(data), secret) {
			t.Errorf("%s (%v) still has it: %s", name, err, data)
		}
	}
}

// A message that no run has received takes no session along, except one that a run got as the context of a quotation.
func TestRedactedSession(t *testing.T) {
	for _, quoted := range []bool{false, true} {
		d := newDeciding(t, everything)
		ctx := t.Context()
		d.says("$1", "@eve:elsewhere", "m.room.message", `{"msgtype":"m.text","body":"not for the bot"}`, time.Minute)
		d.text("$2", "@ann:here", "nice weather", time.Minute)
		d.decides()
		about := ""
		if quoted {
			about = `,"m.relates_to":{"m.in_reply_to":{"event_id":"$2"}}`
		}
		d.says("$3", "@ann:here", "m.room.message", `{"msgtype":"m.text","body":"look it up"`+about+`}`, time.Minute)
		d.decides()
		rec := d.running("$3")
		rec.Session = "s1"
		for _, err := range []error{d.env.Note(ctx, rec), d.bot.Journal.Tasks.Finish(ctx, rec.Key), d.bot.Store.Conversations.SetSession(ctx, d.id, "s1")} {
			if err != nil {
				t.Fatal(err)
			}
		}
		d.says("$4", "@eve:elsewhere", "m.room.redaction", `{"redacts":"$1"}`, time.Second)
		d.decides()
		if ended := d.bot.Store.Conversations.Session(d.id) == ""; ended != quoted {
			t.Errorf("quoted %v: the session ended: %v", quoted, ended)
		}
	}
}

// What a deleted answer said leaves the journal with it, and an edit of the question that shows it is not sent any more.
func TestRedactedChoice(t *testing.T) {
	d := newDeciding(t, everything)
	choice := task.ChoiceTxn(d.id, "$answer")
	row := state.Message{Txn: choice, Room: d.id, Kind: state.KindQuestionEdit, Body: "✔ ann: hunter2", Task: "t"}
	if err := d.bot.Journal.Messages.Queue(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	d.says("$1", "@ann:here", "m.room.redaction", `{"redacts":"$answer"}`, 0)
	d.decides()
	got, err := d.bot.Journal.Messages.Get(t.Context(), choice)
	if err != nil || got.Status != state.Refused || strings.Contains(got.Body, "hunter2") {
		t.Errorf("%+v, %v", got, err)
	}
}
