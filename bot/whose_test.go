package bot

import (
	"fmt"
	"testing"
	"time"

	"matrix-tui/bot/outbox"
	"matrix-tui/bot/pending"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

const grouped = "defaults:\n  allow: ['@*:here']\n  reply: mention_only\n"

// asksIn makes the task of an event wait with a question that is in the room as $q.
func (d *deciding) asksIn(ev, question, held string) state.Task {
	d.t.Helper()
	rec, err := d.bot.Journal.Tasks.Of(d.t.Context(), d.id, ev)
	if err != nil {
		d.t.Fatal(err)
	}
	rec.Container, rec.Run = "c", "r"
	if err := d.bot.Journal.Tasks.Claim(d.t.Context(), rec); err != nil {
		d.t.Fatal(err)
	}
	rec.Question, rec.QuestionRoom, rec.QuestionEvent, rec.HeldCommand = question, d.id, "$q", held
	rec.QuestionDeadline = time.Now().Add(time.Hour)
	txn := rec.Key + "-q0"
	if err := d.bot.Journal.Tasks.Wait(d.t.Context(), rec, []state.Message{{Txn: txn, Room: d.id, Kind: state.KindQuestion, Task: rec.Key, Event: "$q", Status: state.Sent}}); err != nil {
		d.t.Fatal(err)
	}
	d.bot.waits.Set(rec.Key, pending.Wait{Room: d.id, Asker: rec.Requester, Due: time.Now().Add(time.Hour), Pinned: true})
	d.at = d.at.Add(time.Second)
	// the echo of the question
	raw := fmt.Sprintf(`{"event_id":"$q","type":"m.room.message","sender":"@bot:here","origin_server_ts":%d,"content":{"msgtype":"m.text","body":"I need your input"}}`, d.at.UnixMilli())
	row := state.Event{Event: decoded(d.t, raw), Status: state.Archived}
	row.Room = d.id
	if _, err := d.bot.Journal.Events.Commit(d.t.Context(), "", []state.Event{row}); err != nil {
		d.t.Fatal(err)
	}
	return rec
}

// In a group, a message of the asker to a colleague answers nothing.
func TestChatterIsNoAnswer(t *testing.T) {
	for _, held := range []string{"", "git push --force"} {
		d := newDeciding(t, grouped)
		d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), 3)
		d.text("$1", "@ann:here", "@bot:here deploy it", 0)
		d.decides()
		rec := d.asksIn("$1", "Production or staging?", held)
		body := `Bob, which of the two do we use?`
		if held != "" {
			body = "ok"
		}
		d.says("$2", "@ann:here", "m.room.message", fmt.Sprintf(`{"msgtype":"m.text","body":%q,"m.mentions":{"user_ids":["@bob:here"]}}`, body), time.Minute)
		d.decides()
		got, err := d.bot.Journal.Tasks.Get(t.Context(), rec.Key)
		if err != nil {
			t.Fatal(err)
		}
		if got.State != state.TaskWaiting {
			t.Errorf("held %q: a message that mentions only @bob became the answer %q; approves: %v", held, got.Answers[0].Answer, task.IsYes(got.Answers[0].Answer))
		}
	}
}

// !stop in a thread must stop the task of that thread.
func TestStopInThread(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$1", "@ann:here", "first", 0)
	d.decides()
	first, _ := d.bot.Journal.Tasks.Of(t.Context(), d.id, "$1")
	if err := d.bot.Journal.Tasks.Finish(t.Context(), first.Key); err != nil {
		t.Fatal(err)
	}
	thread := `"m.relates_to":{"rel_type":"m.thread","event_id":"$1","is_falling_back":true,"m.in_reply_to":{"event_id":"$1"}}`
	d.says("$2", "@ann:here", "m.room.message", `{"msgtype":"m.text","body":"delete everything",`+thread+`}`, time.Minute)
	d.decides()
	second, err := d.bot.Journal.Tasks.Of(t.Context(), d.id, "$2")
	if err != nil {
		t.Fatal(err)
	}
	second.Container, second.Run = "c", "r"
	if err := d.bot.Journal.Tasks.Claim(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	d.turn.Claim(d.env.Work(t.Context(), second))
	d.says("$3", "@ann:here", "m.room.message", `{"msgtype":"m.text","body":"!stop",`+thread+`}`, time.Minute)
	d.decides()
	got, _ := d.bot.Journal.Tasks.Get(t.Context(), second.Key)
	told, _ := d.bot.Journal.Messages.Get(t.Context(), outbox.ToldTxn(state.Event{Event: event.Event{Room: d.id, ID: "$3"}}))
	if got.StopBy == "" {
		t.Errorf("!stop in the thread of a running task did not stop it; the room was told %s", told.Body)
	}
	// and a real reply within the thread to the second task's own message
	d.says("$4", "@ann:here", "m.room.message", `{"msgtype":"m.text","body":"!stop","m.relates_to":{"rel_type":"m.thread","event_id":"$1","m.in_reply_to":{"event_id":"$2"}}}`, time.Minute)
	d.decides()
	if got, _ = d.bot.Journal.Tasks.Get(t.Context(), second.Key); got.StopBy == "" {
		t.Errorf("!stop as a real reply to the running task, within the thread, did not stop it either")
	}
}

// A reply to the bot within a thread, from a client without m.mentions, must be heard in a group.
func TestReplyInThread(t *testing.T) {
	d := newDeciding(t, grouped)
	d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), 3)
	if err := d.bot.Journal.Messages.Queue(t.Context(), state.Message{Txn: "x", Room: d.id, Kind: state.KindFinal, Event: "$result", Status: state.Sent}); err != nil {
		t.Fatal(err)
	}
	d.says("$2", "@ann:here", "m.room.message", `{"msgtype":"m.text","body":"now add tests","m.relates_to":{"rel_type":"m.thread","event_id":"$root","m.in_reply_to":{"event_id":"$result"}}}`, time.Minute)
	d.decides()
	if line := d.line(); len(line) != 1 {
		t.Errorf("a reply to the bot within a thread is ignored: %q", line)
	}
}

// Two bots in a room with reply: all.
func TestOtherBotOfThisKind(t *testing.T) {
	d := newDeciding(t, everything)
	d.says("$1", "@otherbot:here", "m.room.message", `{"msgtype":"m.text","body":"Created utils.py","m.mentions":{"user_ids":["@ann:here"]},"io.matrix-tui.txn":"0123456789abcdef0123-f0","m.relates_to":{"m.in_reply_to":{"event_id":"$x"}}}`, 0)
	d.decides()
	if line := d.line(); len(line) > 0 {
		t.Errorf("the result of another matrix-tui became a task: %q", line)
	}
}

// running makes the task of an event the current one, with a run.
func (d *deciding) running(ev string) state.Task {
	d.t.Helper()
	rec, err := d.bot.Journal.Tasks.Of(d.t.Context(), d.id, ev)
	if err != nil {
		d.t.Fatal(err)
	}
	rec.Container, rec.Run = "c", "r"
	if err := d.bot.Journal.Tasks.Claim(d.t.Context(), rec); err != nil {
		d.t.Fatal(err)
	}
	d.turn.Claim(d.env.Work(d.t.Context(), rec))
	return rec
}

const aFile = `{"msgtype":"m.image","body":"a.png","url":"mxc://here/a","info":{"mimetype":"image/png","size":10}}`

// Words and files of one person that belong together are one task, also behind a running one.
func TestBurstBehindRunning(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$0", "@bob:here", "a long task of Bob", 0)
	d.decides()
	d.running("$0")
	d.text("$1", "@ann:here", "compare these two pictures", time.Minute)
	d.says("$2", "@ann:here", "m.room.message", aFile, 200*time.Millisecond)
	d.says("$3", "@ann:here", "m.room.message", aFile, 200*time.Millisecond)
	d.decides()
	if line := d.line(); len(line) != 1 {
		t.Errorf("words and two pictures within 0.4 s are %d tasks: %q", len(line), line)
	}
}

// In a group, pictures right after a mention need no mention, also while another task runs.
func TestFilesBehindRunningInGroup(t *testing.T) {
	d := newDeciding(t, grouped)
	d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), 3)
	d.text("$0", "@bob:here", "@bot:here a long task of Bob", 0)
	d.decides()
	d.running("$0")
	d.text("$1", "@ann:here", "@bot:here compare these two pictures", time.Minute)
	d.decides()
	for _, id := range []string{"$2", "$3"} {
		d.at = d.at.Add(200 * time.Millisecond)
		e := decoded(t, fmt.Sprintf(`{"event_id":%q,"type":"m.room.message","sender":"@ann:here","origin_server_ts":%d,"content":%s}`, id, d.at.UnixMilli(), aFile))
		e.Room = d.id
		if row := d.bot.judge.Judged(t.Context(), state.Event{Event: e}); row.Kind == event.KindContext { // as in examine: such an event is never pending
			t.Errorf("the picture %s is ignored", id)
		}
	}
}

// "@bot !stop": a command after a mention.
func TestMentionedCommand(t *testing.T) {
	for _, body := range []string{"@bot:here: !stop", "bot: !stop", "@bot:here !status"} {
		d := newDeciding(t, grouped)
		d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), 3)
		d.bot.profile.Learn("bot")
		d.text("$0", "@bob:here", "@bot:here a long task of Bob", 0)
		d.decides()
		d.running("$0")
		d.text("$1", "@bob:here", body, time.Minute)
		d.decides()
		if line := d.line(); len(line) > 0 {
			t.Errorf("%q is a new task: %q", body, line)
		}
	}
}

// Other bots' commands.
func TestCommandsOfOtherBots(t *testing.T) {
	for _, body := range []string{"!ask what", "!stats", "!news", "!poll", "!pairs", "!steam id", "!room", "!alert me"} {
		d := newDeciding(t, grouped)
		d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), 3)
		d.text("$1", "@ann:here", body, 0)
		d.decides()
		out, _ := d.bot.Journal.Messages.Unsent(t.Context(), d.id)
		if len(out) > 0 {
			t.Errorf("%s is answered with %s", body, out[0].Body)
		}
	}
}

// As before, with a question that was open when the backup was made and was answered ("yes") afterwards: after the restore
// A client repeats POST /resume because the response was lost; meanwhile the task asks something else.
func TestRepeatedReply(t *testing.T) {
	d := newDeciding(t, everything)
	d.bot.work.Open.Store(true)
	d.text("$1", "@ann:here", "deploy it", 0)
	d.decides()
	rec := d.asksIn("$1", "Use the new configuration?", "")
	if _, err := d.bot.Programs().Resume(t.Context(), rec.Execution, Reply{Answer: "yes"}); err != nil {
		t.Fatal(err)
	}
	// the run goes on and asks for an approval
	now, _ := d.bot.Journal.Tasks.Get(t.Context(), rec.Key)
	now.Question, now.QuestionRoom, now.HeldCommand = "May I run this command?", d.id, "git push --force"
	if err := d.bot.Journal.Tasks.Wait(t.Context(), now, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.bot.Programs().Resume(t.Context(), rec.Execution, Reply{Answer: "yes"}); err == nil { // the same request, again
		now, _ = d.bot.Journal.Tasks.Get(t.Context(), rec.Key)
		t.Errorf("the repeated request approves %q: answers %+v", now.HeldCommand, now.Answers)
	}
}

// In a room with reply: owner_only, somebody who is not an owner answers with a reaction, and stops tasks.
func TestOwnerOnlyReaction(t *testing.T) {
	for _, key := range []string{"1️⃣", "🛑"} {
		d := newDeciding(t, "defaults:\n  allow: ['@*:here']\n  reply: owner_only\n")
		d.text("$1", "@ann:here", "deploy it", 0) // the owner
		d.decides()
		rec := d.asksIn("$1", "Where?\n1. production\n2. staging", "")
		d.says("$2", "@bob:here", "m.room.message", `{"msgtype":"m.text","body":"production","m.relates_to":{"m.in_reply_to":{"event_id":"$q"}}}`, time.Minute)
		d.decides()
		if got, _ := d.bot.Journal.Tasks.Get(t.Context(), rec.Key); got.State != state.TaskWaiting {
			t.Errorf("bob's reply counts: %s", got.State)
		}
		d.says("$3", "@bob:here", "m.reaction", fmt.Sprintf(`{"m.relates_to":{"rel_type":"m.annotation","event_id":"$q","key":%q}}`, key), time.Minute)
		d.decides()
		if got, _ := d.bot.Journal.Tasks.Get(t.Context(), rec.Key); got.State != state.TaskWaiting {
			t.Errorf("bob's reply is ignored, but his reaction %s counts: %s, answers %+v", key, got.State, got.Answers)
		}
	}
}

// Ann answers in a thread on the question, as the README offers. When the task is done, she goes on in that thread.
func TestThreadOfAnsweredQuestion(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$1", "@ann:here", "add a licence", 0)
	d.decides()
	rec := d.asksIn("$1", "Which licence?", "")
	thread := `"m.relates_to":{"rel_type":"m.thread","event_id":"$q","is_falling_back":true,"m.in_reply_to":{"event_id":"$q"}}`
	d.says("$2", "@ann:here", "m.room.message", `{"msgtype":"m.text","body":"MIT",`+thread+`}`, time.Minute)
	d.decides()
	if err := d.bot.Journal.Tasks.Finish(t.Context(), rec.Key); err != nil {
		t.Fatal(err)
	}
	d.says("$3", "@ann:here", "m.room.message", `{"msgtype":"m.text","body":"@bot:here thanks! now write the README","m.mentions":{"user_ids":["@bot:here"]},`+thread+`}`, time.Minute)
	d.decides()
	if line := d.line(); len(line) == 0 {
		out, _ := d.bot.Journal.Messages.Unsent(t.Context(), d.id)
		t.Errorf("a new task in that thread is refused: %s", out[len(out)-1].Body)
	}
}

// Two people with the same local part are two people for the agent and in memory.
func TestSameLocalpart(t *testing.T) {
	d := newDeciding(t, everything)
	d.bot.tasks.Server = "here"
	for user, want := range map[string]string{"@ann:here": "ann", "@ann:there.org:8448": "ann:there.org:8448", "": ""} {
		if got := d.env.NameOf(user); got != want {
			t.Errorf("%s is %q, want %q", user, got, want)
		}
	}
	d.says("$1", "@ann:there.org", "m.room.message", `{"msgtype":"m.text","body":"I am the other one"}`, time.Minute)
	d.text("$2", "@ann:here", "and I am this one", time.Minute)
	quote, err := taskRoom{d.room}.Quote(t.Context(), d.id, "$2")
	if err != nil || quote == nil || quote.Sender != "ann" || len(quote.Before) != 1 || quote.Before[0].Sender != "ann:there.org" {
		t.Errorf("quoted as %+v (%v)", quote, err)
	}
}
