package bot

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// A deleted answer ("yes" by mistake) must not approve a command that has not run.
func TestRedactedAnswer(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$1", "@ann:here", "deploy it", 0)
	d.decides()
	rec := d.asksIn("$1", "May I run this command?", "git push --force")
	d.text("$2", "@ann:here", "yes", time.Minute)
	d.decides()
	d.says("$3", "@ann:here", "m.room.redaction", `{"redacts":"$2"}`, time.Second)
	d.decides()
	got, _ := d.bot.Journal.Tasks.Get(t.Context(), rec.Key)
	if got.Approved == nil && len(got.Answers) == 1 && task.IsYes(got.Answers[0].Answer) {
		t.Errorf("state %s: the deleted answer %q still approves %q", got.State, got.Answers[0].Answer, got.HeldCommand)
	}
}

// An edit of a running task must be answered: the room must know that it is ignored.
func TestEditRunning(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$1", "@ann:here", "delete /workspace/a", 0)
	d.decides()
	rec, _ := d.bot.Journal.Tasks.Of(t.Context(), d.id, "$1")
	rec.Container, rec.Run = "c", "r"
	if err := d.bot.Journal.Tasks.Claim(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	d.turn.Claim(d.env.Work(t.Context(), rec))
	d.says("$2", "@ann:here", "m.room.message", `{"msgtype":"m.text","body":"* x","m.new_content":{"msgtype":"m.text","body":"delete /workspace/b, NOT a"},"m.relates_to":{"rel_type":"m.replace","event_id":"$1"}}`, time.Second)
	d.decides()
	out, _ := d.bot.Journal.Messages.Unsent(t.Context(), d.id)
	if len(out) == 0 {
		t.Error("the edit of a running task is ignored without a word")
	}
}

// A deleted part of a queued task must not reach the agent.
func TestRedactedPart(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$1", "@ann:here", "summarize this", time.Minute)
	d.text("$2", "@ann:here", "password hunter2, pasted by mistake", 500*time.Millisecond)
	d.decides()
	d.says("$3", "@ann:here", "m.room.redaction", `{"redacts":"$2"}`, time.Second)
	d.decides()
	tasks, _ := d.bot.Journal.Tasks.In(t.Context(), d.id, state.TaskQueued)
	for _, rec := range tasks {
		for _, said := range rec.Said {
			if !strings.Contains(said.Text, "was deleted before you received it") {
				t.Errorf("the deleted message is still part of a task that has not started: %q", said.Text)
			}
		}
	}
}

// A !steer that is deleted before the run has got it.
func TestRedactedSteer(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$1", "@ann:here", "paint the shed", time.Minute)
	d.decides()
	d.running("$1")
	d.text("$2", "@ann:here", "!steer and burn it", 5*time.Second)
	d.decides()
	d.says("$3", "@ann:here", "m.room.redaction", `{"redacts":"$2"}`, time.Second)
	d.decides()
	rec, _ := d.bot.Journal.Tasks.Get(t.Context(), state.KeyOf(d.id, "$1"))
	if len(rec.Said) != 1 || !strings.Contains(rec.Said[0].Text, "was deleted before you received it") { // the run was stopped for it, so it has to go on
		t.Errorf("the deleted !steer stays: %q", rec.Said[0].Text)
	}
}

// An edited command, and an edit that adds the mention.
func TestMentionByEdit(t *testing.T) {
	d := newDeciding(t, grouped)
	d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), 3)
	d.text("$1", "@ann:here", "deploy it", 0)
	d.decides()
	d.says("$2", "@ann:here", "m.room.message", `{"msgtype":"m.text","body":"* @bot:here deploy it","m.mentions":{"user_ids":["@bot:here"]},"m.new_content":{"msgtype":"m.text","body":"@bot:here deploy it","m.mentions":{"user_ids":["@bot:here"]}},"m.relates_to":{"rel_type":"m.replace","event_id":"$1"}}`, time.Second)
	d.decides()
	out, _ := d.bot.Journal.Messages.Unsent(t.Context(), d.id)
	if line := d.line(); len(line) != 1 || len(out) > 0 {
		t.Errorf("an edit that adds a mention makes the tasks %q", line)
	}
}

// An edit of a queued task into a command.
func TestEditToCommand(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$1", "@ann:here", "delete /workspace/a", 0)
	d.decides()
	d.says("$2", "@ann:here", "m.room.message", `{"msgtype":"m.text","body":"* !stop","m.new_content":{"msgtype":"m.text","body":"!stop"},"m.relates_to":{"rel_type":"m.replace","event_id":"$1"}}`, time.Second)
	d.decides()
	if line := d.line(); len(line) != 1 || line[0] != "delete /workspace/a withdrawn" {
		t.Errorf("the task that became !stop is %q", line)
	}
}

// An edit into an unknown command is answered as a new message would be, and what was written first is not done.
func TestEditToUnknownCommand(t *testing.T) {
	for body, want := range map[string]string{"!foo": "!foo is not one of my commands", "!stpo": "Did you mean !stop?"} {
		d := newDeciding(t, everything)
		d.text("$1", "@ann:here", "delete /workspace/a", 0)
		d.decides()
		edit := `{"msgtype":"m.text","body":"* x","m.new_content":{"msgtype":"m.text","body":"` + body + `"},"m.relates_to":{"rel_type":"m.replace","event_id":"$1"}}`
		d.says("$2", "@ann:here", "m.room.message", edit, time.Second)
		d.decides()
		if line := d.line(); len(line) != 1 || line[0] != "delete /workspace/a withdrawn" || !strings.Contains(d.said("$2"), want) {
			t.Errorf("%s: told %q, tasks %q", body, d.said("$2"), line)
		}
		d.says("$3", "@ann:here", "m.room.message", strings.ReplaceAll(edit, body, "make /workspace/a"), time.Second)
		d.text("$4", "@ann:here", "list /workspace", 100*time.Millisecond)
		d.decides()
		if line := d.line(); !strings.Contains(d.said("$3"), "Send it as a new message") || len(line) != 2 || line[1] != "list /workspace ⏳" {
			t.Errorf("%s, edited once more: told %q, tasks %q", body, d.said("$3"), line)
		}
		d = newDeciding(t, everything)
		d.text("$1", "@ann:here", "delete /workspace/a", 0)
		d.decides()
		d.says("$2", "@ann:here", "m.room.message", edit, 100*time.Millisecond)
		d.text("$3", "@ann:here", "list /workspace", 100*time.Millisecond)
		d.decides()
		if line := d.line(); len(line) != 2 {
			t.Errorf("%s: what comes right after it joins the withdrawn task: %q", body, line)
		}
		d = newDeciding(t, grouped)
		d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), 3)
		d.text("$1", "@ann:here", "deploy it", 0)
		d.decides()
		d.says("$2", "@ann:here", "m.room.message", strings.ReplaceAll(edit, body, "@bot:here "+body), time.Second)
		d.decides()
		if line := d.line(); len(line) > 0 || !strings.Contains(d.said("$2"), want) {
			t.Errorf("%s, which mentions the bot now: told %q, tasks %q", body, d.said("$2"), line)
		}
	}
}

// Restore of a backup that was made while a task was in the queue: its result is in the room.
func TestRestoredTask(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$1", "@ann:here", "deploy to production", 0)
	d.decides() // the backup is made here; the task is done afterwards; then the backup is restored, and the first sync brings the echo of the result
	key := state.KeyOf(d.id, "$1")
	echo := decoded(t, fmt.Sprintf(`{"event_id":"$result","type":"m.room.message","sender":"@bot:here","origin_server_ts":1,"content":{"msgtype":"m.text","body":"Deployed.","io.matrix-tui.txn":"%s-f0"}}`, key))
	echo.Room = d.id
	if err := (admitted{d.bot}).noteAnswered(t.Context(), echo); err != nil {
		t.Fatal(err)
	}
	if answered, err := d.bot.Journal.Messages.Answered(t.Context(), key); !answered || err != nil {
		t.Fatal("not noted")
	}
	if do, err := d.nextTask(t.Context()); err != nil || do != nil {
		t.Errorf("the answered task starts again (current %v, %v)", d.turn.Current() != nil, err)
	}
}

// the answer arrives again.
func TestRestoredQuestion(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$1", "@ann:here", "deploy to production", 0)
	d.decides()
	rec := d.asksIn("$1", "May I run this command?", "git push --force") // backup
	echo := decoded(t, fmt.Sprintf(`{"event_id":"$result","type":"m.room.message","sender":"@bot:here","origin_server_ts":1,"content":{"msgtype":"m.text","body":"Pushed.","io.matrix-tui.txn":"%s-f0"}}`, rec.Key))
	echo.Room = d.id
	yes := decoded(t, fmt.Sprintf(`{"event_id":"$yes","type":"m.room.message","sender":"@ann:here","origin_server_ts":%d,"content":{"msgtype":"m.text","body":"yes"}}`, d.at.Add(time.Minute).UnixMilli()))
	yes.Room = d.id
	echo.Transaction = rec.Key + "-f0"
	if err := (admitted{d.bot}).Echoed(t.Context(), echo); err != nil { // in the first sync after the restore
		t.Fatal(err)
	}
	if _, err := d.bot.Journal.Events.Commit(t.Context(), "", []state.Event{{Event: yes, Status: state.Pending}}); err != nil {
		t.Fatal(err)
	}
	d.decides()
	got, _ := d.bot.Journal.Tasks.Get(t.Context(), rec.Key)
	if got.State != state.TaskDone || len(got.Answers) > 0 {
		t.Errorf("the task, whose result is in the room, is %s again; answers %+v, held %q", got.State, got.Answers, got.HeldCommand)
	}
}

// A redaction does not end an upgrade that the bot still has to follow.
func TestRedactedTombstone(t *testing.T) {
	d := newDeciding(t, everything)
	d.commit(fmt.Sprintf(`{"event_id":"$1","type":"m.room.tombstone","state_key":"","sender":"@ann:here","origin_server_ts":%d,"content":{"replacement_room":"!house:here"}}`, d.at.UnixMilli()))
	d.says("$2", "@ann:here", "m.room.redaction", `{"redacts":"$1"}`, time.Second)
	d.decides()
	if !d.bot.upgrades.Moves(d.id) {
		t.Error("the tombstone is forgotten")
	}
}
