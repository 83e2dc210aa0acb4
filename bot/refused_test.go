package bot

import (
	"strings"
	"testing"
	"time"

	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// waits commits a task that waits for the answer to a question, about a command unless held is "".
func (d *deciding) waits(held string) (asking state.Task, txn string) {
	d.t.Helper()
	d.text("$1", "@ann:here", "paint the shed", 0)
	d.decides()
	asking, err := d.bot.Journal.Tasks.Next(d.t.Context(), d.id)
	if err != nil {
		d.t.Fatal(err)
	}
	asking.Question, asking.QuestionRoom, asking.HeldCommand = "Which colour?", d.id, held
	if err := d.bot.Journal.Tasks.Wait(d.t.Context(), asking, nil); err != nil {
		d.t.Fatal(err)
	}
	return asking, d.env.Task(asking).Question().Txn()
}

// queues stores an unsent message about the question of a task.
func (d *deciding) queues(asking state.Task, kind state.Kind, txn string) {
	d.t.Helper()
	row := d.outbox.Message(kind, txn, "Which colour?")
	row.Task = asking.Key
	if err := d.bot.Journal.Messages.Queue(d.t.Context(), row); err != nil {
		d.t.Fatal(err)
	}
}

// A question that cannot be shown ends its task, once.
func TestCannotAsk(t *testing.T) {
	d := newDeciding(t, everything)
	asking, _ := d.waits("rm -r shed")
	for range 2 { // the second time as after a crash
		if err := d.turn.CannotAsk(t.Context(), asking.Key, 0); err != nil {
			t.Fatal(err)
		}
	}
	if rec, err := d.bot.Journal.Tasks.Get(t.Context(), asking.Key); err != nil || rec.State != state.TaskAnswered {
		t.Errorf("the task is %s, %v", rec.State, err)
	}
	if end, err := d.bot.Journal.Messages.Get(t.Context(), asking.Key+"-f0"); err != nil || !strings.Contains(end.Body, "The command was not run.") {
		t.Errorf("the room is told %s, %v", end.Body, err)
	}
}

// A sentence that took the place of a question is what the reminder is about, and what the next message answers.
func TestQuestionRefused(t *testing.T) {
	d := newDeciding(t, everything)
	d.env.NotifyQuestion, d.env.ExecutionTimeout = true, time.Hour
	asking, txn := d.waits("")
	asking.QuestionDeadline = d.env.Clock.Now().Add(time.Minute)
	if err := d.bot.Journal.Tasks.Wait(t.Context(), asking, nil); err != nil {
		t.Fatal(err)
	}
	refused, sentence := d.outbox.Message(state.KindQuestion, txn, "Which colour?"), d.outbox.Message(state.KindQuestion, txn+task.Instead, "I have a question")
	refused.Status, sentence.Status, sentence.Event = state.Refused, state.Sent, "$instead"
	if err := d.outbox.Queue(t.Context(), refused, sentence); err != nil {
		t.Fatal(err)
	}
	if ended, err := d.env.Look(t.Context(), asking.Key); ended || err != nil {
		t.Fatal(ended, err)
	}
	reminder, err := d.bot.Journal.Messages.Get(t.Context(), txn+"-w")
	if err != nil || reminder.About != txn+task.Instead || !strings.Contains(reminder.Body, "Which colour?") {
		t.Errorf("the reminder is about %q, and says %s, %v", reminder.About, reminder.Body, err)
	}
	d.text("$early", "@ann:here", "early", time.Minute)
	d.text("$instead", "@bot:here", "I have a question", 0)
	d.text("$answer", "@ann:here", "green", time.Minute)
	d.decides()
	rec, err := d.bot.Journal.Tasks.Get(t.Context(), asking.Key)
	if err != nil || len(rec.Answers) != 1 || rec.Answers[0].Event != "$answer" {
		t.Errorf("the answers are %+v, %v", rec.Answers, err)
	}
}
