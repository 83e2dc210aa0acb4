package bot

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/bot/task"
	"matrix-tui/state"
)

func fileRow(t *testing.T, eventType, content string) state.Event {
	t.Helper()
	row := state.Event{Event: decoded(t, `{"event_id":"$e1","type":"`+eventType+`","sender":"@ann:here","content":`+content+`}`)}
	row.Room = "!den:here"
	return row
}

func TestTaskOfAFile(t *testing.T) {
	for _, c := range []struct{ name, eventType, content, want string }{
		{"alone", "m.room.message", `{"msgtype":"m.image","body":"cat.png","url":"mxc://here/a"}`, "A file came."},
		{"with the same name twice", "m.room.message", `{"msgtype":"m.file","body":"a","filename":"a"}`, "A file came."},
		{"with a caption", "m.room.message", `{"msgtype":"m.image","body":"which bird?","filename":"a.png"}`, "A file came.\nwhich bird?"},
		{"by command", "m.room.message", `{"msgtype":"m.image","body":"!task which bird?","filename":"a.png"}`, "A file came.\nwhich bird?"},
		{"a reply", "m.room.message", `{"msgtype":"m.image","body":"> <@bob:here> old\n\nwhich bird?","filename":"a.png","m.relates_to":{"m.in_reply_to":{"event_id":"$0"}}}`, "A file came.\nwhich bird?"},
		{"spoken", "m.room.message", `{"msgtype":"m.audio","body":"v.ogg","org.matrix.msc3245.voice":{}}`, "[Voice Message]"},
		{"a sticker", "m.sticker", `{"body":"wave"}`, "A file came."},
		{"no file", "m.room.message", `{"msgtype":"m.text","body":"cat.png","filename":"a"}`, "cat.png"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec, err := taskFrom(fileRow(t, c.eventType, c.content))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, rec.Text); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The path of an answer's file is known before the file is fetched.
func TestFileAnswer(t *testing.T) {
	f, ok := fileOf(fileRow(t, "m.room.message", `{"msgtype":"m.image","body":"this one","filename":"../a b.png"}`).Event)
	if !ok {
		t.Fatal("no file")
	}
	if diff := cmp.Diff("this one\n/workspace/inbox/a_b.png", task.FileAnswer(f, f.Caption)); diff != "" {
		t.Error(diff)
	}
	if _, ok := fileOf(fileRow(t, "m.room.message", `{"msgtype":"m.text","body":"this one"}`).Event); ok {
		t.Error("a text is a file")
	}
}

// A task gets the file that its message replies to; in a thread the reply may be only a
// fallback for older clients.
func TestFilesRepliedTo(t *testing.T) {
	for content, want := range map[string]string{
		`{"msgtype":"m.text","body":"x","m.relates_to":{"m.in_reply_to":{"event_id":"$0"}}}`:                                                              "$0",
		`{"msgtype":"m.text","body":"x","m.relates_to":{"rel_type":"m.thread","event_id":"$9","m.in_reply_to":{"event_id":"$0"}}}`:                        "$0",
		`{"msgtype":"m.text","body":"x","m.relates_to":{"rel_type":"m.thread","event_id":"$9","is_falling_back":true,"m.in_reply_to":{"event_id":"$0"}}}`: "",
		`{"msgtype":"m.text","body":"x"}`: "",
		`{"msgtype":"m.file","body":"x","m.relates_to":{"m.in_reply_to":{"event_id":"$0"}}}`: "$e1 $0",
	} {
		rec, err := taskFrom(fileRow(t, "m.room.message", content))
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.HasPrefix(want, "$e1"); rec.HasFile != want {
			t.Errorf("%s has a file: %v, want %v", content, rec.HasFile, want)
		}
		if !strings.HasSuffix(want, rec.ReplyTo) || rec.ReplyTo == "" && want != "" {
			t.Errorf("%s replies to %q, want %q", content, rec.ReplyTo, want)
		}
	}
}

// In a group, where a picture cannot mention the bot, it belongs to the words that its sender writes right after it.
func TestFilesBeforeMentionInGroup(t *testing.T) {
	d := newDeciding(t, grouped)
	d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(), 3)
	d.text("$1", "@ann:here", "@bot:here a task", 0)
	d.says("$2", "@ann:here", "m.room.message", aFile, 200*time.Millisecond)
	d.decides()
	d.running("$1")
	d.says("$3", "@ann:here", "m.room.message", aFile, 5*time.Second)
	d.text("$4", "@bob:here", "nice", time.Second)
	d.says("$5", "@ann:here", "m.room.message", aFile, time.Second)
	d.text("$6", "@ann:here", "@bot:here what is on these pictures?", 10*time.Second)
	d.says("$7", "@ann:here", "m.room.message", aFile, time.Minute)
	d.text("$8", "@ann:here", "@bot:here another task", time.Minute)
	d.says("$9", "@ann:here", "m.room.message", strings.TrimSuffix(aFile, "}")+`,"m.mentions":{"user_ids":["@bob:here"]}}`, time.Minute)
	d.text("$10", "@ann:here", "@bot:here what is the time?", 10*time.Second)
	d.decides()
	for asked, want := range map[string][]string{"$1": {"$2"}, "$6": {"$3", "$5"}, "$8": nil, "$10": nil} {
		rec, err := d.bot.Journal.Tasks.Of(t.Context(), d.id, asked)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, said := range rec.Said {
			got = append(got, said.Event)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the files of %s are %q, want %q", asked, got, want)
		}
	}
}
