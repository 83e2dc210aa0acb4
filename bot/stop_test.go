package bot

import (
	"strings"
	"testing"
	"time"

	"matrix-tui/bot/outbox"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// After a restart the task that was running counts as running before the worker takes it up, so that !steer reaches it.
func TestSteerRightAfterRestart(t *testing.T) {
	for name, begin := range map[string]func(*state.Task){
		"a run":               func(rec *state.Task) { rec.Container, rec.Run = "c", "r" },
		"an approved command": func(rec *state.Task) { rec.Approved = &state.Command{Container: "c"} },
	} {
		d := newDeciding(t, everything)
		d.text("$1", "@ann:here", "paint the shed", 0)
		d.decides()
		rec, err := d.bot.Journal.Tasks.Next(t.Context(), d.id)
		if err != nil {
			t.Fatal(err)
		}
		begin(&rec)
		if err := d.bot.Journal.Tasks.Claim(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
		d.text("$2", "@ann:here", "!steer only its door", 0)
		d.decides()
		if rec, err = d.bot.Journal.Tasks.Get(t.Context(), rec.Key); err != nil {
			t.Fatal(err)
		}
		if len(rec.Said) != 1 || rec.Said[0].Text != "only its door" {
			t.Errorf("%s: the running task was told %+v", name, rec.Said)
		}
	}
}

// !stop all cancels every open question, and what goes on with an answer.
func TestStopAllWaiting(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$1", "@ann:here", "paint the shed", 0)
	d.text("$2", "@bob:here", "paint the door", time.Minute)
	d.text("$3", "@bob:here", "paint the roof", time.Minute)
	d.decides()
	d.asksIn("$1", "Which colour?", "")
	d.asksIn("$2", "May I run this command?", "git push")
	answered, _ := d.bot.Journal.Tasks.Of(t.Context(), d.id, "$3")
	if err := d.bot.Journal.Tasks.Claim(t.Context(), answered); err != nil {
		t.Fatal(err)
	}
	d.text("$4", "@ann:here", "!stop all", time.Minute)
	d.decides()
	for _, c := range []struct {
		event string
		state state.TaskState
	}{{"$1", state.TaskAnswered}, {"$2", state.TaskAnswered}, {"$3", state.TaskRunning}} {
		if rec, _ := d.bot.Journal.Tasks.Of(t.Context(), d.id, c.event); rec.State != c.state || rec.StopBy != "@ann:here" {
			t.Errorf("%s is %s, stopped by %q", c.event, rec.State, rec.StopBy)
		}
	}
	if left := d.bot.waits.Count(d.id); left > 0 {
		t.Errorf("%d questions are open", left)
	}
	told, _ := d.bot.Journal.Messages.Get(t.Context(), outbox.ToldTxn(state.Event{Event: event.Event{Room: d.id, ID: "$4"}}))
	if !strings.Contains(told.Body, "open questions are cancelled") {
		t.Errorf("the room is told %s", told.Body)
	}
}

// A queued task that is deleted, edited into a command or stopped shows that at once, and does not count as queued.
func TestWithdrawnWhileQueued(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$0", "@ann:here", "a long task", 0)
	d.decides()
	d.running("$0")
	for _, id := range []string{"$1", "$2", "$3", "$4"} {
		d.text(id, "@ann:here", "paint "+id, time.Minute)
	}
	d.decides()
	d.says("$5", "@ann:here", "m.room.redaction", `{"redacts":"$1"}`, time.Second)
	d.says("$6", "@ann:here", "m.room.message", `{"msgtype":"m.text","body":"* !memory","m.new_content":{"msgtype":"m.text","body":"!memory"},"m.relates_to":{"rel_type":"m.replace","event_id":"$2"}}`, time.Second)
	d.says("$7", "@ann:here", "m.reaction", `{"m.relates_to":{"rel_type":"m.annotation","event_id":"$3","key":"🛑"}}`, time.Second)
	d.decides()
	for event, want := range map[string]string{"$1": "-queued-x", "$2": "-queued-x", "$3": "-queued-x -end", "$4": ""} {
		var shown []string
		for _, suffix := range []string{"-queued-x", "-end"} {
			if m, err := d.bot.Journal.Messages.Get(t.Context(), state.KeyOf(d.id, event)+suffix); err == nil {
				shown = append(shown, suffix)
				if suffix == "-end" && !strings.Contains(m.Body, "⏹") {
					t.Errorf("it ends with %s", m.Body)
				}
			}
		}
		if got := strings.Join(shown, " "); got != want {
			t.Errorf("%s shows %q, want %q", event, got, want)
		}
	}
	final, _ := d.bot.Journal.Messages.Get(t.Context(), state.KeyOf(d.id, "$3")+"-f0")
	rec, _ := d.bot.Journal.Tasks.Of(t.Context(), d.id, "$3")
	order, _ := d.bot.Journal.Events.Get(t.Context(), d.id, "$7")
	if !strings.Contains(final.Body, "⏹ Stopped.") || rec.State != state.TaskAnswered || order.Status != state.Done {
		t.Errorf("the stopped task is %s and has the answer %s; the order is %v", rec.State, final.Body, order.Status)
	}
	d.text("$8", "@ann:here", "!status", time.Second)
	d.decides()
	if said := d.said("$8"); !strings.Contains(said, "1 task is queued") {
		t.Errorf("the status is %q", said)
	}
}
