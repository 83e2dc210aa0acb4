package bot

import (
	"errors"
	"strings"
	"testing"
	"time"

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
func (d *deciding) queues(asking state.Task, kind state.Kind, txn string) state.Message {
	d.t.Helper()
	row := d.out(kind, txn, "Which colour?")
	row.Task = asking.Key
	if err := d.bot.Journal.Messages.Queue(d.t.Context(), row); err != nil {
		d.t.Fatal(err)
	}
	return row
}

// Nobody can approve a command that was not shown, or not completely.
func TestRefusedApproval(t *testing.T) {
	for _, c := range []struct {
		kind  state.Kind
		after string // in the transaction ID
		held  string
		want  state.TaskState
	}{
		{state.KindQuestion, "", "rm -r shed", state.TaskAnswered},
		{state.KindQuestionPart, "-1", "rm -r shed", state.TaskAnswered},
		{state.KindQuestion, "", "", state.TaskWaiting},
		{state.KindReminder, "-w", "rm -r shed", state.TaskWaiting},
	} {
		d := newDeciding(t, everything)
		asking, txn := d.waits(c.held)
		row := d.queues(asking, c.kind, txn+c.after)
		for range 2 { // the second time as after a crash
			if err := d.outbox.rejected(t.Context(), row, errors.New("refused")); err != nil {
				t.Fatal(err)
			}
		}
		rec, err := d.bot.Journal.Tasks.Get(t.Context(), asking.Key)
		if err != nil || rec.State != c.want {
			t.Errorf("%s, %q: the task is %s, %v", c.kind, c.held, rec.State, err)
		}
		_, err = d.bot.Journal.Messages.Get(t.Context(), row.Txn+instead)
		if substituted := err == nil; substituted != (c.want == state.TaskWaiting) {
			t.Errorf("%s, %q: in its place: %v", c.kind, c.held, err)
		}
		end, err := d.bot.Journal.Messages.Get(t.Context(), asking.Key+"-f0")
		if told := err == nil && strings.Contains(end.Body, "The command was not run."); told != (c.want == state.TaskAnswered) {
			t.Errorf("%s, %q: the room is told %s, %v", c.kind, c.held, end.Body, err)
		}
	}
}

// A sentence that took the place of a question is what the reminder is about, and what the next message answers.
func TestQuestionRefused(t *testing.T) {
	d := newDeciding(t, everything)
	d.env.NotifyQuestion, d.env.ExecutionTimeout = true, time.Hour
	asking, txn := d.waits("")
	asking.QuestionDeadline = d.env.Now().Add(time.Minute)
	if err := d.bot.Journal.Tasks.Wait(t.Context(), asking, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.outbox.rejected(t.Context(), d.queues(asking, state.KindQuestion, txn), errors.New("refused")); err != nil {
		t.Fatal(err)
	}
	if err := d.bot.Journal.Messages.MarkSent(t.Context(), txn+instead, "$instead"); err != nil {
		t.Fatal(err)
	}
	if ended, err := d.env.Look(t.Context(), asking.Key); ended || err != nil {
		t.Fatal(ended, err)
	}
	reminder, err := d.bot.Journal.Messages.Get(t.Context(), txn+"-w")
	if err != nil || reminder.About != txn+instead || !strings.Contains(reminder.Body, "Which colour?") {
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
