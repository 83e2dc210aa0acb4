package decide

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/bot/matrix/decode"
	"matrix-tui/bot/media"
	"matrix-tui/bot/task"
	"matrix-tui/state"
)

func fileRow(t *testing.T, eventType, content string) state.Event {
	t.Helper()
	e, err := decode.FromServer(json.RawMessage(`{"event_id":"$e1","type":"` + eventType + `","sender":"@ann:here","content":` + content + `}`))
	if err != nil {
		t.Fatal(err)
	}
	e.Room = "!den:here"
	return state.Event{Event: e}
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
	f, ok := media.FileOf(fileRow(t, "m.room.message", `{"msgtype":"m.image","body":"this one","filename":"../a b.png"}`).Event)
	if !ok {
		t.Fatal("no file")
	}
	if diff := cmp.Diff("this one\n/workspace/inbox/a_b.png", task.FileAnswer(f, f.Caption)); diff != "" {
		t.Error(diff)
	}
	if _, ok := media.FileOf(fileRow(t, "m.room.message", `{"msgtype":"m.text","body":"this one"}`).Event); ok {
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

// A message that has moved to the room's successor asks for a task there, with the files of the old room.
func TestTaskOfMovedMessage(t *testing.T) {
	row := fileRow(t, "m.room.message", `{"msgtype":"m.text","body":"x"}`)
	row.Home = "!old:here"
	if rec, err := taskFrom(row); err != nil || rec.Home != "!old:here" || rec.Room != "!den:here" {
		t.Errorf("the task is of %s, in %s, %v", rec.Home, rec.Room, err)
	}
}
