package bot

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"matrix-tui/state"
)

// A name that is typed without a mention is heard at the beginning of a text; a mention of somebody else is not for the bot.
func TestTypedNames(t *testing.T) {
	for body, heard := range map[string]bool{
		`{"msgtype":"m.text","body":"Builder Bob 🤖: do it","m.mentions":{}}`:                                                                       true,
		`{"msgtype":"m.text","body":"@bot do it","m.mentions":{}}`:                                                                                 true,
		`{"msgtype":"m.text","body":"> <@bob:here> hi\n\nbuilder bob 🤖 do it","m.mentions":{},"m.relates_to":{"m.in_reply_to":{"event_id":"$x"}}}`: true,
		`{"msgtype":"m.text","body":"ask Builder Bob 🤖","m.mentions":{}}`:                                                                          false,
		`{"msgtype":"m.text","body":"robots do it","m.mentions":{}}`:                                                                               false,
	} {
		d := newDeciding(t, grouped)
		d.bot.profile.Learn("Builder Bob 🤖")
		d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), 3)
		d.says("$1", "@ann:here", "m.room.message", body, 0)
		d.decides()
		if line := d.line(); (len(line) == 1) != heard {
			t.Errorf("%s: %q", body, line)
		}
	}
}

// A word such as "stop" stops the sender's running task, and nobody else's.
func TestStopWord(t *testing.T) {
	for _, c := range []struct {
		sender, body string
		stops        bool
	}{
		{"@ann:here", "Stop!", true}, {"@ann:here", "@bot: cancel", true}, {"@ann:here", "стоп", true},
		{"@ann:here", "stop the server", false}, {"@bob:here", "stop", false},
	} {
		d := newDeciding(t, grouped)
		d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), 3)
		d.text("$1", "@ann:here", "@bot:here deploy it", 0)
		d.decides()
		rec := d.running("$1")
		d.text("$2", c.sender, c.body, time.Minute)
		d.decides()
		got, err := d.bot.Journal.Tasks.Get(t.Context(), rec.Key)
		if err != nil {
			t.Fatal(err)
		}
		if (got.StopBy != "") != c.stops {
			t.Errorf("%q by %s: stopped by %q", c.body, c.sender, got.StopBy)
		}
	}
}

// Approving a command needs a reply, a reaction, !answer, the thread or a mention, also where every message is a task.
func TestPlainYesApprovesNothing(t *testing.T) {
	for body, approves := range map[string]bool{"yes": false, "@bot:here yes": true, "!answer yes": true} {
		d := newDeciding(t, everything)
		d.text("$1", "@ann:here", "deploy it", 0)
		d.decides()
		rec := d.asksIn("$1", "May I run this command?", "git push --force")
		d.text("$2", "@ann:here", body, time.Minute)
		d.decides()
		got, err := d.bot.Journal.Tasks.Get(t.Context(), rec.Key)
		if err != nil {
			t.Fatal(err)
		}
		if (got.State == state.TaskRunning) != approves || len(d.line()) > 0 {
			t.Errorf("%q: %s, answers %+v, new tasks %q", body, got.State, got.Answers, d.line())
		}
	}
}

// Somebody whom the bot does not work for is told so once a day, if they address it.
func TestInVain(t *testing.T) {
	d := newDeciding(t, "defaults:\n  allow: []\n")
	d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), 3)
	for i, body := range []string{"hello everybody", "@bot:here hello", "@bot:here are you there?"} {
		d.text(fmt.Sprintf("$%d", i), "@eve:here", body, time.Duration(i)*24*time.Hour) // her server's clock does not matter
	}
	d.decides()
	out, err := d.bot.Journal.Messages.Unsent(t.Context(), d.id)
	if err != nil || len(out) != 1 || !strings.Contains(out[0].Body, "My owners decide") || len(d.line()) > 0 {
		t.Errorf("told %+v, %v", out, err)
	}
}

// When the third person joins, the room is told once that a mention is needed now.
func TestJoined(t *testing.T) {
	d := newDeciding(t, "defaults:\n  allow: ['@*:here']\n")
	for i, members := range []int{2, 3, 3} {
		d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), members)
		d.at = d.at.Add(time.Second)
		d.commit(fmt.Sprintf(`{"event_id":"$%d","type":"m.room.member","sender":"@p%d:here","state_key":"@p%d:here","origin_server_ts":%d,"content":{"membership":"join"}}`, i, i, i, d.at.UnixMilli()))
		d.decides()
		out, err := d.bot.Journal.Messages.Unsent(t.Context(), d.id)
		if want := min(i, 1); err != nil || len(out) != want {
			t.Errorf("with %d members: %d messages, %v", members, len(out), err)
		}
	}
}

// A program may repeat a reply with the same key, and name the question that it means.
func TestReplyKeys(t *testing.T) {
	d := newDeciding(t, everything)
	d.bot.work.Open.Store(true)
	d.text("$1", "@ann:here", "deploy it", 0)
	d.decides()
	rec := d.asksIn("$1", "Use the new configuration?", "")
	reply := Reply{Answer: "yes", Question: 1, Key: "a"}
	if _, err := d.bot.Programs().Resume(t.Context(), rec.Execution, reply); err != nil {
		t.Fatal(err)
	}
	now, err := d.bot.Journal.Tasks.Get(t.Context(), rec.Key)
	if err != nil {
		t.Fatal(err)
	}
	now.Question, now.QuestionRoom, now.HeldCommand = "May I run this command?", d.id, "git push --force"
	if err := d.bot.Journal.Tasks.Wait(t.Context(), now, nil); err != nil {
		t.Fatal(err)
	}
	for reply, refused := range map[Reply]bool{
		reply:                                  false,
		{Answer: "yes", Question: 1, Key: "b"}: true,
		{Answer: "yes", Question: 3}:           true,
	} {
		_, err := d.bot.Programs().Resume(t.Context(), rec.Execution, reply)
		now, nowErr := d.bot.Journal.Tasks.Get(t.Context(), rec.Key)
		if (err != nil) != refused || nowErr != nil || len(now.Answers) != 1 {
			t.Errorf("%+v: %v; answers %+v, %v", reply, err, now.Answers, nowErr)
		}
	}
	if _, err := d.bot.Programs().Resume(t.Context(), rec.Execution, Reply{Answer: "yes", Question: 2}); err != nil {
		t.Error(err)
	}
}

// A poll is a task with its answers, where every message is one, and nothing elsewhere. A location is its text and its place.
func TestPolls(t *testing.T) {
	const early = `{"org.matrix.msc3381.poll.start":{"question":{"org.matrix.msc1767.text":"Which one?"},"answers":[{"id":"a","org.matrix.msc1767.text":"red"},{"id":"b","org.matrix.msc1767.text":"green"}]},"org.matrix.msc1767.text":"Which one? red green"}`
	const stable = `{"m.poll.start":{"question":{"m.text":[{"body":"Which one?"}]},"answers":[{"m.id":"a","m.text":[{"body":"red"}]},{"m.id":"b","m.text":[{"body":"green"}]}]}}`
	for policy, want := range map[string]string{everything: "Which one?\n1. red\n2. green", grouped: ""} {
		for eventType, content := range map[string]string{"org.matrix.msc3381.poll.start": early, "m.poll.start": stable} {
			d := newDeciding(t, policy)
			d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), 3)
			d.says("$1", "@ann:here", eventType, content, 0)
			d.decides()
			if got := strings.Join(d.line(), ""); got != want {
				t.Errorf("%s: %q, want %q", eventType, got, want)
			}
		}
	}
	for content, want := range map[string]string{
		`"body":"I am here: geo:51.5,-0.1","geo_uri":"geo:51.5,-0.1"`: "I am here: geo:51.5,-0.1",
		`"body":"Location","geo_uri":"geo:51.5,-0.1;u=9"`:             "Location\ngeo:51.5,-0.1;u=9",
		`"body":"","geo_uri":"geo:51.5,-0.1"`:                         "geo:51.5,-0.1", `"body":"Location"`: "Location",
	} {
		d := newDeciding(t, everything)
		d.says("$1", "@ann:here", "m.room.message", `{"msgtype":"m.location",`+content+`}`, 0)
		d.decides()
		if line := d.line(); len(line) != 1 || line[0] != want {
			t.Errorf("a location is %q, want %q", line, want)
		}
	}
}
