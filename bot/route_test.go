package bot

import (
	"fmt"
	"testing"
	"time"

	"matrix-tui/state"
)

// A homeserver can deliver a message minutes after it was written, behind a question that was asked meanwhile.
func TestDeliveredLate(t *testing.T) {
	d := newDeciding(t, everything)
	asking, txn := d.waits("")
	if err := d.bot.Journal.Tasks.Wait(t.Context(), asking, nil); err != nil {
		t.Fatal(err)
	}
	d.queues(asking, state.KindQuestion, txn)
	if err := d.bot.Journal.Messages.MarkSent(t.Context(), txn, "$question"); err != nil {
		t.Fatal(err)
	}
	d.text("$question", "@bot:here", "Which one?", 0)
	asked := d.at
	for _, c := range []struct {
		sender string
		after  time.Duration
		want   bool
	}{
		{"@ann:here", time.Second, true},
		{"@ann:here", -lateTime / 2, true}, // sent at the same time
		{"@ann:here", -2 * lateTime, false},
		{"@ann:there", -time.Hour, true}, // the clock of another server
	} {
		d.at = asked
		id := fmt.Sprint("$", c.sender, c.after)
		d.text(id, c.sender, "this one", c.after)
		row, err := d.bot.Journal.Events.Get(t.Context(), d.id, id)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.askedBefore(t.Context(), asking, row); got != c.want || err != nil {
			t.Errorf("a message of %s, written %s after the question, is after it: %v, %v", c.sender, c.after, got, err)
		}
	}
}

func TestOfQuestion(t *testing.T) {
	for _, c := range []struct {
		stands     state.TaskState
		n, answers int
		want       verdict
	}{
		{state.TaskWaiting, 0, 0, isAnswer},
		{state.TaskWaiting, 1, 1, isAnswer},
		{state.TaskWaiting, 0, 1, isLate},
		{state.TaskRunning, 0, 1, isLate},
		{state.TaskDone, 0, 1, isLate},
		{state.TaskDone, 0, 0, isClosed}, // nobody answered
		{state.TaskAnswered, 1, 1, isClosed},
	} {
		if got := ofQuestion(c.stands, c.n, c.answers); got != c.want {
			t.Errorf("%s, question %d, %d answers: %d, want %d", c.stands, c.n, c.answers, got, c.want)
		}
	}
}
